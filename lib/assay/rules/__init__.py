"""The rules a production service imports: standard library only.

Everything a policy needs at run time is here: reading a model's answer, deciding what to do with it, counting how
often a cheap model agrees with an expensive one, and routing between them. The classes that call models, and with them
`asyncio`, are imported when first asked for.
"""

from typing import TYPE_CHECKING, Any

from assay.rules.agreement import answer_margin, clears, matches_truth, values_agree
from assay.rules.answers import (
    Answer,
    Calibration,
    Elicitation,
    Question,
    QuestionError,
    answer_schema,
    validate_questions,
)
from assay.rules.calls import Call, Role, estimate_usage
from assay.rules.classifier import (
    AskError,
    Classifier,
    NotConfigured,
    Profile,
    Rejected,
    Reply,
    Transient,
    Transport,
    Usage,
    prepare_state,
)
from assay.rules.costs import CostLedger, CostTotals, Price, PriceSheet, add_up, load_prices, saving
from assay.rules.decimals import at_least, below, gap_within, nano
from assay.rules.documents import DocumentError
from assay.rules.evidence import Agreement, AgreementLog, AgreementReport, Comparison, KindAgreement, Side
from assay.rules.gate_result import GateResult
from assay.rules.parsing import (
    CLASSIFICATION_ERRORS,
    DISTRIBUTION_ERRORS,
    FLAGS,
    VERDICT_ERRORS,
    VERDICTS,
    AnswerError,
    AnswerFields,
    Verdict,
    parse_classification,
    parse_distribution,
    parse_verdict,
    read_confidence,
)
from assay.rules.policy import Policy, PolicyError, PolicyRefused, load_policy, policy_schema, save_policy
from assay.rules.recalibration import RecalibrationMap
from assay.rules.routing_files import evidence_path, load_routing, save_routing
from assay.rules.routing_policy import RouteReason, RoutingMode, RoutingPolicy, RoutingRefused, Standing, Thresholds
from assay.rules.safety import Classification, Decision, apply_safety_rules
from assay.rules.taxonomy import ContextRule, Gate, LabelClass, Taxonomy, TaxonomyError

if TYPE_CHECKING:
    from assay.rules.routing import RoutedReply, RoutingClassifier, Source
    from assay.rules.shadow import ShadowClassifier

_LATER = {
    "RoutedReply": "assay.rules.routing",
    "RoutingClassifier": "assay.rules.routing",
    "ShadowClassifier": "assay.rules.shadow",
    "Source": "assay.rules.routing",
}

__all__ = [
    "CLASSIFICATION_ERRORS",
    "DISTRIBUTION_ERRORS",
    "FLAGS",
    "VERDICTS",
    "VERDICT_ERRORS",
    "Agreement",
    "AgreementLog",
    "AgreementReport",
    "Answer",
    "AnswerError",
    "AnswerFields",
    "AskError",
    "Calibration",
    "Call",
    "Classification",
    "Classifier",
    "Comparison",
    "ContextRule",
    "CostLedger",
    "CostTotals",
    "Decision",
    "DocumentError",
    "Elicitation",
    "Gate",
    "GateResult",
    "KindAgreement",
    "LabelClass",
    "NotConfigured",
    "Policy",
    "PolicyError",
    "PolicyRefused",
    "Price",
    "PriceSheet",
    "Profile",
    "Question",
    "QuestionError",
    "RecalibrationMap",
    "Rejected",
    "Reply",
    "Role",
    "RouteReason",
    "RoutedReply",
    "RoutingClassifier",
    "RoutingMode",
    "RoutingPolicy",
    "RoutingRefused",
    "ShadowClassifier",
    "Side",
    "Source",
    "Standing",
    "Taxonomy",
    "TaxonomyError",
    "Thresholds",
    "Transient",
    "Transport",
    "Usage",
    "Verdict",
    "add_up",
    "answer_margin",
    "answer_schema",
    "apply_safety_rules",
    "at_least",
    "below",
    "clears",
    "estimate_usage",
    "evidence_path",
    "gap_within",
    "load_policy",
    "load_prices",
    "load_routing",
    "matches_truth",
    "nano",
    "parse_classification",
    "parse_distribution",
    "parse_verdict",
    "policy_schema",
    "prepare_state",
    "read_confidence",
    "save_policy",
    "save_routing",
    "saving",
    "validate_questions",
    "values_agree",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
