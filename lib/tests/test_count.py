"""``assay count``: the same counts from one process, from several and from a cluster, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assay_test_cluster import cluster

from assay.__main__ import main
from assay.count import count_answers, find_source, read_taxonomy
from assay.measure.figures import decision_figures
from assay.measure.sweep import sweep
from assay.rules import Taxonomy
from assay.study.partitions import find_parts

TAXONOMY = """
[taxonomy]
abstain = "unclear"
class = [{ name = "low", rank = 0 }, { name = "middle", rank = 1 }, { name = "high", rank = 2 }]
context = [{ class = "low", missing = "time" }]
[[gate]]
metric = "caught"
classes = ["high"]
"""
NAMES = np.array(["low", "middle", "high"], dtype=object)


def made(rows: int, seed: int = 0) -> pd.DataFrame:
    """Answers with everything that count reads, some without a label and some unreadable."""
    rng = np.random.default_rng(seed)
    confidence = rng.random(rows)
    frame = pd.DataFrame(
        {
            "item_id": [f"item {seed}-{row}" for row in range(rows)],
            "label": NAMES[rng.integers(0, 3, rows)],
            "predicted": NAMES[rng.integers(0, 3, rows)],
            "confidence": confidence,
            "alternatives": [{"middle": float(a), "high": float(b)} for a, b in rng.random((rows, 2)).round(2)],
            "missing_context": [["time"] if one else [] for one in rng.random(rows) < 0.1],
        }
    )
    frame.loc[rng.random(rows) < 0.05, "label"] = None
    frame.loc[rng.random(rows) < 0.05, "predicted"] = "=no such class"
    frame.loc[rng.random(rows) < 0.05, "confidence"] = None
    return frame


def write(path: Path, frame: pd.DataFrame, group: int = 70) -> None:
    kinds = {"alternatives": pa.map_(pa.string(), pa.float64())} if "alternatives" in frame else {}
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for name, kind in kinds.items():
        values = pa.array([list(value.items()) for value in frame[name]], kind)
        table = table.set_column(table.column_names.index(name), name, values)
    pq.write_table(table, path, row_group_size=group)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three files of answers and one of nothing, with row groups that make several parts of each."""
    monkeypatch.setattr("assay.study.partitions.PART_ROWS", 100)
    monkeypatch.setattr("assay.study.partitions.BATCH", 64)
    (tmp_path / "taxonomy.toml").write_text(TAXONOMY)
    for number in range(3):
        write(tmp_path / f"part-{number}.parquet", made(300, number))
    write(tmp_path / "empty.parquet", made(300).iloc[:0])
    (tmp_path / "_metadata").mkdir()
    (tmp_path / "_metadata" / "not-this.parquet").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, out: str) -> tuple[bytes, bytes]:
    """Count the working directory and return what was written."""
    given = ["count", ".", "--taxonomy", "taxonomy.toml", "--threshold", "0.345"]
    assert main([*given, *words, "--output", f"{out}.json", "--output", f"{out}.counts.parquet"]) == 0
    files = (Path(f"{out}.json").read_bytes(), Path(f"{out}.counts.parquet").read_bytes())
    Path(f"{out}.counts.parquet").unlink()
    return files


def test_one_process_several_and_a_cluster_give_the_same_counts(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    alone = run("--workers", "1", out="one")
    assert run("--workers", "2", out="two") == alone
    with cluster(tmp_path_factory.mktemp("dask")) as started:
        assert run("--scheduler", started.address, out="dask") == alone
    found = json.loads(alone[0])
    assert found["source"]["rows"] == 900
    assert found["source"]["files"] == 3


def test_counts_are_those_of_all_answers_in_one_frame(folder: Path) -> None:
    taxonomy = read_taxonomy("taxonomy.toml")
    source = find_source([folder], taxonomy, threshold=0.345)
    assert len(source.parts) == 9
    counted = count_answers(source, workers=1)
    whole = pd.concat([made(300, number) for number in range(3)], ignore_index=True)
    whole.loc[~whole["predicted"].isin(list(NAMES)), "predicted"] = None
    whole["missing_context"] = whole["missing_context"].map(tuple)
    labelled = whole[whole["label"].notna()].reset_index(drop=True)
    assert counted.unlabelled == len(whole) - len(labelled)
    expected = sweep(labelled, taxonomy, thresholds=source.thresholds)
    assert np.array_equal(counted.sweep.outcomes, expected.outcomes)
    readable = labelled["predicted"].notna() & labelled["confidence"].notna()
    assert counted.cells.n == readable.sum()
    assert np.array_equal(counted.cells.confidence, np.unique(labelled.loc[readable, "confidence"]))
    assert counted.items is not None
    assert len(counted.items) == len(labelled)
    one = decision_figures(labelled, taxonomy, 0.345, 0.1)
    row, column = counted.sweep.at(0.345, 0.1)
    assert counted.sweep.dangerous()[row, column] == one.dangerous


def test_every_count_can_be_read_back(folder: Path) -> None:
    counted = count_answers(find_source([folder], read_taxonomy("taxonomy.toml")), workers=1)
    assert main(["count", ".", "--taxonomy", "taxonomy.toml", "--workers", "1", "--output", "../counts.parquet"]) == 0
    rows = pd.read_parquet("../counts.parquet")
    by = rows.groupby("count")["answers"].sum()
    assert by["decision"] == counted.sweep.outcomes.sum()
    assert by["decided"] == counted.sweep.decided.sum()
    assert by["confidence"] == counted.cells.n
    assert (by["unreadable"], by["unlabelled"]) == (counted.unreadable, counted.unlabelled)
    at = rows[(rows["threshold"] == 0.5) & (rows["tie_margin"] == 0.1) & (rows["outcome"] == "dangerous")]
    assert at["answers"].sum() == counted.sweep.dangerous()[counted.sweep.at(0.5, 0.1)]


def test_probabilities_do_for_confidence_and_alternatives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = made(50)[["label", "predicted"]].dropna().query("predicted in @NAMES")
    rest = [dict.fromkeys(NAMES, 0.2) | {one: 0.6} for one in frame["predicted"]]
    write(folder / "p.parquet", frame.assign(scores=[json.dumps(one) for one in rest]))
    words = ["count", "p.parquet", "--taxonomy", "taxonomy.toml", "--column", "probabilities=scores", "--workers", "1"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "each taken for an item of its own" in said
    assert "mean confidence       0.6000\n" in said
    assert "chosen on these answers" in said


def test_a_study_names_the_taxonomy_too(folder: Path) -> None:
    assert isinstance(read_taxonomy("triage"), Taxonomy)


MISUSES = {
    "no place": (["nowhere"], "nowhere: no such file or folder"),
    "no parquet": (["taxonomy.toml"], "taxonomy.toml: is no .parquet file"),
    "no files": (["_metadata/none"], "_metadata/none: there is no parquet file in this folder"),
    "no rows": (["empty.parquet"], "there are no rows in these files"),
    "twice": (["part-0.parquet", "."], "part-0.parquet is given twice; its answers would count twice"),
    "damaged": (["torn.parquet"], "torn.parquet: not a whole parquet file (truncated or damaged)"),
    "column": ([".", "--column", "confidence=confidense"], "no column 'confidense' (did you mean 'confidence'?)"),
    "column name": ([".", "--column", "labels=x"], "a column may be named for label, predicted, "),
    "column sign": ([".", "--column", "label"], "--column takes NAME=COLUMN, each name once, got 'label'"),
    "both": ([".", "--column", "probabilities=p", "--column", "confidence=c"], "leave those two out"),
    "lacks": ([".", "lacks.parquet"], "lacks.parquet: no column 'item_id'"),
    "label": (["label.parquet"], "label.parquet, rows from 65, row 7, column 'label': 'hihg' is not a class"),
    "threshold": ([".", "--threshold", "1.5"], "threshold must lie in [0, 1], got 1.5"),
    "margin": ([".", "--tie-margin", "0.123"], "--tie-margin must be a whole number of hundredths from 0 to 1, got 0.123"),
    "nan margin": ([".", "--tie-margin", "nan"], "--tie-margin must be a whole number of hundredths"),
    "output": ([".", "--output", "x.csv"], "--output must end in .json or .parquet, got x.csv"),
    "workers": ([".", "--workers", "0"], "must be a whole number from 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISUSES)
def test_a_misuse_is_one_line_and_exit_code_2(case: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "_metadata" / "none").mkdir()
    if case == "damaged":
        (folder / "torn.parquet").write_bytes((folder / "part-0.parquet").read_bytes()[:-100])
    if case == "lacks":
        write(folder / "lacks.parquet", made(10).drop(columns="item_id"))
    if case == "label":
        frame = made(100)
        frame.loc[70, "label"] = "hihg"
        write(folder / "label.parquet", frame, group=100)
    before = sorted(folder.rglob("*"))
    words, message = MISUSES[case]
    places = [word for word in words if word != "lacks.parquet"]
    try:
        code = main(
            ["count", *places, "--taxonomy", "taxonomy.toml", *(["--workers", "1"] if "--workers" not in words else [])]
        )
    except SystemExit as left:
        code = int(left.code or 0)
    said = capsys.readouterr()
    assert code == 2
    assert said.err.count("\n") == 1
    assert message in said.err
    assert sorted(folder.rglob("*")) == before


def test_what_a_worker_refuses_is_said_as_by_one_process(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = made(100)
    frame.loc[70, "label"] = "hihg"
    write(folder / "label.parquet", frame, group=100)
    assert main(["count", "label.parquet", "--taxonomy", "taxonomy.toml", "--workers", "2"]) == 2
    assert "'hihg' is not a class of the taxonomy (did you mean 'high'?)" in capsys.readouterr().err


def test_no_taxonomy_is_a_misuse(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", ".", "--taxonomy", "tirage"]) == 2
    assert "there is no study 'tirage'" in capsys.readouterr().err
    (folder / "broken.toml").write_text("[taxonomy")
    assert main(["count", ".", "--taxonomy", "broken.toml"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_parts_cover_every_row_once(folder: Path) -> None:
    parts, columns = find_parts([folder], ["label"], ["item_id", "nothing"])
    assert columns == ("label", "item_id")
    for path in {part.path for part in parts}:
        of = [part for part in parts if part.path == path]
        assert [group for part in of for group in part.groups] == list(range(pq.ParquetFile(path).num_row_groups))
        assert [part.first for part in of] == [0, *np.cumsum([part.rows for part in of])[:-1]]
    assert sum(part.rows for part in parts) == 900


@pytest.mark.long
def test_ten_million_answers_on_two_dask_workers_are_those_of_one_process(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "taxonomy.toml").write_text(TAXONOMY)
    for number in range(64):
        rng = np.random.default_rng(number)
        rows = 10_000_000 // 64
        confidence = rng.random(rows)
        columns = {"confidence": confidence}
        columns |= {name: NAMES[rng.integers(0, 3, rows)] for name in ("label", "predicted")}
        pq.write_table(pa.table(columns), tmp_path / "answers" / f"{number}.parquet")
    source = find_source([tmp_path / "answers"], read_taxonomy(str(tmp_path / "taxonomy.toml")))
    alone = count_answers(source, workers=1)
    with cluster(tmp_path) as started:
        spread = count_answers(source, scheduler=started.address)
    assert alone.answers == source.rows == 10_000_000
    assert np.array_equal(spread.sweep.outcomes, alone.sweep.outcomes)
    assert np.array_equal(spread.sweep.decided, alone.sweep.decided)
    for name in ("confidence", "right", "wrong"):
        assert np.array_equal(getattr(spread.cells, name), getattr(alone.cells, name))
