"""``recdash online``: analyses an A/B test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.online_options import (
    TABLES,
    counting_options,
    metric_of,
    rules_given,
    table_options,
)
from recdash.cli.online_questions import (
    FORMS,
    QUESTIONS,
    csv_of,
    lines_of,
    question_options,
)
from recdash.cli.options import (
    CORRECTION,
    columns_option,
    engine_given,
    engine_options,
    linked_runs,
    open_experiment,
    refuse_option,
    refuse_twice,
    run_ids,
    tell,
)
from recdash.cli.terminal import say_lines
from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.sanitize import visible
from recdash.formatting.text_table import text_table
from recdash.formatting.wording import shown

if TYPE_CHECKING:
    from recdash.ingest import Sheet
    from recdash.online import OnlineResults, OnlineRow
    from recdash.online.analysis.analysed_test import AnalysedTest
    from recdash.online.analysis.further_questions import FurtherQuestions
    from recdash.online.analysis.plan_check import PlanCheck
    from recdash.online.analysis.shared_users import SharedUsers
    from recdash.online.proposals import MetricChoices
    from recdash.stats import Correction

HEADER = (
    "metric", "variant", "control", "value", "lift %", "95 % interval", "difference (95 % interval)", "p",
    "finding",
)  # fmt: skip


@click.command()
@table_options
@engine_options("Count --events with Spark, which needs recdash[spark]: FILE is Parquet, CSV or table:NAME.")
@columns_option
@refuse_option
@click.option("--control", help="Control variant.")
@click.option(
    "--correction",
    **CORRECTION,
    help="Multiple-testing correction over all goals and variants.",
)
@counting_options
@click.option("--goals", help="The metrics that are goals, as NAME,NAME; others are then for information.")
@click.option("--primary", help="The goal by which the test is decided first.")
@click.option(
    "--covariate",
    "covariates",
    multiple=True,
    metavar="METRIC=COLUMN",
    help="The column, known before the exposure, that adjusts a metric's lift (CUPED); repeatable.",
)
@click.option("--experiment", help="Store the test in this experiment; without files, show a stored one.")
@click.option("--test", "name", help="Name under which the test is stored, or of the stored one to show.")
@click.option("--link", "links", multiple=True, help="Which run a variant served, as VARIANT=RUN.")
@question_options
@click.option("--format", "form", type=click.Choice(FORMS), default="text", show_default=True)
def online(
    *,
    questions: FurtherQuestions,
    engine: str | None,
    master: str | None,
    control: str | None,
    correction: Correction,
    own_metrics: Sequence[str],
    experiment: str | None,
    name: str | None,
    links: Sequence[str],
    goals: str | None,
    primary: str | None,
    covariates: Sequence[str],
    form: str,
    columns: Mapping[str, Any],
    refuse: Sequence[str],
    **options: Any,
) -> None:
    """Analyse an A/B test: first its health, then lift, interval and finding of each metric.

    Give --sessions; or --exposures and --events; or --aggregates; or --experiment for a stored test.
    """
    start_light()
    files = {kind: options.pop(kind) for kind in TABLES}
    tables: dict[str, Any] = {kind: file for kind, file in files.items() if file is not None}
    if (cluster := engine_given(engine, master)) is not None and tables:
        from recdash.online.ab_test import with_events_on_cluster

        tables = dict(with_events_on_cluster(tables, cluster))
    metrics = [metric_of(text) for text in own_metrics]
    how: dict[str, Any] = {"control": control, "columns": columns, "metrics": metrics, "refuse": refuse}
    how["rules"] = rules_given(**options)
    choices = _choices(goals, primary, covariates)
    refuse_twice("--metric", [metric.name for metric in metrics])
    planned: PlanCheck | None = None
    shared: Sequence[SharedUsers] = ()
    if experiment is not None:
        how |= {"choices": choices}
        results, planned, shared = _stored_results(experiment, name, tables, links, how, correction)
    elif name or links:
        fix = "Name the experiment to store the test in: --experiment NAME."
        option = "--test" if name else "--link"
        raise InputError(Problem("no-experiment", option, "given without --experiment", fix))
    else:
        from recdash.online.ab_test import ab_test

        results = ab_test(
            **tables,
            **how,
            correction=correction,
            goals=choices.goals,
            primary=choices.primary,
            covariates=choices.covariates,
        )
    if form == "json":
        from recdash.service.plain_answers import results_facts, stored_facts

        is_stored = experiment is not None
        facts = stored_facts(results, planned, shared) if is_stored else results_facts(results)
        text = json.dumps(questions.added_to(facts, results), ensure_ascii=False)
    elif form == "csv":
        text = csv_of(questions, results)
    else:
        text = "\n".join([*_plan_lines(planned), *_lines(results), *lines_of(questions, results)])
    tell((*results.notices, *results.value_notices, *(users.notice() for users in shared)))
    say_lines(text)


def _stored_results(
    experiment: str,
    name: str | None,
    tables: Mapping[str, Path | Sheet],
    links: Sequence[str],
    how: Mapping[str, Any],
    correction: Correction,
) -> tuple[AnalysedTest, PlanCheck | None, Sequence[SharedUsers]]:
    """Returns the results of an experiment's A/B test, compared with its plan, and the users who are also in
    other tests. If ``tables`` are given, the test is stored first.
    """
    workspace, stored = open_experiment(experiment)
    if tables:
        runs = linked_runs(links, run_ids(workspace, stored.id))
        title = name or next(iter(tables.values())).name.split(".")[0]
        test = workspace.online_tests.add(stored.id, title, tables, links=runs, **how)
    else:
        _refuse_counting()
        test = workspace.online_tests.named(stored.id, name)
    results = workspace.online_analysis.results(test.id, correction)
    return results, workspace.plans.check(test.id), workspace.concurrent_tests.of(test.id)


def _refuse_counting() -> None:
    """Raises InputError for options that change how a test is counted, because a stored test keeps its
    rules.
    """
    context = click.get_current_context()
    problems = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        is_free = parameter.name in {"experiment", "name", "correction", "form", *QUESTIONS}
        if source is click.core.ParameterSource.COMMANDLINE and not is_free:
            fix = (
                "A stored test keeps its counting rules. Give its files too, or change the rules on the "
                "page A/B results."
            )
            problems.append(Problem("kept-already", parameter.opts[0], "not possible for a stored test", fix))
    if problems:
        raise InputError(problems)


def _choices(goals: str | None, primary: str | None, covariates: Sequence[str]) -> MetricChoices:
    """Returns what is chosen about the metrics. Raises InputError for options without a name, and for bad
    covariates.
    """
    from recdash.online.proposals import MetricChoices

    pairs = [text.partition("=") for text in covariates]
    if any(not (name.strip() and column.strip()) for name, _, column in pairs):
        fix = "Write METRIC=COLUMN, such as revenue=pre_revenue."
        raise InputError(Problem("bad-covariate", "--covariate", f"'{', '.join(covariates)}'", fix))
    refuse_twice("--covariate", [name.strip() for name, _, _ in pairs])
    names = tuple(name.strip() for name in (goals or "").split(",") if name.strip())
    problems = [
        Problem("no-name", option, "it names no metric", f"Name {what}, or leave the option out.")
        for option, text, what in (
            ("--goals", goals if not names else None, "the goals, such as revenue,orders"),
            ("--primary", primary if not (primary or "").strip() else None, "a metric, such as revenue"),
        )
        if text is not None
    ]
    if problems:
        raise InputError(problems)
    refuse_twice("--goals", names)
    primary = primary.strip() if primary else None
    return MetricChoices(names, primary, {name.strip(): column.strip() for name, _, column in pairs})


# ── output ───────────────────────────────────────────────────────────────────────────────────


def _plan_lines(planned: PlanCheck | None) -> Iterator[str]:
    """Yields who planned the test and what differs from the plan; nothing without a plan."""
    if planned is not None:
        yield planned.sentence
        yield from (f"  - {deviation.text}" for deviation in planned.deviations)


def _lines(results: OnlineResults) -> Iterator[str]:
    """Yields the lines of the output: the test's health, one line per metric and variant, and notes."""
    from recdash.online.analysis.results import validity_notes

    health = results.health
    users = ", ".join(f"{name} {count:,}" for name, count in results.users.items())
    yield f"Users: {users or 'unknown'}. Control: {results.control}."
    split = f"cannot be checked: {health.unchecked}"
    if health.srm_p is not None:
        split = numbers.p_equals(health.srm_p)
        split += f" {health.unchecked}" if health.unchecked else ""
    yield f"Split of users: {split}. Multiple exposures, excluded: {health.crossover:,}."
    for population in health.smaller_populations:
        users = ", ".join(f"{name} {count:,}" for name, count in population.users.items())
        p = "" if population.srm_p is None else f"; split {numbers.p_equals(population.srm_p)}"
        yield f"Users of {', '.join(population.metrics)}: {users}{p}."
    if health.activated_srm_p is not None:
        yield f"Split of activated users: {numbers.p_equals(health.activated_srm_p)}."
    for part in results.removed:
        counts = ", ".join(f"{name} {count:,}" for name, count in part.by_variant.items())
        yield f"Excluded, {part.unit} that {part.what}: {part.count:,} ({counts})."
    if health.blocked:
        yield "Sample ratio mismatch: no metric is judged."
    control = {row.metric: row for row in results.rows if row.is_control}
    alone = len(results.variants) == 1
    rows = [_cells(row, control.get(row.metric)) for row in results.rows if alone or not row.is_control]
    if any(row.plain_lift is not None for row in results.rows):
        yield "Lifts are adjusted for pre-test behaviour (CUPED); values are not."
    yield ""
    yield text_table([HEADER, *rows], 2)
    # Without a p-value the table shows the reason.
    judged = [replace(row, title=row.metric) for row in results.rows if row.p is not None]
    if notes := [visible(note) for note in validity_notes(judged)]:
        yield from ("", *notes)
    if not alone:
        yield (
            "\nIntervals and p-values of goals are corrected together; --format json also has the "
            "uncorrected ones."
        )


def _cells(row: OnlineRow, control: OnlineRow | None) -> tuple[str, ...]:
    low, high = _percent(row.corrected_low), _percent(row.corrected_high)
    return (
        row.metric,
        row.variant,
        numbers.three(control.value if control else None),
        numbers.three(row.value),
        numbers.signed(_percent(row.lift), 2),
        f"{numbers.signed(low, 2)} to {numbers.signed(high, 2)}" if low is not None else row.note,
        _difference(row),
        numbers.p_value(row.p_corrected),
        shown(row.word),
    )


def _difference(row: OnlineRow) -> str:
    """Returns the absolute difference with its corrected interval, in the unit of the metric."""
    low, high = row.corrected_difference_low, row.corrected_difference_high
    amount, interval = numbers.estimate(row.difference, low, high)
    return f"{amount} ({interval})" if low is not None else amount


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
