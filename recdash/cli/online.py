"""``recdash online``: what an A/B test says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.options import columns_option, form_option, linked_runs, open_experiment, run_ids, tell
from recdash.cli.output import aligned
from recdash.cli.terminal import say_lines
from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.sanitize import visible

if TYPE_CHECKING:
    from recdash.online import OnlineMetric, OnlineResults, OnlineRow, OnlineRules
    from recdash.stats import Correction

TABLES = ("sessions", "exposures", "events", "served", "aggregates")
HEADER = ("metric", "variant", "control", "value", "lift %", "95 % interval", "p", "finding")


@click.command()
@click.option("--sessions", type=Path, help="One row per session.")
@click.option("--exposures", type=Path, help="Who saw which variant, when; with --events (or --sessions).")
@click.option("--events", type=Path, help="Impressions, clicks, watching; with --exposures.")
@click.option("--served", type=Path, help="The lists that were really shown; beside --events.")
@click.option("--aggregates", type=Path, help="One row per variant and metric, added up already.")
@columns_option
@click.option("--control", help="The variant that the others are compared with.")
@click.option(
    "--correction",
    type=click.Choice(["holm", "bh", "off"]),
    default="holm",
    show_default=True,
    help="How all goals of all variants are judged together.",
)
@click.option(
    "--threshold",
    type=float,
    default=120,
    show_default=True,
    help="Seconds that a video must be watched beyond to count.",
)
@click.option("--item-cap", type=float, help="At most so many seconds of one item in a session count.")
@click.option("--zone", help="Where times without a zone were written, such as Europe/Berlin (default: UTC).")
@click.option("--exposures-of", help="The experiment_id to read, where the exposures are of several.")
@click.option("--starts", help="Day the test began; earlier sessions are the time before it.")
@click.option(
    "--bot-clicks",
    type=int,
    default=300,
    show_default=True,
    help="More clicks in one day are a machine's; 0: nobody is one.",
)
@click.option(
    "--bot-sessions",
    type=int,
    default=100,
    show_default=True,
    help="More sessions in one day are a machine's; 0: nobody is one.",
)
@click.option("--winsorise", type=float, help="Share of users at which totals are cut: 0.99, say.")
@click.option(
    "--planned-users", type=int, help="With how many users, control and variant, the test was to end."
)
@click.option("--split", help="Planned split, where it is not even: control=2,new=1.")
@click.option(
    "--metric",
    "own_metrics",
    multiple=True,
    help="NAME=NUMERATOR[/DENOMINATOR][:down][:guardrail:MARGIN]; again for each.",
)
@click.option("--experiment", help="Keep the test in this experiment; without files: show one kept there.")
@click.option("--test", "name", help="Name of the test that is kept, or of the one to show.")
@click.option("--link", "links", multiple=True, help="VARIANT=RUN: which candidate a variant served.")
@form_option
def online(
    *,
    control: str | None,
    correction: Correction,
    own_metrics: Sequence[str],
    experiment: str | None,
    name: str | None,
    links: Sequence[str],
    form: str,
    columns: Mapping[str, Any],
    **options: Any,
) -> None:
    """What an A/B test says: its health, then each metric with lift, interval and finding.

    Give --sessions; or --exposures and --events; or --aggregates; or --experiment for a test that is kept.
    """
    start_light()
    files = {kind: options.pop(kind) for kind in TABLES}
    tables: dict[str, Any] = {kind: file for kind, file in files.items() if file is not None}
    metrics = [_metric(text) for text in own_metrics]
    how: dict[str, Any] = {"control": control, "columns": columns, "metrics": metrics}
    how["rules"] = _rules(**options)
    _refuse_twice("--metric", [metric.name for metric in metrics])
    _refuse_twice("--link", [link.partition("=")[0] for link in links])
    if experiment is not None:
        results = _stored_results(experiment, name, tables, links, how, correction)
    elif name or links:
        fix = "Say in which experiment the test is kept: --experiment NAME."
        option = "--test" if name else "--link"
        raise InputError(Problem("no-experiment", option, "given without --experiment", fix))
    else:
        from recdash.online.ab_test import ab_test

        results = ab_test(**tables, **how, correction=correction)
    tell(results.notices)
    say_lines(
        json.dumps(as_dict(results), ensure_ascii=False) if form == "json" else "\n".join(_lines(results))
    )


def _stored_results(
    experiment: str,
    name: str | None,
    tables: Mapping[str, Path],
    links: Sequence[str],
    how: Mapping[str, Any],
    correction: Correction,
) -> OnlineResults:
    """Results of a test of an experiment, stored first where files are given."""
    workspace, stored = open_experiment(experiment)
    if tables:
        runs = linked_runs(links, run_ids(workspace, stored.id))
        title = name or next(iter(tables.values())).name.split(".")[0]
        test = workspace.online_tests.add(stored.id, title, tables, links=runs, **how)
    else:
        _refuse_counting()
        test = workspace.online_tests.named(stored.id, name)
    return workspace.online_tests.results(test.id, correction)


def _refuse_counting() -> None:
    """Raises InputError for options that say how to count: a stored test was counted already."""
    context = click.get_current_context()
    problems = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        is_free = parameter.name in {"experiment", "name", "correction", "form"}
        if source is click.core.ParameterSource.COMMANDLINE and not is_free:
            fix = "It was counted when it was kept. Give its files too, or change its rules on A/B results."
            problems.append(Problem("kept-already", parameter.opts[0], "given for a kept test", fix))
    if problems:
        raise InputError(problems)


def _rules(
    *,
    threshold: float,
    item_cap: float | None,
    bot_clicks: int,
    bot_sessions: int,
    split: str | None,
    **same: Any,
) -> OnlineRules:
    from recdash.online.rules import OnlineRules

    return OnlineRules(
        threshold_s=threshold,
        item_cap_s=item_cap,
        bot_clicks=bot_clicks or None,
        bot_sessions=bot_sessions or None,
        split=_shares(split) if split else {},
        **same,
    )


def _shares(text: str) -> dict[str, float]:
    pairs = [pair.rpartition("=") for pair in text.split(",")]
    fix = "Write a share for each variant: control=2,new=1."
    if any(not name.strip() or not equals for name, equals, _ in pairs):
        raise InputError(Problem("bad-split", "--split", f"'{text}'", fix))
    _refuse_twice("--split", [name.strip() for name, _, _ in pairs])
    return {name.strip(): _number(share, "--split", fix) for name, _, share in pairs}


def _refuse_twice(option: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(Problem("name-twice", option, f"'{twice[0]}' is there twice", "Keep one of them."))


def _metric(text: str) -> OnlineMetric:
    """``plays_per_session=plays/sessions:down:guardrail:0.02``."""
    from recdash.online import OnlineMetric

    name, equals, rest = text.partition("=")
    formula, *words = rest.split(":")
    numerator, _, denominator = formula.partition("/")
    if not (equals and name.strip() and numerator.strip()):
        fix = "Write NAME=NUMERATOR/DENOMINATOR, such as plays_per_session=plays/sessions."
        raise InputError(Problem("bad-metric", "--metric", f"'{text}'", fix))
    fix = "After the formula come up or down, goal or guardrail, and a margin such as 0.02."
    known = ("up", "down", "goal", "guardrail")
    margins = [_number(word, "--metric", fix) for word in words if word not in known]
    if len(margins) > 1 or {"up", "down"} <= set(words) or {"goal", "guardrail"} <= set(words):
        raise InputError(Problem("bad-metric", "--metric", f"'{text}' says two things at once", fix))
    return OnlineMetric(
        name=name.strip(),
        title=name.strip(),
        unit="",
        meaning="",
        numerator=numerator.strip(),
        denominator=denominator.strip() or None,
        low=None,
        direction="down" if "down" in words else "up",
        role="guardrail" if "guardrail" in words else "goal",
        margin=margins[0] if margins else None,
    )


def _number(text: str, option: str, fix: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(Problem("bad-number", option, f"'{text}' is not a number", fix)) from None


# ── what is printed ──────────────────────────────────────────────────────────────────────────


def as_dict(results: OnlineResults) -> dict[str, Any]:
    """Plain values of the results; ``results`` has one row per metric and variant beside the control."""
    health = results.health
    control = {row.metric: row for row in results.rows if row.is_control}
    return {
        "control": results.control,
        "users": dict(results.users),
        "health": {
            "srm_p": health.srm_p,
            "crossover": health.crossover,
            "blocked": health.blocked,
            "warnings": [f"{warning.code}: {warning}" for warning in health.warnings],
        },
        "removed": [
            {"rule": part.rule, "what": part.what, "unit": part.unit, "by_variant": dict(part.by_variant)}
            for part in results.removed
        ],
        "results": [_result(row, control.get(row.metric)) for row in results.rows if not row.is_control],
    }


def _result(row: OnlineRow, control: OnlineRow | None) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "variant": row.variant,
        "control_value": control.value if control else None,
        "variant_value": row.value,
        "lift": row.lift,
        "lift_low": row.lift_low,
        "lift_high": row.lift_high,
        "adjusted": row.plain_lift is not None,
        "plain_lift": row.plain_lift,
        "plain_low": row.plain_low,
        "plain_high": row.plain_high,
        "p": row.p,
        "p_corrected": row.p_corrected,
        "corrected_low": row.corrected_low,
        "corrected_high": row.corrected_high,
        "sequence_low": row.sequence_low,
        "sequence_high": row.sequence_high,
        "sequence_note": row.sequence_note,
        "role": row.role,
        "margin": row.margin,
        "finding": row.word,
        "more_users": row.more_users,
        "n_control": control.n_users if control else None,
        "n_variant": row.n_users,
        "note": row.note,
    }


def _lines(results: OnlineResults) -> Iterator[str]:
    """Health, one line per metric and variant, and notes."""
    from recdash.online.analysis.results import validity_notes

    health = results.health
    users = ", ".join(f"{name} {count:,}" for name, count in results.users.items())
    yield f"Users: {users or 'not known'}. Control: {results.control}."
    split = f"cannot be checked: {health.unchecked}"
    if health.srm_p is not None:
        p = numbers.p_value(health.srm_p)
        split = f"p {p}" if "<" in p else f"p = {p}"
        split += f" {health.unchecked}" if health.unchecked else ""
    yield f"Split of users: {split}. Seen in several variants and left out: {health.crossover:,}."
    for part in results.removed:
        counts = ", ".join(f"{name} {count:,}" for name, count in part.by_variant.items())
        yield f"Left out, {part.unit} that {part.what}: {part.count:,} ({counts})."
    if health.blocked:
        yield "The split of users is broken: nothing is judged."
    control = {row.metric: row for row in results.rows if row.is_control}
    alone = len(results.variants) == 1
    rows = [_cells(row, control.get(row.metric)) for row in results.rows if alone or not row.is_control]
    if any(row.plain_lift is not None for row in results.rows):
        yield "Lifts are adjusted by what users did before the test (CUPED); values are not."
    yield ""
    yield aligned([HEADER, *rows], 2)
    # Where there is no p, the table has the reason.
    judged = [replace(row, title=row.metric) for row in results.rows if row.p is not None]
    if notes := [visible(note) for note in validity_notes(judged)]:
        yield from ("", *notes)
    if not alone:
        yield "\nIntervals and p of goals are corrected together; --format json has the plain ones too."


def _cells(row: OnlineRow, control: OnlineRow | None) -> tuple[str, ...]:
    low, high = _percent(row.corrected_low), _percent(row.corrected_high)
    return (
        row.metric,
        row.variant,
        numbers.three(control.value if control else None),
        numbers.three(row.value),
        numbers.signed(_percent(row.lift), 2),
        f"{numbers.signed(low, 2)} to {numbers.signed(high, 2)}" if low is not None else row.note,
        numbers.p_value(row.p_corrected),
        row.word,
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
