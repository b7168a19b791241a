"""The decision rules of an experiment: read, and set by editors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recdash.comparison.rules import USUAL, DecisionRules, checked
from recdash.domain.records import Experiment
from recdash.service.context import ServiceContext

RULES = "rules"
"""The key of an experiment's settings under which its rules are stored; absent for the usual ones."""


class Rules:
    """Margin, guardrails, primary metric, k and owner; the baseline is a field of the experiment."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def of(self, experiment_id: str) -> DecisionRules:
        """Returns the rules of the experiment, by default the usual ones."""
        return rules_of(self._context.store.experiments.get(experiment_id))

    def set(self, experiment_id: str, rules: DecisionRules) -> DecisionRules:
        """Stores the rules and returns them in canonical spelling. Raises InputError with all that is wrong.

        Stored decisions, evidence and reports keep the rules of their time.
        """
        return self.change(experiment_id, lambda _: rules)

    def change(self, experiment_id: str, changed: Callable[[DecisionRules], DecisionRules]) -> DecisionRules:
        """Stores what ``changed`` makes of the stored rules, so that another writer's changes stay; as
        ``set``.
        """
        experiments = self._context.writable_store().experiments

        def settings_of(experiment: Experiment) -> dict[str, Any]:
            settings = {name: value for name, value in experiment.settings.items() if name != RULES}
            canonical = checked(changed(rules_of(experiment)), settings["depth"])
            own = {} if canonical == USUAL else {RULES: canonical.as_dict()}
            return {"settings": settings | own}

        return rules_of(experiments.change(experiment_id, settings_of))


def rules_of(experiment: Experiment) -> DecisionRules:
    """Returns the decision rules that an experiment was stored with, by default the usual ones."""
    facts = experiment.settings.get(RULES)
    return USUAL if facts is None else DecisionRules.of(facts)
