"""A knob of a metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """A knob of a metric: its values, the first being the default, and what they mean.

    ``free`` values are not limited to those listed (a list of other specs).
    """

    name: str
    values: Mapping[str, str]
    free: bool = False

    @property
    def default(self) -> str:
        return next(iter(self.values))
