"""Reads the baseline of a plan from the table of an earlier A/B test, or from a table of users."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.errors import Problem, UnknownName
from recdash.online import counts
from recdash.online.analysis.sample import SampleSummary, summarise
from recdash.online.plan import Baseline

if TYPE_CHECKING:
    from recdash.evaluation.column_choice import ColumnsGiven
    from recdash.online.analysis.analysed_test import AnalysedTest

ALL_USERS = "all users"
"""The variant of the users of a table without variants."""


@dataclass(frozen=True)
class ReadBaseline:
    """A baseline, the ``variant`` and number of the users that have it, and the notices of reading them."""

    baseline: Baseline
    n_users: int
    variant: str
    notices: tuple[Problem, ...] = ()


def baseline_of(results: AnalysedTest, metric: str, sample: SampleSummary | None) -> Baseline:
    """Returns mean, deviation and users per day of the control, for a sample size.

    ``sample`` is None for aggregated data. Raises UnknownName for an unknown metric.
    """
    measured = results.source.measured
    if metric not in measured:
        raise UnknownName("online metric", metric, list(measured))
    definition, arms = measured[metric]
    arm = arms[results.control]
    return Baseline(
        mean=arm.mean(definition.numerator) / arm.mean(definition.denominator),
        std_dev=math.sqrt(arm.ratio_var(definition.numerator, definition.denominator)),
        is_rate=counts.counted(definition, arm) is not None,
        users_per_day=_pace(sample),
    )


def read_baseline(table: Any, metric: str, columns: ColumnsGiven | None = None) -> ReadBaseline:
    """Returns the baseline of a metric in a file or table: of the control's users, or of all users if no
    column has variants.

    The table has a row per session or per user. Raises InputError with its problems, UnknownName for an
    unknown metric.
    """
    import pyarrow as pa

    from recdash import ingest
    from recdash.evaluation.column_choice import read_column_choice
    from recdash.online.ab_test import ab_test

    choice = read_column_choice(columns, ("sessions",))
    upload = ingest.read_upload("sessions", table, mapping=choice.of("sessions"))
    choice.check_used()
    rows, notices = upload.table, upload.notices
    if "variant" not in rows.column_names:
        rows = rows.append_column("variant", pa.array([ALL_USERS] * len(rows)))
        results = ab_test(sessions=rows, control=ALL_USERS)
    else:
        results = ab_test(sessions=rows)
        notices = (*notices, *results.notices)
    users = results.source.users
    baseline = baseline_of(results, metric, None if users is None else summarise(users))
    return ReadBaseline(baseline, results.users[results.control], results.control, notices)


def _pace(sample: SampleSummary | None) -> float | None:
    if sample is None or not sample.days:
        return None
    return sum(sample.recent.values()) / sample.recent_days or None
