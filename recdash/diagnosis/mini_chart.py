"""What a small picture shows: plain data, which ``recdash.charts.mini_chart`` places on an axis."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal

Side = Literal["run", "baseline", "neither"]


@dataclass(frozen=True)
class Bar:
    """One row: ``value``, from ``low`` to ``high`` where it has an interval; None where it cannot be had.

    ``side`` says whose it is; ``note`` is written behind the number.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    side: Side = "neither"
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """Rows on one axis. ``unit`` is written after every number (``%``), ``sign`` before those above 0."""

    title: str
    bars: tuple[Bar, ...]
    unit: str = ""
    sign: bool = False

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready: what cannot be had is None there too."""
        bars = [{name: _known(value) for name, value in asdict(bar).items()} for bar in self.bars]
        return {**asdict(self), "bars": bars}


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
