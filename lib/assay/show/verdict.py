"""What the review page opens and ends with: its verdict in a sentence, and the block to sign."""

import html
from collections.abc import Sequence

from assay.measure.binomial import FAIL, PASS, UNDECIDED
from assay.measure.tuning import Tuned
from assay.show.opening import Opened
from assay.show.words import count, listed, sentence, with_interval


class Verdict:
    """The verdict of a page, before anything else on it.

    Parameters
    ----------
    verdict : {"pass", "undecided", "fail"}
    finding : str
        What it is about, in words.
    """

    def __init__(self, verdict: str, finding: str) -> None:
        self.verdict = verdict
        self.finding = finding

    def __str__(self) -> str:
        return f"{self.verdict.upper()}: {self.finding}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return (
            f'<div class="assay-verdict {html.escape(self.verdict)}" role="note">'
            f"<p><strong>{html.escape(self.verdict.upper())}.</strong> {html.escape(sentence(self.finding))}</p></div>"
        )


def verdict(tuned: Sequence[Tuned]) -> Verdict:
    """Judge the series together: pass where a policy is certified, fail where every series fails, else undecided."""
    certified = [one for one in tuned if one.certificate.passed]
    if certified:
        best = max(certified, key=lambda one: one.figures.coverage.estimate)
        return Verdict(
            PASS,
            f"{len(certified)} of {count(len(tuned), 'series', 'series')} certified; {best.series.name} acts on "
            f"{with_interval(best.figures.coverage)} of the answers",
        )
    failed = sum(one.certificate.verdict == FAIL for one in tuned)
    finding = f"no policy is certified in {count(len(tuned), 'series', 'series')}"
    if failed == len(tuned):
        return Verdict(FAIL, finding)
    return Verdict(UNDECIDED, finding + (f": {failed} failed, {len(tuned) - failed} undecided" if failed else ""))


class SignOff:
    """A block to sign on paper or in the printed PDF."""

    def __init__(self, statement: str) -> None:
        self.statement = statement

    def __repr__(self) -> str:
        return f"{self.statement} Name: ________ Role: ________ Date: ________ Signature: ________"

    def _repr_html_(self) -> str:
        fields = "".join(
            f'<div class="assay-line"><span>{html.escape(name)}</span></div>'
            for name in ("Name", "Role", "Decision (accept, accept with conditions, reject)", "Date", "Signature")
        )
        return f'<section class="assay-signoff" aria-label="Sign-off"><p>{html.escape(self.statement)}</p>{fields}</section>'


def sign_off(tuned: Sequence[Tuned], opened: Opened) -> SignOff:
    """Return the block to sign, naming exactly what is accepted by it."""
    certified = [one for one in tuned if one.certificate.passed]
    if not certified:
        return SignOff(
            f"I have read this page about {opened.whole.title}. No policy is certified by it; signing accepts none."
        )
    named = [f"{one.series.name} (threshold {one.threshold:.3g}, tie margin {one.tie_margin:.3g})" for one in certified]
    policies = listed(named, most=20)
    return SignOff(
        f"I have read this page about {opened.whole.title} and decide on the certified policies: {policies}."
    )
