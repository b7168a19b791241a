"""The protocol for the runs of a comparison, whether scored from files or stored."""

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
        """Returns {run id: name}."""

    def under(self, users: Users) -> Source:
        """Returns the same runs with users counted by another rule."""

    def values(self, run: str, metric: str, k: int) -> UserValues | None:
        """Returns the users who count and their values; None if the run lacks the metric.

        Raises InputError for a metric without a value per user, and for a k beyond the depth.
        """

    def value(self, run: str, metric: str, k: int) -> float | None:
        """Returns any metric's value; None if the run lacks it."""

    def why_absent(self, run: str, metric: str) -> str:
        """Returns why the run lacks the metric."""

    def user_slices(self) -> Sequence[Slice]:
        """Returns the slices of users that a verdict examines."""

    def replicated(self, run: str) -> Replicated | None:
        """Returns the run's folds or seeds; None for a run that was uploaded once."""

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:
        """Returns a catalogue-level metric of one replicate; None if it lacks it."""

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues | None:
        """Returns the users who count in one replicate, of a fold those with a list; None if it lacks the
        metric.
        """

    def list_pulls(
        self, runs: Sequence[str], metrics: Sequence[str], k: int
    ) -> Sequence[Mapping[str, Pulls]]:
        """Returns by how much the users of each run pull catalogue-level metrics at k, the same users in the
        same groups.

        Metrics that do not add up by list are left out. Raises RecdashError if lists are missing.
        """

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        """Returns the lifts of the run against the baseline in A/B tests."""

    def lost_elsewhere(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        """Returns the losses of the run in A/B tests against another run than the baseline."""

    def invalid_tests(self, run: str, baseline: str) -> Sequence[str]:
        """Returns the names of A/B tests of the run against the baseline that have no valid result."""

    def known_ids(self, run: str) -> IdOverlap | None:
        """Returns what truth, catalogue and train know of the run's ids; None for a reference candidate."""

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        """Returns why the runs' numbers may not be comparable."""
