"""From labelled questions to a review page by the commands alone, as `assay new --questions` says to go on."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from assay_test_server import completed

from assay.__main__ import main
from assay.study import load_study

ROOT = Path(__file__).parents[3]
CLASSES = ("spam", "ham", "phish")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a repository with the shipped notebooks and no study, and a file of questions."""
    for folder in ("lib/assay", "data"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns("grids", ".*"))
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    with (tmp_path / "questions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows([f"mail {n} about {CLASSES[n % 3]}", CLASSES[n % 3]] for n in range(60))
    return tmp_path


def answer(request):
    """Say what the text is about, every fifth time something else, and be less sure then."""
    text = request.body["messages"][-1]["content"]
    number = int(text.split()[1])
    label = CLASSES[(number + (number % 5 == 0)) % 3]
    return completed(json.dumps({"label": label, "confidence": 0.6 if number % 5 == 0 else 0.9, "alternatives": {}}))


def test_the_commands_that_it_names_lead_to_a_review_page(repository, threaded_server, capsys):
    assert main(["new", "mails", "--from", "questions.csv", "--questions"]) == 0
    said = capsys.readouterr().out
    assert "data/mails: made; say in prompts/first.toml what the classes mean, then ask a model:" in said
    steps = [line.split()[1:] for line in said.splitlines() if line.startswith("  assay ")]
    assert [step[0] for step in steps] == ["lint", "collect", "report"]
    assert main(["run", "90_review", "-p", "study=mails"]) == 2
    failures = capsys.readouterr().err
    assert "mails/raw/answers.parquet: there is no such file yet; `assay collect` asks a model" in failures

    assert main(steps[0]) == 0
    server = threaded_server(answer)
    asking = [word.replace("NAME", "m") for word in steps[1]] + ["--base-url", server.url]
    assert main(asking) == 0
    assert len(server.requests) == 60
    assert {one.body["messages"][-1]["content"] for one in server.requests} >= {"mail 0 about spam"}
    study = load_study("mails")
    assert sorted(study.answers["elicitation"].unique()) == ["token", "verbal"]
    assert study.answers.query("elicitation == 'verbal'")["correct"].mean() == pytest.approx(48 / 60)

    assert main(["run", "90_review", "-p", "study=mails", "--html", "page.html"]) == 0
    page = (repository / "page.html").read_text()
    assert "60 items" in page
    assert re.search(r"undecided|fail", page)


def test_a_file_without_answers_is_told_to_be_one_of_questions(repository, capsys):
    assert main(["new", "mails", "--from", "questions.csv"]) == 2
    assert "if no model has answered these questions yet, give --questions" in capsys.readouterr().err
    assert list((repository / "data").iterdir()) == []
    assert main(["new", "mails", "--from", "questions.csv", "--questions", "--scale", "100"]) == 2
    assert capsys.readouterr().err == (
        "assay: --scale is of answers, and with --questions there are none yet; leave it out\n"
    )
