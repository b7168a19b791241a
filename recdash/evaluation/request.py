"""The request for scoring: metrics as specs, and the rules of counting, under a preset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from recdash.domain.arguments import check_number, check_type, check_whole
from recdash.domain.kinds import DEFAULT_DEPTH, Duplicates, Order, Ties, Users
from recdash.errors import InputError, Problem
from recdash.metrics import Definition, Spec, define, naming, parse_list, preset
from recdash.metrics.agreement import preset_agreement
from recdash.metrics.presets import EVERY_ROW

DEEPEST = 10_000
"""The largest depth that can be requested; it is limited because all counts are kept per rank."""


@dataclass(frozen=True)
class CountingRules:
    """The rules of counting: population, order, ties, duplicates and relevance.

    ``order`` None: by what the upload has. ``relevance`` and ``threshold``: the truth's column of grades, and
    the lowest relevant grade. ``accept_unknown_ids``: a run is scored even if its ids hardly occur in the
    tables.
    """

    depth: int = DEFAULT_DEPTH
    users: Users = "truth"
    order: Order | None = None
    ties: Ties = "file"
    preset: str = "default"
    duplicates: Duplicates = "first"
    relevance: str | None = None
    threshold: float | None = None
    accept_unknown_ids: bool = False


@dataclass(frozen=True)
class MetricRequest:
    """A metric as it was requested, and its definition under the preset."""

    spec: Spec
    definition: Definition


def check_engine(engine: object) -> None:
    """Raises InputError for an engine that is not Spark."""
    if engine is not None:
        from recdash.evaluation.spark import Spark

        check_type("engine", engine, Spark, "Give recdash.Spark(…), or leave it out.")


def check_relevance(relevance: object, threshold: object) -> None:
    """Raises InputError for a relevance column that is no text, and for a threshold that is no number."""
    if relevance is not None:
        check_type("relevance", relevance, str, "Give the name of a column of the test set, or 'none'.")
    if threshold is not None:
        check_number("relevance_threshold", threshold, "Give a number, such as 4.")


def with_relevance(rules: CountingRules, relevance: str | None, threshold: float | None) -> CountingRules:
    """Returns the rules with the truth's relevance column and threshold: those given, else those of the
    preset.
    """
    convention = preset(rules.preset)
    if relevance is None and threshold is None:
        relevance = convention.relevance
    if threshold is None and relevance != EVERY_ROW:
        threshold = convention.threshold
    check_relevance(relevance, threshold)
    return replace(rules, relevance=relevance, threshold=threshold)


def read_question(
    metrics: str | Sequence[str] | None,
    preset_name: str = "default",
    depth: int | None = None,
    users: Users | None = None,
    order: Order | None = None,
    ties: Ties | None = None,
    *,
    duplicates: Duplicates | None = None,
) -> tuple[list[MetricRequest], CountingRules]:
    """Returns the requested metrics and the rules of counting. Arguments that are given override the preset.

    Raises InputError if no metric is named, and for an unknown metric, preset or rule.
    """
    convention = preset(preset_name)
    specs = parse_list(naming.default_specs() if metrics is None else metrics)
    if not specs:
        raise InputError(Problem("no-metric", "metrics", "no metric named", "Name one, such as ndcg@10."))
    requests = [MetricRequest(spec, define(convention.apply(spec))) for spec in specs]
    check_choice("users", users, get_args(Users))
    check_choice("order", order, ("rank", "score"))
    check_choice("ties", ties, get_args(Ties))
    check_choice("duplicates", duplicates, get_args(Duplicates))
    deepest = max((spec.k or 1 for spec in specs), default=1)
    depth = max(DEFAULT_DEPTH, deepest) if depth is None else depth
    check_depth(depth, deepest)
    rules = CountingRules(
        depth,
        users or convention.users,
        order or convention.order,
        ties or convention.ties,
        convention.name,
        duplicates or convention.duplicates,
    )
    return requests, rules


def preset_notices(requests: Sequence[MetricRequest], rules: CountingRules) -> list[Problem]:
    """Returns notices on requested numbers that are not those of the preset's library, and why."""
    place = f"preset '{rules.preset}'"
    agreements = dict.fromkeys(
        preset_agreement(rules.preset, str(request.definition)) for request in requests
    )
    missing = [agreement for agreement in agreements if agreement.state == "not offered"]
    notices = [
        Problem("preset-differs", f"{place}, metric '{agreement.spec}'", agreement.sentence(), _SEE)
        for agreement in agreements
        if agreement.state in {"different", "documented"}
    ]
    if missing:
        named = ", ".join(agreement.spec for agreement in missing)
        text = f"{missing[0].library} does not offer {named}: recdash's own definition is shown"
        notices.append(Problem("preset-not-offered", place, text, _SEE, len(missing)))
    return notices


_SEE = "docs/presets.md compares every preset with its library."


def check_choice(name: str, value: str | None, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise InputError(
            Problem("bad-choice", name, f"'{value}'", f"Choose {', '.join(known[:-1])} or {known[-1]}.")
        )


def check_depth(depth: int, deepest: int = 1) -> None:
    """Raises InputError if ``depth`` is below ``deepest``, the largest requested cutoff, or above
    ``DEEPEST``.
    """
    if deepest > DEEPEST:
        fix = f"Use a whole number up to {DEEPEST:,}."
        raise InputError(Problem("bad-cutoff", "cutoff", f"k = {deepest}", fix))
    fix = f"Use a whole number from {deepest} to {DEEPEST:,}."
    check_whole("depth", depth, fix)
    if not deepest <= depth <= DEEPEST:
        raise InputError(Problem("bad-depth", "depth", f"{depth}", fix))
