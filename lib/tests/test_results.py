"""The table of results: a row for each record, whatever a model wrote into it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from assay.__main__ import main
from assay.results import ResultsError, find_records, results_table, results_text, write_results

HOSTILE = '=HYPERLINK("http://x")\x1b[31m\n<script>'


def record(folder: Path, name: str, *, study: str = "one", **figures: object) -> Path:
    content = {
        "notebook": "20_thresholds",
        "settings": {"study": study, "delta": None, "primary": ["accuracy", "brier"]},
        "figures": {"headline": f"{study} passes", **figures},
        "hashes": {"data": "0" * 64},
        "times": {"seconds": 1.5},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content))
    return folder / f"{name}.json"


def test_a_record_is_a_row_of_settings_scalar_figures_and_hashes(tmp_path: Path) -> None:
    record(tmp_path, "a", nested={"share": 0.5, "deep": {"count": 3}}, table=[{"x": 1}])
    record(tmp_path, "b", study="two", passed=True)
    (tmp_path / ".stamp.json").write_text("{}")
    table = results_table(find_records([tmp_path]))
    assert table.columns.tolist() == [
        "record", "notebook", "settings.study", "settings.delta", "settings.primary", "figures.headline",
        "figures.nested.share", "figures.nested.deep.count", "figures.passed", "hashes.data",
    ]  # fmt: skip
    assert table.iloc[0].tolist() == [
        "a.json", "20_thresholds", "one", None, "accuracy, brier", "one passes", 0.5, 3, None, "0" * 64,
    ]  # fmt: skip
    assert table.iloc[1]["figures.passed"] is True


def test_text_that_a_model_wrote_is_neutral_in_csv_and_on_the_terminal(tmp_path: Path) -> None:
    table = results_table([record(tmp_path, "a", said=HOSTILE), record(tmp_path, "b", said="+1")])
    write_results(table, tmp_path / "table.csv")
    read = pd.read_csv(tmp_path / "table.csv")
    assert read["figures.said"].tolist() == ["'" + HOSTILE, "'+1"]
    text = results_text(table)
    assert "\x1b" not in text
    assert text.splitlines()[-2].split() == ['=HYPERLINK("http://x")', "[31m", "<script>", "one", "passes"]


def test_parquet_holds_columns_of_mixed_types(tmp_path: Path) -> None:
    files = [record(tmp_path, "a", x=1, y="one"), record(tmp_path, "b", x=0.5, y=2), record(tmp_path, "c", x=None)]
    write_results(results_table(files), tmp_path / "table.parquet")
    read = pd.read_parquet(tmp_path / "table.parquet")
    assert read["figures.x"].tolist()[:2] == [1.0, 0.5]
    assert read["figures.y"].tolist()[:2] == ["one", "2"]
    assert read[["figures.x", "figures.y"]].iloc[2].isna().all()


def test_the_terminal_shows_what_differs_and_the_rest_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("notebooks", "lib/assay"):
        (tmp_path / folder).mkdir(parents=True)
    record(tmp_path / "reports" / "records", "a", share=0.123456)
    record(tmp_path / "reports" / "records", "b", study="two", share=0.5)
    assert main(["results", "--output", "all.csv"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines() == [
        "notebook: 20_thresholds",
        "primary: accuracy, brier",
        "",
        "study  share   headline",
        "one    0.1235  one passes",
        "two    0.5     two passes",
        "",
        "all.csv: 2 runs",
    ]
    assert main(["results", "--notebook", "20_thresholds", "reports/records/a.json"]) == 0
    assert "two" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "x.json is not JSON, so no record of a run"),
        ("[]", "x.json is no record of a run: it lacks notebook, settings, figures, hashes"),
        ('{"notebook": "n", "settings": {}, "figures": []}', "x.json is no record of a run"),
        ("[" * 100_000, "x.json is not JSON"),
    ],
)
def test_a_file_that_is_no_record_is_named(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ResultsError, match=message):
        results_table(find_records([tmp_path]))


def test_misuses_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    record(tmp_path / "some", "a")
    (tmp_path / "none").mkdir()
    for words, message in [
        (["nowhere"], "nowhere: no such file or folder"),
        (["none"], "none: there is no record in it"),
        (["some", "--output", "t.xlsx"], "--output must end in .csv or .parquet, got t.xlsx"),
        (["some", "--output", "some/a.json/t.csv"], "some/a.json"),
        (["some", "--notebook", "x"], "there is no record of 'x'; there are of 20_thresholds"),
    ]:
        assert main(["results", *words]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert message in said
