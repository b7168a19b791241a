"""Recognises the files that are the parts of one table, among files that are given one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recdash.ingest.file_names import plain_name
from recdash.ingest.id_columns import IdColumns, id_columns
from recdash.ingest.looks import Look

SPARK = re.compile(r"part-(?:[rm]-)?(?P<number>\d{4,})(?P<job>-.*?)?(?P<piece>-c\d+)?(?P<after>\.[^/]*)?")
"""part-00000-….csv of Spark, which writes a large part in pieces -c000, -c001; part-r-00000 of Hadoop."""
OF_TOTAL = re.compile(
    r"(?P<before>.+?)[-_.]?(?<!\d)(?P<number>\d{1,9})-of-(?P<total>\d{1,9})(?P<after>\.[^/]*)?"
)
"""recs-00000-of-00004.parquet."""
SURE_DIGITS = 4
"""Digits from which ``N-of-M`` counts parts; als-1-of-2 may also be a candidate."""
BIG_QUERY = re.compile(r"(?P<before>.*?)[-_]?(?<!\d)(?P<number>0{6}\d{6})(?P<after>(?:\.\w+)*)")
"""recs-000000000000.csv."""
COUNTED = re.compile(
    r"(?P<before>.*?[^-_. ])(?:[-_. ]+|[-_. ]*(?:part|shard|chunk|piece)[-_. ]?)(?P<number>\d{1,5})",
    re.IGNORECASE,
)
"""recs_1, recs.part2, without suffixes: files of such names may also be candidates."""
MOST_IN_COMMON = 0.01
"""Largest share of rows that parts of a table have in common, such as duplicates; two candidates for the same
users have more.
"""
OTHERWISE_COUNTED = re.compile(r"(?:^|[\W_])(?:seed|fold|split|repeat|run|version|v|k)$", re.IGNORECASE)
"""Ends of names whose number tells a fold, a seed or a variant from another."""


@dataclass(frozen=True)
class SplitTable:
    """Files that are the parts of one table: their positions among the given files, in the order of the
    parts, and the ``name`` of the table. ``is_sure``: only parts have such names. ``n_parts`` are among the
    files, of which each may be in several pieces; ``n_missing`` are not, by the numbers in the names.
    """

    places: tuple[int, ...]
    name: str
    is_sure: bool
    n_parts: int
    n_missing: int = 0


@dataclass(frozen=True)
class _Numbered:
    """A name of a part. ``table`` is equal for all parts of a table; ``is_sure``: no candidate has such a
    name. ``full_name`` tells tables of the same ``name`` apart. ``total`` is the number of parts that the
    name says; 0 if it says none.
    """

    table: tuple[str, ...]
    number: tuple[int, str]
    name: str
    is_sure: bool
    full_name: str = ""
    total: int = 0


def may_be_split(names: Sequence[str], folders: Sequence[str]) -> list[SplitTable]:
    """Returns the tables that files of these names may be parts of; ``folders`` are "" where unknown.

    What the files hold decides: see ``is_one_table``.
    """
    groups: dict[tuple[object, ...], list[tuple[_Numbered, int]]] = {}
    for place, (name, folder) in enumerate(zip(names, folders, strict=True)):
        numbered = _numbered(name, plain_name(folder))
        if numbered is not None:
            groups.setdefault((folder, numbered.is_sure, numbered.table), []).append((numbered, place))
    counted = [parts for parts in groups.values() if _are_counted([numbered for numbered, _ in parts])]
    n_tables = Counter(parts[0][0].name for parts in counted)
    tables = []
    for parts in counted:
        first, _ = parts[0]
        places = tuple(place for _, place in sorted(parts, key=lambda part: part[0].number))
        name = first.full_name if n_tables[first.name] > 1 and first.full_name else first.name
        n_parts = len({numbered.number[0] for numbered, _ in parts})
        n_missing = _n_missing([numbered for numbered, _ in parts])
        tables.append(SplitTable(places, name, first.is_sure, n_parts, n_missing))
    return tables


def is_one_table(table: SplitTable, looks: Mapping[int, Look]) -> bool:
    """Returns whether the files have the same columns and are no two candidates. ``looks`` are keyed by
    position.

    Files of names that only parts have are one table, unless they have many rows of a user and an item in
    common, or, where a user has one row, many users. Files of other names must list different users; without
    users, different items. Users of a file of which only the first rows were looked at are not known, so
    files of other names are then no parts.
    """
    parts = [looks[place] for place in table.places]
    shapes = {(look.columns, look.format, look.has_header, look.lists) for look in parts}
    if len(shapes) > 1 or not parts[0].columns or any(look.problems for look in parts):
        return False
    if not table.is_sure and not all(look.is_whole for look in parts):
        return False
    columns = {(own.user, own.item) for own in _id_columns(parts)}
    user, item = columns.pop() if len(columns) == 1 else (None, None)
    if table.is_sure:
        return not user or _share_in_common(_rows_of(parts, user, item)) <= MOST_IN_COMMON
    column = user or item
    return column is not None and not _share_in_common([look.by_name[column].distinct for look in parts])


def _rows_of(parts: Sequence[Look], user: str, item: str | None) -> list[frozenset[Any]]:
    """Returns what no two parts of a table share, for each part: its rows of a user and an item, or its users
    if each has one row; empty sets if neither is known.
    """
    if item and item not in parts[0].lists:
        pairs = [zip(look.by_name[user].ids, look.by_name[item].ids, strict=True) for look in parts]
        return [frozenset(rows) for rows in pairs]
    users = [look.by_name[user] for look in parts]
    return [column.distinct if column.is_unique else frozenset() for column in users]


def _share_in_common(values: Sequence[frozenset[Any]]) -> float:
    """Returns the share of the values of the smallest set that are in several sets, 0 to 1; more if there are
    many sets.
    """
    n_common = sum(map(len, values)) - len(frozenset().union(*values))
    return n_common / max(min(map(len, values)), 1)


def n_users_missing(table: SplitTable, looks: Mapping[int, Look]) -> int | None:
    """Returns how many users the missing parts list if they list as many as the others; None if that is not
    known.
    """
    parts = [looks[place] for place in table.places]
    user = _id_columns(parts)[0].user
    if user is None or not all(look.is_whole for look in parts):
        return None
    users = frozenset().union(*(look.by_name[user].distinct for look in parts))
    return round(len(users) / table.n_parts * table.n_missing)


def _id_columns(parts: Sequence[Look]) -> list[IdColumns]:
    """Returns the columns of users and items of each part, by the ids of the parts alone."""
    return id_columns(parts, {"user_id": frozenset(), "item_id": frozenset()})


def _numbered(name: str, folder: str) -> _Numbered | None:
    """Returns the name of a part; None for another name."""
    if match := SPARK.fullmatch(name):
        job, after = match["job"] or "", match["after"] or ""
        of_job = "part" + job[:9]
        full_name = f"{folder}{job[:9]}" if folder else of_job
        number = (int(match["number"]), match["piece"] or "")
        return _Numbered(("spark", job, after), number, folder or of_job, True, full_name)
    if match := OF_TOTAL.fullmatch(name):
        table: tuple[str, ...] = ("of", match["before"], match["total"], match["after"] or "")
        is_sure = len(match["total"]) >= SURE_DIGITS
        if OTHERWISE_COUNTED.search(match["before"]):
            return None
        return _Numbered(
            table, (int(match["number"]), ""), match["before"], is_sure, total=int(match["total"])
        )
    if match := BIG_QUERY.fullmatch(name):
        table = ("bigquery", match["before"], match["after"])
        return _Numbered(table, (int(match["number"]), ""), match["before"] or folder or "part", True)
    plain = plain_name(name)
    match = COUNTED.fullmatch(plain)
    if match is None or OTHERWISE_COUNTED.search(match["before"]):
        return None
    table = ("counted", match["before"], name.removeprefix(plain))
    return _Numbered(table, (int(match["number"]), ""), match["before"], False)


def _are_counted(parts: Sequence[_Numbered]) -> bool:
    """Returns whether there are several parts with different numbers, and, unless the names are only those of
    parts, the numbers count from 0 or 1 without a gap.
    """
    numbers = {part.number for part in parts}
    if len(parts) < 2 or len(numbers) < len(parts):
        return False
    values = sorted(number for number, _ in numbers)
    return parts[0].is_sure or (values[0] in (0, 1) and values[-1] - values[0] == len(values) - 1)


def _n_missing(parts: Sequence[_Numbered]) -> int:
    """Returns how many parts are not there: up to the total that the names say, else to the last number."""
    numbers = {number for number, _ in (part.number for part in parts)}
    first = min(1, *numbers)  # they count from 0 or from 1
    return max(0, (parts[0].total or max(numbers) + 1 - first) - len(numbers))
