"""What notebook 00 shows: what was collected, what was written, and how much the confidence knows."""

import html
import re

import pandas as pd
import pytest

from assay.measure import hygiene_of
from assay.parameters import ParameterError, check
from assay.settings import CollectSettings, Settings
from assay.show import audit
from assay.show.collection import example_confidences, open_answers
from assay.show.hygiene import FEW, hygiene_findings, hygiene_table
from assay.show.tables import blank_columns
from assay.study import load_study


@pytest.fixture(scope="module")
def plant():
    return open_answers(check("00_collect", {"study": "plant"}))


def test_every_answer_is_counted_and_what_is_not_recorded_is_not_nought(plant):
    table = audit.collected(plant.series).frame
    assert table["answers"].sum() == len(plant.opened.study.answers)
    assert table["unreadable"].sum() == plant.opened.study.answers["error"].notna().sum()
    trained = table[table["series"].str.startswith("tfidf")].iloc[0]
    assert trained[["tokens in, mean", "cost, US$"]].isna().all()
    assert trained["no cost known"] == trained["answers"]
    assert trained["asked"] == "not recorded"


def test_the_written_confidence_stands_beside_the_token_one_with_what_each_knows(plant):
    words = str(audit.information(plant.series))
    assert words.count("the number it wrote is not shown to tell right from wrong") == 2
    assert words.count("the probability of its tokens tells right from wrong (AUROC 0.") == 2
    table = audit.information_table(plant.series).frame.set_index("series")["tells right from wrong"]
    assert table[[name for name in table.index if name.endswith("verbal")]].tolist() == ["not shown", "not shown"]


def test_confidences_copied_from_the_examples_of_the_prompt_are_told(plant):
    examples = example_confidences(plant.opened.whole)
    assert {"brief", "traps"} <= set(examples)
    assert all(0 <= one <= 1 for each in examples.values() for one in each)
    # The variant whose examples state no confidence has none to copy.
    assert "label_only" not in examples
    looks = {one.name: one for one in hygiene_of(plant.series, examples)}
    copied = next(one for name, one in looks.items() if name.endswith("traps, verbal"))
    assert copied.constant_share is not None
    assert copied.constant_share > 0.5
    assert "stands in the examples of the prompt" in str(hygiene_findings([copied]))


def test_a_series_told_by_itself_is_named_once(plant):
    for look in hygiene_of(plant.series):
        assert str(hygiene_findings([look])).count(look.name) == 1


def test_many_series_are_told_together():
    study = load_study("ci_claims")
    opened = open_answers(check("00_collect", {"study": "ci_claims"}))
    assert len(opened.series) > FEW
    words = hygiene_findings(hygiene_of(opened.series))
    assert len(words.paragraphs) <= 5
    lost = study.answers.groupby(["model", "prompt"])["error"].count()
    assert f"Some answers of {(lost > 0).sum()} of 15 series cannot be read" in str(words)
    assert f": {lost.max():,} of 1,130" in str(words)
    assert len(audit.information(opened.series).paragraphs) == 1


def test_answers_alike_are_not_ranked():
    opened = open_answers(check("00_collect", {"study": "plant", "model": "tfidf_logistic"}))
    opened.series[0].answers["correct"] = True
    opened.series[0].answers["predicted"] = opened.series[0].answers["label"]
    assert "cannot be ranked, since its answers are all right or all wrong" in str(audit.information(opened.series))
    assert audit.information_table(opened.series).frame["tells right from wrong"].tolist() == ["not defined"]


def test_what_no_answer_is_has_no_column_and_is_said_below_while_the_csv_holds_it(plant):
    table = hygiene_table(hygiene_of(plant.series, plant.examples))
    shown = table._repr_html_()
    assert {"no confidence", "off the scale", "share at 0"} <= set(table.hidden) <= set(table.frame.columns)
    assert not any(f">{name}</th>" in shown for name in table.hidden)
    assert (table.frame[["no confidence", "off the scale"]] == 0).all(axis=None)
    assert "No answer is without a confidence, off the scale" in table.note
    assert "No item is answered twice." in table.note
    assert table.note in html.unescape(shown)
    # What some answers are stays; where all have one reason, it is said once.
    assert {"unreadable", "scores sum to over 1", "alternative on top"}.isdisjoint(table.hidden)
    assert "Every unreadable answer has one reason: truncated." in table.note


def test_a_column_that_is_nought_in_all_rows_but_one_stays():
    frame = pd.DataFrame({"a": [0, 0], "b": [0, 1], "c": [None, 0.0], "d": ["none", "none"], "e": ["none", "cut 1"]})
    assert blank_columns(frame, ["a", "b", "c", "d", "e", "not there"]) == ["a", "c", "d"]


def test_what_is_recorded_of_no_answer_is_said_once_below(plant):
    trained = [one for one in plant.series if one.calibration == "classifier"]
    table = audit.collected(trained)
    assert {"runs", "why", "cost, US$", "no cost known", "asked"} <= set(table.hidden)
    assert "Not recorded for any answer: tokens in, tokens out, cost and seconds." in table.note
    assert table.note.startswith("Every answer can be read.")
    assert table.note.endswith("When it was asked is not recorded.")


def test_kinds_of_error_and_of_confidence_are_words_on_the_page():
    opened = open_answers(check("00_collect", {"study": "ci_claims"}))
    looks = hygiene_of(opened.series)
    page = "".join(
        (
            opened._repr_html_(),
            audit.collected(opened.series)._repr_html_(),
            hygiene_table(looks)._repr_html_(),
            str(hygiene_findings(looks)),
        )
    )
    page = re.sub(r'href="data:[^"]*"', "", page)
    assert "unknown class" in page
    assert "language model verbal" in page
    assert not {"unknown_class", "language_model"} & set(re.findall(r"\w+", page))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limit": 5}, "^limit says how to ask a model, and ask is False: set ask to True, or leave it out$"),
        ({"dry_run": True}, "^dry_run says how to ask a model, and ask is False"),
        (
            {"local": True, "max_cost": "2", "store": "s.sqlite"},
            "^local, max_cost, store say how to ask a model, and ask is False: set ask to True, or leave them out$",
        ),
    ],
)
def test_what_says_how_to_ask_is_refused_where_nothing_is_asked(given, said):
    with pytest.raises(ParameterError, match=said):
        check("00_collect", {"study": "plant", "prompt": "brief", **given})


def test_every_setting_that_only_asking_reads_is_among_those_refused():
    looking = {*Settings.model_fields, "ask"}
    assert set(CollectSettings.asking) == set(CollectSettings.model_fields) - looking


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prompt": None}, "^prompt must name a prompt of the study to ask with, got None$"),
        ({"model": None}, "^model must name the model to ask, unless local is True, got None$"),
        ({"local": True}, "^local asks a model of its own: leave out model and base_url$"),
        ({"max_cost": "much"}, "^max_cost must be US dollars as text, .*, got 'much'$"),
        ({"max_cost": "-1", "prices": "p.json"}, "^max_cost must be US dollars as text, .*, got '-1'$"),
        ({"max_cost": "inf", "prices": "p.json"}, "^max_cost must be US dollars as text, .*, got 'inf'$"),
        ({"max_cost": "2"}, "^max_cost needs to know what the model costs: name a price file in prices$"),
        ({"limit": 0}, "^limit must be a whole number from 1"),
    ],
)
def test_settings_that_cannot_ask_are_refused_under_the_names_that_the_notebook_has_for_them(given, said):
    with pytest.raises(ParameterError, match=said) as refused:
        check("00_collect", {"study": "plant", "ask": True, "prompt": "brief", "model": "m", **given})
    assert "--" not in str(refused.value)


def test_a_local_model_costs_nothing_and_its_limit_needs_no_prices():
    settings = check(
        "00_collect", {"study": "plant", "ask": True, "prompt": "brief", "local": True, "max_cost": "2.50"}
    )
    assert settings.max_cost == "2.50"
