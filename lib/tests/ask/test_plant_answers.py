"""The recorded answers of the trained arm are what the shipped items and split give."""

import numpy as np
import pandas as pd
import pytest

from assay.ask.trained import answer_study
from assay.study import load_study


@pytest.mark.long
def test_the_recorded_answers_of_the_trained_arm_come_out_again():
    study = load_study("plant")
    again, _ = answer_study(study)
    recorded = pd.read_parquet(study.folder / "raw" / "answers_trained.parquet")
    assert recorded["item_id"].tolist() == again["item_id"].tolist()
    np.testing.assert_allclose(recorded["confidence"], again["confidence"], atol=1e-6)
    assert (recorded["predicted"] == again["predicted"]).mean() > 0.999
