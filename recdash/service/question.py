"""The question that a report answers: a comparison, with the slices and the A/B test to include."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pydantic import TypeAdapter

from recdash.comparison import ComparisonQuery

_QUERY = TypeAdapter(ComparisonQuery)
SEPARATOR = "~"
"""The character between candidates in an address of the dashboard."""


def frame_parameters(
    experiment: str, baseline: str, candidates: Sequence[str], metric: str, k: int
) -> dict[str, str]:
    """Returns the query parameters with which an address of the dashboard names a comparison; all are ids."""
    return {"e": experiment, "b": baseline, "c": SEPARATOR.join(candidates), "m": metric, "k": str(k)}


@dataclass(frozen=True)
class Question:
    """A comparison of an experiment's runs, and what a report shows with it.

    ``query`` is None if the question is about an A/B test alone, in an experiment without runs. ``by`` is the
    attribute whose slices are shown ("" = none); ``test`` and ``online_metric`` are the A/B test to include
    and its metric (None = none).
    """

    experiment: str
    query: ComparisonQuery | None
    by: str = ""
    test: str | None = None
    online_metric: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Returns the question as JSON-ready values, which ``of`` reads."""
        beside = {"by": self.by, "test": self.test, "online_metric": self.online_metric}
        query = self.query.as_dict() if self.query else {}
        return {"experiment": self.experiment, **query, **beside}

    def address(self, home: str) -> str:
        """Returns the address of the comparison in the dashboard at the URL ``home``; empty if ``home`` is
        empty.
        """
        if not home:
            return ""
        if self.query is None:
            view = {"e": self.experiment, "t": str(self.test)}
        else:
            query, scope = self.query, self.query.scope
            view = frame_parameters(self.experiment, query.baseline, query.runs, query.metric, query.k)
            view |= {"s": scope.slice} if scope.slice else {}
            view |= {} if scope.threshold is None else {"th": f"{scope.threshold:g}"}
        return f"{home.rstrip('/')}/?{urlencode(view, safe=SEPARATOR)}"

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Question:
        """Returns the question from the values that ``as_dict`` wrote."""
        beside = (facts["by"], facts["test"], facts["online_metric"])
        query = _QUERY.validate_python(facts) if "runs" in facts else None
        return cls(facts["experiment"], query, *beside)
