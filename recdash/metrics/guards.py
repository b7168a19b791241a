"""Turns failures of an own metric's code into expected errors: a page or command goes on without it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats
from recdash.errors import InputError, Problem
from recdash.metrics.formulas import Credit, RatioFormula
from recdash.metrics.ranking import Choice, RankingMetric
from recdash.metrics.ratings import RatingMetric
from recdash.metrics.registry import Metric
from recdash.metrics.sample import RelevantHits

FIX = "Correct it, and start again."
_OURS = Path(__file__).parents[1]
SHARED = ("user", "rank", "gain", "n_relevant", "list_length", "truth_user", "relevant_gain", "item")
"""Arrays of the hits that all metrics share, so that none may write to them."""
_OF_RATINGS = ("value", "parts", "pulls", "why_unavailable")
_OF_CATALOGUE = ("curve", "why_unavailable", "from_lists")


def guarded(metric: Metric) -> Metric:
    """Returns the metric with functions that raise InputError, naming the metric, in place of any exception.

    Functions of recdash stay as they are, because norms are recognised by identity.
    """
    place = f"metric '{metric.name}'"

    def guard(function: Any) -> Any:
        if not callable(function) or str(getattr(function, "__module__", "")).startswith("recdash."):
            return function
        return wraps(function)(lambda *given: call(lambda: function(*given), place))

    def guard_credit(credit: Any) -> Any:
        return _of_each(credit, lambda part: _numbers(part, guard(part), place))

    if isinstance(metric, RankingMetric):
        return _guarded_ranking(metric, guard, guard_credit)
    functions = _OF_RATINGS if isinstance(metric, RatingMetric) else _OF_CATALOGUE
    changed: dict[str, Any] = {name: guard(getattr(metric, name)) for name in functions}
    return replace(metric, **changed)


def _guarded_ranking(
    metric: RankingMetric, guard: Callable[[Any], Any], guard_credit: Callable[[Any], Any]
) -> RankingMetric:
    build = guard(metric.build)

    def build_guarded(*given: Any) -> Any:
        formula = build(*given)
        if not isinstance(formula, RatioFormula):
            return formula
        return replace(formula, credit=guard_credit(formula.credit), norm=guard(formula.norm))

    return replace(
        metric,
        credit=guard_credit(metric.credit),
        norm=_of_each(metric.norm, guard),
        build=None if metric.build is None else build_guarded,
        why_unavailable=guard(metric.why_unavailable),
    )


def _of_each(part: Any, change: Callable[[Any], Any]) -> Any:
    """Returns a credit or norm changed; of a ``Choice``, each of its functions."""
    if isinstance(part, Choice):
        return replace(part, of=_Changed(part.of, change))
    return None if part is None else change(part)


@dataclass(frozen=True)
class _Changed(Mapping[str, Any]):
    """The functions of a ``Choice``, changed when they are looked up: some mappings make them only then."""

    of: Mapping[str, Any]
    change: Callable[[Any], Any]

    def __getitem__(self, value: str) -> Any:
        return self.change(self.of[value])

    def __iter__(self) -> Iterator[str]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)


def _numbers(credit: Credit, guarded_credit: Credit, place: str) -> Credit:
    """Returns the credit as a function whose result is checked: one finite number for each hit."""
    if credit is guarded_credit:
        return credit

    def checked(hits: RelevantHits) -> Floats:
        for name in SHARED:
            getattr(hits, name).setflags(write=False)
        numbers = call(lambda: np.asarray(guarded_credit(hits), dtype=np.float64), place)
        if numbers.shape != hits.rank.shape:
            raise _problem(place, f"its credits have the shape {numbers.shape} for {len(hits.rank)} hits")
        if not np.isfinite(numbers).all():
            raise _problem(place, "it gives a credit that is not a finite number")
        return numbers

    return checked


def call(function: Callable[[], Any], place: str) -> Any:
    """Returns what the function returns. Raises InputError for any exception of a user's code, also for an
    exit.
    """
    try:
        return function()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split()) or "no message"
        where = _line_of(error.__traceback__)
        raise _problem(place, f"{type(error).__name__}: {text}{where}") from error


def _line_of(trace: TracebackType | None) -> str:
    """Returns where in the user's code an exception was raised, such as `` (shop.py, line 12)``; an empty
    text if only code of recdash and Python is known.
    """
    frames = [frame for frame in traceback.extract_tb(trace) if _OURS not in Path(frame.filename).parents]
    named = [frame for frame in frames if not frame.filename.startswith("<")]
    return f" ({Path(named[-1].filename).name}, line {named[-1].lineno})" if named else ""


def _problem(place: str, finding: str) -> InputError:
    return InputError(Problem("own-metric-fails", place, finding, FIX))
