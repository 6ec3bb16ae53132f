"""Reading what a model wrote, under three contracts: a classification, a distribution over labels, a review verdict.

Each parser returns a value or raises `AnswerError`, whatever the text, in time linear in its length. No message of
theirs quotes the text. What is accepted, what is accepted with a flag and what is an error stands in each parser's
docstring; `outcomes` lists every kind of error and every flag with its meaning.
"""

from assay.rules.parsing.classification import DEFAULT_FIELDS, FINISH_REASONS, AnswerFields, parse_classification
from assay.rules.parsing.confidence import SCALES, VECTOR_TOLERANCE, read_confidence
from assay.rules.parsing.distribution import parse_distribution
from assay.rules.parsing.outcomes import (
    CLASSIFICATION_ERRORS,
    DISTRIBUTION_ERRORS,
    FLAGS,
    VERDICT_ERRORS,
    AnswerError,
    ErrorKind,
    Failure,
    Flag,
)
from assay.rules.parsing.verdict import VERDICTS, Verdict, parse_verdict

__all__ = [
    "CLASSIFICATION_ERRORS",
    "DEFAULT_FIELDS",
    "DISTRIBUTION_ERRORS",
    "FINISH_REASONS",
    "FLAGS",
    "SCALES",
    "VECTOR_TOLERANCE",
    "VERDICTS",
    "VERDICT_ERRORS",
    "AnswerError",
    "AnswerFields",
    "ErrorKind",
    "Failure",
    "Flag",
    "Verdict",
    "parse_classification",
    "parse_distribution",
    "parse_verdict",
    "read_confidence",
]
