"""The parameters of requests to the HTTP API."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.datastructures import QueryParams

from recdash.domain.defaults import MOST_CANDIDATES
from recdash.domain.results import Scope
from recdash.errors import InputError, Problem
from recdash.service.plain_answers import NamedQuery
from recdash.stats import Correction
from recdash.web.api.validation import invalid

MOST_METRICS = 40
Text = Annotated[str, Field(max_length=300)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Asked = TypeVar("Asked", bound="Parameters")


def _refuse_flag(value: object) -> object:
    """Returns the value of a number. Raises an error for true and false, which pydantic takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not a number")  # noqa: TRY004 - what pydantic reports
    return value


Number = Annotated[float, BeforeValidator(_refuse_flag)]


class Parameters(BaseModel):
    """The parameters of a request; others are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class NoParameters(Parameters):
    """No parameters."""


class ScoreParameters(Parameters):
    """Which scores."""

    run: list[Name] = Field([], max_length=MOST_CANDIDATES, description="Names of runs; without any, all.")
    metric: list[Name] = Field(
        [],
        max_length=MOST_METRICS,
        description="Metrics such as ndcg@10, or without @k at every cutoff; without any, those stored.",
    )
    slice: Text = Field("", description="A slice of users or items, such as user_warmth=cold.")
    relevance_threshold: Number | None = Field(
        None, description="Smallest relevance that counts as relevant."
    )

    @property
    def scope(self) -> Scope:
        return Scope(self.slice, self.relevance_threshold)


class QueryParameters(Parameters):
    """Which comparison; what is not given follows the rules of the experiment."""

    run: list[Name] = Field(
        [], max_length=MOST_CANDIDATES, description="Names of candidates; without any, all runs."
    )
    baseline: Name | None = Field(None, description="Name of the baseline.")
    metric: Name | None = Field(None, description="One metric with its cutoff, such as ndcg@10.")
    margin: Text | None = Field(None, description="Smallest difference that matters: 1% or 0.002.")
    correction: Correction = Field("holm", description="Multiple-testing correction.")
    slice: Text = Field("", description="A slice of users or items, such as user_warmth=cold.")
    relevance_threshold: Number | None = Field(
        None, description="Smallest relevance that counts as relevant."
    )

    @property
    def query(self) -> NamedQuery:
        scope = Scope(self.slice, self.relevance_threshold)
        return NamedQuery(self.run, self.baseline, self.metric, self.margin, self.correction, scope)


class TestParameters(Parameters):
    """How an A/B test is analysed."""

    correction: Correction = Field("holm", description="Multiple-testing correction.")


class ReportParameters(QueryParameters):
    """Which report."""

    format: Literal["json", "html", "md", "csv", "tex", "pdf"] = Field("json", description="Its format.")
    by: Text | None = Field(None, description="Slices to show, such as user_warmth.")
    test: Name | None = Field(None, description="Name of the A/B test to include.")
    online_metric: Name | None = Field(None, description="An online metric.")
    title: Text = Field("", description="Title of the report.")


def read(kind: type[Asked], query: QueryParams) -> Asked:
    """Returns the parameters in a query string.

    Raises InputError for unknown ones, for values that do not fit, and for one that is given twice.
    """
    values: dict[str, Any] = {}
    for name in query.keys():  # noqa: SIM118 - its items are single values
        given = query.getlist(name)
        if name in kind.model_fields and _is_list(kind.model_fields[name].annotation):
            values[name] = given
        elif len(given) > 1:
            problem = f"it is given {len(given)} times"
            raise InputError(Problem("bad-parameter", f"parameter {name[:80]}", problem, "Give it once."))
        else:
            values[name] = given[0]
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise invalid(error, "parameter") from None


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(get_origin(part) is list for part in get_args(annotation))
