"""The answer on how a metric is defined, by name, for commands and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.definitions.population_counts import LedgerLine, ledger_lines
from recdash.definitions.text import as_dict
from recdash.metrics import parse
from recdash.service.plain_answers import ids_of

if TYPE_CHECKING:
    import pandas as pd

    from recdash.domain.records import Experiment
    from recdash.metrics.ties import TieBand
    from recdash.service import Workspace

Parts = tuple["pd.DataFrame", "pd.DataFrame", Sequence[LedgerLine], "TieBand | None"]


@dataclass(frozen=True)
class DefinitionsAnswer:
    """A run's value of a metric under every preset; ``parts`` are the presets, the causes of their
    differences, the population counts, and the tie band.
    """

    experiment: str
    run: str
    metric: str
    k: int
    parts: Parts

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        facts = {"experiment": self.experiment, "run": self.run, "metric": self.metric, "k": self.k}
        return {**facts, **as_dict(*self.parts)}


def definitions_of(workspace: Workspace, experiment: Experiment, run: str, metric: str) -> DefinitionsAnswer:
    """Returns the value of a metric under every preset; without a cutoff at the depth of the lists.

    Raises UnknownName for an unknown run or metric.
    """
    spec, settings, runs = parse(metric), experiment.settings, workspace.runs.all(experiment.id)
    stored = {known.id: known for known in runs}[ids_of(runs, [run])[0]]
    k = spec.k or settings["depth"]
    question = (stored.id, spec.label, k)
    duplicates = settings.get("duplicates", "first")
    parts = (
        workspace.definitions.under_presets(*question),
        workspace.definitions.preset_causes(*question),
        ledger_lines(stored.ledger, settings["users"], settings["depth"], duplicates),
        workspace.scores.tie_band(*question),
    )
    return DefinitionsAnswer(experiment.name, stored.name, spec.label, k, parts)
