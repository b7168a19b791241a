"""What off-policy estimates show of themselves: their verdict, a table, and a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recdash.formatting import numbers
from recdash.formatting.display import Display

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from recdash.charts.off_policy import EstimateLine
    from recdash.online.off_policy.estimates import OffPolicy

NAMES: Mapping[str, str] = {
    "observed": "Observed",
    "ips": "IPS",
    "snips": "SNIPS",
    "clipped": "IPS, clipped",
    "dm": "Direct method",
    "dr": "Doubly robust",
    "switch_dr": "Switch-DR",
}
"""Estimate, as a field of ``OffPolicy``, → its name."""


def scale(result: OffPolicy) -> tuple[float, str]:
    """Returns the factor and the unit of rewards: clicks in % of slots, other rewards unchanged."""
    return (100.0, " %") if result.of_clicks else (1.0, "")


def estimate_lines(result: OffPolicy) -> list[EstimateLine]:
    """Returns the estimates as rows of a chart, in the units of ``scale``."""
    from recdash.charts.off_policy import EstimateLine

    factor, _ = scale(result)

    def scaled(value: float | None) -> float | None:
        return None if value is None else factor * value

    rows = []
    for name, title in NAMES.items():
        estimate = getattr(result, name)
        value, low, high = map(scaled, (estimate.value, estimate.low, estimate.high))
        rows.append(EstimateLine(title, value, low, high, observed=name == "observed"))
    return rows


def display_of(result: OffPolicy) -> Display:
    """Returns the verdict with a row per estimate."""
    factor, unit = scale(result)
    rows = [("estimate", "reward per slot" if not unit else "% of slots with a click", "95 % CI")]
    for name, title in NAMES.items():
        estimate = getattr(result, name)
        value, low, high = (
            None if end is None else factor * end for end in (estimate.value, estimate.low, estimate.high)
        )
        interval = numbers.NONE
        if low is not None and high is not None:
            decimals = numbers.places([low, high])
            interval = f"{numbers.fixed(low, decimals)} to {numbers.fixed(high, decimals)}"
        rows.append((title, numbers.three(value), interval))
    remarks = [f"Errors by {result.errors_by}.", "All numbers: .table(), .as_dict(); figure: .plot()"]
    return Display(result.sentence, rows, remarks, result.warnings)


def plot_estimates(result: OffPolicy) -> go.Figure:
    """Returns the figure of the estimates; they are hollow if they must not be used."""
    from recdash.charts.marks import LIGHT
    from recdash.charts.off_policy import estimates

    return estimates(estimate_lines(result), LIGHT, scale(result)[1], hollow=result.verdict == "refused")
