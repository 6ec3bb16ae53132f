import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules import Gate, LabelClass, Taxonomy, TaxonomyError

PLANT = """
title = "ignored here"
[taxonomy]
abstain = "unclear"
threshold_exempt = ["procedural"]
never_loosen = true
[[taxonomy.class]]
name = "historical"
meaning = "what happened"
[[taxonomy.class]]
name = "unclear"
rank = 2
[[taxonomy.class]]
name = "procedural"
rank = 3
[[taxonomy.context]]
class = "historical"
missing = "time_expression"
[[gate]]
metric = "class_accuracy"
classes = ["procedural", "unclear"]
target = 0.9
"""


def test_a_toml_text_gives_classes_ranks_exemptions_context_and_gates():
    taxonomy = Taxonomy.from_toml(PLANT)
    assert taxonomy.names == ("historical", "unclear", "procedural")
    assert taxonomy.rank("procedural") == 3
    assert taxonomy.never_loosen
    assert taxonomy.gates == (Gate("class_accuracy", ("procedural", "unclear"), 0.9, 0.05),)
    assert [gate.classes for gate in taxonomy.gates[0].each()] == [("procedural",), ("unclear",)]
    assert taxonomy.gated == ("unclear", "procedural")


def test_a_taxonomy_survives_its_dict_and_its_digest_follows_its_content():
    taxonomy = Taxonomy.from_toml(PLANT)
    again = Taxonomy.from_dict(taxonomy.to_dict())
    assert again == taxonomy
    assert again.digest() == taxonomy.digest()
    assert Taxonomy.from_toml(PLANT.replace("rank = 3", "rank = 4")).digest() != taxonomy.digest()


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('["procedural"]\nnever', '["procedurl"]\nnever', ["taxonomy.threshold_exempt", "procedurl", "'procedural'"]),
        ('class = "historical"', 'class = "history"', ["taxonomy.context.class", "history"]),
        ('["procedural", "unclear"]', '["procedural", "nothing"]', ["gate class_accuracy classes", "nothing"]),
        ('"class_accuracy"', '"accuracy"', ["metric", "accuracy", "caught"]),
        ("target = 0.9", "target = 1.5", ["gate target", "1.5"]),
        ("target = 0.9", "target = true", ["gate target", "True"]),
        ("target = 0.9", "tarjet = 0.9", ["tarjet", "'target'"]),
        ("never_loosen", "never_losen", ["never_losen", "'never_loosen'"]),
        ("never_loosen = true", "never_loosen = 1", ["never_loosen", "1"]),
        ("rank = 3", "rank = 3.5", ["rank", "3.5"]),
        ("rank = 3", "rank = true", ["rank", "True"]),
        ('name = "unclear"', 'name = " Historical"', ["repeats", "historical"]),
        ('name = "unclear"', 'name = " "', ["name", "blank"]),
        ('abstain = "unclear"', 'abstain = "Unclear"', ["abstain", "case"]),
        ('abstain = "unclear"', "", ["taxonomy.abstain", "missing"]),
        ("[taxonomy]", "[taxonomy", ["not TOML", "line"]),
    ],
)
def test_a_wrong_key_is_named_with_its_value(old, new, named):
    assert old in PLANT
    with pytest.raises(TaxonomyError) as raised:
        Taxonomy.from_toml(PLANT.replace(old, new, 1))
    for part in named:
        assert part in str(raised.value)


def test_a_taxonomy_without_classes_or_table_is_refused():
    with pytest.raises(TaxonomyError, match="at least one class"):
        Taxonomy((), "abstain")
    with pytest.raises(TaxonomyError, match="taxonomy: missing"):
        Taxonomy.from_toml("")


@given(st.text())
def test_no_text_gives_anything_but_a_taxonomy_or_its_error(text):
    try:
        Taxonomy.from_toml(text)
    except TaxonomyError:
        pass


def test_names_resolve_after_trimming_and_case_folding():
    taxonomy = Taxonomy((LabelClass("Straße"), LabelClass("b")), "ask me")
    assert taxonomy.resolve(" STRASSE\n") == "Straße"
    assert taxonomy.resolve("Ask Me") == "ask me"
    assert taxonomy.resolve("c") is None
    assert "ask me" not in taxonomy


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), st.sampled_from(["NFC", "NFD"]))
def test_a_name_is_one_name_in_one_piece_or_in_two(name, form):
    name = unicodedata.normalize(form, "é" + name + "å")
    rewritten = unicodedata.normalize("NFD" if form == "NFC" else "NFC", name)
    taxonomy = Taxonomy((LabelClass(name),), "ask", (rewritten,), gates=(Gate("class_accuracy", (rewritten,)),))
    for spelled in (name, rewritten, f" {rewritten.casefold()} "):
        assert taxonomy.resolve(spelled) == unicodedata.normalize("NFC", name)
    with pytest.raises(TaxonomyError, match="repeats"):
        Taxonomy.of(name, rewritten)


def test_letters_that_only_look_alike_stay_different():
    taxonomy = Taxonomy.of("a", "\uff41", "fi", "\ufb01x")
    assert taxonomy.resolve("\uff41") == "\uff41"
    assert taxonomy.resolve("\u00aa") is None


def test_the_rules_import_the_standard_library_only():
    code = (
        "import sys, time; began = time.perf_counter(); import assay.rules; took = time.perf_counter() - began;"
        "heavy = {'numpy', 'pandas', 'openai', 'pydantic', 'scipy'} & set(sys.modules);"
        "rooms = {name for name in sys.modules if name.startswith('assay.') and not name.startswith('assay.rules')};"
        "assert not heavy, heavy; assert not rooms, rooms"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
