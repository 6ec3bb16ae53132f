"""The JSON schema of the replies to a prompt: which keys and labels a model may write, and in which order.

It has to admit what the examples of the prompt show, since a model that is forced into another shape than the one it was
taught writes nonsense.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.ask.prompts import Example, PromptFile
from assay.rules import Taxonomy
from assay.rules.answers import Question, answer_schema
from assay.rules.parsing import DEFAULT_FIELDS, VERDICTS, AnswerFields


def reply_schema(
    prompt: PromptFile,
    taxonomy: Taxonomy,
    fields: AnswerFields = DEFAULT_FIELDS,
    questions: Mapping[str, Question] | None = None,
) -> dict[str, Any]:
    """Build the JSON schema of the replies to `prompt`; `questions` are those of a distribution prompt."""
    if prompt.contract == "distribution":
        return answer_schema(questions or {})
    if prompt.contract == "verdict":
        properties: dict[str, Any] = {
            "verdict": {"type": "string", "enum": list(VERDICTS)},
            "certainty": {"type": "integer"},
            "reason": {"type": "string"},
        }
        return _object(properties, list(properties))
    return _classification_schema(prompt.examples, taxonomy, fields)


def _classification_schema(examples: Sequence[Example], taxonomy: Taxonomy, fields: AnswerFields) -> dict[str, Any]:
    """Describe the replies that the examples show, with label and confidence required whatever they show."""
    labels = list(taxonomy.names)
    offered = labels if taxonomy.abstain in labels else [*labels, taxonomy.abstain]
    shown = [reply for reply in map(_decoded, examples) if reply]
    scores = {label: {"type": "number"} for label in labels}
    in_a_list = any(isinstance(reply.get(fields.alternatives), list) for reply in shown)
    properties: dict[str, Any] = {
        fields.label: {"type": "string", "enum": offered},
        fields.confidence: {"type": "number"},
        fields.alternatives: {"type": "array"} if in_a_list else _object(scores, []),
        fields.missing_context: {"type": "array", "items": {"type": "string"}},
        fields.entities: {"type": "object"},
    }
    always = (fields.label, fields.confidence)
    required = [name for name in properties if name in always or (shown and all(name in reply for reply in shown))]
    wanted = [name for name in properties if name in always or not shown or any(name in reply for reply in shown)]
    # A grammar makes the model write the keys in this order, which has to be the one that the examples taught it.
    order = [*(shown[0] if shown else ()), *properties]
    wanted.sort(key=order.index)
    return _object({name: properties[name] for name in wanted}, required)


def _decoded(example: Example) -> dict[str, Any]:
    try:
        reply = json.loads(example.reply)
    except (ValueError, RecursionError):
        return {}
    return reply if isinstance(reply, dict) else {}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
