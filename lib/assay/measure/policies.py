"""From a certificate to the policy that a service loads, and answers as that policy sees them."""

import datetime

import pandas as pd

import assay
from assay.measure.certificate import Certificate
from assay.rules import Taxonomy
from assay.rules.gate_result import GateResult
from assay.rules.policy import Policy
from assay.rules.recalibration import RecalibrationMap

REVIEW_DAYS = 180
"""A policy is to be looked at again after so many days, unless it says otherwise."""


def policy_of(
    certificate: Certificate,
    taxonomy: Taxonomy,
    *,
    date: datetime.date,
    review_by: datetime.date | None = None,
    recalibration: RecalibrationMap | None = None,
    prompt_sha256: str | None = None,
    data_sha256: str | None = None,
) -> Policy:
    """Write a certificate down as a policy.

    Parameters
    ----------
    certificate : Certificate
        Of answers whose calibration is named. One that did not pass gives a policy of the point it describes, with its
        verdict, which nothing applies unless told to by name.
    taxonomy : Taxonomy
        The one certified under.
    date : datetime.date
    review_by : datetime.date, optional
        180 days later by default.
    recalibration : RecalibrationMap, optional
        The map that the certified answers went through (see `recalibrated_answers`).
    prompt_sha256, data_sha256 : str, optional

    Raises
    ------
    PolicyError
        If a field is out of range or contradicts another.
    """
    return Policy(
        taxonomy=taxonomy,
        calibration=certificate.series.get("calibration", ""),  # type: ignore[arg-type]
        elicitation=certificate.series.get("elicitation"),  # type: ignore[arg-type]
        model=certificate.series.get("model"),
        prompt=certificate.series.get("prompt"),
        threshold=certificate.shown_at[0],
        tie_margin=certificate.shown_at[1],
        gates=tuple(
            GateResult(
                metric=finding.gate.metric,
                label=finding.gate.classes[0] if finding.gate.classes else None,
                target=finding.gate.target,
                delta=finding.gate.delta,
                successes=finding.successes,
                trials=finding.trials,
                lower=finding.lower,
                upper=finding.upper,
                verdict=finding.verdict,
            )
            for finding in certificate.gates
        ),
        verdict=certificate.verdict,
        seed=certificate.seed,
        date=date,
        review_by=date + datetime.timedelta(days=REVIEW_DAYS) if review_by is None else review_by,
        recalibration=recalibration,
        prompt_sha256=prompt_sha256,
        data_sha256=data_sha256,
        package_version=assay.__version__,
    )


def recalibrated_answers(answers: pd.DataFrame, fitted: RecalibrationMap | None) -> pd.DataFrame:
    """Put the confidences of a tidy frame, and those of its alternatives, through a recalibration map.

    Parameters
    ----------
    answers : DataFrame
        Of the calibration and elicitation that the map was fitted on, where it names them.
    fitted : RecalibrationMap or None
        None changes nothing.

    Returns
    -------
    DataFrame
        A copy. The numbers are those that `Policy.decide` compares, to the last bit.

    Raises
    ------
    ValueError
        If the answers are of another origin than the map; both are named.
    """
    if fitted is None:
        return answers
    for calibration, elicitation in _origins(answers):
        fitted.require_source(calibration, elicitation or None)
    apply = fitted.apply
    changed = answers.copy()
    changed["confidence"] = [value if pd.isna(value) else apply(value) for value in answers["confidence"].astype(float)]
    if "alternatives" in answers:
        changed["alternatives"] = pd.Series(
            [
                {name: apply(value) for name, value in said.items()} if isinstance(said, dict) else None
                for said in answers["alternatives"]
            ],
            index=answers.index,
            dtype=object,
        )
    return changed


def _origins(answers: pd.DataFrame) -> list[tuple[str, str]]:
    if "calibration" not in answers:
        return []
    elicitation = answers["elicitation"].fillna("") if "elicitation" in answers else pd.Series("", answers.index)
    return sorted(set(zip(answers["calibration"].astype(str), elicitation.astype(str), strict=True)))
