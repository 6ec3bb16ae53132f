"""The pictures, tables and findings of notebook 40: when the cheap model may answer."""

from assay.show.routing.figures import agreement_map, share_served
from assay.show.routing.findings import (
    certificate_words,
    cost_words,
    earned_words,
    headline,
    labels_words,
    served_words,
    write_routing,
)
from assay.show.routing.following import Followed, follow
from assay.show.routing.opening import NOTHING, OpenedPair, open_pair
from assay.show.routing.record import record_of
from assay.show.routing.tables import costs_table, differing_items, floors_table, reasons_table, systems_table

__all__ = [
    "NOTHING",
    "Followed",
    "OpenedPair",
    "agreement_map",
    "certificate_words",
    "cost_words",
    "costs_table",
    "differing_items",
    "earned_words",
    "floors_table",
    "follow",
    "headline",
    "labels_words",
    "open_pair",
    "reasons_table",
    "record_of",
    "served_words",
    "share_served",
    "systems_table",
    "write_routing",
]
