"""Fixing a policy that was picked by hand: the file, and what it may be called.

The verdict in the file is that of `assay.measure.by_hand`, so looking at items never certifies anything on them. Files
are never written over, and the folder of policies remembers which series was picked before.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.files import repository_root
from assay.measure.by_hand import certify_by_hand
from assay.measure.certificate import Certificate
from assay.rules.policy import Policy, PolicyError, load_policy
from assay.show.opening import Opened
from assay.show.policies import write_policy_file
from assay.study.series import KEYS, Series

FOLDER = Path("reports") / "policies"
"""Where policies go, from the root of the repository."""


@dataclass(frozen=True)
class Fixed:
    """A policy that was written: its file, the certificate it tells of, and both in words."""

    path: Path
    certificate: Certificate
    words: str


def usual_path(study: str, series: str, point: tuple[float, float]) -> Path:
    """Return where a policy goes unless another place is named, from the root of the repository."""
    name = re.sub(r"[^a-z0-9]+", "-", f"{study} {series}".lower()).strip("-")[:120]
    return FOLDER / f"{name}-t{point[0]:.9g}-m{point[1]:.9g}.json"


def fix_policy(opened: Opened, series: Series, point: tuple[float, float], path: str | Path) -> Fixed:
    """Write the policy of a point that was picked by hand while the items of `opened.study` were on show.

    Parameters
    ----------
    opened : Opened
    series : Series
        One of its series; the policy is for all of it, whatever subgroup was looked at.
    point : (threshold, tie margin)
    path : str or Path
        A file that is not there yet, from the root of the repository.

    Raises
    ------
    FileExistsError
        If there is such a file already; it stays as it is.
    ValueError
        If the path does not end in ``.json``.
    """
    given = Path(path)
    file = repository_root() / given
    if file.suffix != ".json":
        raise ValueError(f"the policy file must end in .json, got {given.as_posix()!r}")
    if file.exists():
        raise FileExistsError(f"{given.as_posix()} is there already and stays as it is; give another name")
    whole = opened.whole
    study = opened.unsplit or opened.study
    answers = study.answers
    own = (answers[list(KEYS)].fillna("") == [getattr(series, key) for key in KEYS]).all(axis=1)
    certificate = certify_by_hand(
        answers[own].reset_index(drop=True),
        whole.taxonomy,
        point,
        seen=opened.study.items["item_id"].tolist(),
        parts=whole.parts(),
        seed=whole.seed,
        certification_share=whole.certification_share,
        earlier=_earlier(opened, series, point, file.parent),
    )
    use = write_policy_file(certificate, whole.taxonomy, opened, series, file)
    return Fixed(file, certificate, f"Written: {given.as_posix()}. {certificate.reason} {use}")


def _earlier(opened: Opened, series: Series, point: tuple[float, float], folder: Path) -> str:
    """Say which other point of this series was fixed before; empty if none was."""
    for file in _files(folder):
        try:
            policy = load_policy(file)
        except PolicyError:
            continue
        if _about(policy, opened, series) and (policy.threshold, policy.tie_margin) != point:
            return f"threshold {policy.threshold:.9g} and tie margin {policy.tie_margin:.9g} in {file.name}"
    return ""


def _files(folder: Path) -> Iterator[Path]:
    for place in dict.fromkeys((repository_root() / FOLDER, folder)):
        yield from sorted(place.glob("*.json"))


def _about(policy: Policy, opened: Opened, series: Series) -> bool:
    """Tell whether a policy was made on this very data for this series."""
    whole = opened.whole
    named = (policy.model, policy.prompt, policy.elicitation)
    mine = (series.model, series.prompt, series.elicitation)
    # A policy leaves open what a study does not name.
    same = all(one is None or str(one) == other for one, other in zip(named, mine, strict=True))
    return (
        same
        and policy.calibration == series.calibration
        and policy.data_sha256 == whole.data_sha256
        and policy.seed == whole.seed
        and policy.taxonomy == whole.taxonomy
    )
