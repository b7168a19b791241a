"""Shows a metric's arithmetic for one user, position by position.

Credits, norm and value come from the code that also scores runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.hits import Hits
from recdash.domain.kinds import Floats
from recdash.evaluation import evaluate
from recdash.formatting.result_table import of_values
from recdash.metrics import Definition, RelevantHits, define, parse, sample_of
from recdash.metrics.formulas import (
    GradedNdcg,
    HarmonicMean,
    MeanRecall,
    MetricFormula,
    Micro,
    OverJudged,
    RatioFormula,
)
from recdash.metrics.populations import OverPopulation
from recdash.metrics.ranking import Ndcg, RankingMetric
from recdash.metrics.sample import ItemExpectedness
from recdash.metrics.spec import split

if TYPE_CHECKING:
    import pandas as pd

PLACES = 5
"""Length of the list in the built-in example."""
FEW_HITS, FEW_RELEVANT = 2, 4
N_POPULAR = 8
"""Number of items in the training data of the built-in example."""


@dataclass(frozen=True)
class ExamplePlace:
    """One position of the list.

    ``gain`` is None if the item is not relevant, ``item`` is None if its name is unknown, ``negative`` means
    that it was judged not relevant. ``credit`` is what the position adds to the metric, ``total`` the sum up
    to here; both are None for a metric that is not such a sum.
    """

    rank: int
    item: str | None
    gain: float | None
    credit: float | None
    total: float | None
    negative: bool = False


@dataclass(frozen=True)
class Worked:
    """The arithmetic of ``spec`` at k for one user with m relevant items and a list of ``length`` items.

    value = total ÷ norm, if ``norm`` is known. ``parts`` are the metrics from which the metric is combined;
    empty for others. ``pooled``: over several users, totals and norms are each summed before they are
    divided.
    """

    spec: str
    k: int
    user: str
    m: int
    length: int
    places: tuple[ExamplePlace, ...]
    norm: float | None
    value: float
    pooled: bool = False
    parts: tuple[Worked, ...] = ()

    def table(self) -> pd.DataFrame:
        """Returns a frame with a row per position of the list; see ``ExamplePlace``."""
        return of_values("Positions", ExamplePlace, self.places).table()

    @property
    def total(self) -> float | None:
        return self.places[-1].total if self.places else None


def of_run(
    definition: Definition, hits: Hits, k: int, expectedness: ItemExpectedness | None = None
) -> Worked | None:
    """Returns the example of the user with the easiest arithmetic: about two hits and a short list.

    None for a metric without a value per user, and if no user counts.
    """
    sample = sample_of(hits)
    if not sample.n_users:
        return None
    user = sample.truth_user[_easy_to_follow(sample, k)]
    only = np.arange(hits.truth.n_users) == user
    return _worked(definition, sample_of(hits, only=only, expectedness=expectedness), k, hits)


def example(definition: Definition) -> Worked | None:
    """Returns the example of a built-in list x, a, y, b with room for five items; a (grade 3), b (1) and c
    (2) are relevant. None for a metric without a value per user.

    y was judged not relevant, x was not judged. The training data has eight items, of which b is the most
    popular, then x, c, y, a.
    """
    hits = _example_hits()
    return _worked(definition, _example_sample(hits), PLACES, hits)


def why_no_example(definition: Definition) -> str:
    """Returns why the metric has no example of the built-in list; empty if it has one."""
    if not isinstance(definition.metric, RankingMetric):
        return "this metric is not a mean of values per user"
    return definition.why_unavailable(_example_sample(_example_hits()))


def _example_sample(hits: Hits) -> RelevantHits:
    place = {"b": 1, "c": 3, "y": 4, "a": 5}
    expected = np.array([(N_POPULAR + 1 - place[item]) / N_POPULAR for item in hits.truth.items])
    return sample_of(hits, expectedness=ItemExpectedness(expected, N_POPULAR))


@lru_cache(maxsize=1)
def _example_hits() -> Hits:
    evaluation = evaluate(
        {"example": {"you": ["x", "a", "y", "b"]}},
        truth={"you": {"a": 3, "b": 1, "c": 2, "y": 0}},
        metrics=["recall"],
        depth=PLACES,
    )
    hits = evaluation.runs[0].hits
    if hits is None:
        raise RuntimeError("the built-in example has lists only")
    return hits


def _easy_to_follow(sample: RelevantHits, k: int) -> int:
    """Returns the user with the easiest arithmetic: about two hits, then the shortest list, then about four
    relevant items.
    """
    n_hits = np.bincount(sample.user[sample.rank <= k], minlength=sample.n_users)
    by_need = (np.abs(sample.n_relevant - FEW_RELEVANT), sample.list_length, np.abs(n_hits - FEW_HITS))
    return int(np.lexsort(by_need)[0])


def _worked(definition: Definition, sample: RelevantHits, k: int, hits: Hits) -> Worked | None:
    metric = definition.metric
    if not isinstance(metric, RankingMetric) or metric.why_unavailable(sample, definition.parameters):
        return None
    formula = definition.formula()
    value = float(formula.values(sample, k)[0])
    if isinstance(formula, OverPopulation):
        formula = formula.formula
    sample = formula.seen(sample) if isinstance(formula, Ndcg) else sample
    items = [hits.truth.items[int(code)] for code in sample.item]
    worked = Worked(
        str(definition),
        k,
        user=hits.truth.users[int(sample.truth_user[0])],
        m=int(sample.n_relevant[0]),
        length=int(sample.list_length[0]),
        places=_places(sample, k, items),
        norm=None,
        value=value,
    )
    if isinstance(formula, HarmonicMean):
        texts = split(definition.parameters["of"])
        parts = [_worked(define(parse(text)), sample, k, hits) for text in texts]
        return replace(worked, parts=tuple(part for part in parts if part is not None))
    if isinstance(formula, OverJudged):
        return _with_credits(worked, formula.ratio, sample.of_judged())
    return _with_credits(worked, formula, sample)


def _places(sample: RelevantHits, k: int, items: Sequence[str]) -> tuple[ExamplePlace, ...]:
    """Returns the positions of the list up to k; only items that are hits are known by name."""
    place_of = {int(rank): place for place, rank in enumerate(sample.rank)}
    judged = sample.judged
    negatives = set() if judged is None else set(judged.rank[~judged.relevant].tolist())
    return tuple(
        ExamplePlace(rank, items[place_of[rank]], float(sample.gain[place_of[rank]]), None, None)
        if rank in place_of
        else ExamplePlace(rank, None, None, None, None, negative=rank in negatives)
        for rank in range(1, min(k, int(sample.list_length[0])) + 1)
    )


def _with_credits(worked: Worked, formula: MetricFormula, sample: RelevantHits) -> Worked:
    if isinstance(formula, Ndcg):
        return _with_credits(worked, formula.formula(sample), sample)
    if isinstance(formula, Micro):
        return replace(_with_credits(worked, formula.ratio, sample), pooled=True)
    if isinstance(formula, MeanRecall):
        return _with_recalls(worked, sample)
    if isinstance(formula, RatioFormula):
        sample, norm = formula.seen(sample), formula.norm_of(sample, worked.k)
    elif isinstance(formula, GradedNdcg):
        norm = formula.ideal_at(sample, worked.k)
    else:
        return worked
    credit = np.zeros(len(worked.places))  # the credit at each position, 0 without a hit
    within = sample.rank <= len(worked.places)
    credit[sample.rank[within] - 1] = formula.credit(sample)[within]
    return _added_up(worked, credit, float(norm[0]))


def _with_recalls(worked: Worked, sample: RelevantHits) -> Worked:
    """Returns the example with the recall at each position as the position's credit, whether it is a hit or
    not.
    """
    recall = define("recall").formula()
    recalls = [float(recall.values(sample, place)[0]) for place in range(1, worked.k + 1)]
    padded = [
        *worked.places,
        *(ExamplePlace(rank, None, None, None, None) for rank in range(len(worked.places) + 1, worked.k + 1)),
    ]
    return _added_up(replace(worked, places=tuple(padded)), np.array(recalls), float(worked.k))


def _added_up(worked: Worked, credit: Floats, norm: float) -> Worked:
    totals = np.cumsum(credit)
    places = tuple(
        replace(place, credit=float(added), total=float(total))
        for place, added, total in zip(worked.places, credit, totals, strict=True)
    )
    return replace(worked, places=places, norm=norm)
