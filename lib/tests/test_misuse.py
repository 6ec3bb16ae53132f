"""Every command, misused in every way that it can be: exit code 2, one line, no traceback, nothing printed or left.

Here are the ways that all commands share; what is peculiar to one stands with its own tests.
"""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from repositories import FIXTURE, SHIPPED, TESTS, make_policy, make_repository

from assay.__main__ import COMMANDS, main

KEY = "sk-test-EXAMPLE-0000-not-a-real-key"
COLLECT = ("collect", "small", "--prompt", "good", "--base-url", "http://127.0.0.1:9/v1")
GOOD_COLLECT = (*COLLECT, "--model", "m")
BATCH = ("batch", *GOOD_COLLECT[1:])
LINKS = {
    "linked.parquet": "counted.parquet",
    "linked.csv": "data/small/items.jsonl",
    "linked.json": "record.json",
    "study.parquet": "data/small/study.toml",
    "prompt.parquet": "data/small/good.toml",
}
"""Files that are links to others."""

CHECK = ("check", "holds.json")
POLICY = '{"format": "assay-policy"}'

RUN = ("run", "20_thresholds", "-p", "study=small")
COUNT = ("count", "counted.parquet", "--taxonomy", "small")
NEW = ("--from", "answers.csv")
UNKNOWN_STUDY = "there is no study '?smalls'?.*did you mean '?small"
MISUSES = {
    # an unknown study
    ("run", "unknown study"): (["run", "20_thresholds", "-p", "study=smalls"], UNKNOWN_STUDY),
    ("report", "unknown study"): (["report", "smalls"], UNKNOWN_STUDY),
    ("grid", "unknown study"): (["grid", "unknown.yaml"], UNKNOWN_STUDY),
    ("count", "unknown study"): (["count", "counted.parquet", "--taxonomy", "smalls"], UNKNOWN_STUDY),
    ("collect", "unknown study"): (["collect", "smalls", "--prompt", "good", "--model", "m"], UNKNOWN_STUDY),
    ("lint", "unknown study"): (["lint", "good", "--study", "smalls"], UNKNOWN_STUDY),
    ("new", "a study that is there"): (["new", "small", *NEW], "there is a study 'small' already"),
    # an output that cannot be written
    ("run", "unwritable output"): ([*RUN, "--output", "file/o.ipynb"], "cannot write file/o"),
    ("run", "unwritable page"): ([*RUN, "--html", "file/o.html"], "cannot write file/o"),
    ("run", "unwritable record"): ([*RUN, "-p", "record=file/r.json"], "cannot write file/r"),
    ("run", "output a folder"): ([*RUN, "--html", "folder.html"], "cannot write folder.html: it is a folder"),
    ("grid", "unwritable output"): (
        ["grid", "good.yaml", "--output", "file/t.csv"],
        r"file/t\.csv: (Not a|File exists)",
    ),
    ("results", "unwritable output"): (["results", "record.json", "--output", "file/t.csv"], "file/t.csv: (Not|File)"),
    ("count", "unwritable output"): (
        [*COUNT, "--output", "file/c.json"], r"file/c\.json: (Not a|File exists)"
    ),
    ("collect", "unwritable store"): ([*GOOD_COLLECT, "--store", "file/s.sqlite"], "file/s.sqlite: cannot be opened"),
    ("collect", "unwritable export"): (
        [*GOOD_COLLECT, "--export", "file/e.parquet"],
        r"file/e\.parquet: (Not a|File exists)",
    ),
    ("collect", "store no store"): ([*GOOD_COLLECT, "--store", "good.yaml"], "good.yaml: not a store of answers"),
    # an output that would destroy an input, or another output
    ("run", "output the notebook"): (
        ["run", "notebooks/20_thresholds.ipynb", "-p", "study=small", "--output", "notebooks/20_thresholds.ipynb"],
        "output would overwrite notebooks/20_thresholds.ipynb",
    ),
    ("run", "unfinished notebook the notebook"): (
        ["run", "x.partial.ipynb", "--output", "x.ipynb"],
        "the unfinished notebook would overwrite x.partial.ipynb",
    ),
    ("run", "page under the notebook's ending"): (
        [*RUN, "--output", "a.ipynb", "--html", "a.ipynb"],
        "html must end in .html or .htm, got a.ipynb|output and html would both write a.ipynb",
    ),
    ("run", "policy the record"): (
        [*RUN, "-p", "policy=r.json", "-p", "record=r.json"],
        "record and policy would both write r.json",
    ),
    ("run", "policy under another ending"): (
        [*RUN, "-p", "policy=p.ipynb", "--output", "p.ipynb"],
        "policy must end in .json, got p.ipynb",
    ),
    ("run", "policy a study's file"): (
        [*RUN, "-p", "policy=data/small/manifest.json"],
        "policy would overwrite data/small/manifest.json",
    ),
    ("run", "record of links"): (
        [*RUN, "-p", "record=linked.json", "-p", "policy=record.json"],
        "record and policy would both write record.json",
    ),
    ("run", "record the evidence of a routing policy"): (
        ["run", "40_routing", "-p", "study=small", "-p", "policy=p.json", "-p", "record=p.evidence.json"],
        "record and the policy's evidence would both write p.evidence.json",
    ),
    ("grid", "output a study's file"): (
        ["grid", "good.yaml", "--output", "linked.csv"],
        "--output would overwrite data/small/items.jsonl",
    ),
    ("results", "output a record"): (
        ["results", "record.csv", "--output", "record.csv"],
        "--output would overwrite record.csv",
    ),
    ("count", "output its input"): (
        [*COUNT, "--output", "counted.parquet"],
        "--output would overwrite counted.parquet",
    ),
    ("count", "output a link to its input"): (
        [*COUNT, "--output", "linked.parquet"],
        "--output would overwrite counted.parquet",
    ),
    ("count", "output another name of its input"): (
        [*COUNT, "--output", "named.parquet"],
        "--output would overwrite counted.parquet",
    ),
    ("count", "output twice"): (
        [*COUNT, "--output", "c.json", "--output", "./c.json"],
        "--output is given twice for c.json",
    ),
    ("count", "input and a link to it"): (
        [*COUNT[:2], "linked.parquet", *COUNT[2:]],
        r"linked\.parquet is given twice, here and as counted\.parquet",
    ),
    ("count", "input under two names"): ([*COUNT[:2], "named.parquet", *COUNT[2:]], r"named\.parquet is given twice"),
    ("count", "taxonomy no TOML"): (["count", "counted.parquet", "--taxonomy", "file"], "^assay: file: .*TOML"),
    ("collect", "export the store"): (
        [*GOOD_COLLECT, "--store", "s.parquet", "--export", "s.parquet"],
        "--export and --store would both write s.parquet",
    ),
    ("collect", "export a study's file"): (
        [*GOOD_COLLECT, "--export", "data/small/study.toml"],
        "--export must end in .parquet",
    ),
    ("collect", "export a link to a study's file"): (
        [*GOOD_COLLECT, "--export", "study.parquet"],
        "--export would overwrite data/small/study.toml",
    ),
    ("collect", "export a prompt"): (
        [*GOOD_COLLECT, "--export", "prompt.parquet"],
        "--export would overwrite data/small/",
    ),
    ("collect", "export under another ending"): (
        [*GOOD_COLLECT, "--export", "x.csv"],
        "--export must end in .parquet, got x.csv",
    ),
    ("batch", "store the results"): ([*BATCH, "--results", "empty", "--store", "empty"], "--store would overwrite empty"),
    ("batch", "store a prompt"): ([*BATCH, "--store", "prompt.parquet"], "--store would overwrite data/small/good.toml"),
    # a value of the wrong type
    ("run", "wrong type"): ([*RUN, "-p", "grid=x"], "grid must be a whole number"),
    ("run", "time no number"): (["run", "20_thresholds", "--cell-timeout", "x"], "invalid float value: 'x'"),
    ("report", "wrong type"): (["report", "small", "--workers", "x"], "must be a whole number from 1, got 'x'"),
    ("report", "no time"): (
        ["report", "small", "--run-timeout", "0"],
        "run_timeout must be a number of seconds above 0",
    ),
    ("grid", "wrong type"): (["grid", "wrong.yaml"], "grid must be a whole number from 11 to 1001, got 'x'"),
    ("results", "wrong ending"): (
        ["results", "record.json", "--output", "t.xlsx"],
        "--output must end in .csv or .parquet",
    ),
    ("count", "wrong type"): ([*COUNT, "--threshold", "x"], "invalid float value: 'x'"),
    ("count", "more decimals than there are"): ([*COUNT, "--decimals", "400"], "from 1 to 15, got '400'"),
    ("count", "no scheduler"): ([*COUNT, "--scheduler", "x"], "no Dask scheduler answers at 'x'|needs Dask"),
    ("collect", "run without end"): ([*GOOD_COLLECT, "--run", "9" * 20], "must be a whole number from 0 to 1,000,000,000"),
    ("run", "time without end"): ([*RUN, "--cell-timeout", "inf"], "cell_timeout must be a number of seconds above 0, got inf"),
    ("count", "wrong ending"): ([*COUNT, "--output", "c.csv"], "--output must end in"),
    ("collect", "wrong type"): ([*GOOD_COLLECT, "--limit", "x"], "must be a whole number from 1, got 'x'"),
    ("collect", "no money"): ([*GOOD_COLLECT, "--max-cost", "x"], "--max-cost must be a number of US dollars"),
    ("collect", "no price"): ([*GOOD_COLLECT, "--max-cost", "1"], "--max-cost needs the price of m: give --prices"),
    ("serve", "wrong type"): (["serve", "--port", "x"], "invalid int value: 'x'"),
    ("serve", "no port"): (
        ["serve", "--port", "70000"],
        "port must be a whole number from 0 to 65535|is not installed",
    ),
    ("new", "wrong type"): (["new", "of_tests", *NEW, "--scale", "x"], "invalid int value: 'x'|invalid choice"),
    ("new", "no gate"): (["new", "of_tests", *NEW, "--gate", "x"], r"must be METRIC\[:CLASS\]=TARGET"),
    ("check", "wrong type"): (["check", "policy.json", "answers.csv", "--allow"], "expected one argument"),
    ("lint", "no prompt"): (["lint"], "the following arguments are required: prompt"),
    ("check", "no encoding"): ([*CHECK, "checked.csv", "--encoding", "klingon"], "--encoding: 'klingon' is no text encod"),
    ("check", "no delimiter"): ([*CHECK, "checked.csv", "--delimiter", "ab"], "--delimiter must be one ASCII character"),
    ("check", "no decimal mark"): ([*CHECK, "checked.csv", "--decimal", "x"], '--decimal must be "." or ","'),
    ("check", "semicolons"): ([*CHECK, "german.csv"], 'german.csv: the header is one cell.*give --delimiter ";"'),
    ("check", "decimal commas"): ([*CHECK, "german.csv", "--delimiter", ";"], 'german.csv.*give --decimal ","'),
    ("check", "UTF-16"): ([*CHECK, "wide.csv"], 'wide.csv: the file is UTF-16, not UTF-8; give --encoding "utf-16"'),
    ("check", "another model"): ([*CHECK, "other.csv"], r"other.csv, data row 3 \(header not counted\): the policy was tuned"),
    ("check", "a study of other classes"): ([*CHECK, "data/small"], "small, item 'i0': the label 'a' is not a class of"),
    # a file that is not there
    ("run", "missing file"): (["run", "nowhere.ipynb"], "no notebook 'nowhere.ipynb'"),
    ("grid", "missing file"): (["grid", "nowhere.yaml"], "no grid 'nowhere.yaml'"),
    ("results", "missing file"): (["results", "nowhere.json"], "nowhere.json: no such file or folder"),
    ("count", "missing file"): (["count", "nowhere.parquet", "--taxonomy", "small"], "nowhere.parquet"),
    ("collect", "missing file"): (["collect", "small", "--prompt", "nowhere.toml", "--model", "m"], "no such file"),
    ("collect", "missing prices"): ([*GOOD_COLLECT, "--prices", "nowhere.json"], r"nowhere\.json: cannot be read"),
    ("collect", "prices in another encoding"): (
        [*GOOD_COLLECT, "--prices", "latin.json"],
        r"latin\.json: not UTF-8 text",
    ),
    ("collect", "missing model"): (
        [*COLLECT[:4], "--gguf", "nowhere.gguf"],
        "nowhere.gguf: cannot be read|is not installed",
    ),
    ("serve", "missing file"): (["serve", "--gguf", "nowhere.gguf"], "nowhere.gguf: cannot be read|is not installed"),
    ("new", "missing file"): (["new", "of_tests", "--from", "nowhere.csv"], "nowhere.csv"),
    ("check", "missing file"): (["check", "nowhere.json", "answers.csv"], "nowhere.json"),
    ("check", "missing answers"): (["check", "policy.json", "nowhere.csv"], "policy|nowhere.csv"),
    ("lint", "missing file"): (["lint", "nowhere.toml"], "nowhere.toml"),
    # no kernel
    ("run", "no kernel"): ([*RUN, "--kernel", "nope"], "asks for kernel 'nope', which is not"),
    ("run", "kernel of the notebook"): (["run", "no_kernel"], "asks for kernel 'nope', which is not installed"),
    ("grid", "no kernel"): (["grid", "no_kernel.yaml"], "run 1 of 1: .*asks for kernel 'nope'|leaves no record"),
    # a study whose study.toml is broken
    ("run", "broken study"): (["run", "loads", "-p", "study=broken"], r"^assay: broken/study\.toml.*TOML"),
    ("collect", "broken study"): (
        ["collect", "broken", "--prompt", "good", "--model", "m"],
        r"broken/study\.toml.*TOML",
    ),
    ("count", "broken study"): (["count", "counted.parquet", "--taxonomy", "broken"], r"TOML"),
    ("lint", "broken study"): (["lint", "data/broken/good.toml"], r"broken/study\.toml.*TOML"),
    ("report", "setting out of range"): (["report", "wild"], r"wild/report\.toml: .*threshold must be"),
    ("report", "broken settings"): (["report", "settings"], "settings/report.toml: 20_thresholds may not set record"),
    # a name that leads elsewhere
    ("new", "name with .."): (["new", "../of_tests", *NEW], "a study is named by up to 64 letters"),
    ("new", "absolute name"): (["new", "/of_tests", *NEW], "a study is named by up to 64 letters"),
    ("new", "name .."): (["new", "..", *NEW], "a study is named by up to 64 letters"),
    ("new", "name of a folder of reports"): (["new", "records", *NEW], "is the name of a folder of reports"),
    ("collect", "name with .."): (
        ["collect", "../small", "--prompt", "good", "--model", "m"],
        "there is no study '../small'",
    ),
    ("report", "name with .."): (["report", "../small"], "there is no study '../small'"),
    ("run", "name with a null"): (["run", "20_thresholds", "-p", "study=a\0b"], "there is no study"),
    ("run", "name without end"): (
        ["run", "20_thresholds", "-p", f"study={'x' * 5000}"],
        "name too long|there is no study",
    ),
    # a key where none may be
    ("run", "key"): (["run", "20_thresholds", "-p", f"model={KEY}"], "looks like a key"),
    ("collect", "key"): ([*COLLECT, "--model", KEY], "looks like a key"),
    ("collect", "password"): (
        [*COLLECT[:4], "--model", "m", "--base-url", "http://me:EXAMPLE@x.example"],
        "no user, password",
    ),
    ("batch", "unknown study"): (["batch", "smalls", "--prompt", "good", "--model", "m"], UNKNOWN_STUDY),
    ("batch", "missing file"): (["batch", "small", "--prompt", "nowhere.toml", "--model", "m"], "no such file"),
    ("batch", "no model"): (["batch", *COLLECT[1:]], "--model is needed"),
    ("batch", "unwritable store"): (
        [*BATCH, "--store", "file/s.sqlite", "--fetch-only"],
        "file/s.sqlite: cannot be opened",
    ),
    ("batch", "unwritable folder"): ([*BATCH, "--store", "b.sqlite", "--folder", "file/x"], "file/x"),
    ("batch", "no money"): ([*BATCH, "--max-cost", "x"], "--max-cost must be a number of US dollars"),
    ("batch", "no price"): ([*BATCH, "--max-cost", "1"], "--max-cost needs the price of m: give --prices"),
    ("batch", "wrong type"): ([*BATCH, "--every", "x"], "invalid float value"),
    ("batch", "key"): (["batch", *COLLECT[1:], "--model", KEY], "looks like a key"),
    ("new", "key"): (["new", "of_tests", *NEW, "--model", KEY], "looks like a key"),
    ("new", "key as title"): (["new", "of_tests", *NEW, "--title", KEY], "looks like a key"),
    ("grid", "key"): (["grid", "key.yaml"], "looks like a key"),
    **{(name, "unknown option"): ([name, "--frobnicate", KEY], "unrecognized arguments|are required") for name in (
        "new", "run", "report", "grid", "results", "count", "check", "collect", "batch", "serve", "lint"
    )},
}  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository with all that the misuses name, once."""
    notebooks = (FIXTURE, SHIPPED / "40_routing.ipynb")
    root = make_repository(tmp_path_factory.mktemp("misuse") / "r", notebooks, ("small", "broken", "settings", "wild"))
    (root / "file").write_text("a file where a folder should be")
    (root / "data" / "broken" / "study.toml").write_text('title = = "no TOML"')
    (root / "data" / "settings" / "report.toml").write_text('[20_thresholds]\nrecord = "../../elsewhere.json"\n')
    (root / "data" / "wild" / "report.toml").write_text("[20_thresholds]\nthreshold = 2.0\n")
    source = json.loads((TESTS / "notebooks" / "20_thresholds.ipynb").read_text())
    source["cells"][2]["source"] = "from assay.study import load_study\nload_study(study)"
    (root / "notebooks" / "loads.ipynb").write_text(json.dumps(source))
    source["metadata"]["kernelspec"]["name"] = "nope"
    (root / "notebooks" / "no_kernel.ipynb").write_text(json.dumps(source))
    grids = {
        "good": "notebook: 20_thresholds\nproduct: {study: [small], threshold: [0.5]}",
        "unknown": "notebook: 20_thresholds\nproduct: {study: [smalls]}",
        "wrong": "notebook: 20_thresholds\nlist: [{study: small, grid: x}]",
        "no_kernel": "notebook: no_kernel\nlist: [{study: small}]",
        "key": f"notebook: 20_thresholds\nlist: [{{study: small, model: {KEY}}}]",
    }
    for name, text in grids.items():
        (root / f"{name}.yaml").write_text(text)
    (root / "record.json").write_text(json.dumps({"notebook": "x", "settings": {}, "figures": {}, "hashes": {}}))
    shutil.copy(root / "record.json", root / "record.csv")
    (root / "data" / "small" / "manifest.json").write_text("{}")
    shutil.copy(root / "notebooks" / "20_thresholds.ipynb", root / "x.partial.ipynb")
    answers = make_policy(root / "holds.json")
    answers.to_csv(root / "checked.csv", index=False)
    answers.to_csv(root / "german.csv", index=False, sep=";", decimal=",")
    answers.to_csv(root / "wide.csv", index=False, encoding="utf-16")
    answers.assign(model=["m1", "m1", *["m2"] * (len(answers) - 2)]).to_csv(root / "other.csv", index=False)
    (root / "empty").touch()
    (root / "folder.html").mkdir()
    (root / "latin.json").write_bytes('{"modèle": {}}'.encode("latin-1"))
    (root / "policy.json").write_text(POLICY)
    (root / "answers.csv").write_text("label,predicted,confidence\na,a,0.9\nb,a,0.6\n")
    pd.DataFrame({"label": ["a"], "predicted": ["a"], "confidence": [0.5]}).to_parquet(root / "counted.parquet")
    return root


@pytest.fixture
def repository(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(template, tmp_path / "r")
    monkeypatch.chdir(tmp_path / "r")
    for name, place in LINKS.items():
        Path(name).symlink_to(Path(place).absolute())
    Path("named.parquet").hardlink_to("counted.parquet")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "r"


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", MISUSES, ids=lambda case: ": ".join(case))
def test_a_misuse_exits_with_2_and_one_line(
    case: tuple[str, str], repository: Path, capsys: pytest.CaptureFixture[str], record_tried
) -> None:
    words, message = MISUSES[case]
    before = files(repository)
    try:
        code = main(words)
    except SystemExit as left:
        code = int(left.code or 0)
    said = capsys.readouterr()
    after = files(repository)
    left = after.keys() - before.keys() - {"reports/notebooks/loads.partial.ipynb"}
    destroyed = {name for name, content in before.items() if after.get(name) != content}
    wrong = code != 2 or said.err.count("\n") != 1 or bool(left or destroyed)
    record_tried("misuses of the command line", 1, lost=int(wrong))
    assert code == 2, said.err
    assert said.out == ""
    assert said.err.startswith("assay: ")
    assert said.err.count("\n") == 1
    assert re.search(message, said.err), said.err
    assert "EXAMPLE" not in said.err
    assert "Traceback" not in said.err
    assert left == set()
    assert destroyed == set()
    assert not list(repository.parent.glob("*.*")), "nothing outside the repository"


def test_every_command_is_misused_in_more_than_one_way() -> None:
    names = {module.__name__.rpartition(".")[2] for module in COMMANDS}
    tried = [command for command, _ in MISUSES]
    assert names == set(tried)
    assert min(tried.count(name) for name in names) >= 3
