"""Prints scores as tables, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recdash.cli.terminal import say, say_lines
from recdash.domain.defaults import default_k
from recdash.formatting.names import name_of_score
from recdash.formatting.sanitize import visible
from recdash.formatting.spreadsheet import safe_cell
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.domain.hits import IdOverlap
    from recdash.evaluation import Evaluation


SHOWN_CUTOFFS = (1, 5, 10, 20, 50, 100)
SHOWN_VALUES = 25


def print_scores(
    evaluation: Evaluation,
    form: str,
    bands: Sequence[Mapping[str, Any]] | None,
    shown: Sequence[Mapping[str, Any]] | None,
    *,
    is_overview: bool = False,
) -> None:
    """Prints the scores as table, json or csv. ``bands`` (ranges over tied scores) and ``shown`` (shares by
    attribute) are rows to print too, or None. The table of an overview has curves at one cutoff, others at a
    few.
    """
    if form == "json":
        added = {name: rows for name, rows in (("tie_bands", bands), ("shown_by", shown)) if rows is not None}
        say(json.dumps({**evaluation.as_dict(), **added}, ensure_ascii=False))
    elif form == "csv":
        columns = ["run", "metric", "k", "value", "std_error", "n_users"]
        sliced = ["slice_by", "slice"] if any(run.sliced for run in evaluation.runs) else []
        text = io.StringIO()
        writer = csv.DictWriter(text, [*columns, *sliced], lineterminator="\n")
        writer.writeheader()
        for row in evaluation.rows():
            safe = {name: safe_cell(visible(row[name] or "")) for name in ["run", *sliced]}
            writer.writerow({**row, **safe})
        say_lines(text.getvalue().rstrip("\n"))
    else:
        k = default_k(evaluation.rules.depth)
        tables = [_score_table(evaluation, (k,) if is_overview else SHOWN_CUTOFFS)]
        if is_overview:
            tables.append(f"Metrics at k = {k}. --metrics ndcg,recall prints more cutoffs, --format csv all.")
        if spread := _spread_rows(evaluation):
            tables.append(text_table([["run", "metric", "spread over", "lowest", "highest"], *spread], 3))
        if bands is not None:
            tables.append(_band_table(bands))
        if shown is not None:
            tables.append(_shown_table(shown))
        say_lines("\n\n".join(tables))


def _shown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns a table with one row per value and one column per candidate; if there are many values, only
    those with the most catalogue items.
    """
    if not rows:
        return "No candidate has recommendations to analyse."
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(row)
    by_value = [
        cells
        for cells in zip(*runs.values(), strict=True)
        if any(cell["places"] or cell["items"] for cell in cells)
    ]
    most_items = sorted(by_value, key=lambda cells: -cells[0]["items"])[:SHOWN_VALUES]
    values = {cells[0]["value"] for cells in most_items}
    lines = []
    for cells in by_value:
        if cells[0]["value"] in values:
            shares = [cells[0]["catalogue_share"], *(cell["share"] for cell in cells)]
            lines.append([cells[0]["value"], *(f"{100 * share:.1f}" for share in shares)])
    n_values = sum(cells[0]["values"] for cells in by_value)
    n_shown = [sum(row["values_shown"] for row in run_rows) for run_rows in runs.values()]
    lines.append(["values shown", *(f"{count:,}" for count in (n_values, *n_shown))])
    head = [f"{rows[0]['attribute']} (% of recommendations in the top {rows[0]['k']})", "catalogue", *runs]
    left = len(by_value) - len(values)
    return text_table([head, *lines]) + (f"\n{left:,} more values with --format json" if left else "")


def _band_table(bands: Sequence[Mapping[str, Any]]) -> str:
    if not bands:
        return "The order of tied scores changes none of these metrics."
    lines = [["run", "metric", "worst", "expected", "best", "users with ties"]]
    for band in bands:
        expected = three_digits(band["expected"])
        if band["expected_error"]:  # the range was estimated from random orders
            expected += f" ± {band['expected_error']:.1g}"
        values = [three_digits(band["worst"]), expected, three_digits(band["best"])]
        lines.append([band["run"], name_of_score(band), *values, f"{band['n_users']:,}"])
    return text_table(lines, 2)


def _score_table(evaluation: Evaluation, cutoffs: Collection[int]) -> str:
    """Returns a table with one row per metric and cutoff and one column per candidate; curves have only
    these cutoffs.
    """
    requested = evaluation.labels_at_cutoff
    names = [run.name for run in evaluation.runs]
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in evaluation.rows():
        if row["k"] in (None, *cutoffs) or row["metric"] in requested:
            part = ""
            if row.get("slice_by") is not None:
                part = f"{row['slice_by']}={row['slice']} ({row['n_users']:,})"
            cells.setdefault((part, name_of_score(row)), {})[row["run"]] = three_digits(row["value"])
    sliced = any(part for part, _ in cells)
    lines = [
        [*([part or "all"] if sliced else []), metric, *(values.get(name, "–") for name in names)]
        for (part, metric), values in sorted(cells.items(), key=lambda cell: cell[0][0])
    ]
    head = [*(["slice"] if sliced else []), "metric", *names]
    return text_table([head, *lines], 2 if sliced else 1) + "\n" + "\n".join(_population_lines(evaluation))


def _spread_rows(evaluation: Evaluation) -> list[list[str]]:
    """Returns rows with the smallest and the largest value over each candidate's folds or seeds; curves at k
    = 10 or, if that is smaller, at the depth.
    """
    k = default_k(evaluation.rules.depth)
    requested = evaluation.labels_at_cutoff
    values: dict[tuple[str, str], list[float]] = {}
    for row in evaluation.replicate_rows():
        if row["value"] is not None and (row["k"] in (None, k) or row["metric"] in requested):
            values.setdefault((row["run"], name_of_score(row)), []).append(row["value"])
    replicated = {run.name: str(run.replicated) for run in evaluation.runs}
    return [
        [run, metric, replicated[run], three_digits(min(spread)), three_digits(max(spread))]
        for (run, metric), spread in values.items()
    ]


def known_lines(known: Mapping[str, IdOverlap]) -> Iterable[str]:
    """Yields for each run which share of its ids, and of the test set's ids, is known."""
    from recdash.definitions.population_counts import known_truth_words, known_words

    for name, overlap in known.items():
        for words in (known_words(overlap), known_truth_words(overlap)):
            if words:
                yield f"{name}: {words}"


def three_digits(value: float | None) -> str:
    return "–" if value is None else f"{value:#.3g}".rstrip(".")


def _population_lines(evaluation: Evaluation) -> Iterable[str]:
    """Yields lines on which users count, which ids are known, and which metrics are missing and why."""
    from recdash.evaluation.comparability import LISTED

    yield ""
    for run in evaluation.runs:
        if (counts := run.ledger) is None:
            continue
        if evaluation.rules.users in LISTED:
            without = (
                f"{counts.without_list:,} more with a relevant item have no recommendations and are excluded"
            )
            yield f"{run.name}: {counts.counted:,} users counted, all with recommendations; {without}"
        else:
            without = f"{counts.without_list:,} of them without recommendations"
            yield f"{run.name}: {counts.counted:,} users counted, {without}"
    yield from known_lines(evaluation.known_ids())
    missing: dict[tuple[str, str, str], dict[str, None]] = {}
    for row in evaluation.absences():
        where = f" by {row['slice_by']}" if row.get("slice_by") else ""
        missing.setdefault((row["run"], where, row["reason"]), {})[row["metric"]] = None
    for (name, where, reason), metrics in missing.items():
        yield f"{name}: no {', '.join(metrics)}{where}: {reason}"
