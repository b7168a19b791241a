"""Beyond accuracy: what a run shows of the catalogue, from item counts per rank.

None of these looks at users one by one: the number of lists that hold each item within the first k
places says everything, so the cost does not grow with the users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recdash.domain import Exposure, Floats, Ints
from recdash.metrics.parameters import Parameter


@dataclass(frozen=True)
class Shelf:
    """A run's exposure next to what is known of the items; the input of every metric here.

    ``catalogue``, ``truth`` [N] mark the items of those tables, ``train_users`` [N] says how many train
    users have each item, N being all items of the exposure. None where the table is missing.
    ``list_means`` are per-list results of the pass (see novelty(unseen=drop)), by name.
    """

    exposure: Exposure
    depth: int
    truth: npt.NDArray[np.bool_]
    catalogue: npt.NDArray[np.bool_] | None = None
    train_users: Ints | None = None
    n_train_users: int = 0
    list_means: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def n_items(self) -> int:
        return len(self.truth)

    def counts(self) -> Iterator[Ints]:
        """Yield for k = 1..depth [N]: lists that hold the item in the first k places (array reused)."""
        shown = np.zeros(self.n_items, dtype=np.int64)
        for item, count in _by_rank(self.exposure.rank, self.exposure.item, self.exposure.count, self.depth):
            shown[item] += count
            yield shown

    def weights(self, weigh: Callable[[Floats], Floats]) -> Iterator[Floats]:
        """Yield for k = 1..depth [N]: Σ over the lists that hold the item of weigh(places filled)."""
        ended, over = np.zeros(self.n_items), np.zeros(self.n_items)
        exposure = self.exposure
        ends = _by_rank(exposure.ended_length, exposure.ended_item, exposure.ended_count, self.depth)
        for k, (shown, (item, count)) in enumerate(zip(self.counts(), ends, strict=True), start=1):
            yield (shown - over) * weigh(np.array(float(k))) + ended
            over[item] += count
            ended[item] += count * weigh(np.array(float(k)))

    def universe(self, of: str) -> npt.NDArray[np.bool_] | None:
        """[N] the items that could have been shown."""
        if of == "train":
            return None if self.train_users is None else self.train_users > 0
        return self.catalogue if of == "catalogue" else self.truth

    @cached_property
    def surprise(self) -> Floats:
        """[N] −log2 of the share of train users who have the item; an unseen item counts as one user's."""
        return -np.log2(np.maximum(self.train_users, 1) / self.n_train_users)


def _by_rank(rank: Ints, item: Ints, count: Ints, depth: int) -> Iterator[tuple[Ints, Ints]]:
    edges = np.searchsorted(rank, np.arange(1, depth + 2))
    for k in range(depth):
        here = slice(edges[k], edges[k + 1])
        yield item[here], count[here]


# ── the metrics, each a curve [depth] ────────────────────────────────────────────────────────


def coverage(shelf: Shelf, parameters: Mapping[str, str]) -> Floats:
    universe = shelf.universe(parameters["of"])
    return np.array([np.count_nonzero(shown[universe]) for shown in shelf.counts()]) / universe.sum()


def gini(shelf: Shelf, parameters: Mapping[str, str]) -> Floats:
    universe = shelf.universe(parameters["of"])
    return np.array([gini_of(shown[universe]) for shown in shelf.counts()])


def gini_of(counts: Ints) -> float:
    """Σ (2i − n − 1)·c_i / (n·Σc), counts ascending; NaN where nothing was shown."""
    counts = np.sort(counts)
    n, total = len(counts), counts.sum()
    return float((2 * np.arange(1, n + 1) - n - 1) @ counts / (n * total)) if total else float("nan")


def personalization(shelf: Shelf, parameters: Mapping[str, str]) -> Floats:
    """1 − mean cosine of two lists; Σ over pairs of users = (Σ over items of weight² − lists) / 2."""
    n = shelf.exposure.n_lists
    alike = [(w @ w - n) / (n * (n - 1.0)) for w in shelf.weights(lambda places: 1 / np.sqrt(places))]
    return 1.0 - np.array(alike)


def novelty(shelf: Shelf, parameters: Mapping[str, str]) -> Floats:
    if parameters["unseen"] == "drop":
        return shelf.list_means["novelty(unseen=drop)"]
    surprise = shelf.surprise
    if parameters["unseen"] == "zero":
        surprise = np.where(shelf.train_users > 0, surprise, 0.0)
    return _mean_over_lists(shelf, surprise)


def popularity(shelf: Shelf, parameters: Mapping[str, str]) -> Floats:
    return _mean_over_lists(shelf, shelf.train_users.astype(np.float64))


def _mean_over_lists(shelf: Shelf, worth: Floats) -> Floats:
    """Mean of ``worth`` inside each list, then over the lists."""
    means = [weight @ worth for weight in shelf.weights(lambda places: 1 / places)]
    return np.array(means) / shelf.exposure.n_lists


# ── what they need ───────────────────────────────────────────────────────────────────────────


def needs_universe(shelf: Shelf, parameters: Mapping[str, str]) -> str:
    if shelf.universe(parameters["of"]) is None:
        return f"needs a {parameters['of']} table, and none was given"
    return ""


def needs_train(shelf: Shelf, parameters: Mapping[str, str]) -> str:
    if shelf.train_users is None:
        return "needs a train table, and none was given"
    if parameters.get("unseen") == "drop" and "novelty(unseen=drop)" not in shelf.list_means:
        return "unseen=drop needs the lists themselves; score the upload again with this metric"
    return ""


def needs_two_lists(shelf: Shelf, parameters: Mapping[str, str]) -> str:
    return "" if shelf.exposure.n_lists > 1 else "needs the lists of at least two users"


@dataclass(frozen=True)
class CatalogueMetric:
    """A metric of what was shown: its curve, and why it may be absent."""

    name: str
    title: str
    latex: str
    source: str
    curve: Callable[[Shelf, Mapping[str, str]], Floats]
    lacks: Callable[[Shelf, Mapping[str, str]], str]
    parameters: tuple[Parameter, ...] = ()
    unit: str = "0..1"
    higher_is: str = "broader"
    rises_with_k: bool = False
    has_cutoff: bool = True
    example: str = ""


_OF = Parameter(
    "of",
    {
        "catalogue": "all items of the catalogue",
        "train": "the items with a row in train",
        "truth": "the items with a row in the truth",
    },
)

CATALOGUE: tuple[CatalogueMetric, ...] = (
    CatalogueMetric(
        "coverage",
        "Share of the catalogue that is shown to at least one user in the first k places",
        r"\frac{|\bigcup_u L_u@k|}{|I|}",
        "Ge, Delgado-Battenfeld & Jannach 2010",
        coverage,
        needs_universe,
        parameters=(_OF,),
        rises_with_k=True,
        example="4 distinct items shown of 5: 4/5 = 0.8.",
    ),
    CatalogueMetric(
        "novelty",
        "How rare the shown items are: mean −log2 of the share of train users who have them, in bits",
        r"\frac{1}{U}\sum_u \frac{1}{|L_u@k|}\sum_{i \in L_u@k} -\log_2 \frac{n_i}{n}",
        "Zhou et al. 2010",
        novelty,
        needs_train,
        parameters=(
            Parameter(
                "unseen",
                {
                    "bound": "an item that nobody has in train counts as one user's",
                    "zero": "it adds 0 bits",
                    "drop": "it is left out of the list's mean",
                },
            ),
        ),
        unit="bits",
        higher_is="rarer",
        example="Half of the train users have the item: −log2(1/2) = 1 bit.",
    ),
    CatalogueMetric(
        "personalization",
        "How different the lists of two users are: 1 − their mean cosine",
        r"1 - \frac{2}{U(U-1)}\sum_{u<v}\frac{|L_u \cap L_v|}{\sqrt{|L_u||L_v|}}",
        "Mean pairwise cosine of the lists",
        personalization,
        needs_two_lists,
        higher_is="more personal",
        example="Lists a, b and a, c share one of two items: cosine 1/2, personalization 0.5.",
    ),
    CatalogueMetric(
        "gini",
        "How unevenly the places go to the items: 0 all alike, near 1 a few items get them all",
        r"\frac{\sum_{i=1}^{n} (2i - n - 1)\,c_i}{n \sum_i c_i}",
        "Gini 1912; counts ascending, items never shown included",
        gini,
        needs_universe,
        parameters=(_OF,),
        higher_is="more concentrated",
        example="Counts 0, 1, 1, 3, 3: (−4·0 − 2·1 + 0·1 + 2·3 + 4·3)/(5·8) = 0.4.",
    ),
    CatalogueMetric(
        "popularity",
        "Mean number of train users who have the shown item (average recommendation popularity)",
        r"\frac{1}{U}\sum_u \frac{1}{|L_u@k|}\sum_{i \in L_u@k} n_i",
        "Yin et al. 2012",
        popularity,
        needs_train,
        unit="train users",
        higher_is="more popular",
        example="Shown items that 4 and 2 train users have: (4 + 2)/2 = 3.",
    ),
)
