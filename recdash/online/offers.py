"""What a person can choose about the metrics of a test, given the columns of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recdash.ingest.moment_columns import EARLIER
from recdash.online.derived import in_window, is_observed, observed_for, windows_of
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers

if TYPE_CHECKING:
    from recdash.online.ab_test import OnlineTables
    from recdash.online.analysis.aggregate_tables import MomentTable, SummaryTable


@dataclass(frozen=True)
class MetricOffers:
    """The columns and metrics from which a person can choose.

    ``covariates`` are columns that may be known before the exposure, ``activations`` are totals that some
    users of each variant have and others do not, and ``library`` maps the metrics of the library that the
    columns allow to their formulas. ``totals`` are all totals of users; empty for aggregated data.
    ``quantiles`` are those of which rows have more values than 0 and 1.
    """

    covariates: tuple[str, ...] = ()
    activations: tuple[str, ...] = ()
    library: Mapping[str, str] = field(default_factory=dict)
    totals: frozenset[str] = frozenset()
    quantiles: tuple[str, ...] = ()


OF_NO_COLUMN = frozenset({"sessions", "engaged_sessions", "lists", "answered_lists", "clicked_lists"})
"""Totals that count rows, so that rows have no value of them."""
NO_OFFER = MetricOffers()


def offers_of(
    logs: OnlineTables,
    users: OnlineUsers | None,
    aggregates: SummaryTable | MomentTable | None,
    library: Sequence[OnlineMetric],
) -> MetricOffers:
    """Returns what the tables of a test offer; ``users`` are those before metrics are derived, None for
    aggregated data.
    """
    if users is None:
        if aggregates is None:
            return NO_OFFER
        allowed = {metric.name: metric.formula for metric in library if aggregates.allows(metric)}
        return MetricOffers(tuple(aggregates.columns_before), library=allowed)
    totals = _counted(users, library)
    before = tuple(f"{EARLIER}{name}" for name in users.before)
    # A column of one row per user may tell of the time before the test, such as age; sums over rows do not.
    is_per_user = logs.kind == "sessions" and "sessions" not in users.totals and logs.exposures is None
    covariates = (*before, *(totals if is_per_user else ()))
    activations = tuple(activations_of(users, library))
    allowed = {
        metric.name: metric.formula
        for metric in library
        if metric.fits(totals) and is_observed(users, metric)
    }
    quantiles = [name for name in totals if name not in OF_NO_COLUMN and _is_amount(users, name)]
    return MetricOffers(covariates, activations, allowed, frozenset(totals), tuple(quantiles))


def activations_of(users: OnlineUsers, metrics: Sequence[OnlineMetric]) -> list[str]:
    """Returns the totals that some users of each variant have and others do not, without those that the
    ``metrics`` derive.
    """
    return [name for name in _counted(users, metrics) if _divides(users, name)]


def _counted(users: OnlineUsers, metrics: Sequence[OnlineMetric]) -> list[str]:
    """Returns the totals without those of windows, for which users are counted if ``metrics`` need them."""
    windows = windows_of(metrics)
    derived = {observed_for(hours) for hours in windows}
    derived |= {in_window(name, hours) for name in users.totals for hours in windows}
    return [name for name in users.totals if name not in derived]


def _is_amount(users: OnlineUsers, total: str) -> bool:
    values = users.totals[total]
    return not ((values == 0) | (values == 1)).all()


def _divides(users: OnlineUsers, total: str) -> bool:
    """Returns True if some users of each variant have any of a total, and some users have none."""
    has_any = users.totals[total] > 0
    counts = np.bincount(users.variant[has_any], minlength=len(users.variants))
    return bool(counts.all()) and not has_any.all()
