"""The two files that a router is built from: its policy, and beside it the evidence that the policy was tuned on.

A policy names its evidence by digest, so the two are written, read and refused together.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.rules.documents import DocumentError
from assay.rules.evidence import AgreementReport
from assay.rules.routing_policy import RoutingPolicy
from assay.rules.sealed import load_text, save_text


def evidence_path(policy_path: str | os.PathLike[str]) -> Path:
    """Say where the evidence of a policy file stands: ``routing.json`` has ``routing.evidence.json`` beside it."""
    path = Path(policy_path)
    return path.with_name(f"{path.stem}.evidence.json")


def save_routing(policy: RoutingPolicy, evidence: AgreementReport, path: str | os.PathLike[str]) -> None:
    """Write a policy and its evidence, each whole or not at all, the evidence first.

    Parameters
    ----------
    policy : RoutingPolicy
    evidence : AgreementReport
    path : path
        Of the policy; see `evidence_path` for the other.

    Raises
    ------
    ValueError
        If the policy names other evidence.
    OSError
        If a file cannot be written.
    """
    if policy.evidence not in (None, evidence.digest()):
        raise ValueError(f"the policy was tuned on evidence {policy.evidence}, got {evidence.digest()}")
    # A policy without its evidence is refused by the router; evidence without a policy is merely kept.
    save_text(evidence_path(path), evidence.to_json() + "\n")
    save_text(Path(path), policy.to_json() + "\n")


def load_routing(path: str | os.PathLike[str]) -> tuple[RoutingPolicy, AgreementReport]:
    """Read a policy and the evidence beside it, as `RoutingClassifier` takes them.

    Raises
    ------
    DocumentError
        If a file cannot be read or does not hold what it should; the message begins with the file's name.
    """
    file, beside = Path(path), evidence_path(path)
    policy, evidence = load_text(file), load_text(beside)
    with _named(file):
        read = RoutingPolicy.from_json(policy)
    with _named(beside):
        return read, AgreementReport.from_json(evidence)


@contextmanager
def _named(file: Path) -> Iterator[None]:
    try:
        yield
    except DocumentError as error:
        raise DocumentError(f"{file.name}: {error}") from None
