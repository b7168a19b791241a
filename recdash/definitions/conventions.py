"""One run under the habits of several libraries: what each would report, and which habit sets it apart.

A habit is everything that decides a number beside the lists themselves. Differences are taken apart by
turning the default's habits into the library's one at a time.
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
"""What can set two libraries apart, by the fields of a habit that say so."""
TOGETHER = "together"
"""What several causes do beyond the sum of each alone."""
ANY_ACCURACY = "recall"
TITLES: Mapping[str, str] = {
    "formula": "Formula",
    "population": "Who counts",
    "order": "Order and ties",
    "duplicates": "Repeated items",
    "relevance": "What is relevant",
    TOGETHER: "Together",
}
EQUAL = 1e-12
"""Values closer than this are equal: only rounding separates them."""


@dataclass(frozen=True)
class Convention:
    """What decides a number: definition (canonical), who counts, order, ties, repeats, what is relevant.

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
        """This habit, but in one respect the other's."""
        return replace(self, **{name: getattr(other, name) for name in CAUSES[cause]})


@dataclass(frozen=True)
class MetricValue:
    """A metric's value at one k, its standard error and users; NaN, with a reason, where there is none."""

    value: float
    std_error: float = float("nan")
    n_users: int = 0
    reason: str = ""


Count = Callable[[Convention], MetricValue]
"""Scores the run under a habit."""


def habit_of(preset: str, metric: str, settings: Mapping[str, Any]) -> Convention:
    """A preset's habit for a metric. Where the experiment's ``settings`` have a threshold, or take every row
    as relevant, that wins, as it does for ``recdash evaluate``; the name of a column leaves the habit free.
    """
    (asked,), rules = read_question([metric], preset, settings["depth"])
    every_row = EVERY_ROW if settings.get("relevance") == EVERY_ROW else None
    rules = with_relevance(rules, every_row, settings.get("relevance_threshold"))
    return Convention(
        str(asked.definition),
        rules.users,
        rules.order,
        rules.ties,
        rules.relevance,
        rules.threshold,
        rules.duplicates,
    )


def of_metric(metric: str, settings: Mapping[str, Any]) -> dict[str, Convention]:
    """Every preset's habit by its name, the default first."""
    return {name: habit_of(name, metric, settings) for name in PRESETS}


# ── the tables ───────────────────────────────────────────────────────────────────────────────


def preset_frame(found: Mapping[str, Convention], count: Count, own_order: Order) -> pd.DataFrame:
    """One row per preset: preset, title, spec, value, std_error, n_users, users, order, ties, relevant
    (in words), difference (to the default), reason, state and agreement (is it the library's own number, in
    words). ``own_order`` stands where the preset has none.
    """
    import pandas as pd

    default = count(found[DEFAULT])
    rows = []
    for name, habit in found.items():
        number = count(habit)
        rows.append(
            {
                "preset": name, "title": PRESETS[name].title, "spec": habit.spec, "value": number.value,
                "std_error": number.std_error, "n_users": number.n_users, "users": habit.users,
                "order": habit.order or own_order, "ties": habit.ties,
                "relevant": relevance_words(habit.relevance, habit.threshold),
                "difference": number.value - default.value, "reason": number.reason,
                "state": (known := preset_agreement(name, habit.spec)).state, "agreement": known.sentence(),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def cause_frame(found: Mapping[str, Convention], count: Count) -> pd.DataFrame:
    """Why each preset differs: preset, title, cause, words, value (by this cause alone), difference, reason.

    The row "together" is what several causes do beyond the sum of each alone, unless they add up.
    """
    import pandas as pd

    columns = ["preset", "title", "cause", "words", "value", "difference", "reason"]
    rows = [
        {"preset": name, "title": PRESETS[name].title, **row}
        for name, habit in found.items()
        for row in _causes(found[DEFAULT], habit, count)
    ]
    return pd.DataFrame(rows, columns=columns)


def _causes(default: Convention, habit: Convention, count: Count) -> Iterator[dict[str, Any]]:
    base, whole = count(default).value, count(habit)
    alone = {
        cause: count(default.switched(habit, cause)) for cause in CAUSES if default.differs(habit, cause)
    }
    words = in_words(default, habit)
    for cause, number in alone.items():
        yield _row(cause, words[cause], number, number.value - base)
    if len(alone) > 1:
        rest = whole.value - base - sum(number.value - base for number in alone.values())
        if not abs(rest) <= EQUAL:
            yield _row(TOGETHER, "the causes change each other's effect", whole, rest)


def _row(cause: str, words: str, number: MetricValue, difference: float) -> dict[str, Any]:
    return {
        "cause": cause, "words": words, "value": number.value, "difference": difference,
        "reason": number.reason,
    }  # fmt: skip


# ── words ────────────────────────────────────────────────────────────────────────────────────


def in_words(default: Convention, habit: Convention) -> dict[str, str]:
    """Cause → how the habit differs from the default; only the causes in which it does."""
    words = {
        "formula": lambda: _formula_words(default.spec, habit.spec),
        "population": lambda: users_words(habit.users),
        "order": lambda: order_words(habit.order, habit.ties),
        "duplicates": lambda: DUPLICATES_WORDS[habit.duplicates],
        "relevance": lambda: f"relevant is {relevance_words(habit.relevance, habit.threshold)}",
    }
    return {cause: words[cause]() for cause in CAUSES if default.differs(habit, cause)}


def _formula_words(default: str, spec: str) -> str:
    """``ideal=full (k places even if m < k) instead of cut``, for every parameter that differs."""
    usual, other = define(default), define(spec)
    return ", ".join(
        f"{knob.name}={value}{_meaning(knob.values.get(value))} instead of {usual.parameters[knob.name]}"
        for knob in other.metric.parameters
        if (value := other.parameters[knob.name]) != usual.parameters[knob.name]
    )


def _meaning(meaning: str | None) -> str:
    return f" ({meaning})" if meaning else ""


DUPLICATES_WORDS: Mapping[Duplicates, str] = {
    "first": "an item that a list repeats counts once",
    "keep": "an item that a list repeats counts at each of its places",
}
WHO_COUNTS: Mapping[Users, str] = {
    "truth": "every user",
    "both": "users with a list",
    "judged": "every user in the truth",
    "judged_both": "users in the truth with a list",
    "run": "every user with a list",
}
"""The population rules in short. Only accuracy follows them; catalogue metrics have a parameter ``users``."""
WHO_COUNTS_IN_FULL: Mapping[Users, str] = {
    "truth": "every user with a relevant item counts, one without a list as 0",
    "both": "only users with a list count",
    "judged": "every user in the truth counts, one without a list or without a relevant item as 0",
    "judged_both": "every user in the truth who has a list counts, one without a relevant item as 0",
    "run": "every user with a list counts, one without a relevant item as 0",
}
POPULATION: Mapping[Users, str] = {
    "truth": "Every user with a relevant item counts; a user without a list counts as 0.",
    "both": "Only users with a relevant item and a list count.",
    "judged": "Every user in the truth counts; one without a list or without a relevant item counts as 0.",
    "judged_both": "Every user in the truth who has a list counts; one without a relevant item counts as 0.",
    "run": "Every user with a list counts; one without a relevant item, or not in the truth, counts as 0.",
}
"""The same as a sentence."""
WHOSE_LISTS: Mapping[str, str] = {"run": "every list", "truth": "lists of users with a relevant item"}


def who_counts(habit_spec: str, users: Users) -> str:
    """In short, what the value is a mean over."""
    definition = define(habit_spec)
    if isinstance(definition.metric, RankingMetric):
        return WHO_COUNTS[users]
    if isinstance(definition.metric, CatalogueMetric):
        return WHOSE_LISTS[definition.parameters["users"]]
    return "every prediction"


def users_words(users: Users) -> str:
    """In full, who counts for accuracy."""
    return WHO_COUNTS_IN_FULL[users]


def order_words(order: Order | None, ties: Ties) -> str:
    """``by score, equal scores by item id, descending``; a rank leaves nothing to settle."""
    if order is None:
        return "the run's own order"
    by = "in the order of the file" if order == "file" else f"by {order}"
    ties_of = {"file": "as in the file", "item_desc": "by item id, descending"}
    return f"{by}, equal scores {ties_of[ties]}" if order == "score" else by


def relevance_words(relevance: str | None, threshold: float | None) -> str:
    """Which rows of the truth are relevant; ``every row`` is so whatever its grade."""
    if relevance == EVERY_ROW:
        return "every row"
    return "a grade above 0" if threshold is None else f"a grade from {threshold:g}"


def difference_words(value: float, default: float) -> str:
    """``63 % higher``, ``the same``; empty where one of the numbers is missing."""
    if np.isnan(value) or np.isnan(default):
        return ""
    if abs(value - default) <= EQUAL:
        return "the same"
    side = "higher" if value > default else "lower"
    return f"{_percent(abs(value / default - 1))} {side}" if default else side


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.2g} %"


# ── hits under a habit ───────────────────────────────────────────────────────────────────────


def truth_under(truth: Truth, habit: Convention) -> Truth:
    """The truth with what the habit takes as relevant."""
    if habit.relevance == EVERY_ROW:
        return replace(truth, gain=np.ones(len(truth.gain)), graded=False, threshold=None)
    return truth.under(habit.threshold)


def needs_upload(hits: Hits, truth: Truth, habit: Convention) -> bool:
    """Do the stored hits not say what they would be under this habit?"""
    order = habit.order or hits.order
    if order != hits.order or (hits.ledger.duplicates and habit.duplicates != hits.duplicates):
        return True
    if habit.ties != "file" and order == "score" and hits.ledger.tied_rows:
        return True
    definition = define(habit.spec)
    if not isinstance(definition.metric, CatalogueMetric):
        return habit.users == "run" and hits.unknown_lengths is None
    means = hits.exposure.list_means if hits.exposure else {}
    lists_missing = definition.metric.from_lists(definition.parameters) and definition.of_lists not in means
    return lists_missing or _other_lists_count(hits, truth, definition.parameters["users"])


def _other_lists_count(hits: Hits, truth: Truth, users: str) -> bool:
    """Do other lists count than those whose exposure the hits have?"""
    if users == "run":
        return hits.other_exposure is None
    return bool((truth.users_who_count() != hits.truth.users_who_count()).any())


def of_upload(habit: Convention) -> Convention:
    """The habit in what another look at the upload depends on; for accuracy that is the order alone."""
    if isinstance(define(habit.spec).metric, CatalogueMetric):
        return replace(habit, users="truth")
    return Convention(ANY_ACCURACY, "truth", habit.order, habit.ties, None, None, habit.duplicates)
