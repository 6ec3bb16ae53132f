"""The `study.toml` of a new study, with a word on what a person may want to change."""

import json
import re
from collections.abc import Mapping, Sequence

from assay.study.guess import Guess


def study_toml(guessed: Guess, file: str, how: Mapping[str, str], *, title: str, source: str) -> str:
    """Write the `study.toml` of a guess, with a word on what a person may want to change."""
    columns = guessed.columns
    items: dict[str, str] = {role: columns[role] for role in ("label", "text") if role in columns}
    answers: dict[str, str] = {
        role: columns[role] for role in ("item_id", "label", "model", "prompt", "run", "elicitation") if role in columns
    }
    lines = [
        "# Made by `assay new`. Everything here may be edited; `assay report` reads it anew each time.",
        f"title = {_text(title)}",
        f"source = {_text(source)}",
        'licence = "not stated"',
        "seed = 1  # of the split into a tuning and a certification part",
        "certification_share = 0.5",
        "",
        "# The answers carry the labels themselves. Tags describe items: each value is a subgroup.",
        "[items]",
        f"columns = {_inline(items)}",
        *([f"tags = {_inline(guessed.tags)}"] if guessed.tags else []),
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
        *(f"{key} = {_text(value)}" for key, value in how.items()),
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
        "# What a policy has to show before it is certified: accepted_accuracy (of all it acts on), or class_accuracy or",
        "# caught of the classes that matter most. delta is the allowed chance of certifying one that falls short.",
    ]
    for gate in guessed.taxonomy.gates:
        lines += ["[[gate]]", f"metric = {_text(gate.metric)}"]
        lines += [f"classes = [{', '.join(map(_text, gate.classes))}]"] if gate.classes else []
        lines += [f"target = {gate.target}", f"delta = {gate.delta}", ""]
    lines += [
        '# No class is safer than another until it has a rank, as in { name = "urgent", rank = 1 }: higher is safer.',
        "[taxonomy]",
        f"abstain = {_text(guessed.taxonomy.abstain)}",
        "class = [",
        *(f"  {{ name = {_text(one)} }}," for one in guessed.taxonomy.names),
        "]",
    ]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    """Write a string as TOML does: JSON's escapes are TOML's, but for one control character."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _leave_out(names: Sequence[str]) -> list[str]:
    listing = ", ".join(map(_text, names))
    return [f"leave_out = [{listing}]  # columns of these names hold something else"] if names else []


def _inline(table: Mapping[str, str]) -> str:
    pairs = (
        f"{key if re.fullmatch('[A-Za-z0-9_-]+', key) else _text(key)} = {_text(value)}" for key, value in table.items()
    )
    return f"{{ {', '.join(pairs)} }}"
