"""Records: what they hold, where they go, and that they are there whole or not at all."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.files import repository_root, write_whole
from assay.parameters import ParameterError, check
from assay.record import Run, plain, run_name


@dataclasses.dataclass(frozen=True)
class Interval:
    low: float
    high: float


class Kind(Enum):
    VERBAL = "verbal"


def record_of(tmp_path: Path, figures: dict[str, object], **more: object) -> dict[str, object]:
    run = Run("20_thresholds", study="triage", record=str(tmp_path / "record.json"))
    run.record(figures, **more)  # type: ignore[arg-type]
    content: dict[str, object] = json.loads(run.path.read_text())
    return content


def test_a_run_refuses_a_bad_parameter() -> None:
    with pytest.raises(ParameterError, match="tie_margin must be"):
        Run("20_thresholds", study="triage", tie_margin=2)


def test_a_record_holds_settings_figures_hashes_versions_and_times(tmp_path: Path) -> None:
    content = record_of(tmp_path, {"coverage": 0.5}, hashes={"data": "ab"})
    assert set(content) == {"notebook", "settings", "figures", "hashes", "versions", "times"}
    assert content["settings"]["grid"] == 101  # type: ignore[index]
    assert content["hashes"]["data"] == "ab"  # type: ignore[index]
    assert set(content["hashes"]) == {"commit", "data", "lock", "notebook"}  # type: ignore[call-overload]
    assert content["versions"]["numpy"] == np.__version__  # type: ignore[index]


def test_two_runs_differ_in_nothing_but_times(tmp_path: Path) -> None:
    first, second = (record_of(tmp_path, {"coverage": 0.5}) for _ in range(2))
    assert {**first, "times": None} == {**second, "times": None}


def test_provenance_is_what_the_record_holds_in_words(tmp_path: Path) -> None:
    run = Run("20_thresholds", study="triage", record=str(tmp_path / "record.json"))
    run.record({}, hashes={"data": "ab"})
    facts, record = run.provenance({"data": "ab"}), json.loads(run.path.read_text())
    assert facts["data, sha256"] == "ab"
    assert facts["lock file, sha256"] == record["hashes"]["lock"]
    assert facts["commit"] == record["hashes"]["commit"]
    assert "study = 'triage'" in str(facts["settings"])
    assert f"numpy {np.__version__}" in str(facts["versions"])


def test_keys_are_sorted(tmp_path: Path) -> None:
    run = Run("20_thresholds", study="triage", record=str(tmp_path / "record.json"))
    run.record({"b": 1, "a": 2})
    text = run.path.read_text()
    assert text.index('"a"') < text.index('"b"')


def test_where_the_record_goes_is_no_part_of_it(tmp_path: Path) -> None:
    assert "record" not in record_of(tmp_path, {})["settings"]  # type: ignore[operator]


def test_numbers_of_numpy_and_frames_of_pandas_are_written_as_plain_ones() -> None:
    frame = pd.DataFrame({"x": pd.array([1, None], "Int64"), "y": ["a", None]})
    figures = {
        "scalar": np.float64(0.5),
        "array": np.arange(2),
        "frame": frame,
        "series": pd.Series([1.5], index=["p"]),
    }
    assert plain(figures) == {
        "scalar": 0.5,
        "array": [0, 1],
        "frame": [{"x": 1, "y": "a"}, {"x": None, "y": None}],
        "series": {"p": 1.5},
    }


@pytest.mark.parametrize("nothing", [float("nan"), np.nan, np.float32("nan"), float("inf"), pd.NA, pd.NaT, None])
def test_what_is_no_number_becomes_null(nothing: object) -> None:
    assert plain({"x": [nothing]}) == {"x": [None]}


def test_dataclasses_enums_dates_and_sets_have_a_plain_form() -> None:
    value = {
        "i": Interval(0.1, float("nan")),
        Kind.VERBAL: Kind.VERBAL,
        "t": pd.Timestamp("2026-01-02"),
        "s": {"b", "a"},
    }
    assert plain(value) == {
        "i": {"low": 0.1, "high": None},
        "verbal": "verbal",
        "t": "2026-01-02T00:00:00",
        "s": ["a", "b"],
    }


def test_a_value_that_json_cannot_hold_is_named_by_its_place() -> None:
    with pytest.raises(TypeError, match=r"record\.sweep\[1\]\.x cannot be written to a record: object"):
        plain({"sweep": [0, {"x": object()}]})
    with pytest.raises(TypeError, match="its keys must be text or numbers, got tuple"):
        plain({(1, 2): 3})


def test_a_failed_record_leaves_the_last_one(tmp_path: Path) -> None:
    record_of(tmp_path, {"kept": 1})
    with pytest.raises(TypeError):
        record_of(tmp_path, {"broken": object()})
    assert json.loads((tmp_path / "record.json").read_text())["figures"] == {"kept": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_nested_value_survives_strict_json(value: object) -> None:
    written = plain(value)
    assert json.loads(json.dumps(written, allow_nan=False)) == written


def test_keys_and_the_home_folder_do_not_reach_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary-value-123")
    run = Run("20_thresholds", study=str(Path.home() / "triage"), record=str(tmp_path / "record.json"))
    run.record({"canary-value-123": "said canary-value-123", "at": Path.home() / "x"})
    text = run.path.read_text()
    assert "canary-value-123" not in text
    assert f'"{Path.home()}' not in text


def test_the_name_of_a_run_depends_on_its_settings_alone() -> None:
    base = run_name("20_thresholds", check("20_thresholds", {"study": "triage"}))
    assert base.startswith("20_thresholds-triage-")
    assert base == run_name("20_thresholds", check("20_thresholds", {"study": "triage", "record": "x", "grid": 101}))
    assert base != run_name("20_thresholds", check("20_thresholds", {"study": "triage", "grid": 102}))


@pytest.mark.parametrize("study", ["../../etc", "a/b", "x\x00y", "..", "/"])
def test_a_study_name_cannot_lead_a_record_elsewhere(study: str) -> None:
    name = run_name("20_thresholds", check("20_thresholds", {"study": study}))
    assert Path(name).name == name


def test_the_usual_place_is_under_the_repository_from_any_folder_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "lib" / "assay").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notebooks")
    assert repository_root() == tmp_path
    assert Run("20_thresholds", study="triage").path.parent == tmp_path / "reports" / "records"


def test_outside_a_repository_the_one_of_this_package_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert repository_root() == Path(__file__).parents[2]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / "inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_whole(target, b"x")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_a_killed_writer_leaves_the_old_or_the_new_file(record_tried: Callable[..., None], tmp_path: Path) -> None:
    target = tmp_path / "file"
    code = (
        "import sys, itertools; from pathlib import Path; from assay.files import write_whole\n"
        "for n in itertools.count(): write_whole(Path(sys.argv[1]), bytes([65 + n % 2]) * 200_000)"
    )
    for wait in (0.25, 0.3, 0.35):
        writer = subprocess.Popen([sys.executable, "-c", code, str(target)])
        time.sleep(wait)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        content = target.read_bytes() if target.exists() else b"A" * 200_000
        whole = content in (b"A" * 200_000, b"B" * 200_000)
        record_tried("kills of a process that writes a file whole", 1, lost=int(not whole))
        assert whole
