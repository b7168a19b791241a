"""Catalogue-level metrics: what a run shows of the catalogue, computed from counts of items per rank.

They need only the number of lists that have each item in the first k positions, so that their cost does not
grow with the number of users.

Letters in shapes: ``N`` items of the exposure, ``depth`` the cutoffs 1..depth, ``V`` values of an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil

import numpy as np

from recdash.domain.hits import Exposure, RankCounts
from recdash.domain.kinds import Floats, Ints, Mask
from recdash.metrics.exposures import joined_exposures
from recdash.metrics.parameters import Parameter
from recdash.metrics.usage import UNLISTED, Usage


@dataclass(frozen=True)
class Labels:
    """The values of one catalogue attribute: item ``item[p]`` has the value ``values[value[p]]``.

    An item may have several values, or none.
    """

    values: Sequence[str]
    item: Ints
    value: Ints


def no_labels(attribute: str) -> Labels:
    """Returns no values, for a run without a catalogue."""
    return Labels((), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class Levels:
    """A histogram of exposure: ``often`` items of the universe are in exactly ``level`` lists each.

    ``level`` is ascending.
    """

    level: Ints
    often: Ints


def levels_of(counts: Ints) -> Levels:
    """Returns the histogram of the counts [N]; it is four times faster than sorting them."""
    often = np.bincount(counts)
    level = np.flatnonzero(often)
    return Levels(level, often[level])


@dataclass(frozen=True)
class CatalogueInputs:
    """A run's exposure with data about the items, from which every catalogue-level metric is computed.

    N are all items of the exposure. ``catalogue`` and ``truth`` [N] mark the items of those tables,
    ``train_users`` [N] is the number of training users of each item; None if the table is missing.
    ``attributes`` are the names of the catalogue's attributes, ``labels`` reads the values of one. ``tables``
    are the names of all given tables other than the truth.

    ``exposure`` covers the lists of users with a relevant item, ``other_exposure`` all other lists, if any.
    ``is_whole`` is False if there are other lists that were not counted.
    """

    exposure: Exposure
    depth: int
    truth: Mask
    catalogue: Mask | None = None
    train_users: Ints | None = None
    n_train_users: int = 0
    attributes: Sequence[str] = ()
    labels: Callable[[str], Labels] = no_labels
    tables: Collection[str] = ()
    other_exposure: Exposure | None = None
    is_whole: bool = True
    may_repeat: bool = False
    """True if a list may repeat items (duplicates=keep)."""
    unmet: Mapping[str, str] = field(default_factory=dict)
    """Table → the reason why a catalogue or training data was excluded: it does not know the items shown."""

    def of(self, users: str) -> CatalogueInputs:
        """Returns the inputs for all lists (``run``), or for users with a relevant item (``truth``)."""
        return self if users == "truth" else self._of_run

    @cached_property
    def _of_run(self) -> CatalogueInputs:
        """Returns the inputs with the exposure of all lists of the run."""
        if self.other_exposure is None or not self.other_exposure.n_lists:
            return self  # both populations have the same lists and share the cache
        exposure = joined_exposures(self.exposure, self.other_exposure)
        return replace(self, exposure=exposure, other_exposure=None)

    @property
    def n_items(self) -> int:
        return len(self.truth)

    def levels(self, of: str) -> Sequence[Levels]:
        """Returns one histogram per k = 1..depth, over the items of a universe; cached for all metrics.

        ``of`` names the universe: catalogue, train or truth.
        """
        if of not in self._levels:
            universe = np.flatnonzero(self.members(of))
            self._levels[of] = [levels_of(held[universe]) for held in self.counts()]
        return self._levels[of]

    @cached_property
    def _levels(self) -> dict[str, Sequence[Levels]]:
        return {}

    def counts(self) -> Iterator[Ints]:
        """Yields for each k = 1..depth [N] the number of lists with each item in the first k positions.

        The same array is yielded each time; copy it to keep it.
        """
        held = np.zeros(self.n_items, dtype=np.int64)
        for item, count in _by_rank(self.exposure.shown):
            held[item.astype(np.intp)] += count  # numpy would widen the index twice, to read and to write
            yield held

    def first_shown(self) -> Ints:
        """Returns [N] the best rank of each item in any list; depth + 1 for an item that is in no list."""
        first = np.full(self.n_items, self.depth + 1)
        shown = self.exposure.shown
        for k in range(self.depth, 0, -1):
            first[shown.item[shown.start[k - 1] : shown.start[k]]] = k
        return first

    def universe(self, of: str) -> Mask | None:
        """Returns [N] a mask of the items that could have been shown, according to the named table.

        ``of`` is catalogue, train or truth. Returns None without that table.
        """
        if of == "train":
            return None if self.train_users is None else self.train_users > 0
        return self.catalogue if of == "catalogue" else self.truth

    @cached_property
    def seen_by(self) -> Ints:
        """Returns [N] the number of training users of each item; all 0 without training data."""
        return np.zeros(self.n_items, dtype=np.int64) if self.train_users is None else self.train_users

    def surprise(self, share: str) -> Floats:
        """Returns [N] −log2 of each item's share of the training users or rows.

        An item that is not in the training data counts as if it had one.
        """
        return -np.log2(np.maximum(self.seen_by, 1) / self.train_size(share))

    def train_size(self, share: str) -> int:
        """Returns the number of users, or rows, of the training data."""
        return self.n_train_users if share == "users" else int(self.seen_by.sum())

    def tail(self, head: Fraction) -> Mask:
        """Returns [N] a mask of the long-tail items, which are all but the share ``head`` of the items."""
        return self.seen_by < fewest_users_of_head(self.seen_by, head)

    def members(self, of: str) -> Mask:
        """Returns [N] the mask of ``universe``; all False without the table."""
        universe = self.universe(of)
        return np.zeros(self.n_items, dtype=bool) if universe is None else universe


def _by_rank(counts: RankCounts) -> Iterator[tuple[Ints, Ints]]:
    for begin, end in pairwise(counts.start):
        yield counts.item[begin:end], counts.count[begin:end]


# ── the metrics, each a curve [depth] ────────────────────────────────────────────────────────


def coverage(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] the share of the universe's items that are in some list up to each k."""
    levels = inputs.levels(parameters["of"])
    if parameters["counted"] == "every":
        shown = np.bincount(inputs.first_shown(), minlength=inputs.depth + 2)[1:-1].cumsum()
        return shown / levels[0].often.sum()
    return np.array([at_k.often[at_k.level > 0].sum() / at_k.often.sum() for at_k in levels])


def coverage_by(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] the share of the attribute's values that some shown item has, up to each k."""
    labels = inputs.labels(parameters["attribute"])
    first = np.full(len(labels.values), inputs.depth + 1)
    np.minimum.at(first, labels.value, inputs.first_shown()[labels.item])
    return np.bincount(first, minlength=inputs.depth + 2)[1:-1].cumsum() / len(labels.values)


@dataclass(frozen=True)
class ShownBy:
    """Positions and catalogue items per value of an attribute.

    ``places`` [V] is the number of shown positions with each value, ``items`` [V] that of the catalogue's
    items. An item with several values counts in each of them. ``n_places`` and ``n_items`` are the totals;
    ``places_without`` and ``items_without`` count those without any value.
    """

    values: Sequence[str]
    places: Ints
    items: Ints
    n_places: int
    n_items: int
    places_without: int
    items_without: int


def shown_by(inputs: CatalogueInputs, attribute: str, k: int) -> ShownBy:
    """Returns the number of positions in the top k, and of catalogue items, per value of the attribute.

    Call ``why_attribute_unusable`` first, which says whether the attribute exists.
    """
    labels, shown, catalogue = inputs.labels(attribute), inputs.exposure.shown, inputs.members("catalogue")
    end = shown.start[k]
    held = np.zeros(inputs.n_items, dtype=np.int64)
    np.add.at(held, shown.item[:end], shown.count[:end])
    has_value = np.zeros(inputs.n_items, dtype=bool)
    has_value[labels.item] = True
    places = np.zeros(len(labels.values), dtype=np.int64)
    np.add.at(places, labels.value, held[labels.item])
    return ShownBy(
        labels.values,
        places,
        np.bincount(labels.value, minlength=len(labels.values)),
        n_places=int(held.sum()),
        n_items=int(catalogue.sum()),
        places_without=int(held[~has_value].sum()),
        items_without=int((catalogue & ~has_value).sum()),
    )


EXPOSURE_AT: Mapping[str, Callable[[int], float]] = {
    "log2": lambda rank: 1.0 / float(np.log2(rank + 1)),
    "none": lambda _: 1.0,
}
"""Value of the parameter ``discount`` → the exposure that a list gives the item at a rank."""


def exposure_fairness(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] 1 − the Jensen-Shannon divergence between the values' shares of exposure and their
    target shares, at each k; NaN while no shown item has a value.
    """
    labels, exposure_at = inputs.labels(parameters["attribute"]), EXPOSURE_AT[parameters["discount"]]
    target = target_shares(inputs, labels, parameters["target"])
    exposure, fairness = np.zeros(inputs.n_items), np.full(inputs.depth, np.nan)
    for rank, (item, count) in enumerate(_by_rank(inputs.exposure.shown), start=1):
        exposure[item] += count * exposure_at(rank)
        of_value = np.bincount(labels.value, exposure[labels.item], minlength=len(labels.values))
        if of_value.any():
            fairness[rank - 1] = 1.0 - divergence(of_value / of_value.sum(), target)
    return fairness


def target_shares(inputs: CatalogueInputs, labels: Labels, target: str) -> Floats:
    """Returns [V] the share of exposure that each value of an attribute should have.

    An item with several values counts in each.
    """
    if target == "equal":
        return np.full(len(labels.values), 1.0 / len(labels.values))
    weight = inputs.seen_by if target == "train" else np.ones(inputs.n_items)
    of_value = np.bincount(labels.value, weight[labels.item], minlength=len(labels.values))
    return of_value / max(of_value.sum(), 1.0)


def divergence(first: Floats, second: Floats) -> float:
    """Returns the Jensen-Shannon divergence of two distributions in bits, from 0 (equal) to 1 (disjoint)."""
    middle = (first + second) / 2

    def from_middle(part: Floats) -> float:
        some = part > 0
        return float((part[some] * np.log2(part[some] / middle[some])).sum())

    return min(max((from_middle(first) + from_middle(second)) / 2, 0.0), 1.0)


def entropy(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] the entropy of the universe's exposure at each k, in bits or nats."""
    levels = inputs.levels(parameters["of"])
    bits = np.array([entropy_of(at_k) for at_k in levels])
    in_unit = bits * (np.log(2) if parameters["log"] == "e" else 1.0)
    if parameters["norm"] == "shown":
        shown = [float(at_k.often[at_k.level > 0].sum()) or np.nan for at_k in levels]
        return in_unit / np.array(shown)
    return bits / np.log2(levels[0].often.sum()) if parameters["norm"] == "max" else in_unit


def entropy_of(levels: Levels) -> float:
    """Returns −Σ p·log2 p in bits, where p = c / Σc is an item's share of the positions.

    The result is NaN if nothing was shown.
    """
    total, shown = levels.level @ levels.often, levels.level > 0
    share_of = levels.level[shown] / total
    return float(-(levels.often[shown] * share_of * np.log2(share_of)).sum()) if total else float("nan")


def tail_share(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] the share of long-tail items in the top k of each list, averaged over lists."""
    return _mean_over_lists(inputs, inputs.tail(Fraction(parameters["head"])).astype(np.float64))


def fewest_users_of_head(seen_by: Ints, head: Fraction) -> int:
    """Returns the smallest number of training users that an item of the head has.

    The head is the share ``head`` of the items in the training data, those with the most users, and all items
    that tie with the last of them. The share is a Fraction, because 0.07 · 100 is more than 7 in floats.
    """
    seen = np.sort(seen_by[seen_by > 0])[::-1]
    return int(seen[ceil(head * len(seen)) - 1])


def gini(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] the Gini index of the universe's exposure at each k."""
    values = []
    for levels in inputs.levels(parameters["of"]):
        counted = levels.level >= (1 if parameters["items"] == "shown" else 0)
        levels_counted = Levels(levels.level[counted], levels.often[counted])
        n, factor = int(levels_counted.often.sum()), 1.0
        if parameters["norm"] != "n":  # norm=n-1
            factor = n / (n - 1) if n > 1 else float("nan")
        values.append(gini_of(levels_counted) * factor)
    return np.array(values)


def gini_of(levels: Levels) -> float:
    """Returns the Gini index Σ (2i − n − 1)·c_i / (n·Σc) over ascending counts; NaN if nothing was shown.

    Items with equal counts are contiguous: for ``often`` of them after ``before`` others, the factors 2i − n
    − 1 add up to often · (2·before + often − n).
    """
    level, often = levels.level, levels.often
    n, total = often.sum(), level @ often
    before = np.cumsum(often) - often
    return float((often * (2 * before + often - n)) @ level / (n * total)) if total else float("nan")


def personalization(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] 1 − the mean similarity of two lists.

    A list of L items gives each of its first k items the weight 1/√min(k, L), which stays the same after the
    list ends. The sum of cosines over all pairs of lists is then (Σ over items of the squared sum of weights
    − lists) / 2.
    """
    n, ended = inputs.exposure.n_lists, np.zeros(inputs.n_items)
    if parameters["distance"] == "hamming":
        # 1 − the mean of |L ∩ L′| / k over pairs of users; its sum is Σ c·(c − 1) / 2 over items in c lists.
        shared = [held @ (held - 1) / (n * (n - 1.0)) / k for k, held in enumerate(inputs.counts(), start=1)]
        return 1.0 - np.array(shared)
    over, alike, some_end = np.zeros(inputs.n_items, dtype=np.int64), [], len(inputs.exposure.ended.item) > 0
    ends = _by_rank(inputs.exposure.ended)
    for k, (held, (item, count)) in enumerate(zip(inputs.counts(), ends, strict=True), start=1):
        # if all lists are full every weight is 1/√k: the counts suffice, in a third of the time
        squares = np.square((held - over) / np.sqrt(k) + ended).sum() if some_end else held @ held / k
        alike.append((squares - n) / (n * (n - 1.0)))
        over[item] += count
        ended[item] += count / np.sqrt(k)
    return 1.0 - np.array(alike)


def novelty(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] the mean −log2 of the items' share of the training users or rows, at each k."""
    share = parameters["share"]
    surprise = inputs.surprise(share)
    if parameters["norm"] == "max":
        surprise = surprise / np.log2(inputs.train_size(share))
    if parameters["unseen"] == "bound":
        return _MEANS[parameters["over"]](inputs, surprise, np.ones(inputs.n_items))
    seen = inputs.seen_by > 0
    counted = seen.astype(np.float64) if parameters["unseen"] == "drop" else np.ones(inputs.n_items)
    return _MEANS[parameters["over"]](inputs, np.where(seen, surprise, 0.0), counted)


def popularity(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> Floats:
    """Returns [depth] the mean number of training users of the shown items, at each k."""
    rows = max(inputs.train_size("rows"), 1) if parameters["norm"] == "rows" else 1
    return _mean_over_lists(inputs, inputs.seen_by / rows)


def _mean_over_lists(inputs: CatalogueInputs, worth: Floats) -> Floats:
    """Returns [depth] the mean of ``worth`` [N] over the first k items of each list, averaged over lists."""
    k = np.arange(1, inputs.depth + 1)
    total = _sum_by_rank(inputs.exposure.shown, worth).cumsum()
    of_length = _sum_by_rank(inputs.exposure.ended, worth)
    over = np.concatenate(([0.0], of_length.cumsum()[:-1]))
    ended = np.concatenate(([0.0], (of_length / k).cumsum()[:-1]))
    return ((total - over) / k + ended) / inputs.exposure.n_lists


def _mean_over_k(inputs: CatalogueInputs, worth: Floats) -> Floats:
    """Returns [depth] the sum of ``worth`` [N] over the first k items ÷ k, averaged over lists."""
    total = _sum_by_rank(inputs.exposure.shown, worth).cumsum()
    return total / np.arange(1, inputs.depth + 1) / inputs.exposure.n_lists


def _mean_over_places(inputs: CatalogueInputs, worth: Floats, counted: Floats) -> Floats:
    """Returns [depth] the mean of ``worth`` [N] over all positions whose item is in ``counted`` [N].

    It is NaN at a k without such a position.
    """
    total = _sum_by_rank(inputs.exposure.shown, worth).cumsum()
    places = _sum_by_rank(inputs.exposure.shown, counted).cumsum()
    return np.divide(total, places, out=np.full(len(total), np.nan), where=places > 0)


_MEANS: Mapping[str, Callable[[CatalogueInputs, Floats, Floats], Floats]] = {
    "list": lambda inputs, worth, _: _mean_over_lists(inputs, worth),
    "k": lambda inputs, worth, _: _mean_over_k(inputs, worth),
    "places": _mean_over_places,
}
"""Value of the parameter ``over`` → the function that averages over the shown items."""


def _sum_by_rank(counts: RankCounts, worth: Floats) -> Floats:
    """Returns [depth] for each rank the sum of ``worth`` [N] over the items shown there."""
    return np.array([(count * worth[item]).sum() for item, count in _by_rank(counts)])


# ── required inputs ───────────────────────────────────────────────────────────────────────────


def why_no_universe(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> str:
    """Returns why the table that defines the universe is missing; an empty text if it is given."""
    if inputs.universe(parameters["of"]) is None:
        words = {"train": "training data", "catalogue": "a catalogue table", "truth": "a test set"}
        needed = words.get(parameters["of"], f"a {parameters['of']} table")
        return inputs.unmet.get(parameters["of"], f"needs {needed}, and none was given")
    return ""


def why_no_train(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> str:
    """Returns why the training data cannot be used; an empty text if they can."""
    if inputs.train_users is None:
        return inputs.unmet.get("train", "needs training data, and none was given")
    return "" if inputs.n_train_users else "the training data is empty"


def why_no_novelty(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> str:
    """Returns why novelty cannot be computed, or normalised if norm=max; an empty text if it can."""
    why_unavailable = why_no_train(inputs, parameters)
    if not why_unavailable and parameters["norm"] == "max" and inputs.train_size(parameters["share"]) < 2:
        return f"norm=max needs at least two {parameters['share']} in the training data"
    return why_unavailable


def why_no_entropy(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> str:
    """Returns why entropy cannot be computed, or normalised if norm=max; an empty text if it can."""
    why_unavailable = why_no_universe(inputs, parameters)
    if not why_unavailable and parameters["norm"] == "max" and inputs.members(parameters["of"]).sum() < 2:
        return "norm=max needs at least two items"
    return why_unavailable


def why_attribute_unusable(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> str:
    """Returns why the catalogue's attribute cannot be used; an empty text if it can."""
    name = parameters["attribute"]
    if inputs.catalogue is None:
        return inputs.unmet.get("catalogue", "needs a catalogue table, and none was given")
    if name not in inputs.attributes:
        return f"the catalogue has no column '{name}'; it has {', '.join(inputs.attributes) or 'only ids'}"
    return "" if inputs.labels(name).values else f"column '{name}' of the catalogue is empty"


def why_no_target(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> str:
    """Returns why the attribute's values have no target share; an empty text if they have one."""
    reason = why_attribute_unusable(inputs, parameters)
    if reason or parameters["target"] != "train":
        return reason
    if reason := why_no_train(inputs, parameters):
        return reason
    seen = inputs.seen_by[inputs.labels(parameters["attribute"]).item].any()
    return "" if seen else f"no item of the training data has a value of '{parameters['attribute']}'"


def why_items_incomparable(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> str:
    """Returns why two items cannot be compared in the way named by the parameter ``by``.

    The result is empty if they can.
    """
    by, attribute = parameters["by"], parameters["attribute"]
    if by == "vectors" and "vectors" not in inputs.tables:
        return "needs item vectors, and none were given"
    if by == "similarity" and "similarity" not in inputs.tables:
        return "needs a table of item similarities, and none was given"
    if by not in {"attributes", "hamming"}:
        return ""
    if inputs.catalogue is None or attribute != EVERY_CATEGORY:
        return why_attribute_unusable(inputs, parameters)
    return ""


def why_lists_incomparable(inputs: CatalogueInputs, parameters: Mapping[str, str]) -> str:
    """Returns why lists cannot be compared as sets; empty if they can.

    At least two lists are needed, and no list may repeat an item.
    """
    if inputs.may_repeat:
        return "needs each item once in a list; use duplicates=first"
    return "" if inputs.exposure.n_lists > 1 else "needs the lists of at least two users"


def never(parameters: Mapping[str, str]) -> bool:
    return False


def always(parameters: Mapping[str, str]) -> bool:
    return True


@dataclass(frozen=True)
class CatalogueMetric:
    """A catalogue-level metric.

    ``curve`` computes the values [depth] from counts, ``why_unavailable`` says why the metric is unavailable.
    ``from_lists`` returns True for parameters with which counts do not suffice: the mean over lists
    (``Exposure.list_means``) is then computed while the upload is read. ``curve`` is None if that is always
    so.

    ``plain`` says to readers who do not know the metric what a value means for users.
    """

    name: str
    label: str
    title: str
    latex: str
    source: str
    curve: Callable[[CatalogueInputs, Mapping[str, str]], Floats] | None
    why_unavailable: Callable[[CatalogueInputs, Mapping[str, str]], str]
    from_lists: Callable[[Mapping[str, str]], bool] = never
    parameters: tuple[Parameter, ...] = ()
    needs: str = "ranked lists"
    unit: str = "0..1"
    higher_is: str = "broader"
    rises_with_k: bool = False
    has_cutoff: bool = True
    usage: Usage = UNLISTED
    plain: str = ""
    example: str = ""


EVERY_CATEGORY = "all"
"""A value of the parameter ``attribute``: it stands for all text columns instead of the name of one."""

_OF = Parameter(
    "of",
    {
        "catalogue": "all items of the catalogue",
        "train": "the items with a row in the training data",
        "truth": "the items with a row in the test set",
    },
)

USERS = Parameter(
    "users",
    {
        "run": "all lists of the run",
        "truth": "the lists of users with a relevant item",
    },
    also={"both": "truth"},
)
"""The parameter that selects the lists a metric covers; every catalogue-level metric has it."""

OTHER_LISTS_UNKNOWN = (
    "lists of users without a relevant item were not counted when the run was scored; upload it again, "
    "or ask for users=truth"
)

_METRICS: tuple[CatalogueMetric, ...] = (
    CatalogueMetric(
        "coverage",
        "Coverage",
        "Share of the catalogue that at least one user sees in the first k positions",
        r"\frac{|\bigcup_u L_u@k|}{|I|}",
        "Ge, Delgado-Battenfeld & Jannach 2010",
        coverage,
        why_no_universe,
        needs="a catalogue",
        parameters=(
            _OF,
            Parameter(
                "counted",
                {
                    "members": "only shown items that are among them",
                    "every": "every shown item, so the value can exceed 1",
                },
            ),
        ),
        rises_with_k=True,
        usage=Usage(group="beyond", order=1, guardrail="catalogue coverage", is_percent=True),
        plain="How much of the catalogue is recommended to anybody: 18 % says that 82 of 100 items are in "
        "no list.",
        example="4 distinct items shown of 5: 4/5 = 0.8.",
    ),
    CatalogueMetric(
        "novelty",
        "Novelty",
        "How rare the recommended items are: mean −log2 of the share of training users with the item, in "
        "bits",
        r"\frac{1}{U}\sum_u \frac{1}{|L_u@k|}\sum_{i \in L_u@k} -\log_2 \frac{n_i}{n}",
        "Zhou et al. 2010",
        novelty,
        why_no_novelty,
        from_lists=lambda parameters: parameters["unseen"] == "drop" and parameters["over"] == "list",
        needs="training data",
        parameters=(
            Parameter(
                "unseen",
                {
                    "bound": "an item without training users counts as if one user had it",
                    "zero": "it adds 0 bits",
                    "drop": "it is excluded from the mean; with over=k it adds 0 bits",
                },
            ),
            Parameter(
                "over",
                {
                    "list": "the mean of each list, then the mean over lists",
                    "k": "the sum of each list divided by k, then the mean over lists",
                    "places": "the mean over all positions of all lists",
                },
            ),
            Parameter("share", {"users": "of the training users", "rows": "of the training rows"}),
            Parameter(
                "norm",
                {
                    "none": "in bits",
                    "max": "divided by log2 of the training users (or rows), so that 1 is the maximum",
                },
            ),
        ),
        unit="bits",
        higher_is="rarer",
        usage=Usage(group="beyond", order=2, guardrail="novelty"),
        plain="How little known the recommended items are. One bit more says that half as many users know "
        "them: at 3 bits one in 8, at 10 bits about one in 1,000.",
        example="Half of the training users have the item: −log2(1/2) = 1 bit.",
    ),
    CatalogueMetric(
        "diversity",
        "Diversity",
        "How different the items of a list are: 1 − the mean similarity of two of them",
        r"\frac{1}{U}\sum_u 1 - \frac{2}{n(n-1)}\sum_{i<j \in L_u@k} \mathrm{sim}(i, j), \quad n = |L_u@k|",
        "Ziegler, McNee, Konstan & Lausen 2005",
        None,
        why_items_incomparable,
        from_lists=always,
        needs="two items in a list that can be compared",
        parameters=(
            Parameter(
                "by",
                {
                    "attributes": "the cosine of their sets of attribute values",
                    "vectors": "the cosine of the uploaded item vectors",
                    "similarity": "the uploaded table of similarities; a missing pair counts as 0",
                    "hamming": "no similarity: mean number of attribute values that only one of the two has",
                },
            ),
            Parameter(
                "attribute",
                {
                    EVERY_CATEGORY: "the catalogue's text columns, but for titles and columns in which fewer "
                    "than half of the items share a value; or name one column"
                },
                "name",
            ),
        ),
        higher_is="more diverse",
        usage=Usage(order=3, guardrail="diversity"),
        plain="How different the items within a list are: 0 says that all have the same attributes, 1 "
        "that no two share any.",
        example="Crime|Drama and Drama: cosine 1/√(2·1) = 0.707, so 0.293. Items without values are skipped.",
    ),
    CatalogueMetric(
        "personalization",
        "Personalization",
        "How different the lists of two users are: 1 − their mean cosine",
        r"1 - \frac{2}{U(U-1)}\sum_{u<v}\frac{|L_u \cap L_v|}{\sqrt{|L_u||L_v|}}",
        "Mean pairwise cosine of the lists",
        personalization,
        why_lists_incomparable,
        parameters=(
            Parameter(
                "distance",
                {
                    "cosine": "1 − the items in common over √(|L|·|L′|)",
                    "hamming": "1 − the items in common over k: Hamming diversity (Zhou et al. 2010)",
                },
            ),
        ),
        higher_is="more personal",
        usage=Usage(group="beyond", order=4, guardrail="personalization"),
        plain="How different the lists of two users are: 0 says that all users get the same items, 0.18 "
        "that two lists share, on average, about 82 % of their items.",
        example="Lists a, b and a, c share one of two items: cosine 1/2, personalization 0.5.",
    ),
    CatalogueMetric(
        "gini",
        "Gini",
        "How unevenly positions are shared among items: 0 if all get the same, near 1 if a few get all",
        r"\frac{\sum_{i=1}^{n} (2i - n - 1)\,c_i}{n \sum_i c_i}",
        "Gini 1912; counts ascending, items never shown included",
        gini,
        why_no_universe,
        needs="a catalogue",
        parameters=(
            _OF,
            Parameter(
                "items",
                {"all": "items never shown count as 0", "shown": "only items that are shown"},
            ),
            Parameter("norm", {"n": "not normalised", "n-1": "times n/(n − 1), so that 1 is possible"}),
        ),
        higher_is="more concentrated",
        usage=Usage(group="beyond", order=5, guardrail="Gini", less_is_wanted=True),
        plain="How unevenly items are recommended: 0 says that all equally often, near 1 that a few items "
        "take nearly all positions. Lower gives more items a chance.",
        example="Counts 0, 1, 1, 3, 3: (−4·0 − 2·1 + 0·1 + 2·3 + 4·3)/(5·8) = 0.4.",
    ),
    CatalogueMetric(
        "popularity",
        "Popularity",
        "Mean number of training users with the recommended item (average recommendation popularity)",
        r"\frac{1}{U}\sum_u \frac{1}{|L_u@k|}\sum_{i \in L_u@k} n_i",
        "Yin et al. 2012",
        popularity,
        why_no_train,
        from_lists=lambda parameters: parameters["unseen"] == "drop",
        needs="training data",
        parameters=(
            Parameter(
                "unseen",
                {
                    "zero": "an item outside the training data counts as 0",
                    "drop": "it is excluded from the mean",
                },
            ),
            Parameter("norm", {"none": "not normalised", "rows": "divided by the number of training rows"}),
        ),
        unit="training users",
        higher_is="more popular",
        usage=Usage(group="beyond", order=6, less_is_wanted=True),
        plain="How popular the recommended items are: 180 says that an item in a list has, on average, "
        "180 users in the training data.",
        example="Recommended items that 4 and 2 training users have: (4 + 2)/2 = 3.",
    ),
    CatalogueMetric(
        "coverage_by",
        "Coverage by attribute",
        "Share of an attribute's values (years, genres, authors …) that appear in the first k positions",
        r"\frac{|\{v : \text{an item with } v \text{ is shown}\}|}{|V|}",
        "Coverage of Ge et al. 2010, over values instead of items",
        coverage_by,
        why_attribute_unusable,
        needs="a catalogue with that column",
        parameters=(Parameter("attribute", {}, "name"),),
        rises_with_k=True,
        usage=Usage(is_scored=False),
        plain="How much variety is recommended, for example of genres: 0.18 says that 18 of 100 genres "
        "are in at least one list.",
        example="The catalogue has films of 5 years, the lists show films of 2 of them: 2/5 = 0.4.",
    ),
    CatalogueMetric(
        "exposure_fairness",
        "Exposure fairness",
        "How close the values of an attribute (maker, genre, country …) come to their target share of "
        "exposure: 1 − their Jensen-Shannon divergence",
        r"1 - \frac{1}{2}\left(\sum_v e_v \log_2 \frac{2 e_v}{e_v + t_v} + "
        r"\sum_v t_v \log_2 \frac{2 t_v}{e_v + t_v}\right), \quad e_v \propto \sum_u \sum_{i \in v} "
        r"\frac{1}{\log_2(r_{ui} + 1)}",
        "Exposure: Singh & Joachims 2018; divergence from target shares: TREC Fair Ranking (Ekstrand et al. "
        "2022), over all lists",
        exposure_fairness,
        why_no_target,
        needs="a catalogue with that column",
        parameters=(
            Parameter("attribute", {}, "name"),
            Parameter(
                "target",
                {
                    "catalogue": "the value's share of the catalogue's items",
                    "train": "its share of the training data's rows",
                    "equal": "the same share for each value",
                },
            ),
            Parameter(
                "discount",
                {"log2": "a position's exposure is 1/log2(rank + 1)", "none": "all positions count alike"},
            ),
        ),
        higher_is="fairer",
        usage=Usage(is_scored=False),
        plain="Whether groups of items are shown as much as their share asks for: 1 says exactly so, 0 that "
        "only groups are shown that should not be.",
        example="Target 1/2 each, one of two values has all exposure: 1 − (log2(4/3) + 1/2·log2(2/3) + "
        "1/2·log2 2)/2 = 0.6887.",
    ),
    CatalogueMetric(
        "entropy",
        "Entropy",
        "How evenly positions are shared among items, in bits: log2 n if n items share them, 0 if one gets "
        "all",
        r"-\sum_{i=1}^{n} \frac{c_i}{\sum c}\log_2 \frac{c_i}{\sum c}",
        "Shannon 1948; items never shown add 0",
        entropy,
        why_no_entropy,
        needs="a catalogue",
        parameters=(
            _OF,
            Parameter(
                "norm",
                {
                    "none": "not normalised",
                    "max": "divided by the logarithm of the number of items, so that 1 is the maximum",
                    "shown": "divided by the number of items shown (RecBole)",
                },
            ),
            Parameter("log", {"2": "in bits", "e": "in nats"}),
        ),
        unit="bits",
        higher_is="more even",
        plain="How evenly items are recommended. One bit more is like twice as many items that share all "
        "positions equally: 3 bits are 8 items, 10 bits 1,024.",
        example="Counts 2, 1, 1: 1/2·1 + 1/4·2 + 1/4·2 = 1.5 bits.",
    ),
    CatalogueMetric(
        "tail_share",
        "Tail share",
        "Share of positions with a long-tail item: any but the most popular items of the training data",
        r"\frac{1}{U}\sum_u \frac{|L_u@k \cap \mathrm{tail}|}{|L_u@k|}",
        "Long tail: Anderson 2006; head by items as in Abdollahpouri et al. 2019",
        tail_share,
        why_no_train,
        needs="training data",
        parameters=(
            Parameter(
                "head",
                {"0.2": "the share of the training items that form the head"},
                "number",
                above=0,
                below=1,
            ),
        ),
        higher_is="more of the tail",
        plain=("How much space less popular items get: 0.18 says 18 of 100 positions."),
        example="Of 5 training items 1 is the head; a list has it and another item: 1/2 = 0.5.",
    ),
)

CATALOGUE: tuple[CatalogueMetric, ...] = tuple(
    replace(metric, parameters=(*metric.parameters, USERS)) for metric in _METRICS
)
