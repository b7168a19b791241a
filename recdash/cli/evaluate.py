"""``recdash evaluate``: scores candidates against a test set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.input_file import InputFile
from recdash.cli.options import (
    PREDICTIONS_HELP,
    REFERENCE_HELP,
    REPLICATES_HELP,
    RUN_HELP,
    NamedFile,
    check_names,
    columns_option,
    engine_given,
    engine_options,
    how_to_count,
    tell,
    uploads,
)
from recdash.cli.output import print_scores
from recdash.domain.defaults import default_k
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    from recdash.ingest import Sheet


@click.command()
@click.option(
    "--truth", required=True, type=InputFile(), help="Test set: user, item, and a relevance or rating."
)
@engine_options()
@click.option("--run", "runs", multiple=True, type=NamedFile(), help=RUN_HELP)
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--predictions", multiple=True, type=NamedFile(), help=PREDICTIONS_HELP)
@click.option("--train", type=InputFile(), help="Training data, for novelty and popularity.")
@click.option(
    "--catalogue",
    type=InputFile(),
    help="The catalogue: all items and their attributes, for coverage, Gini, diversity.",
)
@click.option("--user-attributes", type=InputFile(), help="Users and their attributes, for slices.")
@click.option("--item-vectors", type=InputFile(), help="One vector per item, for diversity(by=vectors).")
@click.option(
    "--item-similarity",
    type=InputFile(),
    help="Similarities of pairs of items, for diversity(by=similarity).",
)
@click.option(
    "--slice",
    "slices",
    multiple=True,
    help="Slices to score besides all users; repeatable. "
    "[user_warmth|item_warmth|history|popularity|user:COLUMN|item:COLUMN]",
)
@columns_option
@click.option(
    "--metrics", help="Metrics such as 'ndcg@10,map(norm=min)@5'; without @k, the curve over all k."
)
@click.option("--depth", type=int, help="Deepest cutoff (default: 100, or the deepest requested).")
@how_to_count
@click.option("--reference", "references", default="", help=REFERENCE_HELP)
@click.option("--tie-band", is_flag=True, help="Add the range of each metric over all orders of tied scores.")
@click.option(
    "--shown-by", help="Add the share of recommendations by a catalogue column: year, genre, author …"
)
@click.option(
    "--shown-by-k", type=click.IntRange(1), help="Cutoff for --shown-by (default: 10, or the depth)."
)
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True
)
def evaluate(
    runs: Sequence[tuple[str, Path | Sheet]],
    predictions: Sequence[tuple[str, Path | Sheet]],
    *,
    tie_band: bool,
    engine: str | None,
    master: str | None,
    shown_by: str | None,
    shown_by_k: int | None,
    form: str,
    **question: Any,
) -> None:
    """Score candidates against a test set without storing anything.

    One file may be "-", standard input. FILE.xlsx#SHEET names a sheet of a workbook,
    and s3://…, https://… or 'sql:URL QUERY' a table that is elsewhere.
    """
    start_light()
    from recdash.evaluation import evaluate as score

    if not runs and not predictions and not question["references"]:
        raise InputError(Problem("no-run", "recdash evaluate", "no candidate", "Add --run NAME=FILE."))
    if (tie_band or shown_by) and form == "csv":
        option = "--tie-band" if tie_band else "--shown-by"
        fix = "Use --format table or json."
        raise InputError(Problem("no-room-in-csv", option, "with --format csv", fix))
    check_names("--predictions", predictions)
    evaluation = score(
        uploads(runs), predictions=dict(predictions), engine=engine_given(engine, master), **question
    )
    tell(evaluation.notices())
    bands = list(evaluation.tie_bands()) if tie_band else None
    places = shown_by_k or default_k(evaluation.rules.depth)
    shown = list(evaluation.shown_rows(shown_by, places)) if shown_by else None
    print_scores(evaluation, form, bands, shown, is_overview=question["metrics"] is None)
