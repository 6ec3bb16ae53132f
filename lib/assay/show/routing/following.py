"""Following a pair of models from recorded answers to a routing policy and what it serves."""

from dataclasses import dataclass

import pandas as pd

from assay.ask.recorded import RecordedPair, RoutedAnswers, recorded_agreement, recorded_routing
from assay.ask.replay import DEFAULT_QUESTION
from assay.measure.floors import CONFIDENCE_FLOORS, MARGIN_FLOORS, Earned, earn, floor_map
from assay.measure.routing import JudgedRouting, along_floors, judge_routing
from assay.measure.selection import Selection
from assay.rules import AgreementReport, KindAgreement, RoutingPolicy
from assay.settings import RoutingSettings
from assay.show.opening import read_prices
from assay.show.routing.opening import OpenedPair
from assay.study.series import Series
from assay.study.study import Study


@dataclass(frozen=True)
class Followed:
    """Everything that the page on a pair is drawn from.

    Attributes
    ----------
    study : Study
        The whole study.
    cheap, expensive : Series
    pair : RecordedPair
    selection : Selection
        On which items the floors were chosen.
    choosing : Series of str
        Their ids.
    evidence : AgreementReport
        Of those items.
    earned : Earned
    policy : RoutingPolicy
    answers : DataFrame
        What both say of the judging items; see `along_floors`.
    routed, baseline : RoutedAnswers
        What the router served for them, and with routing off.
    judged : JudgedRouting
    along : DataFrame
        The routed system as the confidence floor rises, at the lowest margin floor.
    at_nearest : DataFrame
        The same at the one pair of floors that was chosen or comes nearest.
    """

    study: Study
    cheap: Series
    expensive: Series
    pair: RecordedPair
    selection: Selection
    choosing: pd.Series
    evidence: AgreementReport
    earned: Earned
    policy: RoutingPolicy
    answers: pd.DataFrame
    routed: RoutedAnswers
    baseline: RoutedAnswers
    judged: JudgedRouting
    along: pd.DataFrame
    at_nearest: pd.DataFrame

    @property
    def measured(self) -> KindAgreement:
        """The evidence about the one question that recorded answers answer."""
        return self.evidence.kinds.get(DEFAULT_QUESTION, KindAgreement())

    @property
    def judged_apart(self) -> bool:
        """Whether the items that judge are others than those that chose."""
        return self.selection.part != "all"


async def follow(opening: OpenedPair, settings: RoutingSettings) -> Followed | None:
    """Measure agreement on the choosing items, choose floors, and put the judging items through the real router.

    Returns
    -------
    Followed or None
        None where there is nothing to route between.

    Raises
    ------
    DocumentError
        If the price file cannot be read; the message names the field.
    """
    prices = read_prices(settings.prices)
    pair, selection = opening.pair, opening.selection
    if pair is None or selection is None or opening.cheap is None or opening.expensive is None:
        return None
    study, judging = opening.opened.whole, opening.judging
    evidence = await recorded_agreement(pair, opening.choosing)
    counted = floor_map(
        evidence.kinds.get(DEFAULT_QUESTION, KindAgreement()),
        settings.confidence_floors or CONFIDENCE_FLOORS,  # type: ignore[arg-type]
        settings.margin_floors or MARGIN_FLOORS,  # type: ignore[arg-type]
    )
    earned = earn(counted, min_questions=settings.min_questions, max_disagreement_rate=settings.max_disagreement_rate)
    policy = earned.policy(evidence)
    routed = await recorded_routing(pair, judging, policy, evidence=evidence, prices=prices)
    baseline = routed if earned.at is None else await recorded_routing(pair, judging, prices=prices)
    answers = pair.answers(judging)
    judged = judge_routing(
        routed.answers,
        answers,
        study.taxonomy,
        cheap=opening.cheap.model,
        chosen_on=selection.part,
        parts=study.parts(),
        seed=study.seed,
    )
    confidence, margin = counted.floors(earned.nearest)
    lowest = float(counted.margins[0])
    along = along_floors(answers, study.taxonomy, counted.confidences.tolist(), lowest, study.seed)
    at_nearest = along_floors(answers, study.taxonomy, [confidence], margin, study.seed)
    return Followed(
        study,
        opening.cheap,
        opening.expensive,
        pair,
        selection,
        opening.choosing,
        evidence,
        earned,
        policy,
        answers,
        routed,
        baseline,
        judged,
        along,
        at_nearest,
    )
