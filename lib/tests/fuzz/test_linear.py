"""Reading a document or a file takes time in proportion to its length, shown by the ratio of two lengths."""

import contextlib
import gc
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzz_seeds import seeds

from assay.ask.prompts import PromptError, parse_prompt
from assay.grid import GridError, read_grid
from assay.rules import Taxonomy, TaxonomyError
from assay.rules.costs import PriceSheet
from assay.rules.documents import DocumentError
from assay.rules.evidence import AgreementReport
from assay.rules.policy import Policy, PolicyError
from assay.study import Study, StudyError
from assay.study.reading import FileSource, read_table

ERRORS = (TaxonomyError, PromptError, DocumentError, PolicyError, StudyError, GridError)
EVIDENCE = seeds("evidence")[0].decode()
PAIR = '{"confidence": 0.9, "margin": 0.8, "agreed": true}, '


def seconds(read, text):
    """Return the processor time of reading a text, the least of three, in none of which garbage is collected."""
    taken = []
    gc.disable()
    try:
        for _ in range(3):
            started = time.process_time()
            with contextlib.suppress(*ERRORS):
                read(text)
            taken.append(time.process_time() - started)
    finally:
        gc.enable()
    return min(taken)


def classes(size):
    return ", ".join(f'{{ name = "class {one}" }}' for one in range(size // 25))


TEXTS = {
    "taxonomy, many classes": (
        Taxonomy.from_toml,
        lambda size: f'[taxonomy]\nabstain = "x"\nclass = [{classes(size)}]\nthreshold_exempt = ["none of these"]\n',
    ),
    "taxonomy, unknown keys": (
        Taxonomy.from_toml,
        lambda size: "[taxonomy]\n" + "".join(f"key{one} = 1\n" for one in range(size // 12)),
    ),
    "prompt, one long text": (parse_prompt, lambda size: 'name = "p"\ncontract = "' + "x" * size + '"\n'),
    "prompt, many examples": (
        parse_prompt,
        lambda size: (
            'name = "p"\ncontract = "verdict"\nsystem = "s"\n'
            + '[[example]]\nquestion = "q"\nreply = "{}"\n' * (size // 40)
        ),
    ),
    "prices, many models": (
        PriceSheet.from_json,
        lambda size: json.dumps(
            {f"m{one}": {"input_per_million": 1, "output_per_million": 2} for one in range(size // 50)}
        ),
    ),
    "prices, the last model twice": (
        PriceSheet.from_json,
        lambda size: "{" + "".join(f'"m{one}": 1, ' for one in range(size // 8)) + '"m": 1, "m": 1}',
    ),
    "prices, one long name": (PriceSheet.from_json, lambda size: '{"' + "x" * size + '": 1}'),
    "evidence, many pairs": (
        AgreementReport.from_json,
        lambda size: EVIDENCE.replace('"comparisons": [', '"comparisons": [' + PAIR * (size // 50), 1),
    ),
    "policy, nested brackets": (Policy.from_json, lambda size: '{"format": ' + "[" * size * 10),
    "policy, unknown fields": (
        Policy.from_json,
        lambda size: "{" + ", ".join(f'"field{one}": 1' for one in range(size // 12)) + "}",
    ),
}

FILES = {
    "many rows.csv": lambda size: "a,b\n" + "1,two\n" * (size // 6),
    "many columns.csv": lambda size: (
        ",".join(f"c{one}" for one in range(size // 100)) + "\n" + "1," * (size // 100 - 1) + "1"
    ),
    "one long cell.csv": lambda size: 'a\n"' + "x,\n" * size,
    "quotes.csv": lambda size: "a\n" + '"' * size * 2,
    "blank lines.csv": lambda size: "\n" * size + "a,b\n" + "\r\n" * size + "1,2",
    "many rows.jsonl": lambda size: '{"a": 1, "b": "two"}\n' * (size // 20),
    "a key in each row.jsonl": lambda size: "".join(f'{{"k{one % 50}": {one}}}\n' for one in range(size // 48)),
    "nested.jsonl": lambda size: '{"a": ' + "[" * size * 4,
    "many entries.yaml": lambda size: (
        "notebook: 20_thresholds\nparameters:\n" + "".join(f"  p{one}: 1\n" for one in range(size // 100))
    ),
}


@pytest.mark.parametrize("shape", TEXTS)
def test_a_document_takes_time_in_proportion_to_its_length(shape, record_tried):
    read, text = TEXTS[shape]
    short, long = text(50_000), text(400_000)
    # Eight times the length: a quadratic reader would take 64 times as long. Less than a millisecond is worth no ratio.
    assert seconds(read, long) < 24 * max(seconds(read, short), 0.001)
    record_tried("long documents and files that take linear time", 1)


@pytest.mark.parametrize("name", FILES)
def test_a_file_takes_time_in_proportion_to_its_length(name, tmp_path, record_tried):
    def read(path: Path) -> None:
        read_grid(path) if path.suffix == ".yaml" else read_table(FileSource(path, path.name))

    short, long = (tmp_path / f"{size} {name}" for size in (50_000, 400_000))
    for path, size in ((short, 50_000), (long, 400_000)):
        path.write_text(FILES[name](size), encoding="utf-8")
    assert seconds(read, long) < 24 * max(seconds(read, short), 0.001)
    record_tried("long documents and files that take linear time", 1)


@pytest.mark.parametrize("count", [40_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_as_many_labels_as_items_take_time_in_proportion_to_them(count, record_tried):
    def study(labels: np.ndarray) -> None:
        frame = pd.DataFrame({"label": labels, "predicted": labels[::-1], "confidence": np.linspace(0, 1, len(labels))})
        made = Study.from_frame(frame)
        assert len(made.taxonomy.names) == len(made.parts()) == len(labels)
        with pytest.raises(StudyError, match="'none' is not a class of the taxonomy"):
            Study.from_frame(frame[:1].assign(label="none"), taxonomy=made.taxonomy)

    labels = np.array([f"label {one}" for one in range(count)])
    assert seconds(study, labels) < 24 * seconds(study, labels[: count // 8])
    record_tried("long documents and files that take linear time", 1)
