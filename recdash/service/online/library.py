"""The metric library of a store: definitions that each new A/B test with their totals is counted by."""

from __future__ import annotations

from typing import Any

from recdash.errors import NotFound
from recdash.online import OnlineMetric
from recdash.online.metrics import check
from recdash.service.context import ServiceContext


class MetricLibrary:
    """The service for the metrics that all A/B tests of a store have in common. Only editors see them, since
    their names may tell of other experiments.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def all(self) -> tuple[OnlineMetric, ...]:
        """Returns the metrics of the library, sorted by name."""
        self._context.must_be_editor()
        return tuple(_metric(facts) for facts in self._context.store.metric_library.all())

    def add(self, metric: OnlineMetric) -> None:
        """Stores a metric; one of the same name is replaced. Tests that are stored keep theirs.

        Raises InputError for a metric without a name, a guardrail without a margin, and bad numbers.
        """
        self._context.must_be_editor()
        check(metric, [metric.numerator, metric.denominator or ""])
        self._context.writable_store().metric_library.put(metric.name, metric.facts())

    def remove(self, name: str) -> None:
        """Removes a metric. Raises NotFound if the library has none of this name."""
        self._context.must_be_editor()
        if name not in {metric.name for metric in self.all()}:
            raise NotFound(f"The metric library has no '{name}'.")
        self._context.writable_store().metric_library.remove(name)


def _metric(facts: dict[str, Any]) -> OnlineMetric:
    return OnlineMetric(**facts)
