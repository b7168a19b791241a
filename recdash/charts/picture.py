"""The data of a small picture, which ``mini_chart`` draws."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal

Side = Literal["run", "baseline", "neither"]


@dataclass(frozen=True)
class Bar:
    """One row of a picture: a value (None if unavailable), with an interval from ``low`` to ``high`` if it
    has one.

    ``side`` is the side that the row belongs to: run, baseline or neither. ``note`` is written after the
    number.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    side: Side = "neither"
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """Rows on one common axis. ``unit`` (such as ``%``) is written after every number; with ``sign``, numbers
    above 0 get a plus.
    """

    title: str
    bars: tuple[Bar, ...]
    unit: str = ""
    sign: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values; NaN and infinite numbers become None."""
        bars = [{name: _known(value) for name, value in asdict(bar).items()} for bar in self.bars]
        return {**asdict(self), "bars": bars}


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value
