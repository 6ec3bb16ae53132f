"""What is fuzzed: every reader of what a model, a person or another program wrote.

A target takes any bytes and returns nothing; whatever it raises is a finding. The bytes stand for what would be in the
file, or for what a model would have written. Where a model wrote it, byte 1 stands for a word that no error may repeat,
so that the mutations of a fuzzer carry the word about. `TARGETS` holds them all; the property tests beside this module
and the coverage-guided run (`python lib/tests/fuzz`, or `make fuzz`) take them from there.
"""

import functools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pandas as pd

from assay.ask import FAULTS, read_body
from assay.ask.prompts import PromptError, parse_prompt
from assay.ask.source import load_source
from assay.grid import GridError, read_grid
from assay.rules import Taxonomy, TaxonomyError, apply_safety_rules
from assay.rules.answers import Question
from assay.rules.costs import PriceSheet
from assay.rules.documents import LONGEST_MESSAGE, DocumentError
from assay.rules.evidence import AgreementReport
from assay.rules.parsing import (
    CLASSIFICATION_ERRORS,
    DEFAULT_FIELDS,
    DISTRIBUTION_ERRORS,
    VERDICT_ERRORS,
    VERDICTS,
    AnswerError,
    AnswerFields,
    Flag,
    parse_classification,
    parse_distribution,
    parse_verdict,
)
from assay.rules.policy import Policy, PolicyError
from assay.rules.routing_policy import RoutingPolicy
from assay.rules.sealed import seal
from assay.study import StudyError, load_study
from assay.study.columns import Table
from assay.study.contract import ClassificationContract, TableContract
from assay.study.new import new_study
from assay.study.readings import Readings, read_columns, read_completions

CANARY = "Quokka8Zebu"
"""What byte 1 becomes in text that a model wrote; no word of the package."""

COLOURS = Taxonomy.from_toml(
    """
    [taxonomy]
    abstain = "unclear"
    threshold_exempt = ["blue"]
    class = [{ name = "red" }, { name = "blue", rank = 3 }, { name = "Straße", rank = 1 }]
    context = [{ class = "red", missing = "time" }]
    """
)
QUESTIONS = {
    "upset": Question.noul("Is the writer upset?"),
    "colour": Question.choice("Which?", {"red": "warm", "blue": "cold"}),
    "grade": Question.score("How good?", [("1", "bad"), ("2.5", "fair"), ("-1e2", "awful")]),
}
FIELDS = (DEFAULT_FIELDS, AnswerFields(label="class", confidence="sure", alternatives="others", scale=100))

SETTINGS = """\
title = "Two colours"
source = "written for a test"
licence = "MIT"
seed = 7

[items]
file = "items.{items}"

[contract]
kind = "table"

[[answers]]
file = "answers.{answers}"
calibration = "language_model"
elicitation = "verbal"

[taxonomy]
abstain = "abstain"
class = [{{ name = "red", rank = 0 }}, {{ name = "blue", rank = 1 }}]
"""
ITEMS = "item_id,text,label\n1,one,red\n2,two,blue\n3,three,blue\n"
ANSWERS = "item_id,predicted,confidence\n1,red,0.9\n2,red,0.6\n3,blue,0.75\n"
ENDINGS = ("csv", "jsonl", "parquet", "tsv")


def classification(data: bytes) -> None:
    """A classification answer is a value whose numbers the rules take, or one of the contract's errors."""
    for fields in FIELDS:
        try:
            answer = parse_classification(_written(data), COLOURS, fields)
        except AnswerError as error:
            _refused(error, CLASSIFICATION_ERRORS)
            continue
        assert answer.label in {*COLOURS.names, COLOURS.abstain}
        assert all(0 <= share <= 1 for share in (answer.confidence, *answer.alternatives.values()))
        assert set(answer.flags) <= set(get_args(Flag))
        decision = apply_safety_rules(answer, taxonomy=COLOURS, threshold=0.6, tie_margin=0.1)
        assert decision.label in {*COLOURS.names, COLOURS.abstain}


def distribution(data: bytes) -> None:
    """A reply to typed questions, as text or decoded, holds shares that add up to 1, or breaks a rule of the contract."""
    text = _written(data)
    replies = [(text, None)]
    try:
        replies.append((None, json.loads(text)))
    except (ValueError, RecursionError):
        pass
    for written, payload in replies:
        try:
            answers = parse_distribution(written, QUESTIONS, payload)
        except AnswerError as error:
            _refused(error, DISTRIBUTION_ERRORS)
            continue
        assert list(answers) == list(QUESTIONS)
        for name, answer in answers.items():
            assert tuple(answer.probabilities) == QUESTIONS[name].labels
            assert all(0 <= share <= 1 for share in (answer.confidence, *answer.probabilities.values()))
            assert abs(sum(answer.probabilities.values()) - 1) < 1e-9


def verdict(data: bytes) -> None:
    """A review verdict is one of three with a whole certainty and a reason that fits, or an error."""
    try:
        said = parse_verdict(_written(data))
    except AnswerError as error:
        _refused(error, VERDICT_ERRORS)
        return
    assert said.verdict in VERDICTS
    assert type(said.certainty) is int
    assert 0 <= said.certainty <= 100
    assert len(said.reason) <= 500
    said.reason.encode()


def reply(data: bytes) -> None:
    """The body of a provider's reply never raises."""
    assert read_body(data).error in {None, *FAULTS}


def cells(data: bytes) -> None:
    """Whatever a model wrote into the columns of a table of answers is read or is an error of its row."""
    written = data.decode("utf-8", "replace").split("\x02")[:4]
    for values in (written, [*map(_decoded, written)]):
        column = pd.Series(values, dtype=object)
        table = Table("rows", pd.DataFrame(dict.fromkeys(("p", "alternatives", "missing"), column)))
        for contract in (
            TableContract("p", "p", "alternatives", missing_context="missing"),
            TableContract("p", None, probabilities="p", scale=100),
        ):
            _read(read_columns(table, contract, COLOURS), len(values))
    reasons = pd.Series(written[::-1], dtype=object)
    for fields in FIELDS:
        said = read_completions(pd.Series(written, dtype=object), reasons, ClassificationContract(fields), COLOURS)
        _read(said, len(written))


def taxonomy(data: bytes) -> None:
    """The text of a taxonomy is one that writes and reads back the same, or a `TaxonomyError`."""
    try:
        read = Taxonomy.from_toml(_text(data))
    except TaxonomyError as error:
        _one_line(error)
        return
    assert Taxonomy.from_dict(json.loads(json.dumps(read.to_dict()))) == read
    assert len(read.digest()) == 64


def prompt(data: bytes) -> None:
    """The text of a prompt file is a prompt with a hash, whose contract can be asked for, or a `PromptError`."""
    try:
        read = parse_prompt(_text(data))
        assert len(read.hash) == 64
        read.contract_for(COLOURS)
    except PromptError as error:
        _one_line(error)


def study(data: bytes) -> None:
    """A `study.toml` over sound files is a study or a `StudyError`."""
    with _folder() as folder:
        (folder / "study.toml").write_bytes(data)
        (folder / "items.csv").write_text(ITEMS, encoding="utf-8")
        (folder / "answers.csv").write_text(ANSWERS, encoding="utf-8")
        try:
            _sound(load_study(folder).answers)
        except StudyError as error:
            _one_line(error)


def tables(data: bytes) -> None:
    """Files of items or of answers with anything in them, of the kind that the first byte says, are a study or an error."""
    ending, content = ENDINGS[data[0] % len(ENDINGS)] if data else "csv", data[1:]
    for kinds in ({"items": ending, "answers": "csv"}, {"items": "csv", "answers": ending}):
        with _folder() as folder:
            (folder / "study.toml").write_text(SETTINGS.format(**kinds), encoding="utf-8")
            (folder / "items.csv").write_text(ITEMS, encoding="utf-8")
            (folder / "answers.csv").write_text(ANSWERS, encoding="utf-8")
            name = "items" if kinds["answers"] == "csv" and kinds["items"] != "csv" else "answers"
            (folder / f"{name}.{ending}").write_bytes(content)
            try:
                _sound(load_study(folder).answers)
            except StudyError as error:
                _one_line(error)


def new(data: bytes) -> None:
    """A file of anything makes a study that loads, of answers or of questions, or a `StudyError` that leaves nothing."""
    ending, content = ENDINGS[data[0] % len(ENDINGS)] if data else "csv", data[1:]
    for questions in (False, True):
        with _folder() as folder:
            file = folder / f"file.{ending}"
            file.write_bytes(content)
            try:
                made = new_study("made", file, questions=questions, data=folder)
            except StudyError as error:
                _one_line(error)
                assert [path.name for path in folder.iterdir()] == [file.name]
                continue
            if made.study is None:
                assert len(load_source(str(made.folder)).items)
            else:
                _sound(made.study.answers)


def policy(data: bytes) -> None:
    """The text of a policy file, as it is or sealed anew, is a policy that writes and reads back, or a `PolicyError`."""
    for text in _resealed(_text(data)):
        try:
            read = Policy.from_json(text)
        except PolicyError as error:
            _one_line(error)
            continue
        assert Policy.from_json(read.to_json()) == read


def routing_policy(data: bytes) -> None:
    """A routing policy writes and reads back, or is a `DocumentError`."""
    try:
        read = RoutingPolicy.from_json(_text(data))
    except DocumentError as error:
        _one_line(error)
        return
    assert RoutingPolicy.from_json(read.to_json()) == read


def evidence(data: bytes) -> None:
    """A report of agreement writes and reads back with the same digest, or is a `DocumentError`."""
    try:
        read = AgreementReport.from_json(_text(data))
    except DocumentError as error:
        _one_line(error)
        return
    assert AgreementReport.from_json(read.to_json()).digest() == read.digest()


def prices(data: bytes) -> None:
    """A price file writes and reads back, or is a `DocumentError`."""
    try:
        read = PriceSheet.from_json(_text(data))
    except DocumentError as error:
        _one_line(error)
        return
    assert PriceSheet.from_json(read.to_json()) == read


def grid(data: bytes) -> None:
    """A grid file is a grid whose runs all have their parameters by name, or a `GridError`."""
    with _folder() as folder:
        (folder / "grid.yaml").write_bytes(data)
        try:
            read = read_grid(folder / "grid.yaml")
        except GridError as error:
            _one_line(error)
            return
    assert read.runs
    assert all(isinstance(name, str) for run in read.runs for name in run)


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (
        classification, distribution, verdict, reply, cells, taxonomy, prompt, study, tables, new, policy, routing_policy,
        evidence, prices, grid,
    )
}  # fmt: skip


def _written(data: bytes) -> str:
    """Take the bytes as what a model wrote; those that are no UTF-8 become lone surrogates."""
    return data.decode("utf-8", "surrogateescape").replace("\x01", CANARY)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _resealed(text: str) -> Iterator[str]:
    """Yield a text as it is and, where it is an object, with the digests that its content has."""
    yield text
    try:
        content = json.loads(text)
        yield seal({name: value for name, value in content.items() if name not in ("digest", "digests")})
    except (ValueError, RecursionError, AttributeError):
        pass


@functools.cache
def _room() -> Path:
    """A folder in memory where there is one: a fuzzer writes to it a thousand times a second."""
    memory = Path("/dev/shm")  # noqa: S108 (made with a name of its own)
    return Path(tempfile.mkdtemp(prefix="assay-fuzz-", dir=memory if memory.is_dir() else None))


class _folder:  # noqa: N801 (reads as the function it stands for)
    """A study's folder that is empty at first and gone afterwards."""

    def __enter__(self) -> Path:
        self.path = _room() / "colours"
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir()
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path.parent, ignore_errors=True)
        _room.cache_clear()


def _refused(error: AnswerError, kinds: dict[str, str]) -> None:
    """Hold an error to its contract: a known kind, and no word of the model in it or in what it is chained to."""
    assert error.kind in kinds
    one: BaseException | None = error
    while one is not None:
        assert CANARY not in f"{one} {one!r} {vars(one)}"
        one = one.__cause__ or one.__context__


def _one_line(error: Exception) -> None:
    message = str(error)
    assert message.strip()
    assert len(message.splitlines()) == 1
    assert len(message) <= LONGEST_MESSAGE


def _read(said: Readings, rows: int) -> None:
    """Hold readings to what they promise: in every row a class with a confidence in [0, 1], or an error."""
    assert len(said.error) == rows
    for predicted, confidence, error in zip(said.predicted, said.confidence, said.error, strict=True):
        assert (predicted is None) == (error is not None) == (confidence != confidence)
        assert error is not None or 0 <= confidence <= 1


def _sound(answers: pd.DataFrame) -> None:
    """Hold a frame of answers to what it promises: a reading or an error in every row, confidences in [0, 1]."""
    unreadable = answers["error"].notna()
    assert (answers["predicted"].isna() == unreadable).all()
    assert answers["confidence"].dropna().between(0, 1).all()
    assert (answers["confidence"].notna() == ~unreadable).all()
