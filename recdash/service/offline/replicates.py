"""Values of a candidate's folds or seeds, and how far they spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.records import Run
from recdash.domain.results import WHOLE, Scope
from recdash.metrics import check_k
from recdash.service import frames
from recdash.service.context import ServiceContext
from recdash.service.offline.run_curves import RunCurves
from recdash.service.run_data import RunData

if TYPE_CHECKING:
    import pandas as pd

SPREAD_COLUMNS = ("run_id", "run", "replicate", "value", "n_users")


class Replicates:
    """The service for the folds or seeds of candidates that were uploaded several times."""

    def __init__(self, context: ServiceContext, data: RunData, run_curves: RunCurves) -> None:
        self._context, self._data, self._run_curves = context, data, run_curves

    def of(self, run_id: str) -> list[Run]:
        """Returns the folds or seeds of a run in their order, each as a run whose name is its label; empty if
        it has none.
        """
        return list(self._data.replicates_of(run_id))

    def spread(self, run_ids: Sequence[str], metric: str, k: int, scope: Scope = WHOLE) -> pd.DataFrame:
        """Returns the value of each fold or seed as a frame with ``SPREAD_COLUMNS``; a run without them has
        no rows.

        The value of a fold is over the users of that fold.
        """
        import pandas as pd

        check_k(k)
        rows = []
        for run in self._context.runs_of(run_ids):
            replicates = self._data.replicates_of(run.id)
            curves = self._run_curves.of([replicate.id for replicate in replicates], [metric], scope)
            for replicate in replicates:
                curve = curves[replicate.id].get(metric)
                score = None if curve is None else frames.score_at(curve, k)
                if score is not None and not np.isnan(score["value"]):
                    rows.append((run.id, run.name, replicate.name, float(score["value"]), score["n_users"]))
        return pd.DataFrame(rows, columns=list(SPREAD_COLUMNS))
