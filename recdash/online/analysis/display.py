"""Draws the lifts of an A/B test as a figure that names its rows, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True)
class LiftLine:
    """A lift in % with the ends of its interval, NaN where they are unknown, and its finding."""

    run_id: str
    mean_diff: float
    ci_low: float
    ci_high: float
    word: str
    margin: float = 0.0


def plot_lifts(lines: Sequence[LiftLine]) -> go.Figure:
    """Returns the figure of the lifts; ``run_id`` is the name of a line."""
    import pandas as pd

    from recdash.charts.forest import ForestLayout, forest
    from recdash.charts.marks import LIGHT, marks_of_names

    names = [line.run_id for line in lines]
    marks = marks_of_names(names, None, LIGHT)
    return forest(pd.DataFrame(lines), names, marks, LIGHT, ForestLayout(unit=" %"))
