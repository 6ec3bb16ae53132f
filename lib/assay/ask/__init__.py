"""Getting answers: prompts and their lint, one ask of a model, and the two confidences that are read from its reply."""

from assay.ask.call import ask_once
from assay.ask.classifier import Classified, LanguageModelClassifier, Trace, classify, review
from assay.ask.client import Connection, connect
from assay.ask.faults import FAULTS, HOPELESS, RETRIED
from assay.ask.lint import Finding, lint_prompt
from assay.ask.prompts import Example, PromptError, PromptFile, Sampling, load_prompt, parse_prompt
from assay.ask.readings import AnswerRow, read_answers, vote
from assay.ask.request import Ask, AskKey, Dialect, Patience, Settings, build_request
from assay.ask.response import Completion, Token, read_body, read_reply
from assay.ask.token import TOKEN_ERRORS, TOKEN_FLAGS, TokenConfidence, token_confidence

__all__ = [
    "FAULTS",
    "HOPELESS",
    "RETRIED",
    "TOKEN_ERRORS",
    "TOKEN_FLAGS",
    "AnswerRow",
    "Ask",
    "AskKey",
    "Classified",
    "Completion",
    "Connection",
    "Dialect",
    "Example",
    "Finding",
    "LanguageModelClassifier",
    "Patience",
    "PromptError",
    "PromptFile",
    "Sampling",
    "Settings",
    "Token",
    "TokenConfidence",
    "Trace",
    "ask_once",
    "build_request",
    "classify",
    "connect",
    "lint_prompt",
    "load_prompt",
    "parse_prompt",
    "read_answers",
    "read_body",
    "read_reply",
    "review",
    "token_confidence",
    "vote",
]
