"""Tables as people have them, written in the working directory, and what is left in a folder."""

import json
from pathlib import Path
from typing import Any

import pandas as pd


def write_table(columns: dict[str, list[Any]], name: str = "answers.csv", **how: Any) -> Path:
    """Write a table as its name says: CSV (``how`` goes to pandas), JSON Lines or parquet."""
    path = Path(name)
    frame = pd.DataFrame(columns)
    if name.endswith(".csv"):
        frame.to_csv(path, index=False, **how)
    elif name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    else:
        frame.to_parquet(path)
    return path


def left(folder: Path) -> list[str]:
    """Name what is in a folder."""
    return sorted(path.name for path in folder.iterdir())
