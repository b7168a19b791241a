"""The leaderboard's table: ranks, values, paired differences and findings, one row per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.comparison.cells import metric_values
from recdash.comparison.headlines import EQUAL, values
from recdash.comparison.pairs import EQUAL_FOR_ALL, are_identical
from recdash.comparison.relative import largest_loss
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.names import shortened
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.tables import (
    Cell,
    Column,
    Interval,
    Number,
    RunName,
    aligned,
    bold,
    count,
    finding,
    muted,
    number_columns,
    text_columns,
    with_intervals,
)
from recdash.formatting.wording import capital, shown
from recdash.metrics.naming import has_k, is_percent, metric_at, metric_title
from recdash.stats import Correction
from recdash.ui.components import corrections

if TYPE_CHECKING:
    import pandas as pd

    from recdash.references.reference_scale import ReferenceStanding
    from recdash.ui.app.state import View

SETS = {"core": "Core", "beyond": "Beyond accuracy", "all": "All", "differ": "Differing"}
PAGE = 25
"""The number of rows on a page, without the baseline's."""
DIFFERENCE = ("mean_diff", "ci_low", "ci_high", "margin")


@dataclass(frozen=True)
class RankRange:
    """A run's rank, the ends of its 95 % range, and whether other runs share it."""

    rank: int
    low: int
    high: int
    shared: bool

    @property
    def text(self) -> str:
        return f"={self.rank}" if self.shared else str(self.rank)

    @property
    def range(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True)
class Board:
    """What the leaderboard shows: the ids of its rows in order, the metrics of its columns, and their
    numbers.

    ``pairs`` are the differences from the baseline by run, in % of the baseline's value if ``relative``.
    ``without_common_users`` are the runs that share no user with the baseline. ``standing`` is the scale of
    the reference candidates, None without any.
    """

    order: tuple[str, ...]
    metrics: tuple[str, ...]
    scores: pd.DataFrame
    pairs: Mapping[str, Row]
    places: Mapping[str, RankRange]
    absences: Mapping[str, Mapping[str, str]]
    n_users: Mapping[str, int]
    correction: Correction = "holm"
    relative: bool = False
    without_common_users: frozenset[str] = frozenset()
    standing: ReferenceStanding | None = None

    @property
    def unit(self) -> str:
        return " %" if self.relative else ""

    @property
    def users_differ(self) -> bool:
        return len(set(self.n_users.values())) > 1


def places_by_value(scores: Mapping[str, float]) -> dict[str, RankRange]:
    """Returns ranks by value without a test; runs with equal values share a rank.

    ``scores`` begin with the best run.
    """
    places: dict[str, RankRange] = {}
    for place, (run_id, value) in enumerate(scores.items(), start=1):
        above = [other for other in places if abs(scores[other] - value) <= EQUAL]
        rank = places[above[0]].rank if above else place
        places |= {run: RankRange(rank, rank, rank, shared=True) for run in above}
        places[run_id] = RankRange(rank, rank, rank, shared=bool(above))
    return places


def places_of(ranks: pd.DataFrame) -> dict[str, RankRange]:
    """Returns {run id: rank with its range} from the rows of ``Comparisons.ranks``."""
    return {
        row["run_id"]: RankRange(row["rank"], row["rank_low"], row["rank_high"], row["shared"])
        for row in records(ranks)
    }


def in_percent(pairs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Returns the rows with differences, intervals and margins in % of the baseline's value; NaN if that is
    0. No interval begins below the largest possible loss in ``metric``.
    """
    base = pairs["base_value"]
    shares = pairs.assign(**{name: 100 * pairs[name] / base.abs().where(base != 0) for name in DIFFERENCE})
    least = 100 * largest_loss(metric)
    return shares.assign(ci_low=shares["ci_low"].where(~((base > 0) & (shares["ci_low"] < least)), least))


def matching(view: View, wanted: str) -> tuple[str, ...]:
    """Returns the runs whose name or a tag contains ``wanted``, in upper or lower case."""
    word = wanted.strip().casefold()
    return tuple(
        run.id for run in view.runs if any(word in text.casefold() for text in (run.name, *run.tags))
    )


def page_of(order: Sequence[str], baseline: str, page: int) -> tuple[str, ...]:
    """Returns the runs of a page in the given order. The baseline is on each page."""
    chosen = {baseline, *[run for run in order if run != baseline][page * PAGE : (page + 1) * PAGE]}
    return tuple(run for run in order if run in chosen)


def columns(view: View, board: Board) -> list[Column]:
    """Returns the columns; a single run has none for ranks and differences."""
    if len(view.runs) < 2:
        return [*text_columns("Run"), *number_columns(*(_head(metric, view.k) for metric in board.metrics))]
    rule = "" if board.correction == "off" else f", {corrections.TITLES[board.correction]}"
    return [
        *text_columns(two_lines("Rank,", "range"), "Run"),
        *number_columns(
            _head(view.metric, view.k),
            two_lines(f"Difference{board.unit and ', %'}", f"vs {_base_name(view)}"),
            two_lines("95 % CI", f"(paired{rule})"),
        ),
        *text_columns("Finding"),
        *(number_columns(two_lines("n", "users")) if board.users_differ else []),
        *_standing_columns(board.standing),
        *number_columns(*(_head(metric, view.k) for metric in board.metrics[1:])),
    ]


def _base_name(view: View) -> str:
    """Returns the baseline's name, shortened for a narrow column; empty without a baseline."""
    return shortened(map(view.name, view.run_ids), 16)[view.base_name] if view.baseline else ""


def _standing_columns(standing: ReferenceStanding | None) -> tuple[Column, ...]:
    """Returns the columns for the way from floor to ceiling and the multiple of most popular, as far as they
    are known.
    """
    titles = []
    if standing and standing.share:
        titles.append(two_lines("Of the", "way, %"))
    if standing and standing.times:
        titles.append(two_lines("× Most", "popular"))
    return number_columns(*titles)


def _standing_cells(view: View, board: Board) -> list[list[Number]]:
    """Returns the cells of these columns in the order of the runs; empty without reference candidates."""
    standing = board.standing
    if standing is None:
        return []
    return [
        aligned(map(known.get, board.order), scale=scale, like=without_references(view, known).values())
        for known, scale in ((standing.share, 100), (standing.times, 1))
        if known
    ]


def _head(metric: str, k: int) -> Html:
    """Returns a column's title, with the parameters of a variant on the second line to keep the column
    narrow.
    """
    name, bracket, parameters = metric_title(metric).partition("(")
    cutoff = f"{bracket}{parameters}{f'@{k}' if has_k(metric) else ''}"
    return two_lines(name, f"{cutoff} %" if is_percent(metric) else cutoff)


def two_lines(first: str, second: str) -> Html:
    return html("{first}<br>{second}", first=first, second=second)


def rows(view: View, board: Board) -> list[list[Cell]]:
    """Returns the cells of the table in the board's order."""
    primary, *others = (_values(view, board, metric) for metric in board.metrics)
    if len(view.runs) < 2:
        values = zip(map(bold, primary), *others, strict=True)
        return [[RunName(run_id), *cells] for run_id, cells in zip(board.order, values, strict=True)]
    bounds = [(row["ci_low"], row["ci_high"]) for row in board.pairs.values()]
    differences = with_intervals([row["mean_diff"] for row in board.pairs.values()], bounds, off_zero=True)
    judged = dict(zip(board.pairs, zip(*differences, strict=True), strict=True))
    n_users = [[count(board.n_users.get(run_id)) for run_id in board.order]] if board.users_differ else []
    rest = zip(board.order, *n_users, *_standing_cells(view, board), *others, strict=True)
    return [
        [
            _place_cell(board.places.get(run_id)),
            RunName(run_id),
            bold(value),
            *_difference(view, board, run_id, judged.get(run_id)),
            *cells,
        ]
        for value, (run_id, *cells) in zip(primary, rest, strict=True)
    ]


def _values(view: View, board: Board, metric: str) -> list[Cell]:
    """Returns the cells of a metric; a missing value has its reason as a tooltip."""
    known, absent = values(board.scores, metric), board.absences.get(metric, {})
    like = without_references(view, known).values()
    cells = metric_values(metric, map(known.get, board.order), like=like, has_unit=False)
    dash = '<span title="{reason}">–</span>'
    return [
        html(dash, reason=absent.get(run_id, "not scored")) if cell.value is None else cell
        for run_id, cell in zip(board.order, cells, strict=True)
    ]


def _place_cell(place: RankRange | None) -> Html:
    if place is None:
        return html('<b title="not ranked">{none}</b>', none=numbers.NONE)
    return html(
        '<b class="rd-rank">{rank}</b> <small class="rd-muted">{range}</small>',
        rank=place.text,
        range=place.range,
    )


def without_references(view: View, scores: Mapping[str, float]) -> dict[str, float]:
    """Returns the scores without reference candidates, so that an oracle's 1 affects neither ranks nor
    decimals.
    """
    return {run_id: value for run_id, value in scores.items() if not view.is_reference(run_id)}


def _difference(view: View, board: Board, run_id: str, judged: tuple[Number, Interval] | None) -> list[Cell]:
    """Returns the cells for the difference from the baseline, its interval and its finding, or why there is
    none.
    """
    if view.baseline and run_id == view.baseline.id:
        return [muted("baseline"), numbers.NONE, ""]
    if view.is_reference(run_id):
        return [muted("reference"), numbers.NONE, ""]
    if judged is None:
        if run_id in board.without_common_users:
            return [muted("no shared users"), numbers.NONE, ""]
        return [html('<span title="catalogue-level metric, ranked by value">–</span>'), numbers.NONE, ""]
    difference, bounds = judged
    cell = '<span class="rd-muted" title="{method}">{bounds}</span>'
    interval = html(cell, method=_tested(board.pairs[run_id]), bounds=bounds.shown)
    return [bold(difference), interval, finding(words(board.pairs[run_id]))]


def _tested(pair: Row) -> str:
    """Returns the test of a difference with its p-value, and that of the t-test if it is another."""
    own = f"{capital(pair['method'])}: {numbers.p_equals(pair['p'])}, uncorrected"
    if not is_number(pair["t_p"]) or pair["t_p"] == pair["p"]:
        return own
    return f"{own}. Paired t-test: {numbers.p_equals(pair['t_p'])}"


def words(pair: Row) -> str:
    """Returns the finding of a difference as shown to people."""
    is_equal = are_identical(pair["n_users"], pair["wins"], pair["losses"])
    return EQUAL_FOR_ALL if is_equal else shown(pair["word"])


def export(view: View, board: Board) -> pd.DataFrame:
    """Returns the leaderboard as a frame for the CSV, in full precision with one row per run."""
    import pandas as pd

    known = {metric: values(board.scores, metric) for metric in board.metrics}
    return pd.DataFrame([_exported(view, board, known, run_id) for run_id in board.order])


def _exported(
    view: View, board: Board, known: Mapping[str, Mapping[str, float]], run_id: str
) -> dict[str, Any]:
    place, pair = board.places.get(run_id), board.pairs.get(run_id, {})
    paired = ("mean_diff", "ci_low", "ci_high", "p", "p_corrected", "margin", "wins", "ties", "losses")
    return {
        "run": view.name(run_id),
        "role": "reference" if view.is_reference(run_id) else view.marks[run_id].role,
        "rank": place.rank if place else None,
        "rank_low": place.low if place else None,
        "rank_high": place.high if place else None,
        **{metric_at(metric, view.k): known[metric].get(run_id) for metric in board.metrics},
        **{("difference" if name == "mean_diff" else name): pair.get(name) for name in paired},
        "difference_in": "percent" if board.relative else "metric",
        "correction": board.correction,
        "finding": pair.get("word", ""),
        "n_users": board.n_users.get(run_id),
    }
