"""Scores one run under the conventions of several libraries: what each would report, and why they differ.

A convention is everything that determines a number besides the lists. A difference is split into causes by
changing the default's convention into the library's in one respect at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.hits import Hits
from recdash.domain.inputs import Truth
from recdash.domain.kinds import Duplicates, Order, Ties, Users
from recdash.evaluation.request import read_question, with_relevance
from recdash.metrics import PRESETS, define
from recdash.metrics.agreement import preset_agreement
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.presets import EVERY_ROW
from recdash.metrics.ranking import RankingMetric

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = "default"
CAUSES: Mapping[str, tuple[str, ...]] = {
    "formula": ("spec",),
    "population": ("users",),
    "order": ("order", "ties"),
    "duplicates": ("duplicates",),
    "relevance": ("relevance", "threshold"),
}
"""The respects in which two libraries can differ, by the fields of a convention."""
TOGETHER = "together"
"""The effect of several causes beyond the sum of each alone."""
ANY_ACCURACY = "recall"
TITLES: Mapping[str, str] = {
    "formula": "Formula",
    "population": "Population",
    "order": "Order and ties",
    "duplicates": "Repeated items",
    "relevance": "Relevance",
    TOGETHER: "Together",
}
EQUAL = 1e-12
"""Values closer than this are equal: only rounding separates them."""


@dataclass(frozen=True)
class Convention:
    """What determines a number: definition (canonical), population, order, ties, repeats, relevance.

    ``order`` None is the run's own; ``relevance`` "none" makes every row of the truth relevant.
    """

    spec: str
    users: Users
    order: Order | None
    ties: Ties
    relevance: str | None
    threshold: float | None
    duplicates: Duplicates = "first"

    def differs(self, other: Convention, cause: str) -> bool:
        return any(getattr(self, name) != getattr(other, name) for name in CAUSES[cause])

    def switched(self, other: Convention, cause: str) -> Convention:
        """Returns this convention with the other's in one respect."""
        return replace(self, **{name: getattr(other, name) for name in CAUSES[cause]})


@dataclass(frozen=True)
class MetricValue:
    """A metric's value at one k, its standard error and users; NaN, with a reason, if there is none."""

    value: float
    std_error: float = float("nan")
    n_users: int = 0
    reason: str = ""


Count = Callable[[Convention], MetricValue]
"""Scores the run under a convention."""


def convention_of(preset: str, metric: str, settings: Mapping[str, Any]) -> Convention:
    """Returns a preset's convention for a metric.

    A threshold in the experiment's ``settings`` takes precedence, and so does treating every row as relevant,
    as in ``recdash evaluate``; the name of a column keeps the preset's relevance.
    """
    (request,), rules = read_question([metric], preset, settings["depth"])
    every_row = EVERY_ROW if settings.get("relevance") == EVERY_ROW else None
    rules = with_relevance(rules, every_row, settings.get("relevance_threshold"))
    return Convention(
        str(request.definition),
        rules.users,
        rules.order,
        rules.ties,
        rules.relevance,
        rules.threshold,
        rules.duplicates,
    )


def conventions_of(metric: str, settings: Mapping[str, Any]) -> dict[str, Convention]:
    """Returns every preset's convention by its name, the default first."""
    return {name: convention_of(name, metric, settings) for name in PRESETS}


# ── the tables ───────────────────────────────────────────────────────────────────────────────


def preset_frame(conventions: Mapping[str, Convention], count: Count, own_order: Order) -> pd.DataFrame:
    """Returns one row per preset: preset, title, spec, value, std_error, n_users, users, order, ties,
    relevant (in words), difference (from the default), reason, state and agreement (whether it is the
    library's own number, in words).

    ``own_order`` is used if the preset has none.
    """
    import pandas as pd

    default = count(conventions[DEFAULT])
    rows = []
    for name, convention in conventions.items():
        number, agreement = count(convention), preset_agreement(name, convention.spec)
        rows.append(
            {
                "preset": name,
                "title": PRESETS[name].title,
                "spec": convention.spec,
                "value": number.value,
                "std_error": number.std_error,
                "n_users": number.n_users,
                "users": convention.users,
                "order": convention.order or own_order,
                "ties": convention.ties,
                "relevant": relevance_words(convention.relevance, convention.threshold),
                "difference": number.value - default.value,
                "reason": number.reason,
                "state": agreement.state,
                "agreement": agreement.sentence(),
            }
        )
    return pd.DataFrame(rows)


def cause_frame(conventions: Mapping[str, Convention], count: Count) -> pd.DataFrame:
    """Returns why each preset differs: preset, title, cause, words, value (by this cause alone), difference,
    reason.

    The row "together" is the effect of several causes beyond the sum of each alone, unless they add up.
    """
    import pandas as pd

    columns = ["preset", "title", "cause", "words", "value", "difference", "reason"]
    rows = [
        {"preset": name, "title": PRESETS[name].title, **row}
        for name, convention in conventions.items()
        for row in _causes(conventions[DEFAULT], convention, count)
    ]
    return pd.DataFrame(rows, columns=columns)


def _causes(default: Convention, convention: Convention, count: Count) -> Iterator[dict[str, Any]]:
    base, whole = count(default).value, count(convention)
    alone = {
        cause: count(default.switched(convention, cause))
        for cause in CAUSES
        if default.differs(convention, cause)
    }
    words = in_words(default, convention)
    causes = [(cause, words[cause], number, number.value - base) for cause, number in alone.items()]
    if len(alone) > 1:
        rest = whole.value - base - sum(number.value - base for number in alone.values())
        if not abs(rest) <= EQUAL:
            causes.append((TOGETHER, "the causes interact", whole, rest))
    for cause, text, number, difference in causes:
        yield {
            "cause": cause,
            "words": text,
            "value": number.value,
            "difference": difference,
            "reason": number.reason,
        }


# ── words ────────────────────────────────────────────────────────────────────────────────────


def in_words(default: Convention, convention: Convention) -> dict[str, str]:
    """Returns {cause: how the convention differs from the default}, for the causes in which it does."""
    words = {
        "formula": lambda: _formula_words(default.spec, convention.spec),
        "population": lambda: users_words(convention.users),
        "order": lambda: order_words(convention.order, convention.ties),
        "duplicates": lambda: DUPLICATES_WORDS[convention.duplicates],
        "relevance": lambda: f"relevant is {relevance_words(convention.relevance, convention.threshold)}",
    }
    return {cause: words[cause]() for cause in CAUSES if default.differs(convention, cause)}


def _formula_words(default: str, spec: str) -> str:
    """Returns ``ideal=full (k places even if m < k) instead of cut``, for every parameter that differs."""
    usual, other = define(default), define(spec)
    changes = []
    for knob in other.metric.parameters:
        before, after = (definition.parameters[knob.name] for definition in (usual, other))
        meaning = f" ({knob.values[after]})" if knob.values.get(after) else ""
        if after != before:
            changes.append(f"{knob.name}={after}{meaning} instead of {before}")
    return ", ".join(changes)


DUPLICATES_WORDS: Mapping[Duplicates, str] = {
    "first": "an item that a list repeats counts once",
    "keep": "an item that a list repeats counts at each position",
}
WHO_COUNTS: Mapping[Users, str] = {
    "truth": "every user",
    "both": "users with a list",
    "judged": "every user in the test set",
    "judged_both": "users in the test set with a list",
    "run": "every user with a list",
}
"""Short names of the population rules. Only accuracy follows them; catalogue-level metrics have a parameter
``users``.
"""
WHO_COUNTS_IN_FULL: Mapping[Users, str] = {
    "truth": "all users with a relevant item count; one without recommendations counts as 0",
    "both": "only users with recommendations count",
    "judged": "all users in the test set count; one without recommendations or a relevant item counts as 0",
    "judged_both": "all users in the test set with recommendations count; one without a relevant item counts "
    "as 0",
    "run": "all users with recommendations count; one without a relevant item counts as 0",
}
POPULATION: Mapping[Users, str] = {
    "truth": "All users with a relevant item count; a user without recommendations counts as 0.",
    "both": "Only users with a relevant item and recommendations count.",
    "judged": "All users in the test set count; one without recommendations or a relevant item counts as 0.",
    "judged_both": "All users in the test set with recommendations count; one without a relevant item counts "
    "as 0.",
    "run": (
        "All users with recommendations count; one without a relevant item, or not in the test set, "
        "counts as 0."
    ),
}
"""The same as sentences."""
WHOSE_LISTS: Mapping[str, str] = {"run": "every list", "truth": "lists of users with a relevant item"}


def who_counts(spec: str, users: Users) -> str:
    """Returns in short what the value is a mean over."""
    definition = define(spec)
    if isinstance(definition.metric, RankingMetric):
        return WHO_COUNTS[users]
    if isinstance(definition.metric, CatalogueMetric):
        return WHOSE_LISTS[definition.parameters["users"]]
    return "every prediction"


def users_words(users: Users) -> str:
    """Returns in full which users count for accuracy."""
    return WHO_COUNTS_IN_FULL[users]


def order_words(order: Order | None, ties: Ties) -> str:
    """Returns ``by score, tied scores by item id, descending``; ranks have no ties."""
    if order is None:
        return "the run's own order"
    by = "in file order" if order == "file" else f"by {order}"
    ties_of = {"file": "as in the file", "item_desc": "by item id, descending"}
    return f"{by}, tied scores {ties_of[ties]}" if order == "score" else by


def relevance_words(relevance: str | None, threshold: float | None) -> str:
    """Returns which rows of the truth are relevant; ``every row`` means whatever its grade."""
    if relevance == EVERY_ROW:
        return "every row"
    return "a grade above 0" if threshold is None else f"a grade from {threshold:g}"


def difference_words(value: float, default: float) -> str:
    """Returns ``63 % higher``, ``the same``; empty if one of the numbers is missing."""
    if np.isnan(value) or np.isnan(default):
        return ""
    if abs(value - default) <= EQUAL:
        return "the same"
    side = "higher" if value > default else "lower"
    if not default:
        return side
    share = abs(value / default - 1)
    return f"{100 * share:.0f} % {side}" if share >= 0.0995 else f"{100 * share:.2g} % {side}"


# ── hits under a convention ───────────────────────────────────────────────────────────────────────


def truth_under(truth: Truth, convention: Convention) -> Truth:
    """Returns the truth with what the convention treats as relevant."""
    if convention.relevance == EVERY_ROW:
        return replace(truth, gain=np.ones(len(truth.gain)), graded=False, threshold=None)
    return truth.under(convention.threshold)


def needs_upload(hits: Hits, truth: Truth, convention: Convention) -> bool:
    """Returns whether the stored hits do not determine the hits under this convention."""
    order = convention.order or hits.order
    if order != hits.order or (hits.ledger.duplicates and convention.duplicates != hits.duplicates):
        return True
    if convention.ties != "file" and order == "score" and hits.ledger.tied_rows:
        return True
    definition = define(convention.spec)
    if not isinstance(definition.metric, CatalogueMetric):
        return convention.users == "run" and hits.unknown_lengths is None
    means = hits.exposure.list_means if hits.exposure else {}
    lists_missing = definition.metric.from_lists(definition.parameters) and definition.of_lists not in means
    if lists_missing or definition.parameters["users"] == "run":
        return lists_missing or hits.other_exposure is None
    return bool((truth.users_who_count() != hits.truth.users_who_count()).any())


def of_upload(convention: Convention) -> Convention:
    """Returns the part of the convention that reading the upload again depends on; for accuracy the order
    alone.
    """
    if isinstance(define(convention.spec).metric, CatalogueMetric):
        return replace(convention, users="truth")
    return Convention(
        ANY_ACCURACY, "truth", convention.order, convention.ties, None, None, convention.duplicates
    )
