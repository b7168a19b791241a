"""Accuracy metrics of ranked lists, each defined by the credit of a hit and the norm of the sum.

The value of a user at k is Σ credit(hit) over the hits with rank ≤ k, divided by norm(k, m). For a hit, r is
its rank, j its ordinal among the user's hits and g its gain; m is the user's number of relevant items. Two
norms use the length of the user's list instead of m. Metrics of another form (graded nDCG, mar(form=ranks),
f1 of two other metrics, judged, user_coverage) have a ``build`` function.

Letters in shapes: ``H`` hits, ``K`` cutoffs, ``C`` groups of users with the same m.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.metrics.formulas import (
    Additive,
    Credit,
    DiscountedGain,
    GradedNdcg,
    HarmonicMean,
    ListAuc,
    MeanRecall,
    MetricFormula,
    Micro,
    Norm,
    OfUser,
    OverGrades,
    OverJudged,
    RatioFormula,
    running_sum,
    share,
)
from recdash.metrics.parameters import Parameter
from recdash.metrics.populations import POPULATION, over_population
from recdash.metrics.sample import JudgedHits, Number, RelevantHits, order_by_counting, relevant_items
from recdash.metrics.spec import split
from recdash.metrics.usage import UNLISTED, Usage

Resolve = Callable[[str], MetricFormula]
"""A function that returns the formula of a spec's text, for metrics that combine other metrics."""

MANNING = "Manning, Raghavan & Schütze 2008, ch. 8"
JARVELIN = "Järvelin & Kekäläinen 2002"
SMALLEST_EXPONENT = 1e-15
"""For a smaller gain g, 2^g − 1 is rounded to 0."""
LARGEST_EXPONENT = 1000
LARGEST_GAIN = 1e300
"""The sum of a hundred million such gains is still finite."""
LARGEST_VALUE = 1e100
"""The sum of as many squares of such values, which a standard error needs, is still finite."""


# ── credit of a hit ──────────────────────────────────────────────────────────────────────────


def unit_credit(hits: RelevantHits) -> Floats:
    return np.ones(len(hits.rank))


def first(hits: RelevantHits) -> Floats:
    return (hits.ordinal == 1).astype(np.float64)


def first_reciprocal(hits: RelevantHits) -> Floats:
    """Returns [H] 1 / rank for each user's first hit, 0 for the others."""
    return first(hits) / hits.rank


def reciprocal(hits: RelevantHits) -> Floats:
    return 1.0 / hits.rank


def precision_at_hit(hits: RelevantHits) -> Floats:
    """Returns [H] the precision at the rank of each hit."""
    return hits.ordinal / hits.rank


def mean_precision_step(hits: RelevantHits) -> Floats:
    """Returns [H] how much each hit changes the mean of the precisions at the user's hits so far."""
    total = running_sum(precision_at_hit(hits), hits)
    mean = total / hits.ordinal
    before = np.where(hits.ordinal > 1, np.concatenate(([0.0], mean[:-1])), 0.0)
    return mean - before


def mean_recall_step(hits: RelevantHits) -> Floats:
    """Returns [H] how much each hit changes the mean of the recalls at the user's hits so far, times m.

    The mean after j hits is (j + 1) / 2m, so that every hit after the first adds 1 / 2m.
    """
    return np.where(hits.ordinal == 1, 1.0, 0.5)


def ordinal(hits: RelevantHits) -> Floats:
    return hits.ordinal.astype(np.float64)


def within_m(hits: RelevantHits) -> Floats:
    """Returns [H] 1 for hits among the first m positions, else 0."""
    return (hits.rank <= hits.m).astype(np.float64)


def not_stopped_before(stops: Floats, hits: RelevantHits) -> Floats:
    """Returns [H] the probability that the user did not stop at an earlier hit."""
    goes_on = np.ones(len(stops))
    for at_j in by_ordinal(hits)[1:]:
        goes_on[at_j] = goes_on[at_j - 1] * (1.0 - stops[at_j - 1])
    return goes_on


def by_ordinal(hits: RelevantHits) -> list[Ints]:
    """Returns the indexes of all users' first hits, of their second hits, and so on."""
    order = order_by_counting(hits.ordinal)
    return np.split(order, np.cumsum(np.bincount(hits.ordinal)[1:-1]))


def preferred_to_negatives(hits: RelevantHits) -> Floats:
    """Returns [H] for each hit 1 − the share of the first m judged negatives that rank above it."""
    if hits.judged is None:
        return np.ones(len(hits.rank))
    fewest = np.minimum(hits.m, hits.judged.n_not_relevant[hits.user])
    return 1.0 - share(np.minimum(negatives_above(hits, hits.judged), hits.m), fewest)


def negatives_above(hits: RelevantHits, judged: JudgedHits) -> Ints:
    """Returns [H] the number of judged negatives that rank above each hit."""
    negatives = np.concatenate(([0], np.cumsum(~judged.relevant)))
    of_earlier_users = negatives[np.searchsorted(judged.user, hits.user)]
    above: Ints = negatives[:-1][judged.relevant] - of_earlier_users
    return above


def pairs_won(hits: RelevantHits) -> Floats:
    """Returns [H] the share of the user's pairs (relevant item, judged negative) that each hit wins."""
    if hits.judged is None:
        return np.zeros(len(hits.rank))
    negatives = hits.judged.n_not_relevant[hits.user]
    return share(negatives - negatives_above(hits, hits.judged), hits.m * negatives)


def unexpected(hits: RelevantHits) -> Floats:
    """Returns [H] how much more expected the hit is from its rank here than from its popularity, at least 0.

    All values are 0 without training data.
    """
    if hits.expectedness is None:
        return np.zeros(len(hits.rank))
    n = hits.expectedness.n_items
    return np.maximum((n + 1.0 - hits.rank) / n - hits.expectedness.expected[hits.item], 0.0)


def of_relevant(worth: Floats, hits: RelevantHits) -> Floats:
    """Returns [n] the sum of ``worth`` [Σm] over each user's relevant rows."""
    total, some = np.zeros(hits.n_users), hits.n_relevant > 0
    if some.any():
        total[some] = np.add.reduceat(worth, hits.ideal_start[:-1][some])
    return total


def inverse_propensity(hits: RelevantHits, power: float) -> Floats:
    """Returns [items] 1 / n^power for an item with n training users, at least 1; the propensities' common
    factor cancels.
    """
    known = hits.expectedness
    users_with = np.ones(1) if known is None or known.users_with is None else known.users_with
    return np.power(np.maximum(users_with, 1).astype(np.float64), -power)


# ── norms (functions of k [K, 1] and m [C], or of the number in LOOKS_AT) ─────────────────────────


def cutoff(k: Ints, m: Ints) -> Floats:
    return k + 0.0 * m


def cut_list(k: Ints, length: Ints) -> Floats:
    return np.minimum(k, length) + 0.0


def relevant(k: Ints, m: Ints) -> Floats:
    return m + 0.0 * k


def relevant_squared(k: Ints, m: Ints) -> Floats:
    return m * m + 0.0 * k


def relevant_up_to_k(k: Ints, m: Ints) -> Floats:
    return np.minimum(m, k) + 0.0


def relevant_up_to_list(k: Ints, least: Ints) -> Floats:
    return np.minimum(k, least) + 0.0


def unity(k: Ints, m: Ints) -> Floats:
    return np.ones(np.broadcast_shapes(k.shape, m.shape))


def listed(sample: RelevantHits) -> Ints:
    return sample.list_length


def relevant_or_listed(sample: RelevantHits) -> Ints:
    return np.minimum(sample.n_relevant, sample.list_length)


def has_negatives(sample: RelevantHits) -> Ints:
    """Returns [n] 1 for users with a judged negative and a relevant item, so with a pair; 0 for others."""
    none = np.zeros_like(sample.n_relevant)
    if sample.judged is None:
        return none
    return np.minimum(sample.judged.n_not_relevant > 0, sample.n_relevant > 0).astype(none.dtype)


LOOKS_AT: Mapping[Norm, Number] = {cut_list: listed, relevant_up_to_list: relevant_or_listed}
"""Norm → the number per user that it depends on instead of m."""


def ratio_formula(credit: Credit, norm: Norm) -> RatioFormula:
    """Returns the ratio of credit and norm, which depends on m or on the number in ``LOOKS_AT``."""
    return RatioFormula(credit, norm, LOOKS_AT.get(norm, relevant_items))


# ── gains and discounts of nDCG ──────────────────────────────────────────────────────────────

GAINS: Mapping[str, Callable[[Floats], Floats]] = {
    "linear": lambda g: g,
    "exp": lambda g: np.exp2(g) - 1.0,
    "binary": np.ones_like,
}
DISCOUNTS: Mapping[str, Callable[[Ints], Floats]] = {
    "log2": lambda r: np.log2(r + 1.0),
    "lenskit": lambda r: np.log2(np.maximum(r, 2)),
    "ln": lambda r: np.log(r + 1.0),
}


@dataclass(frozen=True)
class IdealGain:
    """The norm of nDCG if all relevant items have the same gain, computed from one table over ranks.

    ``n_positions`` is the norm that gives the number of positions that the ideal list fills.
    """

    discount: Callable[[Ints], Floats]
    n_positions: Norm

    def __call__(self, k: Ints, m: Ints) -> Floats:
        filled = self.n_positions(k, m).astype(np.int64)
        worth = 1.0 / self.discount(np.arange(1, filled.max(initial=1) + 1))
        return np.concatenate(([0.0], np.cumsum(worth)))[filled]


@dataclass(frozen=True)
class Ndcg:
    """The formula of nDCG: a ratio if all gains are equal, else computed user by user."""

    gain: str
    ideal: str
    discount: str
    grades: str = "relevant"
    pooled: bool = False

    def formula(self, sample: RelevantHits) -> GradedNdcg | RatioFormula:
        """Returns the fastest formula that is equivalent for these hits."""
        discount = DISCOUNTS[self.discount]
        if self.gain != "binary" and not sample.binary:
            return GradedNdcg(GAINS[self.gain], discount, self.ideal)
        places: Norm = {"cut": relevant_up_to_k, "full": cutoff, "all": relevant}[self.ideal]
        return RatioFormula(DiscountedGain(np.ones_like, discount), IdealGain(discount, places))

    def additive(self, sample: RelevantHits) -> Additive:
        seen = self.seen(sample)
        return self.formula(sample) if seen is sample else OverGrades(self.formula(seen))

    def curve(self, sample: RelevantHits) -> tuple[Floats, Floats]:
        seen = self.seen(sample)
        return self.formula(seen).curve(seen)

    def values(self, sample: RelevantHits, k: int) -> Floats:
        seen = self.seen(sample)
        return self.formula(seen).values(seen, k)

    own = values

    def seen(self, sample: RelevantHits) -> RelevantHits:
        """Returns the sample with the hits that have a gain: those of every grade, or only relevant ones."""
        return sample.of_every_grade if self.grades == "all" else sample


def build_ndcg(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    return Ndcg(parameters["gain"], parameters["ideal"], parameters["discount"], parameters["grades"])


def build_dcg(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    gain, discount = GAINS[parameters["gain"]], DISCOUNTS[parameters["discount"]]
    return RatioFormula(lambda hits: gain(hits.gain) / discount(hits.rank), unity)


def build_value(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    if parameters["norm"] == "none":
        return RatioFormula(lambda hits: hits.gain.astype(np.float64), unity)

    def credit(hits: RelevantHits) -> Floats:
        return share(hits.gain, of_relevant(hits.relevant_gain.astype(np.float64), hits)[hits.user])

    return RatioFormula(credit, unity)


def build_snips(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    power, at_rank = float(parameters["power"]), WORTH_AT[parameters["of"]]

    def credit(hits: RelevantHits) -> Floats:
        weight = inverse_propensity(hits, power)
        items = hits.item if hits.relevant_item is None else hits.relevant_item
        return share(weight[hits.item] * at_rank(hits.rank), of_relevant(weight[items], hits)[hits.user])

    return RatioFormula(credit, unity)


WORTH_AT: Mapping[str, Callable[[Ints], Floats]] = {
    "recall": lambda rank: np.ones(len(rank)),
    "dcg": lambda rank: 1.0 / np.log2(rank + 1.0),
    "mrr": lambda rank: 1.0 / rank,
}
"""Value of the parameter ``of`` → what a relevant item at a rank is worth before it is weighted."""


def build_ncrr(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    places: Norm = {"cut": relevant_up_to_k, "list": relevant_up_to_list, "all": relevant}[
        parameters["ideal"]
    ]
    best = IdealGain(lambda r: r.astype(np.float64), places)
    return RatioFormula(reciprocal, best, LOOKS_AT.get(places, relevant_items))


def build_auc(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    """Returns the formula of AUC within the list, or over judged items as a mean over users with a pair."""
    if parameters["pairs"] == "judged":
        return Micro(RatioFormula(pairs_won, lambda k, pairs: pairs + 0.0 * k, has_negatives))
    return ListAuc(without_miss=float(parameters["without_miss"]))


def build_success(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    fewest = int(parameters["min_hits"])
    return RatioFormula(lambda hits: (hits.ordinal == fewest).astype(np.float64), unity)


def build_mar(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    forms: dict[str, MetricFormula] = {
        "ranks": MeanRecall(),
        "hits": RatioFormula(mean_recall_step, relevant),
        "relevant": RatioFormula(ordinal, relevant_squared),
    }
    return forms[parameters["form"]]


def build_rbp(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    goes_on, gain = float(parameters["p"]), GAINS[parameters["gain"]]
    return RatioFormula(
        lambda hits: gain(hits.gain) * np.power(goes_on, hits.rank - 1.0) * (1.0 - goes_on), unity
    )


def build_err(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    """Returns the formula of ERR; a hit of gain g satisfies the user with probability (2^g − 1) / 2^top.

    The code avoids large powers.
    """

    def credit(hits: RelevantHits) -> Floats:
        top = top_grade(hits, parameters)
        stops = np.exp2(hits.gain - top) - np.exp2(-top)
        return not_stopped_before(stops, hits) * stops / hits.rank

    return RatioFormula(credit, unity)


def top_grade(hits: RelevantHits, parameters: Mapping[str, str]) -> float:
    """Returns the largest possible grade: the value of ``max_grade``, or the largest of the truth."""
    return hits.top_gain if parameters["max_grade"] == "truth" else float(parameters["max_grade"])


def build_judged(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    return OverJudged(ratio_formula(unit_credit, {"k": cutoff, "list": cut_list}[parameters["over"]]))


def build_user_coverage(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    return OfUser(lambda sample: (sample.list_length > 0).astype(np.float64))


def build_f1(parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
    """Returns the formula of F-beta, of precision and recall or of two other metrics.

    With P = h/k and R = h/m, (1 + β²)·P·R / (β²·P + R) is (1 + β²)·h / (k + β²·m), a ratio formula.
    """
    weight = float(parameters["beta"]) ** 2
    if parameters["of"] == "precision,recall" and parameters["average"] == "users":
        return RatioFormula(
            lambda hits: np.full(len(hits.rank), 1.0 + weight),
            lambda k, m: (k + weight * m).astype(np.float64),
        )
    a, b = (resolve(text) for text in split(parameters["of"]))
    return HarmonicMean(a, b, of_means=parameters["average"] == "means", weight=weight)


# ── the table ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Choice:
    """A credit or norm that depends on the value of a parameter."""

    parameter: str
    of: Mapping[str, Credit | Norm]


def always_available(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns an empty text, for a metric without required inputs."""
    return ""


def why_depth_too_small(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why the depth is too small for R-precision; an empty text if it suffices.

    Each user's list must have been read up to rank m, or be shorter than the depth.
    """
    beyond = int((sample.n_relevant > sample.depth).sum())
    if not beyond or not sample.cut_lists:
        return ""
    return (
        f"{beyond} users have more relevant items than the depth of {sample.depth}, where lists were cut; "
        f"use a depth of {int(sample.n_relevant.max())}"
    )


def why_gains_unusable(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why the gains cannot be used; an empty text if they can.

    2^g and the sum of a user's gains must be finite, and not 0. Large equal gains are allowed, since they
    cancel.
    """
    sample = sample.of_every_grade if parameters.get("grades") == "all" else sample
    gain, gains = parameters["gain"], sample.relevant_gain
    least, top = float(gains.min(initial=1)), float(gains.max(initial=0))
    if gain == "exp" and top > LARGEST_EXPONENT:
        return f"gain=exp needs gains up to {LARGEST_EXPONENT}; are these counts? Use gain=linear"
    if gain == "exp" and least < SMALLEST_EXPONENT and not sample.binary:
        return f"gain=exp needs gains from {SMALLEST_EXPONENT:g}; use gain=linear"
    if gain == "linear" and top > LARGEST_GAIN and not sample.binary:
        return f"gains above {LARGEST_GAIN:g} overflow when summed; divide all gains by one number"
    return ""


def why_values_unusable(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why the gains cannot be used by a metric that is not normalised; an empty text if they can.

    The conditions of ``why_gains_unusable`` apply. The squares of the gains must be finite too, because equal
    gains do not cancel here.
    """
    gain, top = parameters["gain"], float(sample.relevant_gain.max(initial=0))
    largest = {"linear": top, "exp": 2 ** min(top, LARGEST_EXPONENT)}.get(gain, 0.0)
    if reason := why_gains_unusable(sample, parameters):
        return reason
    if largest > LARGEST_VALUE:
        return f"gains that count above {LARGEST_VALUE:g} have no standard error; divide all by one number"
    return ""


def why_no_negatives(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why judged negatives are missing; an empty text if there are some."""
    rows = "test rows that were judged not relevant (relevance 0)"
    return f"needs {rows}, and there are none" if sample.judged is None else ""


def why_no_pairs(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why AUC over judged items has no pair to compare; an empty text if it has one, or for
    pairs=list.
    """
    if parameters["pairs"] == "list" or has_negatives(sample).any():
        return ""
    return why_no_negatives(sample, parameters) or "no user has both a relevant item and a judged negative"


def why_no_popularity(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why the items' popularity is unknown; an empty text if it is known."""
    known = sample.expectedness
    return "needs training data, and none was given" if known is None else known.why_unavailable


def why_value_unusable(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why the relevances cannot be summed up; an empty text if they can."""
    return why_values_unusable(sample, {**parameters, "gain": "linear"})


def why_no_propensity(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why the items' propensities cannot be estimated; an empty text if they can."""
    if reason := why_no_popularity(sample, parameters):
        return reason
    known = sample.expectedness
    if sample.relevant_item is None or known is None or known.users_with is None:
        return "needs the number of training users of each item"
    return ""


def why_grades_unusable(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why ``max_grade`` does not fit the truth's grades; an empty text if it does."""
    top = top_grade(sample, parameters)
    if sample.top_gain > top:
        return f"the test set has grades up to {sample.top_gain:g}, above max_grade={top:g}"
    return ""


@dataclass(frozen=True)
class RankingMetric:
    """An accuracy metric of ranked lists: a credit and a norm, or a ``build`` function.

    ``ideal_is_best``: no list scores higher than one with only the user's relevant items, best first.
    ``weighs_items``: what a hit is worth depends on its item, so that the best order of ties is unknown.
    ``may_fall``: parameter values (name, value) with which one more hit can lower the value. ``largest``: the
    largest value of a user, None without an upper bound. ``unbounded``: parameter values with which a value
    may exceed ``largest``.

    ``plain`` says to readers who do not know the metric what a value means for users.
    """

    name: str
    label: str
    title: str
    latex: str
    source: str
    credit: Credit | Choice | None = None
    norm: Norm | Choice | None = None
    parameters: tuple[Parameter, ...] = ()
    build: Callable[[Mapping[str, str], Resolve], MetricFormula] | None = None
    has_cutoff: bool = True
    rises_with_k: bool = False
    ideal_is_best: bool = True
    weighs_items: bool = False
    may_fall: frozenset[tuple[str, str]] = frozenset()
    unit: str = "share"
    range: str = "0 to 1"
    largest: float | None = 1.0
    unbounded: frozenset[tuple[str, str]] = frozenset()
    usage: Usage = UNLISTED
    plain: str = ""
    example: str = ""
    why_unavailable: Callable[[RelevantHits, Mapping[str, str]], str] = always_available

    def formula(self, parameters: Mapping[str, str], resolve: Resolve) -> MetricFormula:
        """Returns the formula for these parameter values.

        ``resolve`` gives the formulas of metrics named in them.
        """
        if self.build is not None:
            return over_population(self.build(parameters, resolve), parameters)
        ratio = ratio_formula(_chosen(self.credit, parameters), _chosen(self.norm, parameters))
        if parameters.get("truth") == "best":
            ratio = replace(ratio, view=lambda sample: sample.of_best_in_truth)
        is_micro = parameters.get("average") == "micro"
        return over_population(Micro(ratio) if is_micro else ratio, parameters)


def _chosen(part: Any, parameters: Mapping[str, str]) -> Any:
    return part.of[parameters[part.parameter]] if isinstance(part, Choice) else part


_OVER = Parameter(
    "over", {"k": "k; the missing positions of a short list are misses", "list": "the length of the list"}
)
_GAIN = Parameter("gain", {"linear": "g", "exp": "2^g − 1", "binary": "1 for every relevant item"})
_DISCOUNT = Parameter(
    "discount", {"log2": "log2(rank + 1)", "lenskit": "log2(max(rank, 2))", "ln": "ln(rank + 1)"}
)
_TRUTH = Parameter(
    "truth",
    {
        "all": "all of the user's relevant items",
        "best": "only the user's k most relevant items; items of one grade stay together",
    },
)
_AVERAGE = Parameter(
    "average",
    {
        "users": "the mean of the users' values",
        "micro": "the hits of all users, divided by the positions of all users",
    },
)

RANKING: tuple[RankingMetric, ...] = (
    RankingMetric(
        "precision",
        "Precision",
        "Share of the first k positions with a relevant item",
        r"\frac{1}{k}\sum_{r_j \le k} 1",
        MANNING,
        credit=unit_credit,
        norm=Choice("over", {"k": cutoff, "list": cut_list}),
        parameters=(_OVER, _AVERAGE, _TRUTH),
        usage=Usage(
            group="core",
            order=3,
            variants=("precision(average=micro)",),
            other_definition="over=list",
            in_words="the share of recommended items that are relevant",
        ),
        plain="How many of the recommended items are right: 0.18 says that 18 of 100 are relevant to "
        "their user.",
        example="Relevant a, b, c, d; list a, x, b; k = 5: 2 hits in 5 positions, 2/5 = 0.4.",
    ),
    RankingMetric(
        "recall",
        "Recall",
        "Share of the user's relevant items found in the first k positions",
        r"\frac{1}{m}\sum_{r_j \le k} 1",
        MANNING,
        credit=unit_credit,
        norm=Choice("norm", {"relevant": relevant, "min": relevant_up_to_k}),
        parameters=(
            Parameter(
                "norm", {"relevant": "all m relevant items", "min": "min(m, k), so that 1 is possible"}
            ),
            _AVERAGE,
            _TRUTH,
        ),
        rises_with_k=True,
        usage=Usage(
            group="core",
            order=2,
            variants=("recall(average=micro)",),
            other_definition="norm=min",
            in_words="the share of relevant items found",
        ),
        plain="How much of what users want their lists contain: 0.18 says that a list has, on average, 18 "
        "% of the user's relevant items.",
        example="10 relevant items, 3 of them in the first 3 positions: 3/10 = 0.3.",
    ),
    RankingMetric(
        "f1",
        "F1",
        "Harmonic mean of precision and recall, per user",
        r"\frac{2}{k + m}\sum_{r_j \le k} 1",
        MANNING,
        build=build_f1,
        parameters=(
            Parameter(
                "of",
                {"precision,recall": "the two metrics that are combined; any two may be named"},
                kind="metrics",
            ),
            Parameter(
                "average",
                {"users": "per user, then the mean (0 where both are 0)", "means": "from the two means"},
            ),
            Parameter(
                "beta", {"1": "recall weighs beta² times as much as precision"}, "number", above=0, below=1000
            ),
        ),
        usage=Usage(other_definition="average=means"),
        plain="Precision and recall in one number, which is high only if both are. 0.18 has no meaning of "
        "its own: use it to compare candidates.",
        example="1 hit in 4 positions, 1 relevant item: P = 0.25, R = 1, F1 = 2·0.25·1/1.25 = 0.4.",
    ),
    RankingMetric(
        "hit_rate",
        "Hit rate",
        "Share of users with at least one relevant item in the first k positions",
        r"[\,r_1 \le k\,]",
        "Deshpande & Karypis 2004",
        credit=first,
        norm=unity,
        rises_with_k=True,
        usage=Usage(group="core", order=4, in_words="the share of users with a hit"),
        plain="How many users find anything they want: 0.18 says that 18 of 100 users have at least one "
        "relevant item in their list.",
        example="Of two users one has a hit: 1/2 = 0.5.",
    ),
    RankingMetric(
        "success",
        "Success",
        "Share of users with at least h relevant items in the first k positions",
        r"[\,r_h \le k\,]",
        "Craswell & Hawking 2004, Success@k, for any number of hits",
        build=build_success,
        parameters=(
            Parameter(
                "min_hits",
                {"1": "h, the hits that a list must have; 1 is the hit rate"},
                "number",
                above=0,
                whole=True,
            ),
        ),
        rises_with_k=True,
        usage=Usage(is_scored=False),
        plain="How many users find enough: with h = 3, 0.18 says that 18 of 100 users have three "
        "relevant items or more in their list.",
        example="Two users with 1 and 3 hits, h = 2: 1/2 = 0.5.",
    ),
    RankingMetric(
        "hits",
        "Hits",
        "Number of relevant items in the first k positions",
        r"\sum_{r_j \le k} 1",
        MANNING,
        credit=unit_credit,
        norm=unity,
        rises_with_k=True,
        unit="items",
        range="0 to k",
        largest=None,
        usage=Usage(is_scored=False),
        plain=("How many relevant items a list contains: 0.18 says that 100 lists have 18."),
        example="Relevant a, b, c, d; list a, x, b: 2 hits.",
    ),
    RankingMetric(
        "mrr",
        "MRR",
        "One over the rank of the first relevant item, 0 if the first k positions have none",
        r"\frac{[\,r_1 \le k\,]}{r_1}",
        "Voorhees 1999",
        credit=Choice("sum", {"first": first_reciprocal, "all": reciprocal}),
        norm=unity,
        parameters=(
            Parameter("sum", {"first": "the first hit only", "all": "every hit, so the value can exceed 1"}),
        ),
        rises_with_k=True,
        unbounded=frozenset({("sum", "all")}),
        usage=Usage(
            group="core",
            order=6,
            other_definition="sum=all",
            in_words="how early the first relevant item appears",
        ),
        plain="How soon users reach the first item they want: 1 says at the top of every list, and a "
        "first hit at position 5 or 6 gives about 0.18.",
        example="Hits at ranks 2 and 4: 1/2; with sum=all 1/2 + 1/4.",
    ),
    RankingMetric(
        "map",
        "MAP",
        "Sum of the precision at each hit, divided by the number of relevant items",
        r"\frac{1}{m}\sum_{r_j \le k} \frac{j}{r_j}",
        MANNING,
        credit=Choice("norm", defaultdict(lambda: precision_at_hit, hits=mean_precision_step)),
        norm=Choice(
            "norm",
            {
                "relevant": relevant,
                "min": relevant_up_to_k,
                "list": relevant_up_to_list,
                "hits": unity,
                "k": cutoff,
                "none": unity,
            },
        ),
        parameters=(
            Parameter(
                "norm",
                {
                    "relevant": "all m relevant items",
                    "min": "min(m, k)",
                    "list": "min(m, length of the list cut at k)",
                    "hits": "the hits found, 0 if none",
                    "k": "k",
                    "none": "1: the plain sum",
                },
            ),
            POPULATION,
        ),
        rises_with_k=True,
        may_fall=frozenset({("norm", "hits")}),
        unbounded=frozenset({("norm", "none")}),
        usage=Usage(
            group="core", order=5, other_definition="norm=min", in_words="how well relevant items are ranked"
        ),
        plain="Whether all of a user's relevant items are in the list, the earlier the better. 1 is the "
        "best possible; 0.18 says that lists earn, on average, 18 % of that.",
        example="Hits at ranks 1, 2, 4 of m = 10: (1/1 + 2/2 + 3/4)/10 = 0.275.",
    ),
    RankingMetric(
        "mar",
        "MAR",
        "Mean of recall@1 … recall@k",
        r"\frac{1}{k}\sum_{i=1}^{k} \mathrm{recall@}i",
        "Three known readings of a formula whose source is lost",
        build=build_mar,
        parameters=(
            Parameter(
                "form",
                {
                    "ranks": "the mean over the ranks 1..k",
                    "hits": "the mean over the ranks of the hits",
                    "relevant": "the sum over the hits divided by m",
                },
            ),
        ),
        plain="Recall, averaged over all lengths of the list up to k: it is higher if relevant items come "
        "early. 0.18 says that a list contains 18 % of the user's relevant items, averaged over "
        "these lengths.",
        example="Hits at ranks 1, 2, 4 of m = 10, k = 5: (.1 + .2 + .2 + .3 + .3)/5 = 0.22.",
    ),
    RankingMetric(
        "ndcg",
        "nDCG",
        "Discounted gain of the hits, divided by that of the best possible list",
        r"\frac{\sum_{r_j \le k} g_j / \log_2(r_j + 1)}{\sum_{i=1}^{\min(m,k)} g^*_i / \log_2(i + 1)}",
        f"{JARVELIN}; exponential gain: Burges et al. 2005",
        build=build_ndcg,
        why_unavailable=why_gains_unusable,
        parameters=(
            _GAIN,
            Parameter(
                "ideal",
                {
                    "cut": "the best min(m, k) items",
                    "full": "k items even if m < k",
                    "all": "all m items, whatever k is",
                },
            ),
            _DISCOUNT,
            Parameter(
                "grades",
                {
                    "relevant": "only relevant items have a gain",
                    "all": "every item with relevance above 0 has a gain, also below the threshold",
                },
            ),
            POPULATION,
        ),
        usage=Usage(
            group="core", order=1, other_definition="gain=exp", in_words="how well relevant items are ranked"
        ),
        plain="Whether the items a user wants are in the list, and near its top. 1 is the best possible "
        "order; 0.18 says that lists earn, on average, 18 % of that.",
        example="One relevant item at rank 2: (1/log2 3)/(1/log2 2) = 0.6309.",
    ),
    RankingMetric(
        "dcg",
        "DCG",
        "Discounted gain of the hits, not normalised",
        r"\sum_{r_j \le k} g_j / \log_2(r_j + 1)",
        f"{JARVELIN}; exponential gain: Burges et al. 2005",
        build=build_dcg,
        why_unavailable=why_values_unusable,
        parameters=(_GAIN, _DISCOUNT),
        rises_with_k=True,
        unit="gain",
        range="0 or more",
        largest=None,
        usage=Usage(is_scored=False),
        plain="nDCG before it is compared with the best possible list, so users with many relevant items "
        "count more. A value has no meaning of its own: use it to compare candidates on the same "
        "test set.",
        example="Grades 3, 2, 3, 0, 1, 2: 3 + 2/log2 3 + 3/2 + 0 + 1/log2 6 + 2/log2 7 = 6.861.",
    ),
    RankingMetric(
        "value",
        "Value",
        "Sum of the relevance of the hits, such as the revenue of the items that were bought",
        r"\sum_{r_j \le k} g_j",
        f"{JARVELIN}, cumulated gain; as revenue: Jannach & Jugovac 2019",
        build=build_value,
        why_unavailable=why_value_unusable,
        parameters=(
            Parameter(
                "norm",
                {
                    "none": "the plain sum, in units of the relevance column",
                    "relevant": "the sum over all of the user's relevant items: the share of the value found",
                },
            ),
        ),
        rises_with_k=True,
        unit="relevance",
        range="0 or more",
        unbounded=frozenset({("norm", "none")}),
        usage=Usage(is_scored=False),
        plain="How much value the hits of a list have, if the relevance column of the test set is an amount "
        "such as revenue: 12.5 says 12.50 per user.",
        example="Grades 3, 2, 3, 0, 1, 2: 11. With norm=relevant and 22 in all: 11/22 = 0.5.",
    ),
    RankingMetric(
        "snips",
        "SNIPS",
        "Worth of the relevant items found, each weighted by one over the probability that it was observed, "
        "divided by the sum of these weights over the user's relevant items",
        r"\frac{\sum_{r_j \le k} c(r_j) / p_j}{\sum_{i=1}^{m} 1 / p_i}, \quad p_i \propto n_i^{\,\beta}",
        "Yang et al. 2018, self-normalised (Swaminathan & Joachims 2015); popularity as propensity with "
        "power 0.5: Saito et al. 2020",
        build=build_snips,
        why_unavailable=why_no_propensity,
        ideal_is_best=False,
        weighs_items=True,
        parameters=(
            Parameter(
                "of",
                {
                    "recall": "1 for every hit",
                    "dcg": "1/log2(rank + 1)",
                    "mrr": "1/rank, for every hit",
                },
            ),
            Parameter(
                "power",
                {"0.5": "β: an item with n training users is observed with probability ∝ n^β"},
                "number",
                above=-0.001,
                below=10,
            ),
        ),
        rises_with_k=True,
        usage=Usage(is_scored=False),
        plain="Recall if the test set has popular items too often: hits on rarely seen items count more. "
        "0.18 says that lists find 18 % of the weighted relevant items.",
        example="Relevant a, b with 4 and 1 training users, weights 1/2 and 1; a found: 0.5/1.5 = 0.3333.",
    ),
    RankingMetric(
        "ncrr",
        "NCRR",
        "Sum of one over the rank of each hit, divided by that sum for the ideal list",
        r"\frac{\sum_{r_j \le k} 1 / r_j}{\sum_{i=1}^{\min(m,k)} 1 / i}",
        "The form of Cornac (normalized cumulative reciprocal rank)",
        build=build_ncrr,
        parameters=(
            Parameter(
                "ideal",
                {
                    "cut": "the best min(m, k) items",
                    "list": "the best min(m, length of the list cut at k) items (Cornac)",
                    "all": "all m items, whatever k is",
                },
            ),
        ),
        usage=Usage(is_scored=False),
        plain="Like nDCG, but the first positions weigh more. 1 is the best possible order; 0.18 says "
        "that lists earn, on average, 18 % of that.",
        example="m = 2, hits at ranks 1 and 3: (1 + 1/3)/(1 + 1/2) = 0.8889.",
    ),
    RankingMetric(
        "auc",
        "User AUC",
        "Share of pairs of a hit and a miss in the first k positions in which the hit ranks higher",
        r"1 - \frac{\sum_{r_j \le k} (r_j - j)}{h\,(\min(k, |L|) - h)}, \quad h = |\{j : r_j \le k\}|",
        "Fawcett 2006, within one list as in RePlay; 0 without a hit",
        build=build_auc,
        why_unavailable=why_no_pairs,
        parameters=(
            Parameter(
                "pairs",
                {
                    "list": "a hit and a miss of the list",
                    "judged": "a relevant item and a judged negative (relevance 0), won if the relevant item "
                    "is in the list and the negative is not above it; users without a pair do not count",
                },
            ),
            Parameter(
                "without_miss",
                {
                    "1": "the value if every position is a hit",
                    "0": "0, since such a list has no pair (TorchMetrics)",
                },
            ),
        ),
        may_fall=frozenset({("without_miss", "1"), ("without_miss", "0")}),
        ideal_is_best=False,  # with without_miss=0 a list of hits alone has no pair, and counts 0
        usage=Usage(is_scored=False),
        plain="Whether hits stand above misses within a list: 1 says that all of them do, and a list with "
        "hits in random order has about 0.5.",
        example="List a, x, b, y with a and b relevant: of 4 pairs a wins 2 and b 1, 3/4 = 0.75.",
    ),
    RankingMetric(
        "r_precision",
        "R-precision",
        "Share of the first m positions with a relevant item, where m is the user's number of relevant items",
        r"\frac{1}{m}\sum_{r_j \le m} 1",
        MANNING,
        credit=within_m,
        norm=relevant,
        has_cutoff=False,
        why_unavailable=why_depth_too_small,
        plain="How many recommended items are right if a list may have only as many as the user has "
        "relevant items: 0.18 says 18 of 100.",
        example="m = 4, list a, x, b: 2 hits in the first 4 positions, 2/4 = 0.5.",
    ),
    RankingMetric(
        "rbp",
        "RBP",
        "Rank-biased precision: expected hits of a user who continues to the next position with "
        "probability p",
        r"(1 - p)\sum_{r_j \le k} p^{\,r_j - 1}",
        "Moffat & Zobel 2008",
        build=build_rbp,
        parameters=(
            Parameter(
                "p", {"0.8": "the probability of continuing to the next position"}, "number", above=0, below=1
            ),
            Parameter("gain", {"binary": "1 for every relevant item", "linear": "g", "exp": "2^g − 1"}),
        ),
        why_unavailable=why_values_unusable,
        unbounded=frozenset({("gain", "linear"), ("gain", "exp")}),
        rises_with_k=True,
        plain="How many of the items that users see are right, if a user may stop after each position: "
        "0.18 says 18 of 100.",
        example="Hits at ranks 1 and 3, p = 0.8: 0.2·(1 + 0.64) = 0.328.",
    ),
    RankingMetric(
        "err",
        "ERR",
        "Expected reciprocal rank of the position at which a satisfied user stops",
        r"\sum_{r_j \le k} \frac{R_j}{r_j} \prod_{i < j} (1 - R_i), \quad R = \frac{2^{g} - 1}{2^{g_{\max}}}",
        "Chapelle, Metzler, Zhang & Grinspan 2009",
        build=build_err,
        why_unavailable=why_grades_unusable,
        parameters=(
            Parameter("max_grade", {"truth": "the largest grade of the test set"}, "number", above=0),
        ),
        rises_with_k=True,
        plain="How soon a user finds something satisfying, which the best items do most probably. A "
        "certain find at position 5 or 6 gives about 0.18.",
        example="One grade only, so R = 1/2; hits at ranks 1 and 3: 1/2·1 + 1/2·1/2·1/3 = 0.5833.",
    ),
    RankingMetric(
        "bpref",
        "bpref",
        "How rarely judged negatives rank above relevant items; unjudged items are ignored",
        r"\frac{1}{m}\sum_{r_j \le k} 1 - \frac{\min(n_j, m)}{\min(n, m)}",
        "Buckley & Voorhees 2004",
        credit=preferred_to_negatives,
        norm=relevant,
        why_unavailable=why_no_negatives,
        rises_with_k=True,
        plain="Whether items that a user wants rank above those known to be unwanted: 1 says that all of "
        "them do. Items without a judgement play no part.",
        example="m = 2, n = 3 negatives; list relevant, negative, relevant: (1 + (1 − 1/2))/2 = 0.75.",
    ),
    RankingMetric(
        "judged",
        "Judged",
        "Share of the first k positions with an item that was judged for this user, relevant or not",
        r"\frac{1}{k}\,|\{i \le k : i \text{ judged}\}|",
        "Buckley & Voorhees 2004, on incomplete judgments",
        build=build_judged,
        why_unavailable=why_no_negatives,
        ideal_is_best=False,
        parameters=(_OVER,),
        plain="How much is known about the recommended items: 0.18 says that the test set judges 18 of "
        "100 for their user. A low value makes other metrics less certain.",
        example="4 positions with a relevant item, a judged negative and two unjudged items: 2/4 = 0.5.",
    ),
    RankingMetric(
        "serendipity",
        "Serendipity",
        "Relevant items, weighted by how much higher they rank than by popularity",
        r"\frac{1}{k}\sum_{r_j \le k} \max(p_u(j) - p(j), 0), \quad p_u = \frac{n + 1 - r_j}{n}",
        "The form of RecTools; p(j) from the item's popularity rank in the training data, 0 if unseen",
        credit=unexpected,
        norm=Choice("over", {"k": cutoff, "list": cut_list}),
        why_unavailable=why_no_popularity,
        ideal_is_best=False,
        parameters=(_OVER, POPULATION),
        plain="Whether a candidate finds relevant items that are not simply popular: 0 says that it finds "
        "none, or that popularity ranks them as high.",
        example="n = 4; a hit at rank 1 on the second most popular item: 4/4 − 3/4 = 0.25, over k = 1.",
    ),
    RankingMetric(
        "user_coverage",
        "User coverage",
        "Share of the counted users that have recommendations",
        r"[\,|L_u| > 0\,]",
        "Ge, Delgado-Battenfeld & Jannach 2010 (prediction coverage, for users)",
        build=build_user_coverage,
        has_cutoff=False,
        plain=("How many users get recommendations at all: 0.18 says 18 of 100."),
        example="3 of 4 users have a list: 3/4 = 0.75.",
    ),
)
