"""Recognises columns of sums over users by their names, such as ``revenue_sum`` and ``revenue_sum_squares``.

A warehouse's table has a row per variant, and several such columns for each total. They are renamed to one
form, ``sum(revenue)`` or ``sum(orders*revenue)``, from which ``parsed`` returns the parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

MomentKind = Literal["sum", "mean", "var", "std", "cov"]


class MomentColumn(NamedTuple):
    """What a column holds: a moment of one total, or of two, in alphabetical order.

    ``kind``: ``sum`` (of one total, or of products of two), ``mean``, ``var``, ``std`` or ``cov``.
    """

    kind: MomentKind
    names: tuple[str, ...]

    @property
    def is_second(self) -> bool:
        """Returns True for a moment that tells how much one total varies."""
        return self.kind in ("var", "std") or (self.kind == "sum" and len(set(self.names)) < len(self.names))

    def __str__(self) -> str:
        return f"{self.kind}({'*'.join(self.names)})"


WORDS: Mapping[str, str] = {
    "squares": "sum_of_squares sum_squares squared_sum sum_squared sumsquares sumsq sum_sq sq_sum sum2 "
    "squares squared sq",
    "product": "sum_of_products sum_products sum_product sumproduct product_sum products product",
    "cov": "covariance covar cov",
    "var": "sample_variance variance var_samp var",
    "std": "standard_deviation stddev stdev std_dev std sd",
    "mean": "mean average avg",
    "sum": "sum total",
}
PAIRS = ("product", "cov")
CANONICAL = re.compile(r"(sum|mean|var|std|cov)\(([^()*]+)(?:\*([^()*]+))?\)")
JOINTS = ("_times_", "_x_", "_and_", "_")
MAIN, DENOMINATOR = "main", "denominator"
"""The totals of a table with one metric per row."""
ALIASES: Mapping[str, str] = {
    "numerator": MAIN, "denom": DENOMINATOR, "main_pre": "pre_main", "main_post": MAIN,
    "denominator_pre": "pre_denominator", "denominator_post": DENOMINATOR,
    "denominator_covariate": "pre_denominator", "covariate": "pre_main",
}  # fmt: skip
"""Names that experiment platforms give to the totals of one metric, also before the test."""
BEFORE_TEST = ("pre_", "covariate_", "before_", "baseline_")
"""Beginnings of names of totals before the test, with which lifts are adjusted (CUPED)."""
EARLIER = "pre_"


def parsed(column: str) -> MomentColumn | None:
    """Returns what a renamed column holds; None for other columns."""
    match = CANONICAL.fullmatch(column)
    if match is None:
        return None
    names = (match[2],) if match[3] is None else (match[2], match[3])
    return MomentColumn(match[1], names)  # type: ignore[arg-type]


def moment_columns(columns: Sequence[str], *, of_one_metric: bool = False) -> dict[str, MomentColumn]:
    """Returns what each column holds, of those whose names say it.

    A total before the test is called ``pre_`` and the name of the total; of several columns that hold the
    same, the first one counts. ``of_one_metric``: a row has one metric, which is called ``MAIN``, its
    denominator ``DENOMINATOR``; columns such as ``sum`` are then its own. Columns ``main_sum`` say so too.
    """
    words = {column: _words_of(column) for column in columns}
    if of_one_metric or any(re.match(r"(main|numerator)_sum", name) for name in words.values()):
        words = {column: _of_one_metric(name) for column, name in words.items()}
    said = {column: list(_readings(name)) for column, name in words.items()}
    squared = {
        name for readings in said.values() for kind, name in readings if kind in ("squares", "var", "std")
    }
    known = {column: moment for column in columns if (moment := parsed(column)) is not None}
    for column, readings in said.items():
        if column in known:
            continue
        name = words[column]
        moment = next((m for kind, rest in readings if (m := _moment(kind, rest, squared)) is not None), None)
        if moment is None and name in squared and not _has_own_sum(said.values(), name):
            moment = MomentColumn("sum", (_earlier(name, squared),))
        if moment is not None and moment not in known.values():
            known[column] = moment
    return known


def is_deviation(column: str) -> bool:
    """Returns True if a name says only that the column has standard deviations."""
    return _words_of(column) in WORDS["std"].split()


def is_product(column: str) -> bool:
    """Returns True if a name says that the column has products of two totals, or their covariance."""
    return any(kind in PAIRS for kind, _ in _readings(_words_of(column)))


def _of_one_metric(name: str) -> str:
    """Returns the name of a column of a table of one metric per row, with the total that it is about."""
    for written, meant in ALIASES.items():
        name = f"_{name}_".replace(f"_{written}_", f"_{meant}_").strip("_")
    is_bare = any(name in words.split() for kind, words in WORDS.items() if kind not in PAIRS)
    if is_bare:
        return f"{MAIN}_{name}"
    others = (DENOMINATOR, f"{EARLIER}{MAIN}", f"{EARLIER}{DENOMINATOR}")
    products = {f"{other}_{word}" for other in others for kind in PAIRS for word in WORDS[kind].split()}
    return f"{MAIN}_{name}" if name in products else name


def _words_of(column: str) -> str:
    """Returns a name in lower case with single underscores between its words."""
    return re.sub(r"[\W_]+", "_", column.strip().lower()).strip("_")


def _readings(name: str) -> Iterator[tuple[str, str]]:
    """Yields (kind, rest of the name) for each word of ``WORDS`` that the name begins or ends with."""
    if any(joint in name for joint in JOINTS[:2]):
        yield "product", name
    for kind, words in WORDS.items():
        for word in words.split():
            if name.endswith(f"_{word}") and name != f"_{word}":
                rest = name.removesuffix(f"_{word}")
                yield kind, rest.removeprefix("sum_") if kind in ("squares", "product") else rest
            if name.startswith(f"{word}_"):
                rest = name.removeprefix(f"{word}_")
                is_square = kind == "sum" and rest.endswith(("_sq", "_squared", "_squares"))
                if not is_square:
                    yield kind, rest


def _moment(kind: str, rest: str, squared: set[str]) -> MomentColumn | None:
    """Returns the moment of that kind, if the rest of the name is a total whose squares are known, or two."""
    if kind == "squares":
        return MomentColumn("sum", (_earlier(rest, squared),) * 2)
    if kind in ("var", "std", "mean"):
        return MomentColumn(kind, (_earlier(rest, squared),))  # type: ignore[arg-type]
    if kind == "sum" and rest in squared:
        return MomentColumn("sum", (_earlier(rest, squared),))
    pair = _split(rest, squared)
    if pair is not None:
        return MomentColumn(
            "cov" if kind == "cov" else "sum", tuple(sorted(_earlier(n, squared) for n in pair))
        )
    return MomentColumn("sum", (_earlier(rest, squared),)) if kind == "sum" else None


def _split(rest: str, known: set[str]) -> tuple[str, str] | None:
    """Returns the two totals in a name such as ``revenue_orders`` or ``revenue_x_orders``; None if there are
    no two.
    """
    for joint in JOINTS:
        parts = rest.split(joint)
        for place in range(1, len(parts)):
            first, second = joint.join(parts[:place]), joint.join(parts[place:])
            if first in known and second in known:
                return first, second
    return None


def _earlier(name: str, squared: set[str]) -> str:
    """Returns the name of a total before the test with the usual beginning; other names unchanged."""
    for beginning in BEFORE_TEST:
        rest = name.removeprefix(beginning)
        if rest != name and rest in squared:
            return f"{EARLIER}{rest}"
    for ending in ("_pre", "_before", "_covariate"):
        rest = name.removesuffix(ending)
        if rest != name and rest in squared:
            return f"{EARLIER}{rest}"
    return name


def _has_own_sum(said: Iterable[Sequence[tuple[str, str]]], name: str) -> bool:
    """Returns True if another column is named as the sum or mean of the total ``name``."""
    return any(("sum", name) in readings or ("mean", name) in readings for readings in said)
