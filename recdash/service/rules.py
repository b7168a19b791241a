"""Reads and changes the decision rules of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recdash.comparison.rules import USUAL, DecisionRules, checked
from recdash.domain.records import Experiment
from recdash.service.context import ServiceContext

RULES = "rules"
"""The key of the rules in an experiment's settings. It is absent while the default rules apply."""
UNCHANGED = ""
"""In place of a baseline: it stays as it is."""


class Rules:
    """The service for an experiment's margin, guardrails, primary metric, k and owner.

    The baseline is not among them: it is a field of the experiment.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def of(self, experiment_id: str) -> DecisionRules:
        """Returns the decision rules of the experiment; the default rules if none were stored."""
        return rules_of(self._context.store.experiments.get(experiment_id))

    def set(
        self, experiment_id: str, rules: DecisionRules, *, baseline: str | None = UNCHANGED
    ) -> DecisionRules:
        """Stores the rules, and returns them with canonical metric names.

        Raises InputError with all that is wrong.

        Stored decisions, evidence and reports keep the rules with which they were made.
        """
        return self.change(experiment_id, lambda _: rules, baseline=baseline)

    def change(
        self,
        experiment_id: str,
        changed: Callable[[DecisionRules], DecisionRules],
        *,
        baseline: str | None = UNCHANGED,
    ) -> DecisionRules:
        """Replaces the stored rules by ``changed(stored rules)`` in one transaction, and returns the new
        ones.

        So changes that others store at the same time are not lost. ``baseline`` is the id of the run that
        becomes the baseline in the same transaction, None for no chosen one. Raises InputError with all that
        is wrong, and Forbidden for who changes ``two_people`` and is no admin.
        """
        experiments = self._context.writable_store().experiments

        def settings_of(experiment: Experiment) -> dict[str, Any]:
            settings = {name: value for name, value in experiment.settings.items() if name != RULES}
            before = rules_of(experiment)
            canonical = checked(changed(before), settings["depth"])
            if canonical.two_people != before.two_people:
                self._context.person.must_be("admin")
            own = {} if canonical == USUAL else {RULES: canonical.as_dict()}
            chosen = {} if baseline == UNCHANGED else {"baseline": baseline}
            return {"settings": settings | own, **chosen}

        return rules_of(experiments.change(experiment_id, settings_of))


def rules_of(experiment: Experiment) -> DecisionRules:
    """Returns the decision rules that were stored with an experiment; the default rules if there are none."""
    facts = experiment.settings.get(RULES)
    return USUAL if facts is None else DecisionRules.of(facts)
