"""The runs that a comparison is about, wherever they come from: files scored just now, or a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from recdash.domain.hits import IdOverlap
from recdash.domain.kinds import Users
from recdash.domain.records import Replicated
from recdash.domain.results import OnlineLift, UserValues
from recdash.errors import Problem
from recdash.stats.jackknife import Pulls

if TYPE_CHECKING:
    from recdash.domain.results import Slice


class Source(Protocol):
    """Runs by id, all measured against one truth."""

    @property
    def names(self) -> Mapping[str, str]:
        """Run id → name."""

    def under(self, users: Users) -> Source:
        """The same runs, users being counted by another rule."""

    def values(self, run: str, metric: str, k: int) -> UserValues | None:
        """The users who count and their values; None where the run lacks the metric.

        Raises InputError for a metric without a value per user, and for a k beyond the depth.
        """

    def value(self, run: str, metric: str, k: int) -> float | None:
        """Any metric's value; None where the run lacks it."""

    def why_absent(self, run: str, metric: str) -> str:
        """Why the run lacks the metric."""

    def user_slices(self) -> Sequence[Slice]:
        """The slices of users that a verdict looks at."""

    def replicated(self, run: str) -> Replicated | None:
        """The run's folds or seeds; None for a run that was uploaded once."""

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:
        """A metric of one replicate without a value per user; None where it lacks it."""

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues | None:
        """The users who count in one replicate, of a fold those with a list; None where it lacks it."""

    def list_pulls(
        self, runs: Sequence[str], metrics: Sequence[str], k: int
    ) -> Sequence[Mapping[str, Pulls]]:
        """How far the users of each run pull catalogue metrics at k, the same users in the same groups.

        Metrics to which single lists add nothing of their own are left out. Raises RecdashError where lists
        are missing now.
        """

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        """What A/B tests found of the run against the baseline."""

    def known_ids(self, run: str) -> IdOverlap | None:
        """What truth, catalogue and train know of the run's ids; None of a reference candidate."""

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        """Why the runs' numbers may not stand side by side as they are."""
