"""The arguments of the tools that assistants call."""

from __future__ import annotations

from pydantic import Field

from recdash.domain.defaults import DEFAULT_SPEC
from recdash.online.analysis.analysed_test import TimeScale
from recdash.online.analysis.further_questions import FurtherQuestions
from recdash.service.plain_agreement import MetricPair
from recdash.stats import Correction
from recdash.web.api.parameters import Name, Parameters, QueryParameters, ScoreParameters, Text


class OfExperiment(Parameters):
    """An experiment."""

    experiment: Name = Field(description="Name or id of the experiment.")


class OfScores(OfExperiment, ScoreParameters):
    """Scores of an experiment's runs."""


class OfComparison(OfExperiment, QueryParameters):
    """A comparison of an experiment's runs."""


class OfDefinition(OfExperiment):
    """A metric of a run."""

    run: Name = Field(description="Name of the run.")
    metric: Name = Field(DEFAULT_SPEC, description="A metric with its cutoff, such as ndcg@10.")


class OfTest(OfExperiment):
    """An A/B test, and what is asked about it besides its results."""

    test: Name | None = Field(None, description="Name or id of the A/B test; without it, the newest.")
    correction: Correction = Field("holm", description="Multiple-testing correction.")
    prior: Text | None = Field(
        None,
        description="Adds the chance to win under this prior of the lift: flat, or MEAN,SD such as 0,0.3.",
    )
    segments: Text | None = Field(
        None, description="Adds the lifts by segment of users: of one attribute, such as country, or of all."
    )
    days: TimeScale | None = Field(
        None, description="Adds the lifts by day: cumulative, daily, or since the exposure."
    )
    power: Text | None = Field(
        None,
        description="Adds the minimum detectable effects, and the users that this lift needs, such as 2%; "
        "with an empty text only the effects.",
    )
    large_values: bool = Field(
        default=False,
        description="Adds what a few users with large values carry, and the lifts without them.",
    )
    online_metric: Name | None = Field(
        None, description="The only metric of segments, days, power and large values."
    )

    @property
    def further(self) -> FurtherQuestions:
        return FurtherQuestions(
            self.prior, self.segments, self.days, self.power, self.large_values, self.online_metric
        )


class OfAgreement(OfExperiment):
    """An offline metric and an online metric of an A/B test."""

    test: Name | None = Field(None, description="Name or id of the A/B test; without it, the newest.")
    metric: Name = Field(DEFAULT_SPEC, description="An offline metric with its cutoff.")
    online: Name | None = Field(
        None, description="An online metric; without it, the first that disagrees, or the primary one."
    )

    @property
    def pair(self) -> MetricPair:
        return MetricPair(self.test, self.metric, self.online)


class OfExplanation(OfAgreement):
    """A variant whose results are to be explained."""

    variant: Name | None = Field(
        None, description="The variant to explain; without it, the first whose results disagree."
    )
    run: Name | None = Field(None, description="The run whose variant is to be explained.")
