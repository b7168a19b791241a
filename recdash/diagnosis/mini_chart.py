"""Data of a small picture, which ``recdash.charts.mini_chart`` draws."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal

Side = Literal["run", "baseline", "neither"]


@dataclass(frozen=True)
class Bar:
    """One row: ``value``, from ``low`` to ``high`` if it has an interval; None if unavailable.

    ``side`` is offline or online; ``note`` is written after the number.
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
        """Returns JSON-ready values; unavailable numbers are None."""
        bars = [{name: _known(value) for name, value in asdict(bar).items()} for bar in self.bars]
        return {**asdict(self), "bars": bars}


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
