"""Places the values of runs between the floor and the ceiling that reference candidates set."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.records import Run
from recdash.formatting.numbers import three
from recdash.metrics.naming import metric_title
from recdash.references.candidates import REFERENCES

if TYPE_CHECKING:
    import pandas as pd

FLOOR, CEILING, USUAL = "random", "oracle", "popular"
"""The reference candidates with which a run's value is compared."""
_EQUAL = 1e-12
"""Values closer than this are equal, because they differ only by rounding errors."""
_Row = Mapping[Hashable, Any]
_Rows = Mapping[str, _Row]


@dataclass(frozen=True)
class Level:
    """The value of a reference candidate."""

    label: str
    value: float


@dataclass(frozen=True)
class ReferenceStanding:
    """The values of runs relative to those of the reference candidates, on the metric called ``title``.

    ``share`` maps run ids to the share of the distance from floor to ceiling (0 to 1; below 0 under the
    floor); empty unless both exist. ``times`` maps run ids to the multiple of the value of Most popular,
    ``usual``. Both include the reference candidates. Runs whose mean is over another number of users than the
    reference's are left out.
    """

    title: str
    names: Mapping[str, str]
    floor: Level | None
    ceiling: Level | None
    usual: Level | None
    share: Mapping[str, float]
    times: Mapping[str, float]

    def sentence(self, run_id: str) -> str:
        """Returns ``EASE reaches 3.47 % of the way from Random (0.000350) to Oracle (1.00) and …``.

        The result is empty if the run has neither number.
        """
        parts = [part for part in (self._way(run_id), self._multiple(run_id)) if part]
        return f"{self.names[run_id]} {' and '.join(parts)}." if parts else ""

    def _way(self, run_id: str) -> str:
        if run_id not in self.share or not self.floor or not self.ceiling:
            return ""
        floor, ceiling = (f"{level.label} ({three(level.value)})" for level in (self.floor, self.ceiling))
        share = self.share[run_id]
        if share < 0:
            return f"is below {floor} on {self.title}"
        return f"reaches {three(100 * share)} % of the way from {floor} to {ceiling} on {self.title}"

    def _multiple(self, run_id: str) -> str:
        if run_id not in self.times or not self.usual:
            return ""
        on = "" if run_id in self.share else f" on {self.title}"
        return f"has {three(self.times[run_id])} times the value of {self.usual.label}{on}"


def reference_standing(
    runs: Sequence[Run], scores: pd.DataFrame, metric: str, k: int
) -> ReferenceStanding | None:
    """Returns the values of the runs relative to the reference candidates; None if these do not suffice.

    ``scores`` is the scoreboard of the runs, including the reference candidates. The ideal list must be the
    best by ``metric``, because the oracle is no ceiling otherwise. There is no ``share`` if a run is above
    the oracle nevertheless, as one from another experiment may be.
    """
    rows = {row["run_id"]: row for row in scores[scores["metric"] == metric].to_dict("records")}
    known = {run.reference: rows[run.id] for run in reversed(runs) if run.reference and run.id in rows}
    floor, ceiling, usual = (known.get(name) for name in (FLOOR, CEILING, USUAL))
    share = _shares(rows, floor, ceiling)
    times = {} if not usual or usual["value"] <= 0 else _over(rows, usual, lambda x: x / usual["value"])
    if not (share or times):
        return None
    names = {run.id: run.name for run in runs}
    low, high, often = (
        None if (row := known.get(name)) is None else Level(REFERENCES[name].label, float(row["value"]))
        for name in (FLOOR, CEILING, USUAL)
    )
    return ReferenceStanding(metric_title(metric, k), names, low, high, often, share, times)


def _shares(rows: _Rows, floor: _Row | None, ceiling: _Row | None) -> dict[str, float]:
    if not floor or not ceiling or floor["n_users"] != ceiling["n_users"]:
        return {}
    low, high = floor["value"], ceiling["value"]
    if not low < high or any(row["value"] > high + _EQUAL for row in rows.values()):
        return {}
    return _over(rows, ceiling, lambda x: (x - low) / (high - low))


def _over(rows: _Rows, level: _Row, change: Callable[[float], float]) -> dict[str, float]:
    """Returns run id → ``change(value)`` for runs whose mean is over as many users as that of ``level``."""
    same = {run_id: row["value"] for run_id, row in rows.items() if row["n_users"] == level["n_users"]}
    return {run_id: change(value) for run_id, value in same.items() if not np.isnan(value)}
