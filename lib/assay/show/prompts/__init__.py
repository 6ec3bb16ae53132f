"""The pictures, tables and findings of notebook 30: which prompt, and is the difference real."""

from assay.show.prompts.figures import matrix, ranking
from assay.show.prompts.findings import equal_safety_words, findings, headline, what_is_compared
from assay.show.prompts.opening import Choosing, open_for_choosing
from assay.show.prompts.runs import runs_table, runs_words
from assay.show.prompts.tables import (
    differing_items,
    equal_safety_table,
    exploratory,
    pairs_table,
    unreadable_both_ways,
    variants_table,
)

__all__ = [
    "Choosing",
    "differing_items",
    "equal_safety_table",
    "equal_safety_words",
    "exploratory",
    "findings",
    "headline",
    "matrix",
    "open_for_choosing",
    "pairs_table",
    "ranking",
    "runs_table",
    "runs_words",
    "unreadable_both_ways",
    "variants_table",
    "what_is_compared",
]
