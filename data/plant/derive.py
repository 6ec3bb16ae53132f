"""Make raw/answers_trained.parquet again from the items: `python data/plant/derive.py`, then write the manifest."""

from pathlib import Path

from assay.ask.trained import answer_study
from assay.study import load_study, write_manifest

FOLDER = Path(__file__).parent

if __name__ == "__main__":
    answers, _ = answer_study(load_study(FOLDER))
    answers.to_parquet(FOLDER / "raw" / "answers_trained.parquet", compression="zstd", index=False)
    write_manifest(FOLDER)
