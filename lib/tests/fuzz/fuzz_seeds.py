"""The inputs that fuzzing starts from: vectors, and whole documents as the package and the shipped studies write them."""

import datetime
import io
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from fuzz_targets import SETTINGS

from assay.rules import ContextRule, Gate, LabelClass, Taxonomy
from assay.rules.answers import Answer
from assay.rules.evidence import AgreementLog, Side
from assay.rules.gate_result import GateResult
from assay.rules.policy import Policy
from assay.rules.recalibration import RecalibrationMap
from assay.rules.routing_policy import RoutingMode, RoutingPolicy, Thresholds

LIB = Path(__file__).parents[2]
VECTORS = LIB / "tests" / "vectors"
REPORTS = LIB / "tests" / "reports"
DATA = LIB.parent / "data"
MOST = 60
"""Vectors of one file that are seeds; a fuzzer is slow to begin with more."""

ANSWER = (
    '{"label": "red", "confidence": 0.8, "alternatives": {"blue": 0.15}, "missing_context": ["time"], "entities": {}}'
)
CLASSIFICATIONS = (
    ANSWER,
    f"```json\n{ANSWER}\n```",
    f"<think>so {{</think>\n{ANSWER}\nBecause \x01.",
    f"{ANSWER}\n{ANSWER}",
    '{"label": " Blue", "confidence": "95%", "alternatives": [{"class": "RED", "confidence": ".1"}, "\x01"]}',
    '{"class": "strasse", "sure": 80, "others": {"red": 5, "Red": "6 %", "\x01": 1}}',
    '{"label": "\x01", "confidence": 1}',
    '{"label": "red", "confidence": "\x01"}',
    '{"label": "red", "confidence": 1, "alternatives": {"\x01": "\x01"}}',
    '{"label": "red", "confidence": 1, "missing_context": {"\x01": 1}}',
    '{"label": "red", "label": "\x01", "confidence": 0.5}',
    '{"label": "red", "confidence": \x01}',
    '{"label": "red", "confidence": 1e999, "x": "\\ud800\x01"}',
    "<reasoning>\x01",
)
DISTRIBUTION = (
    '{"answers": {"upset": {"value": "true", "probabilities": {"true": 0.6, "false": 0.4}}, '
    '"colour": {"value": "red", "probabilities": {"red": 3, "blue": 1}}, '
    '"grade": {"value": "2.5", "probabilities": {"1": 0.1, "2.5": 0.8, "-1e2": 0.1}}}}'
)
DISTRIBUTIONS = (
    DISTRIBUTION,
    f"```json\n{DISTRIBUTION}\n``` \x01",
    DISTRIBUTION.replace('"red"', '"\x01"'),
    DISTRIBUTION.replace('"colour"', '"\x01"'),
    DISTRIBUTION.replace("0.6", '"\x01"'),
    DISTRIBUTION.replace("0.6", "-0.6"),
    DISTRIBUTION.replace("3,", f"{'9' * 400},"),
)
VERDICTS = (
    '{"verdict": "match", "certainty": 90, "reason": "\x01"}',
    '{"verdict": "\x01", "certainty": 90, "reason": "x"}',
    '```json\n{"verdict": "no-match", "certainty": 1e2, "reason": "\\ud800\x01"}\n```',
    '{"verdict": "match", "certainty": "\x01", "reason": "x"}',
)
CELLS = (
    "red\x020.9\x02BLUE\x02mauve \x01",
    '{"blue": 0.1}\x02{"red": "95%", "Red": 1}\x02["time", "\x01"]\x02[["blue", 0.1]]',
    "0,9\x021.00002\x02-0\x02NaN",
    f"1e999\x02{'1' * 400}\x02null\x02true",
    '{"red": 0.7, "blue": 0.31}\x02{"red": 0.6, "blue": 0.6}\x02{}\x02[]',
)
TAXONOMIES = (
    '[taxonomy]\nabstain = "unclear"\nclass = [{ name = "a", rank = 1 }, { name = "b", meaning = "m" }]\n'
    'threshold_exempt = ["a"]\nnever_loosen = true\ncontext = [{ class = "a", missing = "time" }]\n'
    '[[gate]]\nmetric = "caught"\nclasses = ["a"]\ntarget = 0.95\ndelta = 0.05\n',
    '[taxonomy]\nabstain = "a"\n[[taxonomy.class]]\nname = "a"\nrank = 0x7f\n[[gate]]\nmetric = "accepted_accuracy"\n'
    "target = 1e-1\n",
)
PROMPTS = (
    'name = "p"\ncontract = "distribution"\nsystem = "Reply."\nquestion = "q"\n[questions.q]\nkind = "choice"\n'
    'instructions = "Which?"\n[questions.r]\nkind = "score"\ninstructions = "How?"\nlevels = [["1", "low"], ["2", "high"]]\n'
    '[questions.s]\nkind = "noul"\ninstructions = "Is it?"\n[sampling]\ntemperature = 0.7\nmax_tokens = 50\nn = 3\n',
    'name = "p"\ncontract = "verdict"\nsystem = """\nReply."""\n[[example]]\nquestion = "x"\nreply = "{}"\n',
)
STUDY = SETTINGS.format(items="csv", answers="csv")
STUDIES = (
    STUDY,
    STUDY.replace(
        "[items]",
        "[prevalence]\nred = 0.5\nblue = 0.5\n[costs]\nmisroute = 10\nabstention = 1\n"
        'over_restriction = 0.5\n[[annotators]]\nname = "Ann"\nfile = "items.csv"\n[items]',
    ),
    STUDY.replace('"items.csv"', '"items.csv"\nencoding = "latin-1"\ndelimiter = ";"\nskip_rows = 1\ntags = ["text"]'),
    STUDY.replace('file = "items.csv"', 'columns = { label = { column = "predicted", split = "e", part = 2 } }'),
    *(
        STUDY.replace('kind = "table"', contract)
        for contract in (
            'kind = "classification"\nlabel = "class"\nscale = 100',
            'kind = "verdict"',
            'kind = "table"\nprobabilities = "p"',
            'kind = "table"\nprobabilities = { red = "confidence", blue = "confidence" }',
            'kind = "distribution"\nquestion = "q"\nquestions.q = { kind = "choice", instructions = "Which?" }',
        )
    ),
)
GRIDS = (
    "notebook: 20_thresholds\nparameters: {part: all}\nlist:\n  - {study: triage, model: o3}\n  - {study: ci_claims}\n"
    "product:\n  delta: [0.05, 1e-1]\n  seed: [1, 2, 0x3]\n",
    "notebook: 30_prompts\nproduct: {primary: [[accuracy], [brier]], prompts: [[a, b]], seed: ['1', null, 2020-01-01]}\n",
    "notebook: &a 10_calibrate\nlist: [*a]\n",
    "notebook: 20_thresholds\nlist: [{study: !!python/name:os.system x}]\n",
)


def seeds(target: str) -> list[bytes]:
    """Return what fuzzing of a target starts from."""
    return [one if isinstance(one, bytes) else one.encode("utf-8", "surrogatepass") for one in _SEEDS[target]()]


def _vector_texts(name: str) -> list[str]:
    lines = (VECTORS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    texts = (json.loads(line)["input"].get("text") for line in lines)
    short = [text for text in texts if isinstance(text, str) and len(text) < 2_000]
    return short[:: -(-len(short) // MOST)]


def _files(folder: Path, pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob(pattern))]


def _tables(*texts: str) -> list[bytes]:
    """Write tables, given as CSV, in every way there is; the first byte says which."""
    found = []
    for text in texts:
        frame = pd.read_csv(io.StringIO(text))
        stream = io.BytesIO()
        frame.to_parquet(stream)
        csv, tsv = text.encode(), text.replace(",", "\t").encode()
        found += [b"\0" + csv, b"\0\xef\xbb\xbf" + csv, b"\0" + text.encode("utf-16"), b"\0sep=;\r\n" + csv]
        found += [b"\1" + frame.to_json(orient="records", lines=True).encode(), b"\2" + stream.getvalue(), b"\3" + tsv]
    return found


def _policy() -> Policy:
    taxonomy = Taxonomy(
        classes=(LabelClass("sc", 0, "stay at home"), LabelClass("em", 2)),
        abstain="unsure",
        threshold_exempt=("em",),
        context=(ContextRule("sc", "age"),),
        gates=(Gate("caught", ("em",)),),
    )
    return Policy(
        taxonomy=taxonomy,
        calibration="language_model",
        elicitation="vote",
        threshold=0.6,
        tie_margin=0.1,
        gates=(GateResult("caught", "em", 0.95, 0.05, 100, 100, 0.9704, 1.0, "pass"),),
        verdict="pass",
        seed=3,
        date=datetime.date(2026, 3, 1),
        review_by=datetime.date(2026, 6, 1),
        prompt_sha256="a" * 64,
        recalibration=RecalibrationMap(
            "platt", {"slope": 0.8, "intercept": -0.4}, "language_model", "vote", 0.2, 1.0, 9
        ),
    )


def _policies() -> list[str]:
    text = _policy().to_json()
    knots = '"kind": "isotonic", "parameters": {"confidence": [0.1, 0.5], "frequency": [0.2, 0.4]}'
    return [text, text.replace('"kind": "platt"', knots), text[: len(text) // 2]]


def _routing_policies() -> list[str]:
    thresholds = {"small": Thresholds("language_model", 0.8, 0.1, "verbal", "small", "p")}
    return [
        RoutingPolicy(RoutingMode.MEASURED, None, thresholds, 20, 0.05, "e" * 64).to_json(),
        RoutingPolicy(RoutingMode.PINNED, "large").to_json(),
    ]


def _evidence() -> list[str]:
    log = AgreementLog(Side("small", "language_model", "verbal", "p"), Side("large"))
    yes, no = Answer("noul", True, 0.9, {"true": 0.9, "false": 0.1}), Answer("noul", False, 0.7, {"false": 0.7})
    log.record("upset", yes, yes, item="i1")
    log.record("upset", yes, no, truth=True, item="i2")
    log.record("grade", Answer("score", 2.5, float("nan")), Answer("score", 4.0, 0.5))
    log.record("grade", None, no)
    return [log.report().to_json()]


_SEEDS: dict[str, Callable[[], list[bytes] | list[str]]] = {
    "classification": lambda: [*CLASSIFICATIONS, *(one.decode() for one in _files(REPORTS, "A*/*.txt"))],
    "distribution": lambda: [*DISTRIBUTIONS, *_vector_texts("distribution_answers")],
    "verdict": lambda: [*VERDICTS, *_vector_texts("verdict_answers")],
    "reply": lambda: [*_files(REPORTS, "A08*/[efpr]*.json"), *_files(REPORTS, "P*/response.json")],
    "cells": lambda: list(CELLS),
    "taxonomy": lambda: list(TAXONOMIES),
    "prompt": lambda: [*(one.encode() for one in PROMPTS), *_files(DATA, "plant/prompts/*.toml")],
    "study": lambda: [*(one.encode() for one in STUDIES), *_files(DATA, "*/study.toml")],
    "tables": lambda: _tables(
        "item_id,text,label\n1,one,red\n2,two,blue\n",
        "item_id,predicted,confidence\n1,red,0.9\n2,mauve,1.00002\n",
    ),
    "new": lambda: _tables(
        "label,predicted,confidence\nred,red,0.9\nblue,red,0.5\n",
        "Ticket ID,question,Gold Label,site,run\na,why?,red,N,1\na,why?,red,N,2\nb,how?,,S,1\n",
        "label,p_red,p_blue,elicitation,error,latency_s\nred,0.9,0.1,token,,1\nblue,60%,40%,vote,timeout,2.5\n",
        'truth,probs,prompt\nred,"{""red"": 90, ""blue"": 10}",a long prompt that is text\nblue,"[[""red"", 5]]",b\n',
    ),
    "policy": _policies,
    "routing_policy": _routing_policies,
    "evidence": _evidence,
    "grid": lambda: [*(one.encode() for one in GRIDS), *_files(DATA.parent / "notebooks" / "grids", "*.yaml")],
    "prices": lambda: [
        '{"m": {"input_per_million": 0.15, "output_per_million": 6e-1}, '
        '"local": {"input_per_million": 0, "output_per_million": 0}}'
    ],
}
