"""Options that several commands share, checks of their values, and access to the workspace."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.input_file import NAME, STDIN, address_of, exists, readable, sheet_named
from recdash.cli.terminal import say
from recdash.domain.kinds import CORRECTIONS
from recdash.errors import InputError, Problem
from recdash.formatting.wording import listed, many

if TYPE_CHECKING:
    from recdash.comparison import Terms
    from recdash.comparison.rules import DecisionRules
    from recdash.domain.records import Experiment
    from recdash.evaluation.spark import Spark
    from recdash.ingest import Sheet
    from recdash.service import Workspace
    from recdash.stats import Correction


SPARK = "spark"
"""The engine that reads the files of runs itself."""


class Stem(str):
    """A candidate's name that was taken from the file name, because no name was given."""

    __slots__ = ()


class NamedFile(click.ParamType["tuple[str, Path | Sheet]"]):
    """The type of options with the value NAME=FILE, or FILE alone; the name then is the file's stem, or the
    sheet's name.
    """

    name = "NAME=FILE"

    def convert(
        self, value: str, _parameter: object = None, context: click.Context | None = None
    ) -> tuple[str, Path | Sheet]:
        if is_on_cluster(context) and _parameter_name(_parameter) == "runs":
            return _of_cluster(value)
        if value == STDIN:
            return Stem(NAME), readable(value, context)
        if (address := address_of(value)) is not None:
            return Stem(address.name.split(".")[0]), readable(value, context)
        sheet = sheet_named(value)
        if sheet is not None and ("=" not in value or exists(sheet.file)):
            return Stem(sheet.name), sheet
        if "=" not in value or exists(Path(value)):
            return Stem(Path(value).name.split(".")[0]), readable(value, context)
        name, file = _name_and_file(value)
        return name, readable(file, context)


def _name_and_file(value: str) -> tuple[str, str]:
    """Returns the two parts of NAME=FILE, either of which may have = itself: the longest name that leaves an
    address, a file or standard input, in this order.

    Raises InputError if a part is missing, or if none of several divisions leaves one of them.
    """
    ends = [place for place, character in enumerate(value) if character == "="]
    divisions = [(value[:end].strip(), value[end + 1 :]) for end in reversed(ends)]
    divisions = [(name, file) for name, file in divisions if name and file]
    if not divisions:
        raise InputError(
            Problem("bad-name", f"'{value}'", "the name or the file is missing", "Write NAME=FILE.")
        )
    if len(divisions) == 1:
        return divisions[0]
    for is_source in (_is_address, _is_file, STDIN.__eq__):
        for name, file in divisions:
            if is_source(file):
                return name, file
    tried = listed([f"'{file}'" for _, file in divisions])
    finding = f"no file was found, with the name up to each =: tried {tried}"
    raise InputError(Problem("bad-name", f"'{value}'", finding, "Write NAME=FILE with the path of a file."))


def _is_address(text: str) -> bool:
    return address_of(text) is not None


def _is_file(text: str) -> bool:
    sheet = sheet_named(text)
    return exists(Path(text) if sheet is None else sheet.file)


def _parameter_name(parameter: object) -> str | None:
    return parameter.name if isinstance(parameter, click.Parameter) else None


def _of_cluster(value: str) -> tuple[str, Any]:
    """Returns the name of a candidate, and its path or table as text: only the cluster reads it."""
    name, equals, place = value.partition("=")
    if not equals or "/" in name or exists(Path(value)):
        return Stem(value.rstrip("/").rpartition("/")[2].split(".")[0]), value
    if not name.strip() or not place:
        raise InputError(
            Problem("bad-name", f"'{value}'", "the name or the file is missing", "Write NAME=FILE.")
        )
    return name.strip(), place


ENGINE_HELP = (
    "Read and match the runs with Spark, which needs recdash[spark]: FILE is Parquet, CSV or table:NAME."
)
MASTER_HELP = "Spark's cluster: local[*], spark://HOST:7077, yarn, sc://HOST. Default: Spark's own."


def engine_options(help_text: str = ENGINE_HELP) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns what adds the options for an engine; ``help_text`` says what that reads."""
    # before the tables, which another engine reads
    engine = click.option("--engine", type=click.Choice([SPARK]), is_eager=True, help=help_text)
    master = click.option("--master", help=MASTER_HELP)
    return lambda command: engine(master(command))


def is_on_cluster(context: click.Context | None) -> bool:
    """Returns whether the command was given the engine of a cluster, which reads the tables itself."""
    return context is not None and context.params.get("engine") == SPARK


def engine_given(engine: str | None, master: str | None) -> Spark | None:
    """Returns the engine for runs; None for this process. Raises InputError for --master without it."""
    if engine is None:
        if master is not None:
            raise InputError(Problem("no-engine", "--master", "given without --engine spark", "Add it."))
        return None
    from recdash.evaluation.spark import Spark

    return Spark(master)


experiment_option = click.option("--experiment", required=True, help="Name of the experiment.")
form_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
CORRECTION: dict[str, Any] = {
    "default": "holm",
    "show_default": True,
    "type": click.Choice(CORRECTIONS),
}
correction_option = click.option("--correction", **CORRECTION, help="Multiple-testing correction.")
RUN_HELP = "A candidate's lists; repeatable. Use the same NAME for each of its folds or seeds."
REPLICATES_HELP = (
    "Whether several files of a candidate are seeds (for the same users) or folds (for different users)."
)
PREDICTIONS_HELP = "A candidate's predicted ratings, for RMSE and MAE."
REFERENCE_HELP = (
    "Reference candidates computed from the tables given, comma-separated: popular, "
    "weighted_rating, random, content, oracle."
)
COLUMNS_HELP = (
    "Meaning of columns, as comma-separated ROLE=COLUMN: user_id=uid,item_id=sku applies to every "
    "file that has the column; truth:item_id=isbn to one table, NAME:score=-distance to one "
    "candidate (minus: smaller is better). ROLE= ignores a column. item_id=recs[] says that each "
    "cell holds a list, recs[1] one item, r_1..r_9 that each row is a list, als,ease that each "
    "column is a candidate; user_id=column 1 that the file has no header. Repeatable."
)


def columns_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the option ``--columns``, for commands that read files."""
    return click.option(
        "--columns", multiple=True, metavar="ROLE=COLUMN,…", callback=_columns, help=COLUMNS_HELP
    )(command)


def _columns(_context: click.Context, _option: click.Parameter, values: Sequence[str]) -> dict[str, Any]:
    """Returns {role: column} for all tables, and {table: {role: column}} for a single table; empty if the
    option is not given.

    Raises InputError for a text that is not ROLE=COLUMN, and for two columns with the same role.
    """
    columns: dict[str, Any] = {}
    for value in values:
        table = ""
        for pair in re.split(r",(?=[^,=]*=)", value):
            key, equals, column = pair.partition("=")
            prefix, colon, role = (part.strip() for part in key.rpartition(":"))
            table = prefix if colon else table
            if not (equals and role) or (colon and not prefix):
                fix = "Write ROLE=COLUMN, such as user_id=uid,item_id=sku or truth:item_id=isbn."
                raise InputError(Problem("bad-columns", "--columns", f"'{pair.strip()}'", fix))
            chosen = columns.setdefault(table, {}) if table else columns
            if chosen.setdefault(role, column.strip()) != column.strip():
                both = f"two columns for {role}: '{chosen[role]}' and '{column.strip()}'"
                raise InputError(Problem("bad-columns", "--columns", both, "Name one of them."))
    return columns


USERS_HELP = (
    "Users that count for accuracy. truth: users with a relevant item; without a list they score 0. both: "
    "only those with a list. judged, judged_both: the same for users with any test row. run: users with a "
    "list. In the last three, users without a relevant item score 0.  [truth|both|judged|judged_both|run]"
)
DUPLICATES_HELP = (
    "Items repeated in a list. first: only the best position counts; keep: each position counts.  "
    "[first|keep]"
)


def dashboard_address(_context: click.Context, option: click.Parameter, address: str) -> str:
    """Returns the address of a dashboard unchanged; it may be empty. Raises InputError unless it is an http
    or https address without a query.
    """
    from recdash.http import is_address

    if address and (not is_address(address) or re.search(r"['()\[\]]", address)):
        fix = "Write the dashboard's address, such as https://recdash.example.org."
        raise InputError(Problem("bad-address", option.opts[0], f"'{address}'", fix))
    return address


def uploads(named: Sequence[tuple[str, Path | Sheet]]) -> dict[str, Any]:
    """Returns {candidate's name: its file}, or a list of files (folds or seeds) if a name is given several
    times.

    Raises InputError if files without a NAME have the same stem, which may be a coincidence.
    """
    files: dict[str, list[Path | Sheet]] = {}
    for name, file in named:
        files.setdefault(name, []).append(file)
    check_names(
        "--run", [(name, file) for name, file in named if len(files[name]) > 1 and isinstance(name, Stem)]
    )
    return {name: several if len(several) > 1 else several[0] for name, several in files.items()}


def check_names(option: str, named: Sequence[tuple[str, Path | Sheet]]) -> None:
    names = [name for name, _ in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            Problem(
                "name-twice", option, f"'{twice[0]}' names two candidates", "Give each its own NAME=FILE."
            )
        )


def tell(notices: Iterable[Problem]) -> None:
    for notice in notices:
        say(f"note: {notice}", err=True)


def open_workspace() -> Workspace:
    """Returns the configured workspace, with the same limits of files as in the dashboard.

    If its data is damaged, this is reported when the command ends.
    """
    from recdash.ingest import Limits
    from recdash.service import Workspace
    from recdash.settings import settings

    workspace = Workspace.open(limits=Limits(**settings().limits()))

    def report_damage() -> None:
        for problem in workspace.damaged():
            say(f"damaged: {problem}", err=True)

    click.get_current_context().call_on_close(report_damage)
    return workspace


def open_experiment(name: str) -> tuple[Workspace, Experiment]:
    """Returns the configured workspace and its experiment of this name. Raises NotFound if there is none."""
    workspace = open_workspace()
    return workspace, workspace.experiments.named(name)


def run_ids(workspace: Workspace, experiment_id: str, *, archived: bool = False) -> dict[str, str]:
    """Returns {name: id} of the experiment's runs; with ``archived``, including archived ones."""
    return {run.name: run.id for run in workspace.runs.all(experiment_id, archived)}


ID_SHOWN = 12
"""Characters of a long id that commands print; its beginning is enough to name it."""


def id_beginning(beginning: str, ids: Iterable[str], noun: str, fix: str) -> str:
    """Returns the id with this beginning. Raises InputError unless it is exactly one; ``noun`` is what it
    names, such as "share link".
    """
    matching = [known for known in ids if known.startswith(beginning)]
    if len(matching) != 1:
        finding = f"{many(len(matching), noun)} with an id that begins like this"
        raise InputError(Problem(f"which-{noun.rsplit(maxsplit=1)[-1]}", f"'{beginning}'", finding, fix))
    return matching[0]


def linked_runs(links: Sequence[str], by_name: Mapping[str, str]) -> dict[str, str]:
    """Returns {variant: what ``by_name`` has for its run} from texts such as ``variant=run``.

    See ``links_of``. Raises UnknownName for an unknown run.
    """
    return {variant: run_named(by_name, run) for variant, run in links_of(links, by_name).items()}


def links_of(texts: Sequence[str], runs: Collection[str]) -> dict[str, str]:
    """Returns {variant: run} from texts such as ``variant=run``, either of which may have = itself: the run
    is the longest name that is among ``runs``; if none is, what follows the first =.

    Raises InputError for a variant that has several runs.
    """
    links = [_variant_and_run(text, runs) for text in texts]
    refuse_twice("--link", [variant for variant, _ in links])
    return dict(links)


def _variant_and_run(text: str, runs: Collection[str]) -> tuple[str, str]:
    ends = [place for place, character in enumerate(text) if character == "="]
    divisions = [(text[:end], text[end + 1 :]) for end in ends] or [(text, "")]
    return next((division for division in divisions if division[1] in runs), divisions[0])


def refuse_twice(option: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(Problem("name-twice", option, f"'{twice[0]}' occurs twice", "Remove one of them."))


def run_named(by_name: Mapping[str, str], name: str) -> str:
    from recdash.errors import UnknownName

    if name not in by_name:
        raise UnknownName("run", name, list(by_name))
    return by_name[name]


ACCEPT_HELP = "Score runs even if hardly any of their item or user ids occur in the other tables."


REFUSE_HELP = (
    "Refuse files with this notice, such as ties or decimal-ids; repeatable. recdash inspect --format json "
    "gives the code of each notice."
)


def refuse_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the option ``--refuse``, for commands that read files."""
    option = click.option("--refuse", multiple=True, metavar="CODE", help=REFUSE_HELP, callback=_known_codes)
    return option(command)


def _known_codes(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> Sequence[str]:
    """Returns the codes of notices. Raises UnknownName for one that no notice has, before a file is read."""
    if not given:
        return ()
    from recdash.ingest.notice_rules import read_codes

    return read_codes(given)


def addition_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the options that say how recognised files are stored together."""
    for option in reversed(_HOW_TO_ADD):
        command = option(command)
    return command


_HOW_TO_ADD = (
    click.option("--baseline", help="Name of the baseline run."),
    click.option("--relevance", help="Relevance column of the test set, or 'none' if every row is relevant."),
    click.option("--relevance-threshold", type=float, help="Smallest relevance that counts as relevant."),
    click.option("--depth", type=int, help="Deepest cutoff (default: 100)."),
    click.option(
        "--replicates", type=click.Choice(["seeds", "folds"]), help="What several files of a run are."
    ),
    click.option("--accept-unknown-ids", is_flag=True, help=ACCEPT_HELP),
    refuse_option,
)


def how_to_count(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the options that say how scores are counted, for commands that read files."""
    for option in reversed(_HOW_TO_COUNT):
        command = option(command)
    return command


_HOW_TO_COUNT = (
    click.option(
        "--preset",
        default="default",
        show_default=True,
        help="Count as this library does; `recdash presets` lists them.",
    ),
    click.option("--users", help=USERS_HELP),
    click.option("--order", help="Column that orders the lists.  [rank|score]"),
    click.option("--ties", help="Order of tied scores.  [file|item_desc]"),
    click.option("--duplicates", help=DUPLICATES_HELP),
    click.option("--relevance", help="Relevance column of the test set, or 'none' if every row is relevant."),
    click.option(
        "--relevance-threshold",
        type=float,
        help="Smallest relevance that counts as relevant (default: above 0).",
    ),
    click.option("--accept-unknown-ids", is_flag=True, help=ACCEPT_HELP),
    refuse_option,
)


margin_option = click.option(
    "--margin", help="Smallest difference that matters: 1% or 0.002 (default: 1%, or the experiment's)."
)


def terms_given(rules: DecisionRules, margin: str | None, correction: Correction) -> Terms:
    """Returns the terms of an experiment's rules with this correction and, unless it is None, this margin."""
    from recdash.comparison import read_margin

    terms = replace(rules.terms, correction=correction)
    return terms if margin is None else replace(terms, margin=read_margin(margin))


def metric_and_k(metric: str | None, k: int | None) -> tuple[str | None, int | None]:
    """Returns metric and cutoff, such as ("ndcg", 10) for ``ndcg@10``; None for what is not given. Raises
    InputError if ``metric`` and ``k`` contain different cutoffs.
    """
    from recdash.metrics import parse

    if metric is None:
        return None, k
    spec = parse(metric)
    if k is not None and spec.k not in {None, k}:
        fix = "Write the cutoff once."
        raise InputError(Problem("two-cutoffs", "--k", f"{k}, but --metric is {metric}", fix))
    return spec.label, k if spec.k is None else spec.k
