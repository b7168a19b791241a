"""Scores one run under the conventions of several libraries: what each library would report, and why they
differ.

A convention is everything that determines a number besides the lists. A difference between two conventions is
attributed to causes by changing the default convention into the library's in one respect at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from recdash.definitions.population_counts import COUNT_WITHOUT_RELEVANT_ITEM
from recdash.domain.hits import Hits
from recdash.domain.inputs import Truth
from recdash.domain.kinds import Duplicates, Order, Ties, Users
from recdash.evaluation.request import read_question, with_relevance
from recdash.metrics import PRESETS, Definition, define, populations
from recdash.metrics.agreement import preset_agreement
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.presets import EVERY_ROW
from recdash.metrics.ranking import RankingMetric

if TYPE_CHECKING:
    import pandas as pd

DEFAULT = "default"
CAUSES: Mapping[str, tuple[str, ...]] = {
    "formula": ("formula",),
    "population": ("users",),
    "order": ("order", "ties"),
    "duplicates": ("duplicates",),
    "relevance": ("relevance", "threshold"),
}
"""The respects in which two conventions can differ, each with the values of ``Convention`` that belong to
it.
"""
TOGETHER = "together"
"""The key of the part of a difference that the causes do not explain one by one, but only in combination."""
ANY_ACCURACY = "recall"
TITLES: Mapping[str, str] = {
    "formula": "Formula",
    "population": "Population",
    "order": "Order and ties",
    "duplicates": "Repeated items",
    "relevance": "Relevance",
    TOGETHER: "Interaction",
}
EQUAL = 1e-12
"""Values that differ by less are equal except for rounding errors."""


@dataclass(frozen=True)
class Convention:
    """Everything that determines a number besides the lists: definition (canonical spec), population, order,
    ties, repeated items, relevance.

    ``users`` are those of the metric if its definition names any. ``order`` None is the run's own order.
    ``relevance`` "none" makes every row of the truth relevant.
    """

    spec: str
    users: Users
    order: Order | None
    ties: Ties
    relevance: str | None
    threshold: float | None
    duplicates: Duplicates = "first"

    @property
    def formula(self) -> str:
        """Returns the definition without the users over which it is averaged, which are the population."""
        definition = define(self.spec)
        if not _names_users(definition):
            return self.spec
        rule = {populations.POPULATION.name: populations.WHO_COUNTS}
        return str(replace(definition, parameters={**definition.parameters, **rule}))

    def differs(self, other: Convention, cause: str) -> bool:
        return any(getattr(self, name) != getattr(other, name) for name in CAUSES[cause])

    def switched(self, other: Convention, cause: str) -> Convention:
        """Returns this convention with the other's values for one cause."""
        if cause == "formula":
            return replace(self, spec=other.formula)
        return replace(self, **{name: getattr(other, name) for name in CAUSES[cause]})


@dataclass(frozen=True)
class MetricValue:
    """A metric's value at one k, with its standard error and number of users. If there is no value, it is NaN
    and ``reason`` says why.
    """

    value: float
    std_error: float = float("nan")
    n_users: int = 0
    reason: str = ""


Count = Callable[[Convention], MetricValue]
"""A function that scores the run under a convention."""


def convention_of(preset: str, metric: str, settings: Mapping[str, Any]) -> Convention:
    """Returns a preset's convention for a metric.

    Users that the metric's definition names override the preset's population. A threshold in the experiment's
    ``settings`` overrides the preset's, and so does the setting that every row is relevant, as in ``recdash
    evaluate``. If the settings only name a relevance column, the preset's relevance stays.
    """
    (request,), rules = read_question([metric], preset, settings["depth"])
    every_row = EVERY_ROW if settings.get("relevance") == EVERY_ROW else None
    rules = with_relevance(rules, every_row, settings.get("relevance_threshold"))
    definition = request.definition
    own = definition.parameters[populations.POPULATION.name] if _names_users(definition) else rules.users
    return Convention(
        str(definition),
        cast("Users", own),
        rules.order,
        rules.ties,
        rules.relevance,
        rules.threshold,
        rules.duplicates,
    )


def _names_users(definition: Definition) -> bool:
    """Returns whether the definition of a metric with a value per user names the users who count."""
    return definition.own_rule is not None


def conventions_of(metric: str, settings: Mapping[str, Any]) -> dict[str, Convention]:
    """Returns {preset name: its convention for a metric}, the default first."""
    return {name: convention_of(name, metric, settings) for name in PRESETS}


# ── the tables ───────────────────────────────────────────────────────────────────────────────


def preset_frame(conventions: Mapping[str, Convention], count: Count, own_order: Order) -> pd.DataFrame:
    """Returns a frame with one row per preset: preset, title, spec, value, std_error, n_users, users, order,
    ties, relevant (in words), difference (from the default), reason, state, and agreement (whether it is the
    library's own number, in words).

    ``own_order`` is the run's order, which applies if the preset has none.
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
                "relevant": _gain_words(convention),
                "difference": number.value - default.value,
                "reason": number.reason,
                "state": agreement.state,
                "agreement": agreement.sentence(),
            }
        )
    return pd.DataFrame(rows)


def cause_frame(conventions: Mapping[str, Convention], count: Count) -> pd.DataFrame:
    """Returns a frame with one row per preset and cause of its difference: preset, title, cause, words, value
    (if only this cause is changed), difference, reason.

    A row "together" has the part of the difference that the causes do not explain one by one; it is left out
    if they add up.
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
    convention = _without_idle_gain(default, convention)
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
            causes.append((TOGETHER, _together_words(convention), whole, rest))
    for cause, text, number, difference in causes:
        yield {
            "cause": cause,
            "words": text,
            "value": number.value,
            "difference": difference,
            "reason": number.reason,
        }


def _without_idle_gain(default: Convention, convention: Convention) -> Convention:
    """Returns the convention with the default's gain if every row is relevant: then each hit counts 1 under
    any gain, so that only the relevance can be a cause.
    """
    definition, usual = define(convention.spec), define(default.spec)
    if convention.relevance != EVERY_ROW or "gain" not in definition.parameters:
        return convention
    parameters = {**definition.parameters, "gain": usual.parameters["gain"]}
    return replace(convention, spec=str(replace(definition, parameters=parameters)))


# ── words ────────────────────────────────────────────────────────────────────────────────────


def in_words(default: Convention, convention: Convention) -> dict[str, str]:
    """Returns {cause: how the convention differs from the default}, for causes in which it differs."""
    words = {
        "formula": lambda: _formula_words(default.formula, convention.formula),
        "population": lambda: users_words(convention.users),
        "order": lambda: order_words(convention.order, convention.ties),
        "duplicates": lambda: DUPLICATES_WORDS[convention.duplicates],
        "relevance": lambda: _relevance_clause(convention),
    }
    return {cause: words[cause]() for cause in CAUSES if default.differs(convention, cause)}


def _formula_words(default: str, spec: str) -> str:
    """Returns the parameters that differ, such as ``ideal=full (k places even if m < k) instead of cut``."""
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
    "truth": "users with a relevant item",
    "both": "users with a relevant item and a list",
    "judged": "users in the test set",
    "judged_both": "users in the test set with a list",
    "run": "users with a list",
}
"""Short names of the population rules. These apply to accuracy only; catalogue-level metrics have a parameter
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
"""The population rules as full sentences."""
WHOSE_LISTS: Mapping[str, str] = {"run": "every list", "truth": "lists of users with a relevant item"}


def who_counts(spec: str, users: Users) -> str:
    """Returns in a few words what the metric is a mean over: users, lists or predictions."""
    definition = define(spec)
    if isinstance(definition.metric, RankingMetric):
        return WHO_COUNTS[users]
    if isinstance(definition.metric, CatalogueMetric):
        return WHOSE_LISTS[definition.parameters["users"]]
    return "every prediction"


def users_words(users: Users) -> str:
    """Returns which users count for accuracy, as a clause."""
    return WHO_COUNTS_IN_FULL[users]


def order_words(order: Order | None, ties: Ties) -> str:
    """Returns how lists are ordered, such as ``by score, tied scores by item id, descending``. Ties are
    mentioned for scores only.
    """
    if order is None:
        return "the run's own order"
    by = "in file order" if order == "file" else f"by {order}"
    ties_of = {"file": "as in the file", "item_desc": "by item id, descending"}
    return f"{by}, tied scores {ties_of[ties]}" if order == "score" else by


def relevance_words(relevance: str | None, threshold: float | None) -> str:
    """Returns which rows of the truth are relevant, such as ``relevance of 4 or more`` or ``every row``."""
    if relevance == EVERY_ROW:
        return "every row"
    return "relevance above 0" if threshold is None else f"relevance of {threshold:g} or more"


def _relevance_clause(convention: Convention) -> str:
    """Returns which rows of the truth are relevant, and whether their relevance is ignored, as a clause."""
    if convention.relevance == EVERY_ROW:
        return "every row of the test set is relevant, and counts the same"
    return f"relevant is a row with {relevance_words(convention.relevance, convention.threshold)}"


def _gain_words(convention: Convention) -> str:
    """Returns which rows of the truth are relevant, and whether others have a gain as well."""
    relevant = relevance_words(convention.relevance, convention.threshold)
    return f"{relevant}; lower relevance gains too" if _every_grade_gains(convention) else relevant


def _together_words(convention: Convention) -> str:
    """Returns what the combination of a convention's causes adds, as a clause."""
    if _every_grade_gains(convention) and convention.users in COUNT_WITHOUT_RELEVANT_ITEM:
        return "users without a relevant item count as well, and their lower relevance has a gain"
    return "what only several of these changes together add"


def _every_grade_gains(convention: Convention) -> bool:
    return define(convention.spec).parameters.get("grades") == "all"


def difference_words(value: float, default: float) -> str:
    """Returns the relative difference, such as ``63 % higher`` or ``the same``; empty if one of the numbers
    is NaN.
    """
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
    """Returns the truth with the relevance that the convention uses."""
    if convention.relevance == EVERY_ROW:
        return replace(truth, gain=np.ones(len(truth.gain)), graded=False, threshold=None)
    return truth.under(convention.threshold)


def needs_upload(hits: Hits, truth: Truth, convention: Convention) -> bool:
    """Returns whether the stored hits are not sufficient to compute the hits under this convention, so that
    the upload must be read again.
    """
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
    """Returns the convention reduced to the fields that matter for reading the upload again. Conventions that
    are equal then can share one pass over the upload.
    """
    if isinstance(define(convention.spec).metric, CatalogueMetric):
        return replace(convention, users="truth")
    return Convention(
        ANY_ACCURACY, "truth", convention.order, convention.ties, None, None, convention.duplicates
    )
