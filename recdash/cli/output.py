"""Scores as columns under each other."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recdash.cli.terminal import say, say_lines
from recdash.formatting.sanitize import visible
from recdash.formatting.spreadsheet import safe_cell

if TYPE_CHECKING:
    from recdash.domain.hits import IdOverlap, PopulationCounts
    from recdash.evaluation import Evaluation


SHOWN_CUTOFFS = (1, 5, 10, 20, 50, 100)


SHOWN_VALUES = 25


def print_scores(
    found: Evaluation,
    form: str,
    bands: Sequence[Mapping[str, Any]] | None,
    shown: Sequence[Mapping[str, Any]] | None,
) -> None:
    if form == "json":
        asked = {"tie_bands": bands, "shown_by": shown}
        added = {name: rows for name, rows in asked.items() if rows is not None}
        say(json.dumps({**found.as_dict(), **added}, ensure_ascii=False))
    elif form == "csv":
        columns = ["run", "metric", "k", "value", "std_error", "n_users"]
        sliced = ["slice_by", "slice"] if any(run.sliced for run in found.runs) else []
        text = io.StringIO()
        writer = csv.DictWriter(text, [*columns, *sliced], lineterminator="\n")
        writer.writeheader()
        for row in found.rows():
            named = {name: safe_cell(visible(row[name] or "")) for name in ["run", *sliced]}
            writer.writerow({**row, **named})
        say_lines(text.getvalue().rstrip("\n"))
    else:
        say_lines("\n\n".join(_score_tables(found, bands, shown)))


def _score_tables(
    found: Evaluation,
    bands: Sequence[Mapping[str, Any]] | None,
    shown: Sequence[Mapping[str, Any]] | None,
) -> Iterable[str]:
    yield _score_table(found)
    if spread := list(_spread_lines(found)):
        yield aligned([["run", "metric", "spread over", "lowest", "highest"], *spread], 3)
    if bands is not None:
        yield _band_table(bands)
    if shown is not None:
        yield _shown_table(shown)


def _shown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """One row per value, one column per candidate; of many values those with most items of the catalogue."""
    if not rows:
        return "No candidate has lists to show anything."
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(row)
    by_value = [
        of for of in zip(*runs.values(), strict=True) if any(one["places"] or one["items"] for one in of)
    ]
    most_items = sorted(by_value, key=lambda of: -of[0]["items"])[:SHOWN_VALUES]
    kept = {of[0]["value"] for of in most_items}
    lines = [
        [of[0]["value"], *map(_percent, [of[0]["catalogue_share"], *(one["share"] for one in of)])]
        for of in by_value
        if of[0]["value"] in kept
    ]
    n_values = sum(of[0]["values"] for of in by_value)
    shown = [sum(row["values_shown"] for row in of_run) for of_run in runs.values()]
    lines.append(["values shown", *(f"{count:,}" for count in (n_values, *shown))])
    head = [f"{rows[0]['attribute']} (% of places within {rows[0]['k']})", "catalogue", *runs]
    left = len(by_value) - len(kept)
    return aligned([head, *lines]) + (f"\n{left:,} more values with --format json" if left else "")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _with_error(expected: float, error: float) -> str:
    """With its standard error where it was drawn."""
    return f"{three_digits(expected)} ± {error:.1g}" if error else three_digits(expected)


def _band_table(bands: Sequence[Mapping[str, Any]]) -> str:
    if not bands:
        return "No order of equal scores changes any of these."
    lines = [
        [
            band["run"],
            band["metric"] if band["k"] is None else f"{band['metric']}@{band['k']}",
            three_digits(band["worst"]),
            _with_error(band["expected"], band["expected_error"]),
            three_digits(band["best"]),
            f"{band['n_users']:,}",
        ]
        for band in bands
    ]
    return aligned([["run", "metric", "worst", "expected", "best", "users with ties"], *lines], 2)


def _score_table(found: Evaluation) -> str:
    """One row per metric and cutoff, one column per candidate; a whole curve shows at a few cutoffs."""
    asked = {one.spec.label for one in found.requests if one.spec.k is not None}
    names = [run.name for run in found.runs]
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in found.rows():
        if row["k"] in (None, *SHOWN_CUTOFFS) or row["metric"] in asked:
            metric = row["metric"] if row["k"] is None else f"{row['metric']}@{row['k']}"
            cells.setdefault((_slice_named(row), metric), {})[row["run"]] = three_digits(row["value"])
    parts = any(part for part, _ in cells)
    lines = [
        [*([part or "all"] if parts else []), metric, *(values.get(name, "–") for name in names)]
        for (part, metric), values in sorted(cells.items(), key=lambda cell: cell[0][0])
    ]
    head = [*(["slice"] if parts else []), "metric", *names]
    return aligned([head, *lines], 2 if parts else 1) + "\n" + "\n".join(_populations(found))


def _spread_lines(found: Evaluation) -> Iterable[list[str]]:
    """How far apart the folds or seeds of each candidate lie; of a whole curve at 10, or at the depth."""
    k = min(10, found.rules.depth)
    asked = {one.spec.label for one in found.requests if one.spec.k is not None}
    values: dict[tuple[str, str], list[float]] = {}
    for row in found.replicate_rows():
        if row["value"] is not None and (row["k"] in (None, k) or row["metric"] in asked):
            metric = row["metric"] if row["k"] is None else f"{row['metric']}@{row['k']}"
            values.setdefault((row["run"], metric), []).append(row["value"])
    counted = {run.name: str(run.replicated) for run in found.runs}
    for (run, metric), spread in values.items():
        yield [run, metric, counted[run], three_digits(min(spread)), three_digits(max(spread))]


def _slice_named(row: Mapping[str, Any]) -> str:
    """``user_warmth=cold (2,376)`` with how many count in it; nothing for the whole."""
    if row.get("slice_by") is None:
        return ""
    return f"{row['slice_by']}={row['slice']} ({row['n_users']:,})"


def known_lines(known: Mapping[str, IdOverlap]) -> Iterable[str]:
    """Per run: how much of it the tables know, and how much of the truth it and they know."""
    from recdash.definitions.population_counts import known_truth_words, known_words

    for name, overlap in known.items():
        yield from (
            f"{name}: {words}" for words in (known_words(overlap), known_truth_words(overlap)) if words
        )


def three_digits(value: float | None) -> str:
    return "–" if value is None else f"{value:#.3g}".rstrip(".")


def aligned(rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Columns under each other: the first ``texts`` to the left, numbers to the right.

    What people wrote may neither move the cursor nor end a line: control characters are written out.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    left = [True] * texts + [False] * (len(widths) - texts)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    )


def _counted_words(ledger: PopulationCounts, users: str) -> str:
    """Users without a list are among those who count, or beside them."""
    from recdash.evaluation.comparability import LISTED

    counted, without = f"{ledger.counted:,} users counted", f"{ledger.without_list:,}"
    if users in LISTED:
        return (
            f"{counted}, all with a list; {without} more with a relevant item have no list and are left out"
        )
    return f"{counted}, {without} of them without a list"


def _populations(found: Evaluation) -> Iterable[str]:
    yield ""
    for run in found.runs:
        if run.ledger is not None:
            one = run.ledger
            yield f"{run.name}: {_counted_words(one, found.rules.users)}"
    yield from known_lines(found.known_ids())
    missing: dict[tuple[str, str, str], dict[str, None]] = {}
    for row in found.absences():
        where = f" by {row['slice_by']}" if row.get("slice_by") else ""
        missing.setdefault((row["run"], where, row["reason"]), {})[row["metric"]] = None
    for (name, where, reason), metrics in missing.items():
        yield f"{name}: no {', '.join(metrics)}{where}: {reason}"
