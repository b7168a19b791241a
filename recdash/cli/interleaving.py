"""``recdash interleave``: analyses an interleaving test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.input_file import InputFile
from recdash.cli.options import columns_option, form_option, refuse_option, tell
from recdash.cli.output import aligned
from recdash.cli.terminal import say_lines
from recdash.formatting import numbers
from recdash.formatting.sanitize import visible
from recdash.formatting.wording import shown

if TYPE_CHECKING:
    from recdash.ingest import Sheet
    from recdash.online.interleaving.results import InterleavingResults

HEADER = ("measure", "preference", "95 % interval", "p", "finding", "users")


@click.command()
@click.argument("file", type=InputFile())
@columns_option
@refuse_option
@click.option("--control", help="The ranking with which the other one is compared.")
@form_option
def interleave(
    file: Path | Sheet,
    *,
    control: str | None,
    columns: Mapping[str, Any],
    refuse: Sequence[str],
    form: str,
) -> None:
    """Analyse an interleaving test: which of two rankings users prefer, and whether its teams are even.

    FILE has one row per served slot (request_id, user_id, rank, item_id, clicked, and team, or rank_a and
    rank_b), or credits (request_id, user_id, and credit_a and credit_b, or team and credit).
    """
    start_light()
    from recdash.online.interleaving.interleaving import interleaving

    results = interleaving(file, control=control, columns=columns, refuse=refuse)
    tell(results.notices)
    text = "\n".join(_lines(results)) if form == "text" else json.dumps(results.as_dict(), ensure_ascii=False)
    say_lines(text)


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
    yield aligned([HEADER, *_rows(results)], 1)
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
    first = f"{results.a} came first in {split.first[0]:,} requests, {results.b} in {split.first[1]:,}"
    checks = [f"{first} ({numbers.p_equals(split.first_p)})" if split.first_p is not None else first]
    if split.slots_p is not None and split.more_slots is not None:
        more = f"more slots in {split.more_slots[0]:,} and {split.more_slots[1]:,}"
        checks.append(f"{more} ({numbers.p_equals(split.slots_p)})")
    if split.unchecked:
        checks.append(f"not checked: {split.unchecked}")
    return f"Teams: {'; '.join(checks)}."
