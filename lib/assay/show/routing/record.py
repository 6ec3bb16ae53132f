"""What the record of a routing run keeps."""

import json
from typing import Any

from assay.measure.routing import labelled_figures
from assay.show.routing.findings import certificate_words, cost_words, earned_words, labels_words, served_words
from assay.show.routing.following import Followed
from assay.show.routing.tables import costs_table, floors_table, reasons_table
from assay.show.tables import Table


def record_of(found: Followed | None) -> dict[str, Any]:
    """Return the figures of a run; empty where there is nothing to route between."""
    if found is None:
        return {}
    judged, earned = found.judged, found.earned
    return {
        "cheap": found.evidence.cheap,
        "expensive": found.evidence.expensive,
        "items": {
            "shared": len(found.pair.items),
            "choosing": len(found.choosing),
            "judging": len(found.answers),
            "only_cheap": len(found.pair.only_cheap),
            "only_expensive": len(found.pair.only_expensive),
        },
        "evidence": found.evidence.digest(),
        "agreement": found.measured.overall,
        "graded": found.measured.graded,
        "errors": found.measured.errors,
        "floors": _frame(floors_table(found)),
        "earned": earned.floors,
        "nearest": {"floors": earned.map.floors(earned.nearest), "rate": earned.map.rate(earned.nearest)},
        "fails": earned.reason,
        "policy": json.loads(found.policy.to_json()),
        "served_cheap": judged.served_cheap,
        "disagreed": judged.disagreed,
        "agreed_wrong": judged.agreed_wrong,
        "systems": {one.name: labelled_figures(one, found.study.taxonomy) for one in judged.systems},
        "pairs": judged.comparison.frame(),
        "reasons": _frame(reasons_table(found)),
        "costs": _frame(costs_table(found)),
        "verdict": None if judged.certificate is None else judged.certificate.verdict,
        "findings": [str(words(found)) for words in (earned_words, served_words, labels_words)],
        "gates": str(certificate_words(found)),
        "cost": str(cost_words(found)),
    }


def _frame(shown: object) -> object:
    return shown.frame if isinstance(shown, Table) else None
