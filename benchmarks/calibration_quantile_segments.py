"""``python -m benchmarks.calibration_quantile_segments``: quantiles in segments of A/B tests without any
effect.

Writes a section of docs/calibration.md. Everything is seeded: the same command writes the same table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.calibration_page import options, table, write_section
from benchmarks.calibration_quantiles import LEAST_COMPARED, LEVEL, SPLITS, Situation, side, situations
from benchmarks.calibration_small_tests import users_with
from recdash.online.analysis.judgement import family
from recdash.online.analysis.quantile_groups import by_cell
from recdash.online.analysis.quantiles import QuantileComparison, compare_sides
from recdash.online.analysis.segments import FALSE_FINDINGS
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers, RowValues, Segment

TITLE = "Quantiles in segments"
USERS = (2_000, 10_000)
SEGMENTS: Mapping[str, float] = {"70 %": 0.7, "30 %": 0.3}
"""Segment → the share of the users who are in it."""
PART = "part"
SCALES = np.array([1.0, 1.5])
"""By how much the values of each segment are larger."""
TEXT = """
Written by `python -m benchmarks.calibration_quantile_segments` (seeded). All variants are equal. Rows are
those of *Quantiles*; each user is in a segment of 70 % or in one of 30 % of the users, whose values are 1.5
times as large. *Called*: p of the segment is below .05, and so its 95 % interval of the lift excludes 0.
*Withheld*: a variant has fewer than 30 independent rows beyond the quantile in the segment; the shares are
those of the other tests. *Any*: a segment of the test is called after the correction over both
(Benjamini–Hochberg). **The limits** are .04 and .06, and two standard errors of the tests not withheld.
One row has .061, within its error of .007: of 12,000 tests with other seeds, .054 were called.

{table}
"""
COLUMNS = ("users", "split", "rows", "quantile", "segment", "called", "withheld", "any", "tries")
TEXTS = {"split", "rows", "segment"}


def users_of(rng: np.random.Generator, situation: Situation) -> OnlineUsers:
    """Returns the users of a test without any effect, each in a segment by chance."""
    n, n_control = situation.users, int(situation.users * SPLITS[situation.split])
    rows = side(rng, n, situation)
    segment = (rng.random(n) >= SEGMENTS["70 %"]).astype(np.int64)
    variant = (np.arange(n) >= n_control).astype(np.int64)
    users = users_with(("control", "new"), variant, {"load": np.ones(n)})
    values = RowValues(rows.user, rows.values * SCALES[segment[rows.user]], np.zeros_like(rows.user))
    return replace(users, segments={PART: Segment(tuple(SEGMENTS), segment)}, values={"load": values})


def metric_of(situation: Situation) -> OnlineMetric:
    return OnlineMetric("load", "Load", "", "", "load", quantile=situation.quantile)


def p_values(users: OnlineUsers, metric: OnlineMetric) -> list[float | None]:
    """Returns p of each segment, as ``by_segment`` does with intervals; None where it is withheld."""
    cell = len(SEGMENTS) * users.variant + users.segments[PART].label
    sides = by_cell(users, metric, cell, 2 * len(SEGMENTS))
    pairs = zip(sides[: len(SEGMENTS)], sides[len(SEGMENTS) :], strict=True)
    compared = [compare_sides(control, new) for control, new in pairs]
    return [comparison.p if isinstance(comparison, QuantileComparison) else None for comparison in compared]


def lines(tries: int, situation: Situation) -> list[str]:
    """Returns the lines of the table for a situation, one of each segment."""
    rng = np.random.default_rng([situation.users, int(1000 * situation.quantile), situation.sessions, 2])
    metric = metric_of(situation)
    tests = [p_values(users_of(rng, situation), metric) for _ in range(tries)]
    corrected = [[p for p, _ in family(test, "bh") if p is not None] for test in tests]
    n_any = sum(min(test, default=1.0) <= FALSE_FINDINGS for test in corrected)
    of_segments = zip(SEGMENTS, zip(*tests, strict=True), strict=True)
    return [_line(situation, segment, p, n_any) for segment, p in of_segments]


def _line(situation: Situation, segment: str, p: Sequence[float | None], n_any: int) -> str:
    """Returns the line of a segment that has these p-values, one of each try."""
    tries, answered = len(p), [value for value in p if value is not None]
    called = "–"
    if len(answered) >= LEAST_COMPARED * tries:  # fewer are not like the others
        called = f"{sum(value < LEVEL for value in answered) / len(answered):.3f}"
    rows = "sessions" if situation.sessions else "users"
    begin = f"| {situation.users:,} | {situation.split} | {rows} | {situation.quantile:g} | {segment} |"
    return f"{begin} {called} | {tries - len(answered):,} | {n_any / tries:.3f} | {tries:,} |"


def main() -> None:
    asked = options("calibration_quantile_segments", __doc__, 4_000, USERS[-1]).parse_args()
    with ProcessPoolExecutor(asked.processes) as pool:
        parts = list(pool.map(partial(lines, asked.tries), situations(asked.largest, USERS)))
    rows = [row for part in parts for row in part]
    write_section(TITLE, TEXT.format(table=table(COLUMNS, rows, TEXTS)), asked.output)


if __name__ == "__main__":
    main()
