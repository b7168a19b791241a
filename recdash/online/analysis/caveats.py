"""Says what limits the decision on an A/B test beside its findings."""

from __future__ import annotations

from recdash.formatting.wording import loss_of
from recdash.online.analysis.results import OnlineResults, OnlineRow
from recdash.online.analysis.sample import SampleSummary


def caveats(results: OnlineResults, sample: SampleSummary | None) -> list[str]:
    """Returns what is missing or wrong, as sentences; ``sample`` is None for aggregated data.

    Missing are the dates from which whole weeks and a novelty effect are seen. Wrong is what the health
    checks warn of.
    """
    sentences = []
    if sample is not None and not sample.days:
        sentences.append("The dates are unknown, and so are full weeks and whether the lift lasts.")
    warnings = (warning.found.rstrip(".") for warning in results.health.warnings)
    return [*sentences, *(f"{text[:1].upper()}{text[1:]}." for text in warnings)]


def open_loss(row: OnlineRow) -> str:
    """Returns the loss that an inconclusive guardrail does not rule out, such as ``a drop of 2 %``."""
    return loss_of(row.margin, rises=row.direction != "up")
