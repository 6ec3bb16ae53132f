"""Finding answer objects in what a model wrote: bare, fenced, after reasoning, or in the middle of prose.

One pass from left to right. At the top level a reasoning block is stepped over and a brace opens a group, whose end is
found by counting braces outside strings. A group is an object if it is JSON as a whole; what stands inside a group is
never looked at by itself, so a runner-up inside a broken answer cannot pass for the answer.
"""

import re
from typing import Any, Final, NamedTuple

from assay.rules.parsing._json import WHITE_SPACE, NotJson, brace_group_end, decode, decode_at
from assay.rules.parsing.outcomes import Flag

MAX_BRACES: Final = 100_000
"""Braces that are counted in one answer that is not simply one object; with more it is not read."""

_TAGS = ("think", "thinking", "reasoning")
_SPACE = f"[{WHITE_SPACE}]*+"
_OPENING_TAG = re.compile(rf"{_SPACE}<({'|'.join(_TAGS)})>", re.IGNORECASE)
_CLOSING_TAGS = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in _TAGS}
_BEFORE_OBJECT = re.compile(rf"{_SPACE}(`{{3,}}[^\n`{{]*+{_SPACE})?(?=\{{)")
_AFTER_OBJECT = re.compile(rf"{_SPACE}(`{{3,}}{_SPACE})?\Z")
_TOP_LEVEL = re.compile(rf"\{{|<(/?)({'|'.join(_TAGS)})>", re.IGNORECASE)


class Found(NamedTuple):
    """The objects in the order written, and what stood around them."""

    objects: list[dict[str, Any]]
    flags: list[Flag]


def find_objects(text: str) -> Found:
    """Find every complete top-level JSON object outside reasoning blocks.

    Returns
    -------
    Found
        `objects` may be empty.

    Raises
    ------
    NotJson
        If a reasoning block is never closed, braces nest deeper than `MAX_DEPTH`, or more than `MAX_BRACES` of them
        stand beside other text.
    """
    start = _after_reasoning(text)
    flags: list[Flag] = ["reasoning"] if start else []
    return _whole(text, start, flags) or _anywhere(text, start, flags)


def _after_reasoning(text: str) -> int:
    position = 0
    while tag := _OPENING_TAG.match(text, position):
        position = _block_end(text, tag[1], tag.end())
    return position


def _block_end(text: str, tag: str, start: int) -> int:
    closing = _CLOSING_TAGS[tag.lower()].search(text, start)
    if closing is None:
        raise NotJson("reasoning that never closes")
    return closing.end()


def _whole(text: str, start: int, flags: list[Flag]) -> Found | None:
    """Read one object that, with a fence or without, is all there is from `start` on."""
    before = _BEFORE_OBJECT.match(text, start)
    if before is None:
        return None
    try:
        value, end = decode_at(text, before.end())
    except NotJson:
        return None
    after = _AFTER_OBJECT.match(text, end)
    if after is None or (after[1] and not before[1]):
        return None
    unclosed: list[Flag] = ["unclosed_fence"] if before[1] and not after[1] else []
    return Found([value], flags + unclosed)


def _anywhere(text: str, start: int, flags: list[Flag]) -> Found:
    if text.count("{", start) + text.count("}", start) > MAX_BRACES:
        raise NotJson("too many braces")
    objects: list[dict[str, Any]] = []
    flags = [*flags, "prose"]
    position = start
    while mark := _TOP_LEVEL.search(text, position):
        closes, tag = mark.groups()
        if tag and not closes:
            flags.append("reasoning")
            position = _block_end(text, tag, mark.end())
        elif tag:
            # Some chat templates write the opening tag themselves: all before a lone closing tag was reasoning.
            flags.append("reasoning")
            objects.clear()
            position = mark.end()
        else:
            end = brace_group_end(text, mark.start())
            if end is None:
                flags.append("unclosed_object")
                break
            objects += _as_object(text[mark.start() : end])
            position = end
    return Found(objects, flags)


def _as_object(group: str) -> list[dict[str, Any]]:
    try:
        return [decode(group)]
    except NotJson:
        return []
