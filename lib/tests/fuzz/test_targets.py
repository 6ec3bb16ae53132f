"""Every reader on mutated documents, a few of each in every run; the coverage-guided fuzzer on all of them at length."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import fuzz_runner
import fuzz_seeds
import fuzz_targets
import pytest
from fuzz_targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.rules.parsing import AnswerError

HERE = Path(__file__).parent
POLICY = fuzz_seeds.seeds("policy")[0].decode()
TAXONOMY, PROMPT, STUDY = fuzz_seeds.TAXONOMIES[0], fuzz_seeds.PROMPTS[0], fuzz_seeds.STUDIES[1]

FOUND = {
    "taxonomy": (
        TAXONOMY.replace("0.95", "1" * 400),
        TAXONOMY.replace("0.95", "1" * 5_000),
        TAXONOMY.replace("rank = 1", f"rank = 0x{'f' * 5_000}"),
        TAXONOMY.replace("threshold_exempt", "q" * 5_000),
        '[taxonomy]\nabstain = "x"\nclass = [{ name = "a" }]\nthreshold_exempt = ["' + "q" * 5_000 + '"]\n',
    ),
    "prompt": (
        PROMPT.replace("n = 3", f"n = 0x{'f' * 5_000}"),
        PROMPT.replace("50", "1" * 5_000),
        PROMPT.replace('kind = "choice"', 'kind = "choice"\nx = 2020-01-01'),
        PROMPT.replace('kind = "choice"', f'kind = "choice"\nx = 0x{"f" * 5_000}'),
        PROMPT.replace("[questions.s]", "[questions.s]\n" + "a." * 3_000 + "a = 1"),
        f"contract = '{'q' * 5_000}'\nname = 'p'\n",
    ),
    "study": (
        STUDY.replace("red = 0.5", f"red = {'1' * 400}"),
        STUDY.replace("misroute = 10", f"misroute = {'1' * 400}"),
        STUDY.replace("seed = 7", f"seed = 0x{'f' * 5_000}"),
    ),
    "policy": (
        POLICY.replace("-0.4", "1" * 400),
        *(POLICY.replace('"seed": 3', '"seed": ' + "[" * depth + "]" * depth) for depth in (500, 980, 985, 990, 5_000)),
    ),
    "prices": (
        '{"m": {"input_per_million": 1, "output_per_million": 2e-' + "8" * 100 + "}}",
        '{"m": {"input_per_million": ' + "1" * 40 + '.5, "output_per_million": 0}}',
        '{"a\\nb": 1}',
        '{"' + "k" * 5_000 + '": 1}',
    ),
}
"""Inputs on which a reader once did worse than it should; whatever fuzzing finds belongs here."""

fragments = st.sampled_from(
    [
        *'{}[]":,\\=.#-\n\t \x01\x02\0',
        "```",
        "<think>",
        "null",
        "true",
        "NaN",
        "1e999",
        "-0",
        "9" * 400,
        '"""',
        "\\ud800",
    ]
).map(str.encode) | st.binary(min_size=1, max_size=4)


@st.composite
def mutations(draw, target):
    """A seed some of whose pieces are cut out, doubled, moved or replaced by what formats take for a sign."""
    text = draw(st.sampled_from(fuzz_seeds.seeds(target)))
    for _ in range(draw(st.integers(1, 4))):
        low, high = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        high = min(high, low + draw(st.sampled_from([0, 1, 8, 10_000])))
        piece = draw(st.sampled_from([b"", text[low:high] * 2, text[:30]]) | fragments)
        text = text[:low] + piece + text[high:]
    return text


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_mutated_document_is_a_value_or_the_error_of_its_reader(target, data, record_tried):
    TARGETS[target](data.draw(mutations(target) | st.binary(max_size=60)))
    record_tried("documents mutated for every reader", 1)


@pytest.mark.parametrize("target", TARGETS)
def test_every_seed_and_all_that_was_ever_found_is_right(target, record_tried):
    inputs = [*fuzz_seeds.seeds(target), *(text.encode() for text in FOUND.get(target, ()))]
    for one in inputs:
        TARGETS[target](one)
    record_tried("documents that once were read wrongly, and seeds", len(inputs))


@pytest.mark.parametrize("target", ["classification", "distribution", "verdict"])
def test_a_parser_that_quotes_the_model_is_found(target, monkeypatch):
    def quoting(text, *_):
        try:
            raise ValueError(text)
        except ValueError:
            raise AnswerError("not_json", "no answer") from None

    monkeypatch.setattr(fuzz_targets, f"parse_{target}", quoting)
    TARGETS[target](b"{}")
    with pytest.raises(AssertionError):
        TARGETS[target](b"\x01")


def test_a_reader_that_lets_a_foreign_error_through_is_found(monkeypatch):
    monkeypatch.setattr("assay.rules.taxonomy.Taxonomy.from_dict", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        TARGETS["taxonomy"](b"")


guided = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None and not os.environ.get("ASSAY_REQUIRE_FUZZ"),
    reason="atheris is not installed",
)


@guided
@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_the_guided_fuzzer_finds_nothing(target, tmp_path, record_tried):
    outcome = fuzz_runner.fuzz(target, 3, tmp_path)
    record_tried("inputs of the coverage-guided fuzzer", outcome.tried, lost=int(outcome.finding is not None))
    assert outcome.finding is None, outcome.said
    assert outcome.tried > 0


@guided
@pytest.mark.long
def test_a_finding_is_saved_named_and_repeated(tmp_path):
    shutil.copytree(HERE, tmp_path / "fuzz", ignore=shutil.ignore_patterns("__pycache__", "test_*"))
    (tmp_path / "fuzz" / "fuzz_targets.py").write_text(
        "def brittle(data):\n    assert data[:3] != b'bad'\ndef sound(data):\n    pass\n"
        "TARGETS = {'brittle': brittle, 'sound': sound}\n"
    )
    (tmp_path / "fuzz" / "fuzz_seeds.py").write_text("def seeds(target):\n    return [b'ba']\n")

    def run(*words):
        command = [sys.executable, str(tmp_path / "fuzz"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    done = run("--seconds", "20", "--findings", str(tmp_path / "found"))
    (saved,) = (tmp_path / "found").iterdir()
    assert done.returncode == 1
    assert f"again: python lib/tests/fuzz brittle --repeat {saved}" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["brittle", "sound"]
    assert "nothing found" in done.stdout.splitlines()[1]
    assert saved.read_bytes().startswith(b"bad")
    assert "AssertionError" in run("brittle", "--repeat", str(saved)).stderr
    assert run("sound", "--repeat", str(saved)).returncode == 0
    assert "there is no target 'other'; there are brittle, sound" in run("other").stderr
