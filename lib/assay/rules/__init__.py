"""The rules a production service imports: standard library only.

Everything a policy needs at run time is here: reading a model's answer, deciding what to do with it, counting how
often a cheap model agrees with an expensive one, and routing between them.
"""

from assay.rules.decimals import at_least, below, gap_within, nano
from assay.rules.safety import Classification, Decision, apply_safety_rules
from assay.rules.taxonomy import ContextRule, Gate, LabelClass, Taxonomy, TaxonomyError

__all__ = [
    "Classification",
    "ContextRule",
    "Decision",
    "Gate",
    "LabelClass",
    "Taxonomy",
    "TaxonomyError",
    "apply_safety_rules",
    "at_least",
    "below",
    "gap_within",
    "nano",
]
