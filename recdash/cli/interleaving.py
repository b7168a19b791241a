"""``recdash interleave``: analyses an interleaving test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.input_file import InputFile
from recdash.cli.online_questions import ALL, IN_SHARES, lines_of_table
from recdash.cli.options import (
    columns_option,
    form_option,
    linked_runs,
    open_experiment,
    refuse_option,
    run_ids,
    tell,
)
from recdash.cli.terminal import say_lines
from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.sanitize import visible
from recdash.formatting.text_table import text_table
from recdash.formatting.wording import many, shown

if TYPE_CHECKING:
    from recdash.domain.records import OnlineTest
    from recdash.formatting.result_table import ResultTable
    from recdash.ingest import Sheet
    from recdash.online.interleaving.grouped_preferences import TimeScale
    from recdash.online.interleaving.power import Sensitivity
    from recdash.online.interleaving.results import InterleavingResults
    from recdash.service import Workspace
    from recdash.service.online.interleaving import LiftOfPair

TIME_SCALES = ("cumulative", "daily")
SHOWN: Mapping[str, tuple[str, ...]] = {
    "segments": (
        "attribute", "segment", "n_users", "n_requests", "preference", "corrected_low", "corrected_high",
        "p_bh", "note",
    ),
    "days": ("date", "n_users", "n_requests", "preference", "low", "high", "p", "note"),
}  # fmt: skip
"""The columns of each table as text; JSON has all."""
LEFT = {"segments": 2, "days": 1}
"""The number of columns of text in each table."""
NOTHING = "None: no column of text is the same in all rows of each request."
HEADER = ("measure", "preference", "95 % interval", "p", "finding", "users")


@click.command()
@click.argument("file", type=InputFile(), required=False)
@columns_option
@refuse_option
@click.option(
    "--control",
    help="The ranking with which the other one is compared (default: named like a control, else first by "
    "name).",
)
@click.option("--experiment", help="Store the test in this experiment; without FILE, show a stored one.")
@click.option("--test", "name", help="Name under which the test is stored, or of the stored one to show.")
@click.option("--link", "links", multiple=True, help="Which run a ranking is, as RANKING=RUN.")
@click.option(
    "--segments",
    is_flag=False,
    flag_value=ALL,
    help="Add the preference by segment of requests: of one attribute, such as country, or of all.",
)
@click.option(
    "--days",
    is_flag=False,
    flag_value="cumulative",
    type=click.Choice(TIME_SCALES),
    help="Add the preference by day: cumulative, or daily.",
)
@form_option
def interleave(
    file: Path | Sheet | None,
    *,
    control: str | None,
    columns: Mapping[str, Any],
    refuse: Sequence[str],
    experiment: str | None,
    name: str | None,
    links: Sequence[str],
    segments: str | None,
    days: TimeScale | None,
    form: str,
) -> None:
    """Analyse an interleaving test: which of two rankings users prefer, and whether its teams are even.

    FILE has one row per served slot (request_id, user_id, rank, item_id, clicked, and team, or rank_a and
    rank_b), or credits (request_id, user_id, and credit_a and credit_b, or team and credit). --days needs a
    timestamp, and --segments a column of text with one value in all rows of a request.
    """
    start_light()
    how: dict[str, Any] = {"control": control, "columns": columns, "refuse": refuse}
    compared: list[dict[str, Any]] = []
    if experiment is not None:
        workspace, test = _stored(experiment, name, file, links, how)
        results = workspace.interleaving.results(test.id)
        compared = [_compared(*pair) for pair in workspace.interleaving.sensitivities(test.id)]
    elif file is None or name or links:
        option = "FILE" if file is None else "--test" if name else "--link"
        problem = "missing" if file is None else "given without --experiment"
        fix = "Name a file to analyse, or the experiment of a stored test: --experiment NAME."
        raise InputError(Problem("no-experiment", option, problem, fix))
    else:
        from recdash.online.interleaving.interleaving import interleaving

        results = interleaving(file, **how)
    added = _added(results, segments, days)
    tell(results.notices)
    if form == "json":
        tables = {name: table.records() for name, table in added.items()}
        facts = {**results.as_dict(), "ab_tests": compared, **tables}
        say_lines(json.dumps(facts, ensure_ascii=False))
    else:
        say_lines("\n".join([*_lines(results), *_compared_lines(compared), *_added_lines(added)]))


def _added(
    results: InterleavingResults, segments: str | None, days: TimeScale | None
) -> dict[str, ResultTable]:
    """Returns {name: table} of what is asked for besides the results."""
    tables: dict[str, ResultTable] = {}
    if segments is not None:
        tables["segments"] = results.segments(None if segments in (ALL, "all") else segments)
    if days is not None:
        tables["days"] = results.days(days)
    return tables


def _added_lines(added: Mapping[str, ResultTable]) -> Iterator[str]:
    for name, table in added.items():
        yield ""
        yield visible(f"{table.title}.")
        yield lines_of_table(table, SHOWN[name], LEFT[name]) if len(table) else NOTHING
        yield table.note.replace(IN_SHARES, "in %")


def _stored(
    experiment: str,
    name: str | None,
    file: Path | Sheet | None,
    links: Sequence[str],
    how: Mapping[str, Any],
) -> tuple[Workspace, OnlineTest]:
    """Returns an experiment's interleaving test; if ``file`` is given, the test is stored first."""
    workspace, stored = open_experiment(experiment)
    if file is not None:
        runs = linked_runs(links, run_ids(workspace, stored.id))
        title = name or file.name.split(".")[0]
        return workspace, workspace.interleaving.add(stored.id, title, file, links=runs, **how)
    given = [f"--{option}" for option, value in {**how, "link": links}.items() if value]
    if given:
        fix = "A stored test keeps it. Give its file too, or change it on the page Online."
        problems = [
            Problem("kept-already", option, "not possible for a stored test", fix) for option in given
        ]
        raise InputError(problems)
    return workspace, workspace.interleaving.named(stored.id, name)


def _compared(pair: LiftOfPair, sensitivity: Sensitivity) -> dict[str, Any]:
    """Returns what an A/B test of the same pair found, and the users that both tests need, for JSON."""
    names = ("metric", "title", "lift", "lift_low", "lift_high", "p")
    facts = {name: pair.row[name] for name in names}
    return {"test": pair.test.name, **facts, **asdict(sensitivity)}


def _compared_lines(compared: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not compared:
        return
    yield ""
    yield "Users needed to find what each test has seen (power 80 %):"
    header = (
        "A/B test",
        "metric",
        "lift %",
        "A/B users",
        "interleaving users",
        "times as many",
        "95 % interval",
    )
    rows = []
    for facts in compared:
        low, high = (numbers.three(facts[name]) for name in ("low", "high"))
        interval = f"{low} to {high}" if facts["high"] is not None else f"from {low}"
        rows.append(
            (
                visible(facts["test"]),
                visible(facts["title"]),
                numbers.signed(None if facts["lift"] is None else 100 * facts["lift"], 2),
                numbers.count(facts["ab_users"]),
                numbers.count(facts["interleaving_users"]),
                numbers.three(facts["ratio"]),
                interval if facts["low"] is not None else numbers.NONE,
            )
        )
    yield text_table([header, *rows], 2)


def _lines(results: InterleavingResults) -> Iterator[str]:
    """Yields the lines of the output: the finding, the checks, one line per measure, and the power."""
    from recdash.online.interleaving.power import PREFERENCES

    wins = results.wins
    yield visible(results.sentence)
    yield ""
    yield visible(
        f"Requests: {results.n_requests:,} of {numbers.users(results.n_users)} ({results.method}); "
        f"{results.a} won {wins['a']:,}, {results.b} won {wins['b']:,}, ties {wins['tie']:,}, "
        f"without credit {wins['none']:,}."
    )
    yield visible(_split_line(results))
    for warning in results.warnings:
        yield visible(str(warning))
    yield ""
    yield text_table([HEADER, *_rows(results)], 1)
    if any(row.note for row in results.rows):
        yield ""
        yield from (f"{row.measure}: {row.note}" for row in results.rows if row.note)
    if results.detectable is not None:
        share = f"{numbers.fixed(100 * results.detectable, 1)} %"
        needed = [(share_, results.users_for(share_)) for share_ in PREFERENCES]
        texts = [f"{100 * value:.0f} %: {numbers.count(count)}" for value, count in needed if count]
        yield ""
        yield f"Power 80 %: this test detects a preference of {share}. Users needed for {', '.join(texts)}."


def _rows(results: InterleavingResults) -> list[tuple[str, ...]]:
    from recdash.online.interleaving.results import in_percent

    rows: list[tuple[str, ...]] = []
    for place, row in enumerate(results.rows):
        share, interval = (numbers.NONE, numbers.NONE) if row.share is None else in_percent(row)
        finding = shown(results.finding) if place == 0 else ""
        rows.append(
            (row.measure, share, interval, numbers.p_value(row.p), finding, numbers.count(row.n_users))
        )
    return rows


def _split_line(results: InterleavingResults) -> str:
    split = results.split
    if split.first is None:
        return f"Teams: not checked, {split.unchecked}."
    first = f"{results.a} came first in {many(split.first[0], 'request')}, {results.b} in {split.first[1]:,}"
    checks = [f"{first} ({numbers.p_equals(split.first_p)})" if split.first_p is not None else first]
    if split.slots_p is not None and split.more_slots is not None:
        more = f"more slots in {split.more_slots[0]:,} and {split.more_slots[1]:,}"
        is_even = not any(split.more_slots)
        checks.append("as many slots" if is_even else f"{more} ({numbers.p_equals(split.slots_p)})")
    if split.unchecked:
        checks.append(f"not checked: {split.unchecked}")
    return f"Teams: {'; '.join(checks)}."
