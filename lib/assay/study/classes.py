"""The classes of a new study, told from a table: its labels, what abstains, and what a policy has to show of them."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from assay.rules import Gate, Taxonomy
from assay.rules.taxonomy import fold as fold_class
from assay.study.columns import ColumnSource, distinct_objects, label_text
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.frames import inferred_taxonomy
from assay.study.identity import LONGEST_NAME
from assay.study.likely import ABSTENTIONS, fold
from assay.study.roles import Roles

USUAL_GATE = Gate("accepted_accuracy", (), 0.90, 0.05)
"""What a policy has to show where nobody says."""

DANGEROUS = ("class_accuracy", 0.95, 0.05)
"""Metric, target and delta for classes that are named as dangerous."""

_MOST_FURTHER = 50


def settle_labels(roles: Roles) -> pd.Series:
    """Return the labels as text, NaN where there is none; nothing without such a column."""
    if "label" not in roles:
        return pd.Series(dtype="str")
    where = f"{roles.table.name}, column {shown(roles.columns['label'])}"
    labels = roles.table.labels(ColumnSource(roles.columns["label"]), "the label")
    known = labels.dropna()
    if known.empty:
        raise StudyError(f"{where}: no row has a label", kind="empty_file")
    distinct = known.nunique()
    if len(known) >= 20 and distinct > len(known) / 2:
        raise StudyError(
            f"{where}: {distinct:,} different labels in {len(known):,} rows are no classes; name the column that holds the "
            "class with --label-column"
        )
    missing = f"; {len(labels) - len(known):,} rows have none and are left out" if len(known) < len(labels) else ""
    classes = listed(sorted(known.unique()), at_most=6)
    roles.say("label", f"column {shown(roles.columns['label'])}, {distinct:,} classes: {classes}{missing}")
    return labels


def settle_classes(roles: Roles, labels: pd.Series, by_class: Mapping[str, str], abstain: str | None) -> Taxonomy:
    """Settle the classes of a table of answers: the labels and predictions that occur, none safer than another."""
    known = labels.dropna()
    name = roles.table.name
    given = distinct_objects(roles.raw("predicted"))[1] if "predicted" in roles else list(by_class)
    said = [text for one in given if (text := label_text(one)) is not None and text.strip()]
    abstain = settle_abstain(roles, said, known, abstain)
    taxonomy = inferred_taxonomy(known, pd.Series(dtype=object), name, abstain)
    if "predicted" not in roles:
        roles.say("predicted class", "no such column: the most probable class")
        return taxonomy
    column = shown(roles.columns["predicted"])
    others = [one for one in said if taxonomy.resolve(one) is None]
    if len(others) == len(said):
        raise StudyError(
            f"{name}: no prediction in column {column} is one of the labels ({listed(taxonomy.names, at_most=6)}); both must "
            "be written in one spelling",
            kind="unknown_label",
        )
    if not others:
        roles.say("predicted class", f"column {column}")
        return taxonomy
    if len(others) > _MOST_FURTHER or any(len(one) > LONGEST_NAME for one in others):
        roles.say(
            "predicted class", f"column {column}; {len(others):,} predictions are no label and count as unreadable"
        )
        return taxonomy
    roles.say("predicted class", f"column {column}; {len(others):,} predictions are no label, and classes all the same")
    return inferred_taxonomy(known, pd.Series(others, dtype=object), name, abstain)


def settle_abstain(roles: Roles, said: Sequence[str], known: pd.Series, asked: str | None) -> str:
    """Settle what deciding to abstain is called, from the predictions and the labels."""
    labels = {fold(one): one for one in known.unique()}
    if asked is not None:
        name = labels.get(fold(asked), asked)
        roles.say("abstaining", f"is called {shown(name)}")
        return name
    spelled = {fold(one): one.strip() for one in said}
    found = next((spelled[one] for one in ABSTENTIONS if one in spelled and one not in labels), None)
    if found is not None:
        roles.say("abstaining", f"the prediction {shown(found)}, which no item is labelled with (--abstain)")
        return found
    name = labels.get("abstain", "abstain")
    roles.say(
        "abstaining",
        f"{'no prediction says so; ' if said else ''}decisions to abstain are called {shown(name)} (--abstain)",
    )
    return name


def say_look_alikes(roles: Roles, taxonomy: Taxonomy) -> None:
    """Say which classes a person would hardly tell apart: they differ in the form or width of letters only."""
    alike: dict[str, list[str]] = {}
    for name in taxonomy.names:
        visible = "".join(one for one in name if unicodedata.category(one) != "Cf")
        alike.setdefault(fold_class(unicodedata.normalize("NFKC", visible)), []).append(name)
    for names in alike.values():
        if len(names) > 1:
            written = " and ".join(ascii(name) for name in names)
            roles.say(
                "look alike", f"{written} differ in the form of letters only, and are counted as different classes"
            )


def settle_gates(
    roles: Roles, taxonomy: Taxonomy, asked: Sequence[Gate] = (), dangerous: Sequence[str] = ()
) -> tuple[Gate, ...]:
    """Settle what a policy has to show: what was asked for, else that what is acted on is nearly always right."""

    def known(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_class(roles, taxonomy, name) for name in names)

    gates = [replace(gate, classes=known(gate.classes)) for gate in asked]
    if dangerous:
        metric, target, delta = DANGEROUS
        gates.append(Gate(metric, known(tuple(dangerous)), target, delta))
    supposed = "" if gates else ", supposed (--gate, --dangerous)"
    gates = gates or [USUAL_GATE]
    roles.say("a policy must show", "; ".join(str(gate) for gate in gates) + supposed)
    roles.say("ranks", "no class is taken to be safer than another; study.toml can say otherwise")
    return tuple(gates)


def _class(roles: Roles, taxonomy: Taxonomy, name: str) -> str:
    known = taxonomy.resolve(name)
    if known is None or known not in taxonomy:
        hint = nearest(name, taxonomy.names) or f" (the classes are {listed(taxonomy.names)})"
        raise StudyError(f"{roles.table.name}: {shown(name)} is not a class{hint}", kind="unknown_label")
    return known
