"""What several commands take, and how they speak."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    from recdash.service import Workspace


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


def uploads(named: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    """Each candidate's file, or its files where several are given under one name: its folds or seeds.

    Raises InputError where nobody gave that name: two files may be called alike by chance.
    """
    files: dict[str, list[Path]] = {}
    for name, file in named:
        files.setdefault(name, []).append(file)
    check_names("--run", [one for one in named if len(files[one[0]]) > 1 and isinstance(one[0], Stem)])
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
        click.echo(f"note: {notice}", err=True)


def workspace() -> Workspace:
    from recdash.service import Workspace

    return Workspace.open()


def run_named(by_name: Mapping[str, str], name: str) -> str:
    from recdash.errors import UnknownName

    if name not in by_name:
        raise UnknownName("run", name, list(by_name))
    return by_name[name]


def how_to_count(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what the scores of files mean, for every command that takes files."""
    for option in reversed(_HOW_TO_COUNT):
        command = option(command)
    return command


_HOW_TO_COUNT = (
    click.option("--preset", default="default", show_default=True, help="Count as this library does."),
    click.option("--users", help="truth: a missing list is 0; both: only users with a list.  [truth|both]"),
    click.option("--order", help="Column that orders the lists.  [rank|score]"),
    click.option("--ties", help="Order of equal scores.  [file|item_desc]"),
    click.option("--relevance", help="Column of the truth, or 'none': every row is relevant."),
    click.option("--relevance-threshold", type=float, help="Least relevance that counts (default: above 0)."),
)
