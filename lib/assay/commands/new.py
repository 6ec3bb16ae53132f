"""``assay new``: a study of one's own answers."""

import argparse
from pathlib import Path
from typing import Any

from assay.commands.words import add_file_options

_COLUMNS = ("label", "predicted", "confidence", "probabilities", "item_id", "text", "model", "prompt", "run")


def declare(commands: Any) -> argparse.ArgumentParser:
    """Declare ``assay new``."""
    command: argparse.ArgumentParser = commands.add_parser(
        "new",
        help="make a study of a file of answers or questions",
        description=(
            "Make a study of a file with one row per answer: a label, what the model predicted, and how sure it was. What "
            "can be told from the file is not asked for; what was supposed is said, and each option says otherwise. With "
            "--questions, of a file with one row per question, a text and its label, for `assay collect` to ask."
        ),
    )
    command.add_argument("study", help="the name of the study to make")
    command.add_argument("--from", dest="file", type=Path, required=True, metavar="FILE", help="CSV, JSONL or parquet")
    command.add_argument(
        "--questions", action="store_true", help="the file holds labelled questions that no model has answered yet"
    )
    command.add_argument("--title", default="", metavar="TEXT", help="default: the name")
    for role in _COLUMNS:
        name = role.replace("_id", "")
        command.add_argument(f"--{name}-column", metavar="NAME", help=f"the column of the {_HELP.get(role, role)}")
    command.add_argument("--model", metavar="NAME", help="the model that gave all answers")
    command.add_argument("--prompt", metavar="NAME", help="the prompt that all answers were asked with")
    command.add_argument(
        "--tag", action="append", metavar="NAME", help="a column that describes the items; may be repeated"
    )
    command.add_argument("--scale", type=int, choices=(1, 100), help="what number means certainty")
    command.add_argument("--abstain", metavar="NAME", help="the prediction that says to abstain")
    command.add_argument(
        "--dangerous",
        action="append",
        default=[],
        metavar="CLASS",
        help="a class that has to be right 95 times in 100; may be repeated",
    )
    command.add_argument(
        "--gate",
        action="append",
        default=[],
        type=_gate,
        metavar="METRIC[:CLASS]=TARGET",
        help="accepted_accuracy=0.9, class_accuracy:NAME=0.95 or caught:NAME=0.95; may be repeated",
    )
    command.add_argument(
        "--calibration", choices=("language_model", "classifier"), help="where the confidence comes from"
    )
    command.add_argument(
        "--elicitation", choices=("verbal", "token", "vote"), help="how a language model was made to state it"
    )
    add_file_options(command)
    command.set_defaults(call=_new)
    return command


_HELP = {
    "predicted": "predicted class",
    "probabilities": "class probabilities, one JSON object a row",
    "item_id": "item id",
    "prompt": "prompt's name",
}


def _gate(text: str) -> tuple[str, str, float]:
    """Read a gate, for argparse: metric, class (may be blank) and target."""
    what, sign, target = text.rpartition("=")
    metric, _, label = what.partition(":")
    try:
        share = float(target)
    except ValueError:
        share = -1.0
    if not sign or not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"must be METRIC[:CLASS]=TARGET with a target between 0 and 1, got {text!r}")
    return metric, label, share


def _new(given: argparse.Namespace) -> int:
    from assay.files import shown_path
    from assay.parameters import refuse_keys
    from assay.rules import Gate
    from assay.rules.answers import Calibration, Elicitation
    from assay.study.guess import Asked
    from assay.study.new import new_study
    from assay.study.written import ANSWERS, FIRST_PROMPT

    refuse_keys({"title": given.title, "model": given.model, "prompt": given.prompt})
    columns = {role: getattr(given, f"{role.replace('_id', '')}_column") for role in _COLUMNS}
    made = new_study(
        given.study,
        given.file,
        Asked(
            columns={role: name for role, name in columns.items() if name is not None},
            constants={role: getattr(given, role) for role in ("model", "prompt") if getattr(given, role)},
            tags=None if given.tag is None else tuple(given.tag),
            scale=given.scale,
            abstain=given.abstain,
            dangerous=tuple(given.dangerous),
            gates=tuple(Gate(metric, (label,) if label else (), target) for metric, label, target in given.gate),
            calibration=Calibration(given.calibration) if given.calibration else None,
            elicitation=Elicitation(given.elicitation) if given.elicitation else None,
        ),
        questions=given.questions,
        title=given.title,
        encoding=given.encoding,
        delimiter=given.delimiter,
    )
    for what, words in made.said:
        print(f"{what}: {words}")
    place = shown_path(made.folder)
    if made.study is None:
        print(f"{place}: made; say in prompts/{FIRST_PROMPT}.toml what the classes mean, then ask a model:")
        for words in (
            f"lint {FIRST_PROMPT} --study {given.study}",
            f"collect {given.study} --prompt {FIRST_PROMPT} --model NAME --export {place}/{ANSWERS}",
            f"report {given.study}",
        ):
            print(f"  assay {words}")
        return 0
    answers = made.study.answers
    unreadable = answers["error"].dropna()
    if len(unreadable):
        kinds = ", ".join(f"{kind} {number:,}" for kind, number in unreadable.value_counts().items())
        print(f"unreadable: {len(unreadable):,} of {len(answers):,} answers ({kinds})")
    for row in made.study.excluded.itertuples():
        print(f"left out: {row.count:,} ({row.reason})")
    print(f"{place}: made; edit its study.toml, or go on with: assay report {given.study}")
    return 0
