"""What off-policy estimates show of themselves: their verdict, a table, and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from recdash.formatting import numbers
from recdash.formatting.display import Display

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from recdash.charts.off_policy import EstimateLine

TITLES: Mapping[str, str] = {
    "observed": "Observed",
    "ips": "IPS",
    "snips": "SNIPS",
    "clipped": "IPS, clipped",
    "dm": "Direct method",
    "dr": "Doubly robust",
    "switch_dr": "Switch-DR",
}
"""Estimate, as a field of ``OffPolicy``, → its name."""


Ends = tuple[float | None, float | None, float | None]
"""An estimate and the ends of its interval."""


def estimate_lines(estimates: Mapping[str, Ends]) -> list[EstimateLine]:
    """Returns the estimates as rows of a chart, in the order of ``TITLES``."""
    from recdash.charts.off_policy import EstimateLine

    return [
        EstimateLine(title, *estimates[name], observed=name == "observed") for name, title in TITLES.items()
    ]


def display_of(sentence: str, estimates: Mapping[str, Ends], unit: str, warnings: Sequence[str]) -> Display:
    """Returns a verdict with a row per estimate."""
    rows = [("estimate", "% of slots with a click" if unit else "reward per slot", "95 % CI")]
    for name, title in TITLES.items():
        value, low, high = estimates[name]
        interval = numbers.NONE
        if low is not None and high is not None:
            decimals = numbers.places([low, high])
            interval = f"{numbers.fixed(low, decimals)} to {numbers.fixed(high, decimals)}"
        rows.append((title, numbers.three(value), interval))
    return Display(sentence, rows, ["All numbers: .table(), .as_dict(); figure: .plot()"], warnings)


def plot_estimates(estimates: Mapping[str, Ends], unit: str, *, hollow: bool) -> go.Figure:
    """Returns the figure of the estimates; they are hollow if they must not be used."""
    from recdash.charts import off_policy
    from recdash.charts.marks import LIGHT

    return off_policy.estimates(estimate_lines(estimates), LIGHT, unit, hollow=hollow)
