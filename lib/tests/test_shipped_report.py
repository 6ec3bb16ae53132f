"""The report on the shipped studies, as `make report` makes it: every page finishes and can be read by everyone."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.report import Outcome, list_jobs, make_report

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Outcome]]]:
    """Make the whole report in a folder of its own."""
    folder = tmp_path_factory.mktemp("report")
    for name in ("notebooks", "data", "lib"):
        (folder / name).symlink_to(ROOT / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder / "reports", make_report(list_jobs())


def pages(report: tuple[Path, list[Outcome]]) -> list[Path]:
    folder, outcomes = report
    return [folder / "index.html", *(outcome.job.page(folder) for outcome in outcomes)]


@pytest.mark.xdist_group("shipped report")
class TestShippedReport:
    """One worker makes the report once and looks at all of it."""

    def test_every_notebook_finishes_on_every_study_and_states_its_finding(
        self, report: tuple[Path, list[Outcome]]
    ) -> None:
        assert [f"{outcome.job}: {outcome.failure}" for outcome in report[1] if outcome.failure] == []
        assert [str(outcome.job) for outcome in report[1] if not outcome.headline] == []

    def test_the_index_compares_every_study_and_kind_of_confidence(self, report: tuple[Path, list[Outcome]]) -> None:
        index = (report[0] / "index.html").read_text(encoding="utf-8")
        table = re.search(r"<h2[^>]*>Side by side</h2>.*?</table>", index, re.DOTALL)
        assert table is not None
        for study in {outcome.job.study for outcome in report[1]}:
            assert re.search(rf">\s*{study}\s*<", table.group()), study
        for kind in ("verbal", "token", "classifier", "vote"):
            assert re.search(rf">\s*{kind}\s*<", table.group()), kind

    def test_every_figure_says_its_type_its_axes_its_count_and_its_finding(
        self, report: tuple[Path, list[Outcome]]
    ) -> None:
        for path in pages(report):
            for alt in re.findall(r'<img[^>]*\balt="([^"]*)"', path.read_text(encoding="utf-8")):
                assert re.search(r"across|up\b", alt), (path.name, alt)
                assert re.search(r"n = [\d,]+", alt), (path.name, alt)

    @pytest.mark.parametrize("width", [360, 1280])
    def test_every_page_opens_without_the_network_and_fits_the_screen(
        self, report: tuple[Path, list[Outcome]], opens_alone: Callable[[Path, int], None], width: int
    ) -> None:
        for path in pages(report):
            opens_alone(path, width)

    def test_no_page_breaks_an_accessibility_rule_seriously(
        self, report: tuple[Path, list[Outcome]], serious_violations: Callable[[Path], list[str]]
    ) -> None:
        assert {path.as_posix(): found for path in pages(report) if (found := serious_violations(path))} == {}

    def test_every_record_is_json_of_the_run_that_made_it(self, report: tuple[Path, list[Outcome]]) -> None:
        records = sorted((report[0] / "records").glob("*.json"))
        assert len(records) == len(report[1])
        for record in records:
            content = json.loads(record.read_text(encoding="utf-8"))
            assert record.name.startswith(f"{content['notebook']}-{content['settings']['study']}-")
            assert content["figures"]["headline"]
