"""The case to explain (one variant of one A/B test, with the run that it served), and its explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.comparison import ComparisonQuery
from recdash.diagnosis import CheckAnswer
from recdash.domain.records import OnlineTest
from recdash.formatting.result_table import frame
from recdash.metrics.naming import metric_title

if TYPE_CHECKING:
    import pandas as pd

QUESTIONS = {
    "won offline, lost online": "Why did {run} win offline and lose online?",
    "lost offline, won online": "Why did {run} lose offline and win online?",
    "won both": "Is there any reason to doubt {run}'s result?",
    "lost both": "Is there any reason to doubt {run}'s result?",
    "undecided": "Why do {run}'s offline and online results differ?",
    "blocked": "Why do {run}'s offline and online results differ?",
}


@dataclass(frozen=True)
class Case:
    """A variant other than control in an A/B test. ``query`` compares its run with the control's run."""

    test: OnlineTest
    variant: str
    query: ComparisonQuery
    online_metric: str

    @property
    def experiment_id(self) -> str:
        return self.test.experiment

    @property
    def run_id(self) -> str:
        """Returns the id of the run that the variant served."""
        return self.query.runs[0]


@dataclass(frozen=True)
class Explanation:
    """The answers of all twelve checks in their order, and a summary in a sentence or two.

    ``quadrant`` is whether the run won or lost offline and online; ``question`` is what the explanation
    answers.
    """

    test: str
    variant: str
    run_id: str
    run: str
    base: str
    metric: str
    k: int
    online: str
    quadrant: str
    answers: tuple[CheckAnswer, ...]
    summary: str

    @property
    def where(self) -> str:
        """Returns the metric with its k, such as ``nDCG@10``."""
        return metric_title(self.metric, self.k)

    @property
    def question(self) -> str:
        return QUESTIONS[self.quadrant].format(run=self.run)

    def table(self) -> pd.DataFrame:
        """Returns a frame with a row per check: its verdict, numbers, sentence, and the data that it
        lacks.
        """
        columns = ("check", "verdict", "statistic", "sentence", "needs", "strength")
        rows = ({name: getattr(answer, name) for name in columns} for answer in self.answers)
        return frame(rows, columns)

    def as_dict(self) -> dict[str, Any]:
        """Returns the explanation as JSON-ready values."""
        facts = ("test", "variant", "run", "base", "metric", "k", "online", "quadrant", "summary")
        return {
            **{name: getattr(self, name) for name in facts},
            "question": self.question,
            "answers": [answer.as_dict() for answer in self.answers],
        }
