"""A label outside the listed tokens, as users met it: https://github.com/comet-ml/opik/issues/1635."""

import json
from pathlib import Path

from assay.ask import read_body, token_confidence

HERE = Path(__file__).parent
(CHECK,) = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["checks"]


def test_the_probability_is_not_available_with_a_reason():
    got = read_body((HERE / CHECK["file"]).read_bytes())
    read = token_confidence(got.text, got.tokens, CHECK["labels"], path=("verdict",), answer=CHECK["answer"])
    assert read.confidence is CHECK["expect"]["confidence"] is None
    assert read.error == CHECK["expect"]["flag"]
    assert read.bounds["B"] > 0


def test_the_answer_itself_stays_usable():
    got = read_body((HERE / CHECK["file"]).read_bytes())
    assert got.error is None
    assert json.loads(got.text)["verdict"] == CHECK["answer"]
