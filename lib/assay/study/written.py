"""The `study.toml` of a new study, with a word on what a person may want to change."""

import json
import re
from collections.abc import Mapping, Sequence

from assay.rules import Taxonomy
from assay.study.guess import Guess
from assay.study.questions import Questions

ANSWERS = "raw/answers.parquet"
"""Where the answers of a study of questions go, inside its folder."""

FIRST_PROMPT = "first"
"""The name of the prompt that a study of questions begins with."""

_MADE = "# Made by `assay new`. Everything here may be edited; `assay report` reads it anew each time."


def study_toml(guessed: Guess, file: str, how: Mapping[str, str], *, title: str, source: str) -> str:
    """Write the `study.toml` of a table of answers.

    Parameters
    ----------
    guessed : Guess
    file : str
        Path of the table inside the study's folder.
    how : mapping of str to str
        What else has to be said of how the file is written.
    title : str
    source : str
        Where the study comes from.
    """
    columns = guessed.columns
    items: dict[str, str] = {role: columns[role] for role in ("label", "text") if role in columns}
    answers: dict[str, str] = {
        role: columns[role] for role in ("item_id", "label", "model", "prompt", "run", "elicitation") if role in columns
    }
    lines = [
        *_head(title, source),
        "# The answers carry the labels themselves. Tags describe items: each value is a subgroup.",
        "[items]",
        f"columns = {_inline(items)}",
        *_tags(guessed.tags),
        *_leave_out(guessed.left_out.items),
        "",
        "# Which columns hold the answers, and what number means certainty: 1 or 100.",
        "[contract]",
        'kind = "table"',
        *([f"label = {_text(columns['predicted'])}"] if "predicted" in columns else []),
        *(
            f"{role} = {_text(columns[role])}"
            for role in ("confidence", "probabilities", "alternatives")
            if role in columns
        ),
        *([f"probabilities = {_inline(guessed.by_class)}"] if guessed.by_class else []),
        f"scale = {guessed.scale}",
        "",
        "# Where the confidences come from: language_model (verbal, token or vote) or classifier.",
        "[[answers]]",
        f"file = {_text(file)}",
        *_how(how),
        f"calibration = {_text(guessed.calibration)}",
        *([f"elicitation = {_text(guessed.elicitation)}"] if guessed.elicitation else []),
        *(f"{role} = {_text(value)}" for role, value in guessed.constants.items()),
        *(
            ["number_rows = true  # each row is an item of its own; else name the column: item_id"]
            if guessed.number_rows
            else []
        ),
        *(
            ["number_runs = true  # several answers to one item are its runs, in the order of the rows"]
            if guessed.number_runs
            else []
        ),
        f"columns = {_inline(answers)}",
        *_leave_out(guessed.left_out.answers),
        "",
        *_judged(guessed.taxonomy),
    ]
    return "\n".join(lines) + "\n"


def questions_toml(guessed: Questions, file: str, how: Mapping[str, str], *, title: str, source: str) -> str:
    """Write the `study.toml` of a table of questions; the parameters are those of `study_toml`."""
    lines = [
        *_head(title, source),
        "# What is asked about. Tags describe items: each value is a subgroup.",
        "[items]",
        f"file = {_text(file)}",
        *_how(how),
        *(
            ["number_rows = true  # an item is known by the number of its row: add none but at the end"]
            if guessed.number_rows
            else []
        ),
        f"columns = {_inline(guessed.columns)}",
        *_tags(guessed.tags),
        "",
        "[prompts]",
        f'{FIRST_PROMPT} = "prompts/{FIRST_PROMPT}.toml"',
        "",
        "# The columns of what `assay collect --export` writes.",
        "[contract]",
        'kind = "table"',
        'label = "predicted"',
        'confidence = "confidence"',
        'alternatives = "alternatives"',
        'missing_context = "missing_context"',
        "scale = 1",
        "",
        "[[answers]]",
        f'file = "{ANSWERS}"',
        'calibration = "language_model"',
        "",
        *_judged(guessed.taxonomy),
    ]
    return "\n".join(lines) + "\n"


def first_prompt(taxonomy: Taxonomy) -> str:
    """Write a prompt file that asks for one of the classes of a taxonomy, to be made better by a person."""
    told = "" if taxonomy.abstain in taxonomy.names else f"If it cannot be told, the label is: {taxonomy.abstain}\n"
    classes = "\n".join(f"- {name}" for name in taxonomy.names)
    system = f"""
Sort the text into one of the classes below. Do not answer the text. Reply with one JSON object and nothing else.

Classes:
{classes}

{told}Keys, in this order:
label = the class
confidence = 0 to 1, the chance that the label is right
alternatives = an object with each other class that may be right, and its chance
"""
    return f"""# Made by `assay new`, to begin with. Say after each class what it means. Then add examples, each class in one of
# them, none of them an item of the study, each reply complete and the confidences as different as they are:
#
# [[example]]
# question = "..."
# reply = '''{{"label": "...", "confidence": 0.8, "alternatives": {{"...": 0.15}}}}'''
#
# `assay lint` looks for what is wrong with it.
name = "{FIRST_PROMPT}"
contract = "classification"
system = {_block(system)}

[sampling]
temperature = 0
max_tokens = 300
"""


def _head(title: str, source: str) -> list[str]:
    return [
        _MADE,
        f"title = {_text(title)}",
        f"source = {_text(source)}",
        'licence = "not stated"',
        "seed = 1  # of the split into a tuning and a certification part",
        "certification_share = 0.5",
        "",
    ]


def _judged(taxonomy: Taxonomy) -> list[str]:
    """Write the gates and the classes."""
    lines = [
        "# What a policy has to show before it is certified: accepted_accuracy (of all it acts on), or class_accuracy or",
        "# caught of the classes that matter most. delta is the allowed chance of certifying one that falls short.",
    ]
    for gate in taxonomy.gates:
        lines += ["[[gate]]", f"metric = {_text(gate.metric)}"]
        lines += [f"classes = [{', '.join(map(_text, gate.classes))}]"] if gate.classes else []
        lines += [f"target = {gate.target}", f"delta = {gate.delta}", ""]
    return [
        *lines,
        '# No class is safer than another until it has a rank, as in { name = "urgent", rank = 1 }: higher is safer.',
        "[taxonomy]",
        f"abstain = {_text(taxonomy.abstain)}",
        "class = [",
        *(f"  {{ name = {_text(one)} }}," for one in taxonomy.names),
        "]",
    ]


def _how(how: Mapping[str, str]) -> list[str]:
    return [f"{key} = {_text(value)}" for key, value in how.items()]


def _tags(tags: Mapping[str, str]) -> list[str]:
    return [f"tags = {_inline(tags)}"] if tags else []


def _text(value: str) -> str:
    """Write a string as TOML does: JSON's escapes are TOML's, but for one control character."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _block(text: str) -> str:
    """Write a string of several lines as TOML does; it begins and ends with a line break."""
    lines = "\n".join(_text(line)[1:-1] for line in text.split("\n"))
    return f'"""{lines}"""'


def _leave_out(names: Sequence[str]) -> list[str]:
    listing = ", ".join(map(_text, names))
    return [f"leave_out = [{listing}]  # columns of these names hold something else"] if names else []


def _inline(table: Mapping[str, str]) -> str:
    pairs = (
        f"{key if re.fullmatch('[A-Za-z0-9_-]+', key) else _text(key)} = {_text(value)}" for key, value in table.items()
    )
    return f"{{ {', '.join(pairs)} }}"
