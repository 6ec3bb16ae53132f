"""The label set and what is safe about it.

A `Taxonomy` names the classes, ranks them by restrictiveness (higher says less and is safer), names the decision to
abstain, and says which classes a low confidence does not send there, which missing context does, and which gates a
policy has to pass. The safety rules read everything they know about labels from here, so one function serves any set.

Names are kept and matched in Unicode's composed form (NFC): an accented letter is one letter, whether a file has it in
one piece or in two. Letters that only look alike, such as those of full width, stay different (that would be NFKC).
"""

import difflib
import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from assay.rules.documents import DocumentError, OneLineError, read_toml

METRICS = ("class_accuracy", "caught", "accepted_accuracy")
"""What a gate may bound from below; the design's decision figures of the same names."""


_MOST_COMPARED = 2_000


class TaxonomyError(OneLineError):
    """A taxonomy that contradicts itself or names something unknown; the message names the key."""


@dataclass(frozen=True)
class LabelClass:
    """One class: its name, its restrictiveness (an integer, higher is safer) and what it means."""

    name: str
    rank: int = 0
    meaning: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", composed(self.name))


@dataclass(frozen=True)
class ContextRule:
    """A decision for `label` becomes an abstention when the answer says that `missing` is missing."""

    label: str
    missing: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", composed(self.label))


@dataclass(frozen=True)
class Gate:
    """A bound that a policy must be shown to reach.

    Parameters
    ----------
    metric : {"class_accuracy", "caught", "accepted_accuracy"}
    classes : tuple of str
        The classes it holds for, each on its own. Empty only for `accepted_accuracy`: all accepted answers together.
    target : float in (0, 1)
    delta : float in (0, 1)
        The allowed chance of passing a policy whose true rate is below the target.
    """

    metric: str
    classes: tuple[str, ...] = ()
    target: float = 0.95
    delta: float = 0.05

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(map(composed, self.classes)))
        if self.metric not in METRICS:
            raise TaxonomyError(f"gate metric must be one of {', '.join(METRICS)}, got {self.metric!r}")
        if not self.classes and self.metric != "accepted_accuracy":
            raise TaxonomyError(f"gate {self.metric} must name its classes")
        for name in ("target", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
                raise TaxonomyError(f"gate {name} must lie strictly between 0 and 1, got {value!r}")

    def each(self) -> tuple["Gate", ...]:
        """Split into gates of one class each: every class has to pass by itself."""
        if not self.classes:
            return (self,)
        return tuple(Gate(self.metric, (name,), self.target, self.delta) for name in self.classes)

    def __str__(self) -> str:
        of = f" of {', '.join(self.classes)}" if self.classes else ""
        return f"{self.metric.replace('_', ' ')}{of} at least {self.target:g}"


@dataclass(frozen=True)
class Taxonomy:
    """Classes, ranks, the abstain decision, exemptions, context rules and gates.

    Parameters
    ----------
    classes : tuple of LabelClass
        At least one; names unique even after trimming and case folding.
    abstain : str
        The decision "ask, do not guess". It may be one of the classes or a name of its own.
    threshold_exempt : tuple of str
        Classes that a confidence below the threshold does not turn into an abstention.
    never_loosen : bool
        Whether the tie rule may move an answer to a less restrictive class (False) or never does (True).
    context : tuple of ContextRule
    gates : tuple of Gate

    Raises
    ------
    TaxonomyError
        If a key is unknown, has the wrong type, or names a class that does not exist.
    """

    classes: tuple[LabelClass, ...]
    abstain: str
    threshold_exempt: tuple[str, ...] = ()
    never_loosen: bool = False
    context: tuple[ContextRule, ...] = ()
    gates: tuple[Gate, ...] = ()
    _by_fold: dict[str, str] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "abstain", composed(self.abstain))
        object.__setattr__(self, "threshold_exempt", tuple(map(composed, self.threshold_exempt)))
        if not self.classes:
            raise TaxonomyError("taxonomy.class: at least one class is needed")
        folded: dict[str, str] = {}
        for one in self.classes:
            if not one.name.strip():
                raise TaxonomyError("taxonomy.class.name must not be blank")
            if fold(one.name) in folded:
                raise TaxonomyError(f"taxonomy.class.name {one.name!r} repeats {folded[fold(one.name)]!r}")
            folded[fold(one.name)] = one.name
        if not self.abstain.strip():
            raise TaxonomyError("taxonomy.abstain must not be blank")
        if folded.get(fold(self.abstain), self.abstain) != self.abstain:
            raise TaxonomyError(f"taxonomy.abstain {self.abstain!r} differs from a class only in case or spaces")
        folded.setdefault(fold(self.abstain), self.abstain)
        object.__setattr__(self, "_by_fold", folded)
        self._check_names("taxonomy.threshold_exempt", self.threshold_exempt)
        self._check_names("taxonomy.context.class", (rule.label for rule in self.context))
        for gate in self.gates:
            self._check_names(f"gate {gate.metric} classes", gate.classes)

    @classmethod
    def of(cls, *names: str, abstain: str = "abstain") -> Self:
        """Build a taxonomy of unranked classes: none is safer than another."""
        return cls(tuple(LabelClass(name) for name in names), abstain)

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read the ``[taxonomy]`` and ``[[gate]]`` tables of a TOML text; its other tables are not looked at.

        Raises
        ------
        TaxonomyError
            If the text is not TOML, or the tables are not a taxonomy; the message names the key.
        """
        try:
            document = read_toml(text, "taxonomy")
        except DocumentError as error:
            raise TaxonomyError(str(error)) from None
        return cls.from_dict(document)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Build from the mapping that `to_dict` gives and that the TOML tables spell."""
        table = _table(document.get("taxonomy"), "taxonomy")
        _known_keys(table, ("abstain", "threshold_exempt", "never_loosen", "class", "context"), "taxonomy")
        never_loosen = table.get("never_loosen", False)
        if not isinstance(never_loosen, bool):
            raise TaxonomyError(f"taxonomy.never_loosen must be true or false, got {never_loosen!r}")
        return cls(
            classes=tuple(_label_class(one) for one in _tables(table.get("class"), "taxonomy.class")),
            abstain=_text(table.get("abstain"), "taxonomy.abstain"),
            threshold_exempt=_names(table.get("threshold_exempt", []), "taxonomy.threshold_exempt"),
            never_loosen=never_loosen,
            context=tuple(_context_rule(one) for one in _tables(table.get("context", []), "taxonomy.context")),
            gates=tuple(_gate(one) for one in _tables(document.get("gate", []), "gate")),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and dicts that `from_dict` reads back to an equal taxonomy."""
        return {
            "taxonomy": {
                "abstain": self.abstain,
                "threshold_exempt": list(self.threshold_exempt),
                "never_loosen": self.never_loosen,
                "class": [{"name": one.name, "rank": one.rank, "meaning": one.meaning} for one in self.classes],
                "context": [{"class": rule.label, "missing": rule.missing} for rule in self.context],
            },
            "gate": [
                {"metric": gate.metric, "classes": list(gate.classes), "target": gate.target, "delta": gate.delta}
                for gate in self.gates
            ],
        }

    def digest(self) -> str:
        """Return the sha256 (64 hex digits) of everything the rules and gates depend on."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The class names in the order given; the abstain name only where it is a class."""
        return tuple(one.name for one in self.classes)

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Restrictiveness by class name."""
        return {one.name: one.rank for one in self.classes}

    @cached_property
    def gated(self) -> tuple[str, ...]:
        """The classes that some gate names, in the order of the classes."""
        named = {name for gate in self.gates for name in gate.classes}
        return tuple(name for name in self.names if name in named)

    def __contains__(self, name: object) -> bool:
        return name in self.ranks

    def rank(self, name: str) -> int:
        """Return the restrictiveness of class `name`; KeyError if it is none."""
        return self.ranks[name]

    def resolve(self, name: str) -> str | None:
        """Return the class (or the abstain name) that `name` is once trimmed, case-folded and composed, else None."""
        if name in self.ranks or name == self.abstain:
            return name
        return self._by_fold.get(fold(name))

    def _check_names(self, key: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.ranks:
                raise TaxonomyError(f"{key}: {name!r} is not a class{_nearest(name, self.names)}")


def composed(name: str) -> str:
    """Return a name in Unicode's composed form (NFC), as a taxonomy keeps it."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def fold(name: str) -> str:
    """Trim, case-fold and compose a class name, as names are matched."""
    return composed(composed(name).strip().casefold())


def _nearest(name: str, known: Iterable[str]) -> str:
    known = tuple(known)
    # Letter by letter with some of the classes only, lest a million of them take minutes.
    close = difflib.get_close_matches(name[:200], known[:_MOST_COMPARED], n=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    listed = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
    return f" (the classes are: {listed})"


def _known_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"allowed are {', '.join(known)}"
            raise TaxonomyError(f"{where}: unknown key {key!r} ({hint})")


def _table(value: object, key: str) -> Mapping[str, Any]:
    if value is None:
        raise TaxonomyError(f"{key}: missing")
    if not isinstance(value, Mapping):
        raise TaxonomyError(f"{key} must be a table, got {type(value).__name__}")
    return value


def _tables(value: object, key: str) -> list[Mapping[str, Any]]:
    if value is None:
        raise TaxonomyError(f"{key}: missing")
    if not isinstance(value, list):
        raise TaxonomyError(f"{key} must be an array of tables, got {type(value).__name__}")
    return [_table(one, key) for one in value]


def _text(value: object, key: str) -> str:
    if value is None:
        raise TaxonomyError(f"{key}: missing")
    if not isinstance(value, str):
        raise TaxonomyError(f"{key} must be a string, got {value!r}")
    return value


def _names(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TaxonomyError(f"{key} must be a list of class names, got {value!r}")
    return tuple(_text(one, key) for one in value)


def _label_class(table: Mapping[str, Any]) -> LabelClass:
    _known_keys(table, ("name", "rank", "meaning"), "taxonomy.class")
    rank = table.get("rank", 0)
    if isinstance(rank, bool) or not isinstance(rank, int):
        raise TaxonomyError(f"taxonomy.class.rank must be a whole number, got {rank!r}")
    name = _text(table.get("name"), "taxonomy.class.name")
    return LabelClass(name, rank, _text(table.get("meaning", ""), "taxonomy.class.meaning"))


def _context_rule(table: Mapping[str, Any]) -> ContextRule:
    _known_keys(table, ("class", "missing"), "taxonomy.context")
    return ContextRule(
        _text(table.get("class"), "taxonomy.context.class"), _text(table.get("missing"), "taxonomy.context.missing")
    )


def _gate(table: Mapping[str, Any]) -> Gate:
    _known_keys(table, ("metric", "classes", "target", "delta"), "gate")
    numbers = {}
    for key in ("target", "delta"):
        if key in table:
            value = table[key]
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
                raise TaxonomyError(f"gate {key} must lie strictly between 0 and 1, got {value!r}")
            numbers[key] = float(value)
    return Gate(_text(table.get("metric"), "gate metric"), _names(table.get("classes", []), "gate classes"), **numbers)
