"""A study in which everybody wrote attacks: its pages hold nothing that acts, and its tables nothing that is run.

The title, the source, models, prompts, classes, items, texts, tags and completions are markup and formulas at once.
"""

import base64
import csv
import io
import json
import re
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

import pytest
from repositories import FIXTURE, SHIPPED, TESTS, make_repository

from assay.__main__ import main

ATTACKS = json.loads((TESTS / "show" / "attacks.json").read_text(encoding="utf-8"))
MARK = "alert(1)"
ACTIVE = {
    "script",
    "iframe",
    "object",
    "embed",
    "form",
    "input",
    "button",
    "base",
    "link",
    "video",
    "audio",
    "math",
    "source",
}
FORMULA = re.compile(r"[\s\x00]*[=+\-@＝＋－＠]")
NUMBER = re.compile(r"[+\-]?[\d.]+(e[+\-]?\d+)?%?|-?inf|nan", re.IGNORECASE)


class Page(HTMLParser):
    """Collects what in a page acts or leads elsewhere, and the tables that it offers."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.tables: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ACTIVE:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            value = value or ""
            if name.startswith("on") or name in ("srcdoc", "srcset", "action", "formaction", "background"):
                self.faults.append(f"<{tag} {name}>")
            if tag == "meta" and name == "http-equiv" and value.lower() != "content-security-policy":
                self.faults.append(f"<meta {value}>")
            if name in ("href", "src", "xlink:href"):
                kind, _, payload = value.partition(",")
                if kind.startswith("data:text/csv"):
                    raw = base64.b64decode(payload) if "base64" in kind else urllib.parse.unquote_to_bytes(payload)
                    self.tables.append(raw.decode("utf-8-sig"))
                elif not re.match(r"#|data:image/(png|svg)|[\w./-]+\.html|[\w./-]*$", value):
                    self.faults.append(f"<{tag} {name}={value[:40]}>")
            if name == "style" and "url(" in value:
                self.faults.append(f"<{tag} style>")


def run_in_spreadsheets(table: str) -> list[str]:
    """List the cells of a table that a spreadsheet would run."""
    rows = csv.reader(io.StringIO(table, newline=""))
    return [cell for row in rows for cell in row if FORMULA.match(cell) and not NUMBER.fullmatch(cell)]


def attack(number: int) -> str:
    """Return one of the attacks, a formula and markup at once, different for each number."""
    return f"=cmd|'/C calc'!A{number} {ATTACKS[number % len(ATTACKS)]}".replace("\t", " ").replace('"', "'")


def hostile_repository(folder: Path, notebooks: tuple[Path, ...]) -> Path:
    repository = make_repository(folder, notebooks)
    study = repository / "data" / "small"
    text = (study / "study.toml").read_text().replace('title = "Small"', f"title = {json.dumps(attack(0))}")
    text = text.replace('source = "written for a test"', f"source = {json.dumps(attack(1))}")
    text = text.replace('licence = "MIT"', f"licence = {json.dumps(attack(2))}").replace("[[answers]]", "ANSWERS", 1)
    names = {"a": attack(3), "b": attack(4)}
    for old, new in names.items():
        text = text.replace(f'{{ name = "{old}"', f"{{ name = {json.dumps(new)}").replace(
            f'["{old}"]', f"[{json.dumps(new)}]"
        )
    text = text.replace("items.file =", 'items.tags = ["set"]\nitems.file =').replace("ANSWERS", "[[answers]]")
    (study / "study.toml").write_text(text)
    items = [json.loads(line) for line in (study / "items.jsonl").read_text().splitlines()]
    for number, item in enumerate(items):
        item |= {"text": attack(number), "label": names[item["label"]], "set": attack(5 + number % 2)}
        item["item_id"] = attack(100 + number)
    answers = [json.loads(line) for line in (study / "answers.jsonl").read_text().splitlines()]
    for number, answer in enumerate(answers):
        said = json.loads(answer["completion"])
        wrong = attack(200) if number % 9 == 0 else names[said["label"]]
        answer["completion"] = attack(number) if number % 7 == 0 else json.dumps({**said, "label": wrong})
        answer |= {"item_id": attack(100 + int(answer["item_id"][1:])), "prompt": attack(10)}
        answer["model"] = attack(11 if answer["model"] == "large" else 12)
    for name, rows in (("items.jsonl", items), ("answers.jsonl", answers)):
        (study / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return repository


def check(page: Path) -> tuple[int, int]:
    """Look at a page; return how many texts of attackers it shows as texts, and how many tables it offers."""
    found = Page()
    text = page.read_text(encoding="utf-8")
    found.feed(text)
    found.close()
    assert found.faults == []
    assert [cell for table in found.tables for cell in run_in_spreadsheets(table)] == []
    return text.count(MARK), len(found.tables)


SHIPPED_NOTEBOOKS = ["10_calibrate", "20_thresholds", "30_prompts", "40_routing", "90_review"]


@pytest.mark.parametrize("name", ["fixture", *(pytest.param(one, marks=pytest.mark.long) for one in SHIPPED_NOTEBOOKS)])
def test_what_everybody_wrote_is_text_in_pages_and_tables(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], record_tried
) -> None:
    file = FIXTURE if name == "fixture" else SHIPPED / f"{name}.ipynb"
    repository = hostile_repository(tmp_path / "r", (file,))
    monkeypatch.chdir(repository)
    # Of the two models one is to be the cheap one; without that there is nothing to route between, and no table.
    routed = f"[40_routing]\ncheap = {json.dumps(attack(12))}\nexpensive = {json.dumps(attack(11))}\n"
    (repository / "data" / "small" / "report.toml").write_text(routed if name == "40_routing" else "")
    (repository / "grid.yaml").write_text(f"notebook: {file.stem}\nproduct: {{study: [small], part: [all]}}\n")
    assert main(["report", "small"]) == 0, capsys.readouterr().err
    seen = [check(page) for page in (repository / "reports").rglob("*.html")]
    shown = sum(texts for texts, _ in seen)
    assert shown > 0, "there was nothing to escape"
    assert name == "fixture" or sum(offered for _, offered in seen) > 0
    assert main(["grid", "grid.yaml", "--workers", "1"]) == 0
    assert main(["results", "--output", "table.csv"]) == 0
    tables = [*repository.glob("*.csv"), *repository.glob("reports/grids/*.csv")]
    bad = [cell for table in tables for cell in run_in_spreadsheets(table.read_text(encoding="utf-8-sig"))]
    record_tried("attacks in what everybody wrote, shown as text", shown, lost=len(bad))
    assert len(tables) == 2
    assert bad == []


def test_the_check_of_a_page_finds_what_acts(tmp_path: Path) -> None:
    for number, one in enumerate(
        ["<script>x</script>", "<img src=x onerror=y>", "<a href='javascript:x'>y</a>", "<base href=x>"]
    ):
        (tmp_path / f"{number}.html").write_text(one)
        with pytest.raises(AssertionError):
            check(tmp_path / f"{number}.html")
    assert run_in_spreadsheets("a,=1+1\n-1.5,-x\n") == ["=1+1", "-x"]
