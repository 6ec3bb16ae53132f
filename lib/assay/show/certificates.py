"""What had to be shown and what was: the criterion, the gates with their bounds, and the policy file."""

from collections.abc import Sequence

import pandas as pd

from assay.measure.binomial import UNDECIDED
from assay.measure.gates import GateFinding, rounded_down, rounded_up
from assay.measure.operating import gate_name
from assay.measure.tuning import Tuned
from assay.rules.documents import OneLineError
from assay.show.opening import Opened
from assay.show.policies import write_policy_file
from assay.show.tables import Format, Table
from assay.show.words import Words, listed, percent


class PolicyChoiceError(OneLineError):
    """A policy file was asked for where several series are chosen."""


def criterion(tuned: Sequence[Tuned]) -> Table:
    """The gates, and how many items each series has to judge them by."""
    rows = []
    for gate in tuned[0].gates:
        of = gate.classes[0] if gate.classes else "all accepted answers"
        held = [_held(one, gate.classes) for one in tuned]
        rows.append(
            {
                "gate": gate_name(gate),
                "of": of,
                "target": gate.target,
                "allowed chance of a false pass": gate.delta,
                "items held": f"{min(held):,}" if min(held) == max(held) else f"{min(held):,} to {max(held):,}",
            }
        )
    caption = "The acceptance criterion, as study.toml fixes it"
    formats = dict.fromkeys(("target", "allowed chance of a false pass"), ".3g")
    return Table(pd.DataFrame(rows), caption=caption, name="criterion", formats=formats)


def certificate_table(tuned: Sequence[Tuned]) -> Table:
    """One row per series and gate: counts, exact one-sided bounds, verdict and labels still needed."""
    rows = [
        {
            "series": one.series.name,
            "gate": gate_name(finding.gate),
            "target": finding.gate.target,
            "counted": f"{finding.successes:,} of {finding.trials:,}",
            "share": finding.estimate,
            "at least": finding.lower,
            "at most": finding.upper,
            "each bound at": f"{percent(1 - finding.gate.delta, 1)}",
            "verdict": finding.verdict,
            "labels held": finding.held,
            "fewest that could pass": finding.fewest,
            "further labels at this rate": _further(finding),
            "policy": one.certificate.verdict,
        }
        for one in tuned
        for finding in one.certificate.gates
    ]
    caption = "Gates at each series' operating point: exact binomial bounds on one answer per item"
    formats: dict[str, Format] = {"target": ".3g", "share": ".3f", "at least": rounded_down, "at most": rounded_up}
    levels = sorted({str(row["each bound at"]) for row in rows})
    alike = len(levels) == 1
    return Table(
        pd.DataFrame(rows),
        caption=caption,
        name="certificates",
        formats=formats,
        hidden=["each bound at"] if alike else (),
        note=f"Each bound holds at a confidence of {levels[0]}." if alike else "",
    )


def write_policy(tuned: Sequence[Tuned], opened: Opened, path: str) -> Words:
    """Write the policy of the one series there is to `path`, and say what it may be used for; "" writes nothing.

    Raises
    ------
    PolicyChoiceError
        If there are several series: a policy belongs to one.
    """
    if not path:
        return Words("No policy file was asked for; the parameter policy names where to write one.")
    if len(tuned) != 1:
        raise PolicyChoiceError(
            f"policy {path}: a policy belongs to one series, and {len(tuned)} are chosen here "
            f"({listed([one.series.name for one in tuned])}); choose one with model, prompt, calibration and elicitation"
        )
    one = tuned[0]
    use = write_policy_file(one.certificate, one.table.taxonomy, opened, one.series, path)
    return Words(f"The policy file was written: threshold {one.threshold:.3g}, tie margin {one.tie_margin:.3g}. {use}")


def _held(one: Tuned, classes: tuple[str, ...]) -> int:
    answers = one.series.answers
    return int((answers if not classes else answers[answers["label"].isin(classes)])["item_id"].nunique())


def _further(finding: GateFinding) -> str:
    if finding.further is None:
        return "over 10,000"
    if finding.further == 0:
        return "none would help" if finding.verdict == UNDECIDED else "none needed"
    return f"{finding.further:,}"
