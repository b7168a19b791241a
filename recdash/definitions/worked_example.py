"""A metric's arithmetic for one user, line by line, made by the metric's own code.

Every number here comes from the formula that scores runs: credits, norm and value are its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from recdash.domain.hits import Hits
from recdash.domain.kinds import Floats
from recdash.evaluation import evaluate
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
from recdash.metrics.sample import Familiar
from recdash.metrics.spec import split

PLACES = 5
"""Length of the built-in example: a list that can be checked by eye."""
FEW_HITS, FEW_RELEVANT = 2, 4
N_POPULAR = 8
"""Items in the train table of the built-in example."""


@dataclass(frozen=True)
class ExamplePlace:
    """One place of the list: ``gain`` is None where nothing relevant stands, ``item`` where it is not known.

    ``negative``: an item stands there that was judged and is not relevant. ``credit`` is what the place adds,
    ``total`` what was added so far; both None for a metric that is not such a sum.
    """

    rank: int
    item: str | None
    gain: float | None
    credit: float | None
    total: float | None
    negative: bool = False


@dataclass(frozen=True)
class Worked:
    """The value of ``spec`` at k for one user with m relevant items and a list of ``length`` items.

    value = total ÷ norm, where ``norm`` is known; ``parts`` are the metrics that it combines, if it does.
    ``pooled``: the users' totals and norms are added up before they are divided.
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

    @property
    def total(self) -> float | None:
        return self.places[-1].total if self.places else None


def of_run(definition: Definition, hits: Hits, k: int, familiar: Familiar | None = None) -> Worked | None:
    """Of that user of the run whose list is shortest among those with about two hits; None for a metric
    without a value per user, and where nobody counts.
    """
    everyone = sample_of(hits)
    if not everyone.n_users:
        return None
    user = everyone.truth_user[_easy_to_follow(everyone, k)]
    only = np.arange(hits.truth.n_users) == user
    return _worked(definition, sample_of(hits, only=only, familiar=familiar), k, hits)


def example(definition: Definition) -> Worked | None:
    """Of a built-in list x, a, y, b in five places, where a (grade 3), b (1) and c (2) are relevant; y was
    judged and is not, and nobody judged x. Of eight items b is the most popular, then x, c, y and a.
    """
    hits = _example_hits()
    return _worked(definition, _example_sample(hits), PLACES, hits)


def why_no_example(definition: Definition) -> str:
    """What stands against an example of the built-in list; empty where nothing does."""
    if not isinstance(definition.metric, RankingMetric):
        return "this metric is no mean of the users' values"
    return definition.missing_input(_example_sample(_example_hits()))


def _example_sample(hits: Hits) -> RelevantHits:
    place = {"b": 1, "c": 3, "y": 4, "a": 5}
    expected = np.array([(N_POPULAR + 1 - place[item]) / N_POPULAR for item in hits.truth.items])
    return sample_of(hits, familiar=Familiar(expected, N_POPULAR))


@lru_cache(maxsize=1)
def _example_hits() -> Hits:
    found = evaluate(
        {"example": {"you": ["x", "a", "y", "b"]}},
        truth={"you": {"a": 3, "b": 1, "c": 2, "y": 0}},
        metrics=["recall"],
        depth=PLACES,
    )
    hits = found.runs[0].hits
    if hits is None:
        raise RuntimeError("the built-in example has lists")
    return hits


def _easy_to_follow(sample: RelevantHits, k: int) -> int:
    """The user whose arithmetic is short: two hits, then a short list, then few relevant items."""
    found = np.bincount(sample.user[sample.rank <= k], minlength=sample.n_users)
    by_need = (np.abs(sample.n_relevant - FEW_RELEVANT), sample.list_length, np.abs(found - FEW_HITS))
    return int(np.lexsort(by_need)[0])


def _worked(definition: Definition, sample: RelevantHits, k: int, hits: Hits) -> Worked | None:
    metric = definition.metric
    if not isinstance(metric, RankingMetric) or metric.missing_input(sample, definition.parameters):
        return None
    formula = definition.formula()
    value = float(formula.values(sample, k)[0])
    if isinstance(formula, OverPopulation):
        formula = formula.formula
    sample = formula.seen(sample) if isinstance(formula, Ndcg) else sample
    items = [hits.truth.items[int(code)] for code in sample.item]
    shown = Worked(
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
        return replace(shown, parts=_parts(definition, sample, k, hits))
    if isinstance(formula, OverJudged):
        return _with_credits(shown, formula.ratio, sample.of_judged())
    return _with_credits(shown, formula, sample)


def _places(sample: RelevantHits, k: int, items: Sequence[str]) -> tuple[ExamplePlace, ...]:
    """The places of the list up to k; only what was hit is known by name."""
    at = {int(rank): place for place, rank in enumerate(sample.rank)}
    judged = sample.judged
    negatives = set() if judged is None else set(judged.rank[~judged.relevant].tolist())
    return tuple(
        ExamplePlace(rank, items[at[rank]], float(sample.gain[at[rank]]), None, None)
        if rank in at
        else ExamplePlace(rank, None, None, None, None, negative=rank in negatives)
        for rank in range(1, min(k, int(sample.list_length[0])) + 1)
    )


def _parts(definition: Definition, sample: RelevantHits, k: int, hits: Hits) -> tuple[Worked, ...]:
    of = [_worked(define(parse(text)), sample, k, hits) for text in split(definition.parameters["of"])]
    return tuple(part for part in of if part is not None)


def _with_credits(shown: Worked, formula: MetricFormula, sample: RelevantHits) -> Worked:
    if isinstance(formula, Ndcg):
        return _with_credits(shown, formula.formula(sample), sample)
    if isinstance(formula, Micro):
        return replace(_with_credits(shown, formula.ratio, sample), pooled=True)
    if isinstance(formula, MeanRecall):
        return _with_recalls(shown, sample)
    if isinstance(formula, RatioFormula):
        sample, norm = formula.seen(sample), formula.norm_of(sample, shown.k)
        return _added_up(shown, _by_rank(formula.credit(sample), sample, shown), float(norm[0]))
    if isinstance(formula, GradedNdcg):
        best = float(formula.ideal_at(sample, shown.k)[0])
        return _added_up(shown, _by_rank(formula.credit(sample), sample, shown), best)
    return shown


def _with_recalls(shown: Worked, sample: RelevantHits) -> Worked:
    """Every place adds its recall, hit or not."""
    recall = define("recall").formula()
    each = [float(recall.values(sample, place)[0]) for place in range(1, shown.k + 1)]
    padded = [
        *shown.places,
        *(ExamplePlace(rank, None, None, None, None) for rank in range(len(shown.places) + 1, shown.k + 1)),
    ]
    return _added_up(replace(shown, places=tuple(padded)), np.array(each), float(shown.k))


def _by_rank(credit: Floats, sample: RelevantHits, shown: Worked) -> Floats:
    """[places] the credit of the hit at each place, 0 where there is none."""
    by_rank = np.zeros(len(shown.places))
    within = sample.rank <= len(shown.places)
    by_rank[sample.rank[within] - 1] = credit[within]
    return by_rank


def _added_up(shown: Worked, credit: Floats, norm: float) -> Worked:
    totals = np.cumsum(credit)
    places = tuple(
        replace(place, credit=float(one), total=float(total))
        for place, one, total in zip(shown.places, credit, totals, strict=True)
    )
    return replace(shown, places=places, norm=norm)
