"""What a comparison shows of itself in a notebook: the recommendation and the differences, as a table and a
figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.comparison.wording import plain
from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.wording import shown

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from recdash.comparison.pairs import Comparison
    from recdash.comparison.wording import RichText


def display_of(
    headline: str, comparison: Comparison, sentences: Sequence[RichText], warnings: Sequence[str]
) -> Display:
    """Returns a recommendation with a row for each difference from the baseline."""
    names = comparison.names
    header = ("candidate", comparison.query.where, "difference", "95 % CI, corrected", "finding", "n")
    rows = [
        (
            names[pair.candidate],
            numbers.three(pair.value),
            numbers.change(pair.paired.mean),
            numbers.interval(*pair.interval, numbers.places(pair.interval)),
            shown(pair.judged.word),
            numbers.count(pair.paired.n),
        )
        for pair in comparison.against
    ]
    remarks = [*map(plain, sentences), "All numbers: .table(), .as_dict(); figure: .plot()"]
    return Display(headline, [header, *rows], remarks, warnings)


def plot_differences(comparison: Comparison) -> go.Figure:
    """Returns the figure of the differences from the baseline with their corrected intervals."""
    import pandas as pd

    from recdash.charts.forest import forest
    from recdash.charts.marks import LIGHT, marks_of_names

    names = comparison.names
    rows = [
        {
            "run_id": names[pair.candidate],
            "mean_diff": pair.paired.mean,
            "ci_low": pair.interval[0],
            "ci_high": pair.interval[1],
            "word": pair.judged.word,
            "margin": pair.judged.margin,
        }
        for pair in comparison.against
    ]
    candidates = [str(row["run_id"]) for row in rows]
    columns = ["run_id", "mean_diff", "ci_low", "ci_high", "word", "margin"]
    frame = pd.DataFrame(rows, columns=columns)
    return forest(frame, candidates, marks_of_names(candidates, None, LIGHT), LIGHT)
