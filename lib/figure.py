"""Draw the figure of the README again: writes lib/figure.svg (`make figure`).

One study, three origins of a confidence: written by a model, read off its tokens, and of a trained classifier.
"""

from dataclasses import replace
from pathlib import Path

from assay.files import write_whole
from assay.measure import calibration_report
from assay.show.reliability import reliability
from assay.study import each_series, load_study

STUDY = "plant"
PANELS = {
    ("traps", "verbal"): "the number a language model wrote",
    ("traps", "token"): "the same model's token probability",
    ("text", ""): "a trained classifier's probability",
}
FILE = Path(__file__).with_name("figure.svg")


def main() -> None:
    """Write the file and print what it shows, for its text alternative."""
    study = load_study(STUDY)
    found = {(series.prompt, series.elicitation): series for series in each_series(study)}
    shown = [replace(found[key], name=name) for key, name in PANELS.items()]
    figure = reliability([report for one in shown if (report := calibration_report(one, seed=study.seed))])
    write_whole(FILE, figure.svg)
    print(figure.title)
    print(figure.alt)


if __name__ == "__main__":
    main()
