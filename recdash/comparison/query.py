"""The query of a comparison: its runs, metric and population, and the terms by which differences are
judged.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError, Problem
from recdash.metrics import check_k, define
from recdash.metrics.naming import GUARDRAILS, metric_at
from recdash.stats import LEVEL, Correction

MARGIN, MOST_PERCENT = 0.01, 100
"""Default margin: differences below this share of the baseline's value do not matter. And the largest margin
in %.
"""

GUARD = 0.2
"""Default guardrail: the share of the baseline's value that a catalogue-level metric may lose."""
MetricGuards = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Margin:
    """The largest difference that is too small to matter: a share of the baseline's value if ``relative``,
    else an amount in units of the metric.
    """

    size: float = MARGIN
    relative: bool = True

    def of(self, value: float) -> float:
        """Returns the margin in units of the metric, for a baseline with this ``value``."""
        return self.size * abs(value) if self.relative else self.size

    def __str__(self) -> str:
        return f"{100 * self.size:.3g} %" if self.relative else f"{self.size:.3g}"


def read_margin(text: str) -> Margin:
    """Returns the margin that a text describes: ``1%`` of the baseline's value, or ``0.002`` in units of the
    metric. Raises InputError for other texts, and for more than 100 %.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)", text.strip())
    if match is None:
        fix = "Write 1% for a share of the baseline's value, or 0.002 for an amount of the metric."
        raise InputError(Problem("bad-margin", "margin", f"'{text}'", fix))
    size, percent = float(match[1]), bool(match[2])
    if percent and size > MOST_PERCENT:
        fix = "A margin as large as the value itself would make every difference too small to matter."
        raise InputError(Problem("bad-margin", "margin", f"'{text}' is more than {MOST_PERCENT} %", fix))
    return Margin(size / 100 if percent else size, percent)


@dataclass(frozen=True)
class Terms:
    """The rules by which differences are judged: the margin, the correction for several tests, the confidence
    level.

    ``guard`` is the share of the baseline's value that guardrail metrics may lose: one number for all of
    them, or pairs of metric and share. With pairs, metrics without a pair are no guardrails.
    """

    margin: Margin = Margin()
    guard: float | MetricGuards = GUARD
    correction: Correction = "holm"
    level: float = LEVEL

    def __post_init__(self) -> None:
        if isinstance(self.guard, tuple):
            object.__setattr__(self, "guard", _plain_guard(dict(self.guard)))

    @property
    def guards(self) -> Mapping[str, float]:
        """Returns {guardrail metric: share of the baseline's value that it may lose}, in a fixed order."""
        if isinstance(self.guard, tuple):
            return dict(self.guard)
        return dict.fromkeys(GUARDRAILS, self.guard)


def _plain_guard(guards: Mapping[str, float]) -> float | MetricGuards:
    """Returns a single share if all guardrail metrics have the same, else pairs in a fixed order. Equal rules
    thereby become equal values.
    """
    ordered = tuple((metric, guards[metric]) for metric in GUARDRAILS if metric in guards)
    shares = {share for _, share in ordered}
    return shares.pop() if len(ordered) == len(GUARDRAILS) and len(shares) == 1 else ordered


@dataclass(frozen=True)
class ComparisonQuery:
    """Candidates to compare with a baseline by one metric at one k, in all or a part (``scope``) of an
    experiment.

    ``runs`` are the candidates' ids; repeats and the baseline are removed from them. The metric is stored in
    its canonical spelling, so that equal questions are equal values. Raises InputError for an unknown metric
    and for a k below 1.
    """

    runs: tuple[str, ...]
    baseline: str
    metric: str
    k: int
    scope: Scope = WHOLE
    terms: Terms = Terms()

    def __post_init__(self) -> None:
        check_k(self.k)
        candidates = tuple(run for run in dict.fromkeys(self.runs) if run != self.baseline)
        object.__setattr__(self, "runs", candidates)
        object.__setattr__(self, "metric", str(define(self.metric)))

    @property
    def shown(self) -> tuple[str, ...]:
        """Returns the run ids: the baseline first, then the candidates."""
        return (self.baseline, *self.runs)

    def without(self, runs: Container[str]) -> ComparisonQuery:
        """Returns the query without these candidates; the baseline stays even if it is among ``runs``."""
        return replace(self, runs=tuple(run for run in self.runs if run not in runs))

    @property
    def where(self) -> str:
        """Returns the metric with its cutoff, such as ``nDCG@10``."""
        return metric_at(self.metric, self.k)

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        return {**asdict(self), "runs": list(self.runs)}
