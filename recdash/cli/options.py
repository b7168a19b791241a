"""Options that several commands share, checks of their values, and the workspace they open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.terminal import say
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    from recdash.domain.records import Experiment
    from recdash.service import Workspace


class Stem(str):
    """A name taken from the file, where none was given."""

    __slots__ = ()


class NamedFile(click.ParamType[tuple[str, Path]]):
    """NAME=FILE, or FILE alone (then the file's stem is the name)."""

    name = "NAME=FILE"

    def convert(self, value: str, *_: object) -> tuple[str, Path]:
        name, equals, file = value.partition("=")
        if not equals or _exists(Path(value)):
            return Stem(Path(value).name.split(".")[0]), Path(value)
        if not name.strip() or not file:
            raise InputError(
                Problem("bad-name", f"'{value}'", "a name or a file is missing", "Write NAME=FILE.")
            )
        return name.strip(), Path(file)


def _exists(file: Path) -> bool:
    """Whether there is such a file; False where the name is longer than any file's."""
    try:
        return file.exists()
    except (OSError, ValueError):
        return False


experiment_option = click.option("--experiment", required=True, help="Name of the experiment.")
form_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
correction_option = click.option(
    "--correction",
    default="holm",
    show_default=True,
    type=click.Choice(["holm", "bh", "off"]),
    help="How several differences are judged together.",
)
RUN_HELP = "A candidate's lists; again for each, and under the same NAME for each of its folds or seeds."
REPLICATES_HELP = "What several uploads of a candidate are: seeds serve the same users, folds divide them."
PREDICTIONS_HELP = "A candidate's predicted ratings, for RMSE and MAE."
REFERENCE_HELP = (
    "Candidates computed from truth, train and catalogue, with commas between: "
    "popular, weighted_rating, random, content, oracle."
)
COLUMNS_HELP = (
    "Which column means what, as ROLE=COLUMN with commas between: user_id=uid,item_id=sku holds for every "
    "file that has the column; truth:item_id=isbn for one table, NAME:score=-distance for one candidate "
    "(the minus: the least is the best). ROLE= leaves a column out. item_id=recs[] says that each cell "
    "holds a list, recs[1] one item, r_1..r_9 one list per row, als,ease a candidate in each column; "
    "user_id=column 1 that there is no header line. Again for more."
)


def columns_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option ``--columns``, for every command that reads files."""
    return click.option(
        "--columns", multiple=True, metavar="ROLE=COLUMN,…", callback=_columns, help=COLUMNS_HELP
    )(command)


def _columns(_context: click.Context, _option: click.Parameter, values: Sequence[str]) -> dict[str, Any]:
    """{role: column} for all tables, {table: {role: column}} for one; empty where none is given."""
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
    "Who counts for accuracy. truth: users with a relevant item, a missing list is 0; both: of these only "
    "users with a list; judged, judged_both: the same of users with any row in the truth; run: users with a "
    "list. In the last three a user without a relevant item is 0.  [truth|both|judged|judged_both|run]"
)
DUPLICATES_HELP = (
    "An item that a list repeats. first: it counts once, at the better place; keep: at each.  [first|keep]"
)


def uploads(named: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    """Each candidate's file, or its files where several are given under one name: its folds or seeds.

    Raises InputError where two files without a name of their own are called alike, which may be by chance.
    """
    files: dict[str, list[Path]] = {}
    for name, file in named:
        files.setdefault(name, []).append(file)
    check_names(
        "--run", [(name, file) for name, file in named if len(files[name]) > 1 and isinstance(name, Stem)]
    )
    return {name: several if len(several) > 1 else several[0] for name, several in files.items()}


def check_names(option: str, named: Sequence[tuple[str, Path]]) -> None:
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
    """The workspace of the settings; the command names damaged evidence when it ends."""
    from recdash.service import Workspace

    workspace = Workspace.open()

    def report_damage() -> None:
        for problem in workspace.damaged():
            say(f"damaged: {problem}", err=True)

    click.get_current_context().call_on_close(report_damage)
    return workspace


def open_experiment(name: str) -> tuple[Workspace, Experiment]:
    """The workspace of the settings, and the experiment of this name in it. Raises NotFound."""
    workspace = open_workspace()
    return workspace, workspace.experiments.named(name)


def run_ids(workspace: Workspace, experiment_id: str, *, archived: bool = False) -> dict[str, str]:
    """{name: id} of the experiment's runs."""
    return {run.name: run.id for run in workspace.runs.all(experiment_id, archived)}


def linked_runs(links: Sequence[str], by_name: Mapping[str, str]) -> dict[str, str]:
    """{variant: run id} of texts as ``variant=run``. Raises UnknownName for a run that is not there."""
    pairs = [link.partition("=") for link in links]
    return {variant: run_named(by_name, run) for variant, _, run in pairs}


def run_named(by_name: Mapping[str, str], name: str) -> str:
    from recdash.errors import UnknownName

    if name not in by_name:
        raise UnknownName("run", name, list(by_name))
    return by_name[name]


ACCEPT_HELP = "Score runs whose items or users hardly meet truth, catalogue and train as they are written."


def how_to_count(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how scores are counted, for every command that takes files."""
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
    click.option("--ties", help="Order of equal scores.  [file|item_desc]"),
    click.option("--duplicates", help=DUPLICATES_HELP),
    click.option("--relevance", help="Column of the truth, or 'none': every row is relevant."),
    click.option("--relevance-threshold", type=float, help="Least relevance that counts (default: above 0)."),
    click.option("--accept-unknown-ids", is_flag=True, help=ACCEPT_HELP),
)
