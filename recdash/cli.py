"""The use cases of the pages from a terminal. Results go to standard output, messages to standard error."""

from __future__ import annotations

import csv
import gc
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash import __version__, numbers
from recdash.errors import InputError, Problem, RecdashError
from recdash.spreadsheet import safe_cell
from recdash.stats import CORRECTIONS, Correction

if TYPE_CHECKING:
    from recdash.comparison import Terms
    from recdash.comparison.compared import Compared
    from recdash.domain import Replicated
    from recdash.errors import Problem
    from recdash.evaluation import Evaluation
    from recdash.service import AddedRun, OnlineKind, PreparedRun, Setup, Workspace

BAD_INPUT = 2
SHOWN_CUTOFFS = (1, 5, 10, 20, 50, 100)
SHOWN_VALUES = 25


class Commands(click.Group):
    """Shows an error of ours as its words and exits with 2; anything else is a bug and shows itself."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RecdashError as error:
            click.echo(f"recdash: {_words(error)}", err=True)
            ctx.exit(BAD_INPUT)


def _words(error: RecdashError) -> str:
    if isinstance(error, InputError) and len(error.problems) > 1:
        source = f" in {error.source}" if error.source else ""
        lines = "\n".join(f"  - {problem}" for problem in error.problems)
        return f"{len(error.problems)} problems{source}:\n{lines}"
    return str(error)


class Stem(str):
    """A name that nobody gave: the file's."""

    __slots__ = ()


class NamedFile(click.ParamType[tuple[str, Path]]):
    """NAME=FILE, or FILE alone (then the file's stem is the name)."""

    name = "NAME=FILE"

    def convert(self, value: str, *_: object) -> tuple[str, Path]:
        name, equals, file = value.partition("=")
        if not equals or Path(value).exists():
            return Stem(Path(value).name.split(".")[0]), Path(value)
        if not name.strip() or not file:
            raise InputError(
                Problem("bad-name", f"'{value}'", "a name or a file is missing", "Write NAME=FILE.")
            )
        return name.strip(), Path(file)


FORMATS = click.Choice(["table", "json", "csv"])
RUN_HELP = "A candidate's lists; again for each, and under the same NAME for each of its folds or seeds."
REPLICATES_HELP = "What several uploads of a candidate are: seeds serve the same users, folds divide them."
REFERENCE_HELP = (
    "Candidates computed from truth, train and catalogue, with commas between: "
    "popular, weighted_rating, random, content, oracle."
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="recdash")
def main() -> None:
    """Choose between recommender systems: score candidates, keep the runs, show them side by side."""


# ── evaluate ─────────────────────────────────────────────────────────────────────────────────


@main.command()
@click.option(
    "--truth", required=True, type=Path, help="Held-out rows: user, item, and a relevance or rating."
)
@click.option("--run", "runs", multiple=True, type=NamedFile(), help=RUN_HELP)
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--predictions", multiple=True, type=NamedFile(), help="A candidate's predicted ratings.")
@click.option("--train", type=Path, help="Training rows, for novelty and popularity.")
@click.option("--catalogue", type=Path, help="All items and their attributes, for coverage, Gini, diversity.")
@click.option("--user-attributes", type=Path, help="Users and their attributes, for slices.")
@click.option("--item-vectors", type=Path, help="A vector of each item, for diversity(by=vectors).")
@click.option("--item-similarity", type=Path, help="Pairs of items, for diversity(by=similarity).")
@click.option(
    "--slice",
    "slices",
    multiple=True,
    help="Parts to score beside the whole; again for each. "
    "[user_warmth|item_warmth|history|popularity|user:COLUMN|item:COLUMN]",
)
@click.option("--metrics", help="Specs such as 'ndcg@10,map(norm=min)@5'; without @k the whole curve.")
@click.option("--depth", type=int, help="Deepest cutoff (default: 100, or the deepest asked for).")
@click.option("--preset", default="default", show_default=True, help="Count as this library does.")
@click.option("--users", help="truth: a missing list is 0; both: only users with a list.  [truth|both]")
@click.option("--order", help="Column that orders the lists.  [rank|score]")
@click.option("--ties", help="Order of equal scores.  [file|item_desc]")
@click.option("--relevance", help="Column of the truth, or 'none': every row is relevant.")
@click.option("--relevance-threshold", type=float, help="Least relevance that counts (default: above 0).")
@click.option("--reference", "references", default="", help=REFERENCE_HELP)
@click.option("--tie-band", is_flag=True, help="Add what the order of equal scores can do to each metric.")
@click.option("--shown-by", help="Add what is shown by a column of the catalogue: year, genre, author …")
@click.option("--shown-by-k", type=click.IntRange(1), help="In so many places (default: 10, or the depth).")
@click.option("--format", "form", type=FORMATS, default="table", show_default=True)
def evaluate(
    truth: Path,
    runs: Sequence[tuple[str, Path]],
    predictions: Sequence[tuple[str, Path]],
    *,
    tie_band: bool,
    shown_by: str | None,
    shown_by_k: int | None,
    form: str,
    **question: Any,
) -> None:
    """Score candidates against a truth; nothing is stored."""
    _start_light()
    from recdash.evaluation import evaluate as score

    if not runs and not predictions and not question["references"]:
        raise InputError(Problem("no-run", "recdash evaluate", "no candidate", "Add --run NAME=FILE."))
    if (tie_band or shown_by) and form == "csv":
        option = "--tie-band" if tie_band else "--shown-by"
        fix = "Use --format table or json."
        raise InputError(Problem("no-room-in-csv", option, "with --format csv", fix))
    _check_names("--predictions", predictions)
    found = score(_uploads(runs), truth, predictions=dict(predictions), **question)
    _tell(found.notices())
    bands = list(found.tie_bands()) if tie_band else None
    places = shown_by_k or min(10, found.rules.depth)
    shown = list(found.shown_rows(shown_by, places)) if shown_by else None
    _print_scores(found, form, bands, shown)


class _Hidden:
    """An import finder that hides pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _start_light() -> None:
    """Keep Python, numpy and pyarrow from doing what this command has no use for.

    Python looks for cycles among its objects every now and then: 0.05 s CPU, and arrays are in none. numpy's
    linear algebra starts a thread per core, which waits busily: 0.1 s CPU. pyarrow loads pandas with the
    first array it makes, if it can: 0.35 s CPU; asked once while it is hidden, it does not ask again. Arrow
    keeps less for later with jemalloc, which its Linux builds have: 20 MiB.
    """
    gc.set_threshold(100_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.platform == "linux":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    import pyarrow as pa

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hidden)


def _uploads(named: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    """Each candidate's file, or its files where several are given under one name: its folds or seeds.

    Raises InputError where nobody gave that name: two files may be called alike by chance.
    """
    files: dict[str, list[Path]] = {}
    for name, file in named:
        files.setdefault(name, []).append(file)
    _check_names("--run", [one for one in named if len(files[one[0]]) > 1 and isinstance(one[0], Stem)])
    return {name: several if len(several) > 1 else several[0] for name, several in files.items()}


def _check_names(option: str, named: Sequence[tuple[str, Path]]) -> None:
    names = [name for name, _ in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            Problem(
                "name-twice", option, f"'{twice[0]}' names two candidates", "Give each its own NAME=FILE."
            )
        )


def _tell(notices: Iterable[Problem]) -> None:
    for notice in notices:
        click.echo(f"note: {notice}", err=True)


def _print_scores(
    found: Evaluation,
    form: str,
    bands: Sequence[Mapping[str, Any]] | None,
    shown: Sequence[Mapping[str, Any]] | None,
) -> None:
    if form == "json":
        asked = {"tie_bands": bands, "shown_by": shown}
        added = {name: rows for name, rows in asked.items() if rows is not None}
        click.echo(json.dumps({**found.as_dict(), **added}, ensure_ascii=False))
    elif form == "csv":
        columns = ["run", "metric", "k", "value", "std_error", "n_users"]
        sliced = ["slice_by", "slice"] if any(run.sliced for run in found.runs) else []
        writer = csv.DictWriter(sys.stdout, [*columns, *sliced])
        writer.writeheader()
        for row in found.rows():
            writer.writerow({**row, **{name: safe_cell(row[name] or "") for name in ["run", *sliced]}})
    else:
        click.echo("\n\n".join(_score_tables(found, bands, shown)))


def _score_tables(
    found: Evaluation,
    bands: Sequence[Mapping[str, Any]] | None,
    shown: Sequence[Mapping[str, Any]] | None,
) -> Iterable[str]:
    yield _score_table(found)
    if spread := list(_spread_lines(found)):
        yield _aligned([["run", "metric", "spread over", "lowest", "highest"], *spread], 3)
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
    return _aligned([head, *lines]) + (f"\n{left:,} more values with --format json" if left else "")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _band_table(bands: Sequence[Mapping[str, Any]]) -> str:
    if not bands:
        return "No order of equal scores changes any of these."
    lines = [
        [
            band["run"],
            band["metric"] if band["k"] is None else f"{band['metric']}@{band['k']}",
            *(_three_digits(band[end]) for end in ("worst", "expected", "best")),
            f"{band['n_users']:,}",
        ]
        for band in bands
    ]
    return _aligned([["run", "metric", "worst", "expected", "best", "users with ties"], *lines], 2)


def _score_table(found: Evaluation) -> str:
    """One row per metric and cutoff, one column per candidate; a whole curve shows at a few cutoffs."""
    asked = {one.spec.label for one in found.asked if one.spec.k is not None}
    names = [run.name for run in found.runs]
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in found.rows():
        if row["k"] in (None, *SHOWN_CUTOFFS) or row["metric"] in asked:
            metric = row["metric"] if row["k"] is None else f"{row['metric']}@{row['k']}"
            cells.setdefault((_slice_named(row), metric), {})[row["run"]] = _three_digits(row["value"])
    parts = any(part for part, _ in cells)
    lines = [
        [*([part or "all"] if parts else []), metric, *(values.get(name, "–") for name in names)]
        for (part, metric), values in sorted(cells.items(), key=lambda cell: cell[0][0])
    ]
    head = [*(["slice"] if parts else []), "metric", *names]
    return _aligned([head, *lines], 2 if parts else 1) + "\n" + "\n".join(_populations(found))


def _spread_lines(found: Evaluation) -> Iterable[list[str]]:
    """How far apart the folds or seeds of each candidate lie; of a whole curve at 10, or at the depth."""
    k = min(10, found.rules.depth)
    asked = {one.spec.label for one in found.asked if one.spec.k is not None}
    values: dict[tuple[str, str], list[float]] = {}
    for row in found.replicate_rows():
        if row["value"] is not None and (row["k"] in (None, k) or row["metric"] in asked):
            metric = row["metric"] if row["k"] is None else f"{row['metric']}@{row['k']}"
            values.setdefault((row["run"], metric), []).append(row["value"])
    counted = {run.name: str(run.replicated) for run in found.runs}
    for (run, metric), spread in values.items():
        yield [run, metric, counted[run], _three_digits(min(spread)), _three_digits(max(spread))]


def _slice_named(row: Mapping[str, Any]) -> str:
    """``user_warmth=cold (2,376)`` with how many count in it; nothing for the whole."""
    if row.get("slice_by") is None:
        return ""
    return f"{row['slice_by']}={row['slice']} ({row['n_users']:,})"


def _three_digits(value: float | None) -> str:
    return "–" if value is None else f"{value:#.3g}".rstrip(".")


def _aligned(rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Columns under each other: the first ``texts`` to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    left = [True] * texts + [False] * (len(widths) - texts)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    )


def _populations(found: Evaluation) -> Iterable[str]:
    yield ""
    for run in found.runs:
        if run.ledger is not None:
            one = run.ledger
            yield f"{run.name}: {one.counted:,} users counted, {one.without_list:,} without a list"
    missing: dict[tuple[str, str, str], dict[str, None]] = {}
    for row in found.absences():
        where = f" by {row['slice_by']}" if row.get("slice_by") else ""
        missing.setdefault((row["run"], where, row["reason"]), {})[row["metric"]] = None
    for (name, where, reason), metrics in missing.items():
        yield f"{name}: no {', '.join(metrics)}{where}: {reason}"


# ── compare ──────────────────────────────────────────────────────────────────────────────────


@main.command()
@click.option("--truth", type=Path, help="Held-out rows: user, item, and a relevance or rating.")
@click.option("--experiment", help="Compare stored runs of this experiment in place of files.")
@click.option("--run", "runs", multiple=True, type=NamedFile(), help=RUN_HELP)
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--baseline", required=True, help="The name of the run that the others must beat.")
@click.option("--metric", default="ndcg@10", show_default=True, help="One spec with its cutoff.")
@click.option("--margin", default="1%", show_default=True, help="What is too small to matter: 1% or 0.002.")
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    type=click.Choice(CORRECTIONS),
    help="How several differences are judged together.",
)
@click.option("--slice", "part", help="Only some users or items of an experiment, such as user_warmth=cold.")
@click.option("--train", type=Path, help="Training rows, for novelty and for new users.")
@click.option("--catalogue", type=Path, help="All items, for coverage.")
@click.option("--user-attributes", type=Path, help="Users and their attributes, for slices.")
@click.option("--preset", default="default", show_default=True, help="Count as this library does.")
@click.option("--users", help="truth: a missing list is 0; both: only users with a list.  [truth|both]")
@click.option("--order", help="Column that orders the lists.  [rank|score]")
@click.option("--ties", help="Order of equal scores.  [file|item_desc]")
@click.option("--relevance", help="Column of the truth, or 'none': every row is relevant.")
@click.option("--relevance-threshold", type=float, help="Least relevance that counts (default: above 0).")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def compare(
    truth: Path | None,
    experiment: str | None,
    runs: Sequence[tuple[str, Path]],
    *,
    baseline: str,
    metric: str,
    margin: str,
    correction: Correction,
    part: str | None,
    form: str,
    **question: Any,
) -> None:
    """Which candidate to ship: every pair with its evidence, and a verdict in plain words."""
    _start_light()
    from recdash.comparison import Terms, read_margin

    terms = Terms(margin=read_margin(margin), correction=correction)
    _check_where(truth, experiment, runs, part)
    if experiment:
        found = _compare_stored(experiment, [name for name, _ in runs], baseline, metric, terms, part or "")
    else:
        found = _compare_files(runs, truth, baseline, metric, terms, question)
    _tell(found.verdict.weighed.problems)
    click.echo(json.dumps(found.as_dict(), indent=2) if form == "json" else _comparison_text(found))


def _check_where(truth: Path | None, experiment: str | None, runs: Sequence[Any], part: str | None) -> None:
    if (truth is None) == (experiment is None):
        found = "neither --truth nor --experiment" if truth is None else "both --truth and --experiment"
        fix = "Give --truth with --run NAME=FILE for each candidate, or --experiment NAME."
        raise InputError(Problem("no-source", "recdash compare", found, fix))
    if truth is not None and not runs:
        raise InputError(Problem("no-run", "recdash compare", "no candidate", "Add --run NAME=FILE."))
    if truth is not None and part:
        fix = "Store the runs with recdash add, then compare with --experiment."
        raise InputError(Problem("no-slice", "--slice", "with files", fix))


def _compare_files(
    runs: Sequence[tuple[str, Path]], truth: Any, baseline: str, metric: str, terms: Terms, question: Any
) -> Compared:
    from recdash.comparison.weighing import GUARDRAILS
    from recdash.evaluation import evaluate as score

    found = score(_uploads(runs), truth, metrics=[metric, *GUARDRAILS], **question)
    return found.compare(metric, baseline, terms)


def _compare_stored(
    experiment: str, names: Sequence[str], baseline: str, metric: str, terms: Terms, part: str
) -> Compared:
    from recdash.comparison.compared import cutoff_of
    from recdash.domain import Scope
    from recdash.metrics import parse

    space, spec = _workspace(), parse(metric)
    stored = space.runs(space.experiment_named(experiment).id)
    ids = {run.name: run.id for run in stored}
    own = [run.name for run in stored if not run.reference]
    wanted = [_run_named(ids, name) for name in names or own]
    base, scope = _run_named(ids, baseline), Scope(slice=part)
    return space.compare(wanted, base, spec.label, cutoff_of(spec), terms, scope)


def _comparison_text(found: Compared) -> str:
    """The verdict, then one line per pair."""
    names, head = found.comparison.names, "candidate,baseline,difference,CI,p,finding,users"
    lines = [head.split(",")]
    for pair in found.comparison.pairs:
        mean, ends = pair.paired.mean, (pair.judged.corrected.low, pair.judged.corrected.high)
        digits = numbers.places([mean, *ends])
        how = [numbers.signed(mean, digits), numbers.interval(*ends, digits), numbers.p_value(pair.judged.p)]
        who = [names[pair.candidate], names[pair.baseline]]
        lines.append([*who, *how, pair.judged.word, numbers.count(pair.paired.n)])
    correction = found.comparison.terms.correction
    how = [f"\nCI and p are corrected over these {len(lines) - 1} pairs ({correction})."]
    apart = [f"{reason}." for reason in found.comparison.apart.values()]
    return "\n".join([found.verdict.text, "", _aligned(lines, texts=2), *how, *apart])


# ── the store ────────────────────────────────────────────────────────────────────────────────


def _workspace() -> Workspace:
    from recdash.service import Workspace

    return Workspace.open()


@main.command()
@click.option("--experiment", required=True, help="Name of the experiment; made if it is not there yet.")
@click.option("--truth", type=Path, help="Held-out rows; needed for a new experiment.")
@click.option("--run", "runs", multiple=True, type=NamedFile(), help=RUN_HELP)
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--predictions", multiple=True, type=NamedFile(), help="Predicted ratings of a candidate.")
@click.option("--train", type=Path, help="Training rows.")
@click.option("--catalogue", type=Path, help="All items.")
@click.option("--user-attributes", type=Path, help="Users and their attributes, for slices.")
@click.option("--item-vectors", type=Path, help="A vector of each item, for diversity.")
@click.option("--item-similarity", type=Path, help="Pairs of items and how alike they are, for diversity.")
@click.option("--depth", type=int, help="Deepest cutoff (default: 100).")
@click.option("--relevance", help="Column of the truth, or 'none': every row is relevant.")
@click.option("--relevance-threshold", type=float, help="Least relevance that counts.")
@click.option(
    "--users",
    type=click.Choice(["truth", "both"]),
    help="truth: a missing list is 0 (default); both: only users with a list.",
)
@click.option("--reference", "references", default="", help=REFERENCE_HELP)
@click.option("--tag", "tags", multiple=True, help="A tag for the runs; again for each.")
@click.option("--baseline", help="Name of the run that the others are compared with.")
@click.option("--sessions", type=NamedFile(), help="An A/B test's sessions, as NAME=FILE.")
@click.option("--aggregates", type=NamedFile(), help="An A/B test's summary, as NAME=FILE.")
@click.option("--control", help="The A/B test's control variant.")
@click.option("--link", "links", multiple=True, help="VARIANT=RUN: which candidate a variant served.")
def add(
    experiment: str,
    truth: Path | None,
    runs: Sequence[tuple[str, Path]],
    predictions: Sequence[tuple[str, Path]],
    tags: Sequence[str],
    baseline: str | None,
    **more: Any,
) -> None:
    """Score candidates and store them, for the dashboard to show.

    All files are read and scored before anything of a candidate is stored.
    """
    uploads = _uploads(runs)
    _check_names("--predictions", predictions)
    for name, _ in predictions:
        _run_named(dict.fromkeys((run for run, _ in runs), ""), name)
    space = _workspace()
    where = _where(space, experiment, truth, more)
    prepared = _prepared(space, where, uploads, dict(predictions), more)
    _check_names_known(space, where, prepared, baseline, more["links"])
    for kind in ONLINE:
        if more[kind] is not None:
            space.try_online_test(kind, more[kind][1], control=more["control"])
    chosen = where if isinstance(where, str) else _stored(space, where)
    for one in space.store_runs(chosen, prepared, {"tags": tuple(tags)}):
        _tell(one.run.notices)
        click.echo(f"{one.run.name}: {_became(one)}")
    by_name = {run.name: run.id for run in space.runs(chosen)}
    if baseline is not None:
        space.set_baseline(chosen, _run_named(by_name, baseline))
    _add_online(space, chosen, by_name, more)


def _became(one: AddedRun) -> str:
    if not one.already_there:
        return "added"
    how = "Show archived on the Runs page of recdash serve, then Restore"
    return f"already there, but archived. To bring it back: {how}." if one.is_archived else "already there"


ONLINE: tuple[OnlineKind, ...] = ("sessions", "aggregates")
SETUP = (
    "train", "catalogue", "user_attributes", "item_vectors", "item_similarity", "depth", "relevance",
    "relevance_threshold", "users",
)  # fmt: skip


def _where(space: Workspace, name: str, truth: Path | None, more: Mapping[str, Any]) -> str | Setup:
    """The id of the experiment; with a truth the set-up as read, not stored yet."""
    facts = {fact: more[fact] for fact in SETUP if more[fact] is not None}
    if truth is not None:
        return space.read_setup(name, truth, **facts)
    if facts:
        option = f"--{next(iter(facts)).replace('_', '-')}"
        fix = "The set-up of an experiment is fixed; give --truth for a new one."
        raise InputError(Problem("set-up-without-truth", option, "given without --truth", fix))
    return space.experiment_named(name).id


def _stored(space: Workspace, setup: Setup) -> str:
    """The id of the experiment made from the set-up, or of the one that is the same."""
    made = space.store_setup(setup)
    _tell(Problem(**notice) for notice in made.settings["notices"])
    for twin in space.same_truth(made.id):
        click.echo(f"note: experiment '{twin.name}' has the same truth.", err=True)
    return made.id


def _prepared(
    space: Workspace,
    where: str | Setup,
    uploads: Mapping[str, Any],
    rated: Mapping[str, Path],
    more: Mapping[str, Any],
) -> list[PreparedRun]:
    references, kind = more["references"], more["replicates"]
    found = [
        one
        for name, files in uploads.items()
        for one in space.prepare_runs(where, files, name=name, predictions=rated.get(name), replicates=kind)
    ]
    found += space.prepare_references(where, references) if references else []
    _check_names("--run", [(one.run.name, Path()) for one in found])
    return found


def _check_names_known(
    space: Workspace,
    where: str | Setup,
    prepared: Sequence[PreparedRun],
    baseline: str | None,
    links: Sequence[str],
) -> None:
    known = next(
        (one.id for one in space.experiments() if where == one.id or getattr(where, "name", "") == one.name),
        None,
    )
    names = [*(run.name for run in (space.runs(known) if known else [])), *(one.run.name for one in prepared)]
    for name in [*([baseline] if baseline is not None else []), *(link.partition("=")[2] for link in links)]:
        _run_named(dict.fromkeys(names, ""), name)


def _run_named(by_name: Mapping[str, str], name: str) -> str:
    from recdash.errors import UnknownName

    if name not in by_name:
        raise UnknownName("run", name, list(by_name))
    return by_name[name]


def _add_online(
    space: Workspace, experiment: str, by_name: Mapping[str, str], more: Mapping[str, Any]
) -> None:
    links = {
        variant: _run_named(by_name, run)
        for variant, _, run in (link.partition("=") for link in more["links"])
    }
    for kind in ONLINE:
        if more[kind] is not None:
            name, file = more[kind]
            test = space.add_online_test(
                experiment, name, file, kind=kind, control=more["control"], links=links
            )
            _tell(test.notices)
            click.echo(f"{test.name}: added, control '{test.control}'")


@main.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_experiments(form: str) -> None:
    """The experiments and their runs."""
    space = _workspace()
    found = [_experiment_facts(space, one) for one in space.experiments()]
    if form == "json":
        click.echo(json.dumps({"experiments": found}, ensure_ascii=False))
    elif not found:
        click.echo("No experiment yet. Try: recdash demo")
    for one in found if form == "text" else ():
        click.echo(f"{one['name']} ({one['truth_users']:,} users, depth {one['depth']})")
        for run in one["runs"]:
            mark = ", baseline" if run["baseline"] else ""
            several = f"{run['replicates']['n']} {run['replicates']['noun']}s, " if run["replicates"] else ""
            missing = run["ledger"]["without_list"]
            click.echo(f"  {run['name']} ({several}{missing:,} users without a list{mark})")


def _replicates_facts(replicated: Replicated | None) -> dict[str, Any] | None:
    return None if replicated is None else {"n": len(replicated.labels), **asdict(replicated)}


def _experiment_facts(space: Workspace, one: Any) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "created": one.created.isoformat(),
        "depth": one.settings["depth"],
        "truth_users": one.settings["truth_users"],
        "runs": [
            {
                "id": run.id,
                "name": run.name,
                "created": run.created.isoformat(),
                "tags": list(run.tags),
                "baseline": run.id == one.baseline,
                "ledger": dict(run.ledger),
                "replicates": _replicates_facts(run.replicated),
            }
            for run in space.runs(one.id)
        ],
        "online_tests": [test.name for test in space.online_tests(one.id)],
    }


@main.command()
@click.option("--experiment", required=True, help="Name of the experiment.")
@click.option("--run", "name", required=True, help="Name of the run.")
@click.option("--metric", default="ndcg@10", show_default=True, help="A metric with its cutoff.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def definitions(experiment: str, name: str, metric: str, form: str) -> None:
    """Show one run as every preset counts it, and what sets each of them apart.

    Parameters written in the metric win over the presets'.
    """
    from recdash.definitions.ledger import ledger_lines
    from recdash.definitions.text import as_dict, as_tables
    from recdash.metrics import parse

    space, spec = _workspace(), parse(metric)
    home = space.experiment_named(experiment)
    by_name = {run.name: run for run in space.runs(home.id)}
    run, depth = by_name[_run_named(dict.fromkeys(by_name, name), name)], home.settings["depth"]
    asked = (run.id, spec.label, spec.k or depth)
    found = (
        space.under_presets(*asked),
        space.preset_causes(*asked),
        ledger_lines(run.ledger, home.settings["users"], depth),
        space.tie_band(*asked),
    )
    if form == "json":
        facts = {"experiment": home.name, "run": run.name, "metric": spec.label, "k": asked[-1]}
        click.echo(json.dumps({**facts, **as_dict(*found)}, ensure_ascii=False))
    else:
        click.echo("\n\n".join(_aligned(rows, len(rows[0])) for rows in as_tables(*found)))


@main.command()
@click.option("--remove", is_flag=True, help="Remove the demo instead.")
def demo(remove: bool) -> None:
    """Load the demo: an invented film service, five candidates and an A/B test."""
    space = _workspace()
    if remove:
        space.remove_demo()
        click.echo("The demo is removed.")
        return
    made = space.load_demo(progress=lambda part, text: click.echo(f"{part:4.0%} {text}", err=True))
    click.echo(f"Loaded '{made.name}'. See it with: recdash serve")


@main.command()
@click.option("--host", help="Address to listen on (default: RECDASH_HOST, else 127.0.0.1).")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port to listen on (default: RECDASH_PORT, else 8501)."
)
def serve(host: str | None, port: int | None) -> None:
    """Open the dashboard in a browser at the address shown."""
    from recdash.settings import settings

    app = Path(__file__).resolve().parent.parent / "app.py"
    if not app.is_file():
        raise InputError(
            Problem(
                "no-app", str(app), "no app.py there", "Run recdash serve from a checkout of the project."
            )
        )
    where = ["--server.address", host or settings().host, "--server.port", str(port or settings().port)]
    command = [sys.executable, "-m", "streamlit", "run", str(app), *where]
    os.chdir(_folder_of_config(app))
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter, no shell wanted


def _folder_of_config(app: Path) -> Path:
    """Streamlit reads .streamlit/config.toml from here; where the data lies is made absolute before."""
    from recdash.settings import settings
    from recdash.store import absolute_url

    os.environ["RECDASH_DATABASE_URL"] = absolute_url(settings().database_url)
    if settings().artifacts is not None:
        os.environ["RECDASH_ARTIFACTS"] = str(Path(settings().artifacts or "").resolve())
    return app.parent
