"""What a report asks: which runs, by what, over whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from recdash.comparison import Margin, Terms
from recdash.domain.results import Scope


@dataclass(frozen=True)
class Question:
    """Candidates against a baseline by a metric at k, of an experiment or of a part of it.

    ``by``: the slices that are shown ("" = none); ``test`` and ``online_metric``: the A/B test beside it
    (None = none).
    """

    experiment: str
    runs: tuple[str, ...]
    baseline: str
    metric: str = "ndcg"
    k: int = 10
    scope: Scope = field(default_factory=Scope)
    terms: Terms = field(default_factory=Terms)
    by: str = ""
    test: str | None = None
    online_metric: str | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        """The baseline first, then the candidates."""
        return tuple(dict.fromkeys((self.baseline, *self.runs)))

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "runs": list(self.runs)}

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Question:
        """What ``as_dict`` wrote."""
        terms = {**facts["terms"], "margin": Margin(**facts["terms"]["margin"])}
        return cls(
            **{
                **facts, "runs": tuple(facts["runs"]), "scope": Scope(**facts["scope"]),
                "terms": Terms(**terms),
            }
        )  # fmt: skip
