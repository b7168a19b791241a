"""Off-policy estimates beside what offline metrics and an A/B test found for the same runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recdash.domain.records import KeptEstimate
from recdash.formatting.wording import finding
from recdash.online.agreement.join import BLOCKED

NO_VERDICT, NOT_COMPARED = "no verdict", "not compared"
NOT_JUDGED, NOT_TESTED = "not judged", "not tested"
SIGNIFICANT = ("better", "worse")


@dataclass(frozen=True)
class EstimateBesideTest:
    """An off-policy estimate that is kept with an experiment, beside the results of its run.

    ``run`` is the name of the run, empty if the target is no stored run or the run was deleted. ``row`` is
    the run's row of ``join_offline``, None if no variant but the control served it. Less of the offline or
    the online metric is better if ``offline_lower`` and ``online_lower`` say so.
    """

    estimate: KeptEstimate
    run: str = ""
    row: Mapping[str, Any] | None = None
    offline_lower: bool = False
    online_lower: bool = False

    @property
    def name(self) -> str:
        return self.run or self.estimate.title

    @property
    def off_policy(self) -> str:
        """Returns whether the run would earn more (better) or less (worse) than the logging policy did."""
        facts = self.estimate.facts
        return NO_VERDICT if facts["verdict"] == "refused" else finding(*facts["intervals"]["gain"])

    @property
    def offline(self) -> str:
        """Returns whether the offline metric of the run is better or worse than the control's."""
        if self.row is None:
            return NOT_TESTED
        if self.row["offline_delta"] is None:
            return NOT_COMPARED
        return finding(self.row["offline_low"], self.row["offline_high"], lower_is_better=self.offline_lower)

    @property
    def online(self) -> str:
        """Returns whether the variant that served the run was better or worse than the control."""
        if self.row is None:
            return NOT_TESTED
        if self.row["quadrant"] == BLOCKED:
            return NOT_JUDGED
        return finding(self.row["online_low"], self.row["online_high"], lower_is_better=self.online_lower)

    @property
    def agrees(self) -> bool | None:
        """Returns whether estimate and A/B test have the same direction; None unless both are significant."""
        is_decided = self.off_policy in SIGNIFICANT and self.online in SIGNIFICANT
        return self.off_policy == self.online if is_decided else None

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        estimate, row = self.estimate, self.row or {}
        facts = estimate.facts
        names = (
            "variant", "offline_delta", "offline_low", "offline_high", "online_lift", "online_low",
            "online_high",
        )  # fmt: skip
        return {
            "id": estimate.id,
            "target": estimate.title,
            "run": self.run or None,
            "kept": estimate.created.isoformat(),
            "observed": facts["observed"],
            "estimate": facts["dr"],
            "interval": facts["intervals"]["dr"],
            "gain": facts["gain"],
            "gain_interval": facts["intervals"]["gain"],
            "off_policy": self.off_policy,
            "offline": self.offline,
            "online": self.online,
            "agrees": self.agrees,
            **{name: row.get(name) for name in names},
        }
