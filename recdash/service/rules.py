"""Reads and changes the decision rules of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recdash.comparison.rules import USUAL, DecisionRules, checked
from recdash.domain.records import Experiment
from recdash.service.context import ServiceContext

RULES = "rules"
"""The key of the rules in an experiment's settings. It is absent while the default rules apply."""


class Rules:
    """The service for an experiment's margin, guardrails, primary metric, k and owner.

    The baseline is not among them: it is a field of the experiment.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def of(self, experiment_id: str) -> DecisionRules:
        """Returns the decision rules of the experiment; the default rules if none were stored."""
        return rules_of(self._context.store.experiments.get(experiment_id))

    def set(self, experiment_id: str, rules: DecisionRules) -> DecisionRules:
        """Stores the rules, and returns them with canonical metric names.

        Raises InputError with all that is wrong.

        Stored decisions, evidence and reports keep the rules with which they were made.
        """
        return self.change(experiment_id, lambda _: rules)

    def change(self, experiment_id: str, changed: Callable[[DecisionRules], DecisionRules]) -> DecisionRules:
        """Replaces the stored rules by ``changed(stored rules)`` in one transaction, and returns the new
        ones.

        So changes that others store at the same time are not lost. Raises InputError with all that is wrong.
        """
        experiments = self._context.writable_store().experiments

        def settings_of(experiment: Experiment) -> dict[str, Any]:
            settings = {name: value for name, value in experiment.settings.items() if name != RULES}
            canonical = checked(changed(rules_of(experiment)), settings["depth"])
            own = {} if canonical == USUAL else {RULES: canonical.as_dict()}
            return {"settings": settings | own}

        return rules_of(experiments.change(experiment_id, settings_of))


def rules_of(experiment: Experiment) -> DecisionRules:
    """Returns the decision rules that were stored with an experiment; the default rules if there are none."""
    facts = experiment.settings.get(RULES)
    return USUAL if facts is None else DecisionRules.of(facts)
