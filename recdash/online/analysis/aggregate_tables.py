"""Reads the aggregated table of an A/B test, in any of its forms, as metrics with aggregates per variant."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, NotFound, Problem
from recdash.formatting import numbers
from recdash.formatting.wording import listed
from recdash.ingest.moment_columns import DENOMINATOR, EARLIER, MAIN, parsed
from recdash.online import proposals
from recdash.online.analysis import aggregates, health, moments
from recdash.online.analysis.aggregates import Summary
from recdash.online.analysis.lift import BEFORE
from recdash.online.analysis.moments import GroupedMoments, Pair, pair_of
from recdash.online.metrics import KNOWN, OnlineMetric, check, summarised
from recdash.online.users import Segment

if TYPE_CHECKING:
    import pyarrow as pa

CONVERSION = "conversion"
"""Name of the metric of a table that has successes and no column of metrics."""
OWN = ("variant", "metric", "n", "mean", "variance", "successes", "trials", "day")
TOTALS = ("all", "total", "overall", "(all)", "__all__", "any")
"""Values of a segment that name a row of all users, which would count its users twice."""
Measures = Iterator[tuple[OnlineMetric, dict[str, Any]]]
Counts = dict[str, dict[str, int]]


@dataclass(frozen=True)
class SummaryTable:
    """A table with one row per variant and metric: n, mean and variance, or successes and trials."""

    rows: Sequence[Summary]

    def allows(self, metric: OnlineMetric) -> bool:  # noqa: ARG002 - as of a MomentTable
        """Returns False, since the table has no totals."""
        return False

    def measured(self, metrics: Sequence[OnlineMetric] = ()) -> Measures:
        """Yields each metric with its aggregates per variant; ``metrics`` give rows of the same name their
        role and title.
        """
        return aggregates.measured(self.rows, metrics)

    def proposed(
        self,
        covariates: Collection[str] = (),  # noqa: ARG002 - as of a MomentTable
    ) -> tuple[OnlineMetric, ...]:
        """Returns nothing, since the table names its metrics."""
        return ()

    def user_counts(self) -> Counts:
        return aggregates.user_counts(self.rows)

    def trial_counts(self) -> Counts:
        return aggregates.trial_counts(self.rows)

    def notices(self) -> tuple[Problem, ...]:
        return tuple(aggregates.notices(self.rows))

    def warnings(self) -> tuple[Problem, ...]:
        return ()

    def groups_of(self, metric: OnlineMetric) -> GroupedMoments:
        """Raises NotFound, since the table has no rows of days and segments."""
        raise NotFound(f"The aggregates of '{metric.name}' have no rows of days or segments.")

    @property
    def segments(self) -> list[str]:
        return []

    @property
    def totals(self) -> list[str]:
        return []

    @property
    def columns_before(self) -> list[str]:
        return []


@dataclass(frozen=True)
class MomentTable:
    """A table of sums over users, with rows per variant and maybe per day and segment.

    ``by_metric`` has the moments of each metric of a table with a column of metrics, whose totals are
    ``MAIN`` and ``DENOMINATOR``; else ``shared`` has those of all totals. ``of_trials`` are the metrics whose
    n counts trials.
    """

    by_metric: Mapping[str, GroupedMoments] = field(default_factory=dict)
    shared: GroupedMoments | None = None
    of_trials: frozenset[str] = frozenset()

    def metrics(self, metrics: Sequence[OnlineMetric] = ()) -> list[tuple[OnlineMetric, GroupedMoments]]:
        """Returns the metrics with the moments from which they are computed.

        Without ``metrics``, each total of a table without a column of metrics is one. Raises InputError for
        metrics that the totals do not allow.
        """
        if self.shared is None:
            return [(self._of_row(name, metrics), groups) for name, groups in self.by_metric.items()]
        for metric in metrics:
            _refuse_derived(metric)
            check(metric, self.shared.means)
            _refuse_unknown_moments(metric, self.shared)
        chosen = sorted(metrics or self.proposed(), key=lambda metric: not metric.is_primary)
        return [(m, _with_covariate(self.shared, m)) for m in chosen if self.shared.knows(m)]

    def allows(self, metric: OnlineMetric) -> bool:
        """Returns True if the metric can be computed from the totals and their moments."""
        if self.shared is None or metric.needs_users or not metric.fits(self.shared.means):
            return False
        return self.shared.knows(metric)

    def measured(self, metrics: Sequence[OnlineMetric] = ()) -> Measures:
        """Yields each metric with its aggregates per variant."""
        arms = {} if self.shared is None else self.shared.arms()
        for metric, groups in self.metrics(metrics):
            yield metric, arms if groups is self.shared else groups.arms()

    def proposed(self, covariates: Collection[str] = ()) -> tuple[OnlineMetric, ...]:
        """Returns a metric for each total of a table without a column of metrics: a rate or a mean per user,
        or the ratio of ``MAIN`` and ``DENOMINATOR``.
        """
        if self.shared is None:
            return ()
        groups = self.shared
        if {MAIN, DENOMINATOR} <= {*groups.means}:
            return (OnlineMetric(MAIN, "Main", "", "Main per denominator.", MAIN, DENOMINATOR, low=None),)
        totals = {
            name: proposals.Values(
                is_rate=_is_rate(groups, name), is_never_negative=bool((groups.means[name] >= 0).all())
            )
            for name in groups.means
            if (name, name) in groups.moments and not name.startswith((BEFORE, EARLIER))
            if name not in covariates
        }
        return proposals.of_totals(totals)

    def _of_row(self, name: str, metrics: Sequence[OnlineMetric]) -> OnlineMetric:
        roles = {metric.name: metric for metric in (*KNOWN, *metrics)}
        groups = self.by_metric[name]
        is_ratio = DENOMINATOR in groups.means and pair_of(MAIN, DENOMINATOR) in groups.moments
        own = summarised(name, roles.get(name), rate=name in self.of_trials)
        return replace(own, numerator=MAIN, denominator=DENOMINATOR if is_ratio else None)

    @cached_property
    def named_groups(self) -> dict[str, GroupedMoments]:
        """Returns metric → moments; those of all metrics have an empty name if they are shared."""
        return {"": self.shared} if self.shared is not None else dict(self.by_metric)

    def user_counts(self) -> Counts:
        """Returns metric → variant → users, of the metrics whose n counts users."""
        counts = {
            name: _users(groups) for name, groups in self.named_groups.items() if name not in self.of_trials
        }
        most = max((len(users) for users in counts.values()), default=0)
        return {name: users for name, users in counts.items() if len(users) == most}

    def trial_counts(self) -> Counts:
        return {name: _users(groups) for name, groups in self.named_groups.items() if name in self.of_trials}

    def notices(self) -> tuple[Problem, ...]:
        if not self.of_trials:
            return ()
        message = f"{listed(sorted(self.of_trials))}: the interval assumes that each trial is independent"
        fix = (
            "If users have several trials the interval is too narrow: give n, sum and sum_squares over users."
        )
        return (Problem("independent-trials", "columns 'successes', 'trials'", message, fix),)

    def warnings(self) -> tuple[Problem, ...]:
        """Returns a warning if the split of users differs between days."""
        for name, groups in self.named_groups.items():
            if groups.day is not None and name not in self.of_trials:
                return health.unevenly_split_days(_by_day(groups, groups.day))
        return ()

    def groups_of(self, metric: OnlineMetric) -> GroupedMoments:
        """Returns the moments from which a metric is computed."""
        return self.by_metric[metric.name] if self.shared is None else _with_covariate(self.shared, metric)

    @property
    def segments(self) -> list[str]:
        """Returns the columns that divide the users into segments."""
        return sorted({name for groups in self.named_groups.values() for name in groups.segments})

    @property
    def totals(self) -> list[str]:
        """Returns the totals that can be numerators and denominators of a metric."""
        if self.shared is None:
            return []
        return [name for name in self.shared.means if not name.startswith(BEFORE)]

    @property
    def columns_before(self) -> list[str]:
        """Returns the columns of totals before the test, such as ``pre_revenue``."""
        means = () if self.shared is None else self.shared.means
        return [f"{EARLIER}{name.removeprefix(BEFORE)}" for name in means if name.startswith(BEFORE)]


def _with_covariate(groups: GroupedMoments, metric: OnlineMetric) -> GroupedMoments:
    """Returns the moments with the metric's covariate as its total before the test; unchanged without one."""
    source = metric.covariate
    if source is not None and source not in groups.means:
        source = f"{BEFORE}{source.removeprefix(EARLIER)}"
    if source is None or source not in groups.means:
        return groups
    name = f"{BEFORE}{metric.numerator}"
    means = {**groups.means, name: groups.means[source]}
    spreads = dict(groups.moments)
    for (a, b), values in groups.moments.items():
        if source in (a, b):
            spreads[pair_of(name, b if a == source else a)] = values
    spreads[name, name] = groups.moments[source, source]
    if metric.denominator is not None and f"{BEFORE}{metric.denominator}" not in means:
        constant = f"{BEFORE}{metric.denominator}"
        means[constant] = np.ones(len(groups.n))
        spreads |= {pair_of(constant, other): np.zeros(len(groups.n)) for other in means}
    return replace(groups, means=means, moments=spreads)


def _users(groups: GroupedMoments) -> dict[str, int]:
    counts = np.bincount(groups.variant, groups.n, minlength=len(groups.variants))
    return {name: int(count) for name, count in zip(groups.variants, counts, strict=True)}


def _by_day(groups: GroupedMoments, day: Ints) -> Ints:
    """Returns [days, variants] the number of users per day of exposure."""
    day = day - day.min()
    counts = np.zeros((int(day.max()) + 1, len(groups.variants)), dtype=np.int64)
    np.add.at(counts, (day, groups.variant), groups.n.astype(np.int64))
    return counts


def _is_rate(groups: GroupedMoments, name: str) -> bool:
    """Returns True if the squares of a total add up to as much as the total, as zeros and ones do."""
    mean = groups.means[name]
    spread = groups.moments[name, name]
    return bool(((mean >= 0) & (mean <= 1)).all()) and bool(
        np.allclose(spread, groups.n * mean * (1 - mean), rtol=1e-6, atol=1e-6)
    )


def _refuse_derived(metric: OnlineMetric) -> None:
    if metric.needs_users:
        fix = "Count it in the warehouse, as a column of its own."
        message = "a cap, hours after the exposure, or a day of return needs data per user"
        if metric.quantile is not None:
            message, fix = "a quantile needs rows, not sums", "Upload a table of one row per user or session."
        raise InputError(Problem("needs-users", f"metric '{metric.name}'", message, fix))


def _refuse_unknown_moments(metric: OnlineMetric, groups: GroupedMoments) -> None:
    if groups.knows(metric):
        return
    pairs = [(metric.numerator, metric.numerator)]
    if metric.denominator:
        pairs += [(metric.denominator, metric.denominator), (metric.numerator, metric.denominator)]
    missing = [pair for pair in pairs if pair_of(*pair) not in groups.moments]
    columns = [f"{a}_sum_squares" if a == b else f"{a}_{b}_sum_product" for a, b in missing]
    fix = "Add it: the sum over users of the product of the two."
    message = f"the table has no column {listed(columns)}, without which there is no interval"
    raise InputError(Problem("unknown-moments", f"metric '{metric.name}'", message, fix))


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def aggregate_table(table: pa.Table) -> SummaryTable | MomentTable:
    """Returns the metrics of a checked aggregated table. Raises InputError, with all problems, for rows that
    no test can have.
    """
    segments = [name for name in table.column_names if name not in OWN and parsed(name) is None]
    has_moments = any(parsed(name) is not None for name in table.column_names)
    if not has_moments and not segments and "day" not in table.column_names:
        return SummaryTable(aggregates.summaries(_with_metric(table)))
    rows = _Rows(table, segments)
    if "metric" not in table.column_names:
        result = MomentTable(shared=rows.groups(rows.everything, CONVERSION)[0])
    else:
        groups = {name: rows.groups(rows.of_metric(name), MAIN) for name in rows.metric_names}
        trials = frozenset(name for name, (_, of_trials) in groups.items() if of_trials)
        result = MomentTable({name: own for name, (own, _) in groups.items()}, None, trials)
    _refuse_impossible(result)
    return result


def _with_metric(table: pa.Table) -> pa.Table:
    """Returns the table with a column of metrics; without one, its only metric is ``CONVERSION``."""
    import pyarrow as pa

    if "metric" in table.column_names:
        return table
    return table.append_column("metric", pa.array([CONVERSION] * table.num_rows, pa.string()))


class _Rows:
    """The rows of a table as arrays."""

    def __init__(self, table: pa.Table, segments: Sequence[str]) -> None:
        self.n_rows = table.num_rows
        self._variant = np.array(table["variant"].to_pylist(), dtype=object)
        self._columns = {
            name: np.array(table[name].to_pylist(), dtype=np.float64)
            for name in table.column_names
            if parsed(name) is not None or name in OWN[2:7]
        }
        self._day = _day_numbers(table)
        self._segments = {name: np.array(table[name].to_pylist(), dtype=object) for name in segments}
        self._metric = (
            np.array(table["metric"].to_pylist(), dtype=object) if "metric" in table.column_names else None
        )
        self._refuse_repeats()

    @property
    def everything(self) -> Mask:
        return np.ones(self.n_rows, dtype=np.bool_)

    @property
    def metric_names(self) -> list[str]:
        return [] if self._metric is None else list(dict.fromkeys(self._metric.tolist()))

    def of_metric(self, name: str) -> Mask:
        return np.asarray(self._metric == name, dtype=np.bool_)

    def groups(self, rows: Mask, rate: str) -> tuple[GroupedMoments, bool]:
        """Returns the moments in some rows, and True if their n counts trials.

        ``rate`` is the total whose successes are in the column of that name.
        """
        column = {name: values[rows] for name, values in self._columns.items()}
        nothing = np.full(int(rows.sum()), np.nan)
        n, trials = column.get("n", nothing), column.get("trials", nothing)
        of_trials = bool(np.isnan(n).any()) and not np.isnan(trials).any()
        n = trials if of_trials else n
        means, sums, products, spreads = self._moments(column, n)
        successes, mean, variance = (column.get(name, nothing) for name in ("successes", "mean", "variance"))
        if rate not in sums and rate not in means:
            if not (np.isnan(mean) | np.isnan(variance)).any():
                means[rate], spreads[rate, rate] = mean, variance * np.maximum(n - 1, 0)
            elif not np.isnan(successes).any():
                sums[rate] = successes
                products[rate, rate] = successes
        users = np.maximum(n, 1)
        means = {**{name: total / users for name, total in sums.items()}, **means}
        spreads = {
            **moments.centred(n, {name: n * mean for name, mean in means.items()}, products),
            **{pair: spread for pair, spread in spreads.items() if {*pair} <= {*means}},
        }
        variants, code = np.unique(self._variant[rows].astype(str), return_inverse=True)
        groups = GroupedMoments(
            tuple(variants.tolist()),
            code.astype(np.int64),
            n,
            means,
            spreads,
            None if self._day is None else self._day[rows],
            {name: _segment(values[rows]) for name, values in self._segments.items()},
        )
        return _with_totals_before(groups), of_trials

    def _moments(
        self, column: Mapping[str, Floats], n: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats], dict[Pair, Floats], dict[Pair, Floats]]:
        """Returns means, sums, sums of products and centred second moments, of totals that all rows have."""
        means, sums, products, spreads = {}, {}, {}, {}
        free = np.maximum(n - 1, 0)
        for name, values in column.items():
            moment = parsed(name)
            if moment is None or np.isnan(values).any():
                continue
            first, last = moment.names[0], moment.names[-1]
            if moment.kind == "mean":
                means[first] = values
            elif moment.kind == "sum" and len(moment.names) == 1:
                sums[first] = values
            elif moment.kind == "sum":
                products[pair_of(first, last)] = values
            else:
                spreads[pair_of(first, last)] = (values**2 if moment.kind == "std" else values) * free
        return means, sums, products, spreads

    def _refuse_repeats(self) -> None:
        """Raises InputError for rows of the same variant, metric, day and segment, and for rows of all users
        beside those of segments.
        """
        parts = [self._variant, *([] if self._metric is None else [self._metric]), *self._segments.values()]
        parts += [] if self._day is None else [self._day]
        keys = list(zip(*(part.tolist() for part in parts), strict=True))
        count = len(keys) - len(set(keys))
        problems = []
        if count:
            fix = "Keep one row per variant, metric, day and segment."
            message = f"{numbers.counted(count, 'row')} of a variant that an earlier row has"
            problems.append(Problem("duplicate-row", "aggregates", message, fix, count))
        for name, values in self._segments.items():
            words = {str(value).strip().casefold() for value in values.tolist() if value is not None}
            named = sorted(words & {*TOTALS})
            if named and len(words) > 1:
                fix = "Remove these rows: their users would count twice."
                message = f"'{named[0]}' names rows of all users, beside rows of segments"
                problems.append(Problem("total-rows", f"column '{name}'", message, fix))
            elif (label := self._label_of_all(name)) is not None:
                fix = "Remove these rows: their users would count twice."
                message = (
                    f"the rows of {label} add up to those of the other segments, so they are of all users"
                )
                problems.append(Problem("total-rows", f"column '{name}'", message, fix))
        if problems:
            raise InputError(problems)

    def _label_of_all(self, name: str) -> str | None:
        """Returns how the rows of all users are labelled in a column of segments; None without such rows.

        A label is of all users if in every group of the other columns, or of every variant and metric, its
        numbers are the sums of those of the other labels. Two labels alone may be equal by chance.
        """
        labels, label = np.unique(
            [_shown(value) for value in self._segments[name].tolist()], return_inverse=True
        )
        if len(labels) < 2:
            return None
        own = [self._variant, *([] if self._metric is None else [self._metric])]
        further = [values for other, values in self._segments.items() if other != name]
        further += [] if self._day is None else [self._day]
        for parts in (own, [*own, *further]):
            group = _group_codes(parts)
            for code in self._labels_of_all(group, label, len(labels)):
                if labels[code] == NO_LABEL or len(labels) > 2:
                    return str(labels[code])
        return None

    def _labels_of_all(self, group: Ints, label: Ints, n_labels: int) -> list[int]:
        """Returns the codes of the labels whose numbers are half of the sum over their groups."""
        cell = group * n_labels + label
        cells, of_row = np.unique(cell, return_inverse=True)
        own_group, own_label = cells // n_labels, cells % n_labels
        is_alone = np.bincount(own_group)[own_group] < 2
        is_all = ~is_alone
        for column in self._summed():
            total = np.bincount(of_row, column)
            of_group = np.bincount(own_group, total)[own_group]
            is_all &= np.isclose(2 * total, of_group, rtol=1e-9, atol=1e-9)
        return [
            code
            for code in range(n_labels)
            if is_all[own_label == code].any() and (is_all | is_alone)[own_label == code].all()
        ]

    def _summed(self) -> list[Floats]:
        """Returns the columns of counts and sums without gaps, of which n comes first."""
        return [
            values
            for name, values in self._columns.items()
            if name in ("n", "trials", "successes") or ((m := parsed(name)) is not None and m.kind == "sum")
            if not np.isnan(values).any()
        ]


NO_LABEL = "an empty cell"


def _shown(value: Any) -> str:
    return NO_LABEL if value is None else f"'{value}'"


def _group_codes(parts: Sequence[Any]) -> Ints:
    """Returns [rows] the code of each row's combination of values."""
    codes: dict[tuple[Any, ...], int] = {}
    rows = zip(*(part.tolist() for part in parts), strict=True)
    return np.array([codes.setdefault(row, len(codes)) for row in rows], dtype=np.int64)


def _day_numbers(table: pa.Table) -> Ints | None:
    """Returns [rows] days since 1970; None without a column of days. Raises InputError for an empty day."""
    if "day" not in table.column_names:
        return None
    if table["day"].null_count:
        fix = "Each row needs a day; rows of all days would count their users twice."
        raise InputError(Problem("missing-time", "column 'day'", "some rows have no day", fix))
    return table["day"].cast("int32").to_numpy().astype(np.int64)


def _segment(values: Any) -> Segment:
    labels = sorted({str(value) for value in values.tolist() if value is not None})
    place = {label: index for index, label in enumerate(labels)}
    code = [-1 if value is None else place[str(value)] for value in values.tolist()]
    return Segment(tuple(labels), np.array(code, dtype=np.int64))


def _with_totals_before(groups: GroupedMoments) -> GroupedMoments:
    """Returns the moments with ``pre_x`` called ``before_x`` where x is a total, as those of users are."""
    names = {
        name: f"{BEFORE}{name.removeprefix(EARLIER)}"
        for name in groups.means
        if name.startswith(EARLIER) and name.removeprefix(EARLIER) in groups.means
    }
    return renamed(groups, lambda name: names.get(name, name))


def renamed(groups: GroupedMoments, name_of: Callable[[str], str]) -> GroupedMoments:
    """Returns the moments with other names of totals."""
    return replace(
        groups,
        means={name_of(name): values for name, values in groups.means.items()},
        moments={pair_of(name_of(a), name_of(b)): values for (a, b), values in groups.moments.items()},
    )


def _refuse_impossible(table: MomentTable) -> None:
    problems = []
    for metric, groups in table.named_groups.items():
        place = f"metric '{metric}'" if metric else "aggregates"
        for (a, b), count in moments.impossible(groups):
            message = (
                f"the sum of squares of {a} is less than its squared sum ÷ n in {count:,} rows"
                if a == b
                else f"the product of {a} and {b} is larger than their squares allow in {count:,} rows"
            )
            fix = "Is the square of the sum in the column, instead of the sum of the squares of each user?"
            problems.append(Problem("impossible-moments", place, message, fix, count))
        counts = _users(groups)
        problems += [
            Problem("nobody-counted", place, f"no user of '{name}' is counted", "Remove its rows.")
            for name, count in counts.items()
            if count < 1
        ]
        if metric in table.of_trials and (groups.means[MAIN] > 1).any():
            message, fix = "it has more successes than trials", "Are the two columns swapped?"
            problems.append(Problem("impossible-rate", place, message, fix))
    if problems:
        raise InputError(problems)
