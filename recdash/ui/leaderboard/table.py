"""The leaderboard's table: ranks, values, paired differences and findings, one row per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.comparison.headlines import EQUAL, values
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.records import Row, records
from recdash.formatting.wording import cut
from recdash.metrics.naming import has_k, is_percent, metric_at, metric_title
from recdash.stats import Correction
from recdash.stats.family import SIGNS
from recdash.ui.components import corrections
from recdash.ui.components.tiles import decimals_of, finding_cell, value_text
from recdash.ui.components.widgets import TableColumn, muted, number_columns, run_cell, text_columns

if TYPE_CHECKING:
    import pandas as pd

    from recdash.references.reference_scale import Standing
    from recdash.ui.app.state import View

SETS = {"core": "Core", "beyond": "Beyond accuracy", "all": "All", "differ": "Differing"}
PAGE = 25
"""So many rows stand on a page, beside the baseline's."""
DIFFERENCE = ("mean_diff", "ci_low", "ci_high", "margin")


@dataclass(frozen=True)
class RankRange:
    """A run's rank, the range in which it could have come, and whether others share it."""

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
    """What the leaderboard shows: run ids in order, the metrics of its columns, and their numbers.

    ``pairs``: run id → its judged difference to the baseline, in % of the baseline's value where
    ``relative``. ``apart``: runs that share no user with the baseline; ``standing`` where there are
    references.
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
    apart: frozenset[str] = frozenset()
    standing: Standing | None = None

    @property
    def unit(self) -> str:
        return " %" if self.relative else ""

    @property
    def users_differ(self) -> bool:
        return len(set(self.n_users.values())) > 1


def places_by_value(scores: Mapping[str, float]) -> dict[str, RankRange]:
    """By the value alone, equal ones sharing, where users have none of their own. ``scores``: best first."""
    places: dict[str, RankRange] = {}
    for place, (run_id, value) in enumerate(scores.items(), start=1):
        above = [other for other in places if abs(scores[other] - value) <= EQUAL]
        rank = places[above[0]].rank if above else place
        places |= {run: RankRange(rank, rank, rank, shared=True) for run in above}
        places[run_id] = RankRange(rank, rank, rank, shared=bool(above))
    return places


def places_of(ranks: pd.DataFrame) -> dict[str, RankRange]:
    """From the rows of ``Comparisons.ranks``."""
    return {
        row["run_id"]: RankRange(row["rank"], row["rank_low"], row["rank_high"], row["shared"])
        for row in records(ranks)
    }


def in_percent(pairs: pd.DataFrame) -> pd.DataFrame:
    """Differences, intervals and margins in % of the baseline's value; NaN where that is 0."""
    of = pairs["base_value"].abs().where(pairs["base_value"] != 0)
    return pairs.assign(**{name: 100 * pairs[name] / of for name in DIFFERENCE})


def matching(view: View, wanted: str) -> tuple[str, ...]:
    """Runs whose name or a tag contains ``wanted``, whatever its case."""
    word = wanted.strip().casefold()
    return tuple(
        run.id for run in view.runs if any(word in text.casefold() for text in (run.name, *run.tags))
    )


def baseline_first(order: Sequence[str], baseline: str) -> tuple[str, ...]:
    return (*(run for run in order if run == baseline), *(run for run in order if run != baseline))


def columns(view: View, board: Board) -> list[TableColumn]:
    rule = "" if board.correction == "off" else f", {corrections.TITLES[board.correction]}"
    return [
        *text_columns(two_lines("Rank,", "range"), "Run"),
        *number_columns(
            _head(view.metric, view.k),
            two_lines(f"Difference{board.unit and ', %'}", f"to {cut(view.base_name, 16)}"),
            two_lines("95 % CI", f"(paired{rule})"),
        ),
        *text_columns("Finding"),
        *(number_columns(two_lines("n", "users")) if board.users_differ else []),
        *_standing_columns(board.standing),
        *number_columns(*(_head(metric, view.k) for metric in board.metrics[1:])),
    ]


def _standing_columns(standing: Standing | None) -> list[TableColumn]:
    """Of the way from floor to ceiling, and how many times the usual: where there are references for it."""
    titles = []
    if standing and standing.share:
        titles.append(two_lines("Of the", "way, %"))
    if standing and standing.times:
        titles.append(two_lines("× Most", "popular"))
    return number_columns(*titles)


def _standing_cells(view: View, standing: Standing | None, run_id: str) -> list[str]:
    if standing is None:
        return []
    shares = {run: 100 * share for run, share in standing.share.items()}
    return [
        numbers.fixed(known.get(run_id), numbers.places(without_references(view, known).values()))
        for known in (shares, standing.times)
        if known
    ]


def _head(metric: str, k: int) -> Html:
    """A variant's parameters stand in the second line, so that its column stays narrow."""
    name, bracket, parameters = metric_title(metric).partition("(")
    cutoff = f"{bracket}{parameters}{f'@{k}' if has_k(metric) else ''}"
    return two_lines(name, f"{cutoff} %" if is_percent(metric) else cutoff)


def two_lines(first: str, second: str) -> Html:
    return html("{first}<br>{second}", first=first, second=second)


def rows(view: View, board: Board) -> list[list[object]]:
    """Cells of the table, in the board's order."""
    known = {metric: values(board.scores, metric) for metric in board.metrics}
    decimals = {
        metric: decimals_of(metric, without_references(view, of_runs).values())
        for metric, of_runs in known.items()
    }
    spread = numbers.places(row[name] for row in board.pairs.values() for name in DIFFERENCE[:3])

    def cell(run_id: str, metric: str) -> Html:
        if run_id in known[metric]:
            return html("{text}", text=value_text(metric, known[metric][run_id], decimals[metric]))
        reason = board.absences.get(metric, {}).get(run_id, "not scored")
        return html('<span title="{reason}">–</span>', reason=reason)

    return [
        [
            _place_cell(board.places.get(run_id)),
            run_cell(view.marks[run_id]),
            html("<b>{value}</b>", value=cell(run_id, view.metric)),
            *_difference(view, board, run_id, spread),
            *([numbers.count(board.n_users.get(run_id))] if board.users_differ else []),
            *_standing_cells(view, board.standing, run_id),
            *(cell(run_id, metric) for metric in board.metrics[1:]),
        ]
        for run_id in board.order
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
    """An oracle's 1 must take neither a rank nor the candidates' digits."""
    return {run_id: value for run_id, value in scores.items() if not view.is_reference(run_id)}


def _difference(view: View, board: Board, run_id: str, decimals: int) -> list[object]:
    if view.baseline and run_id == view.baseline.id:
        return [muted("baseline"), numbers.NONE, ""]
    if view.is_reference(run_id):
        return [muted("reference"), numbers.NONE, ""]
    row = board.pairs.get(run_id)
    if row is None:
        if run_id in board.apart:
            return [muted("no shared user"), numbers.NONE, ""]
        return [html('<span title="No value per user, so no paired interval">–</span>'), numbers.NONE, ""]
    return [
        html("<b>{text}</b>", text=numbers.signed(row["mean_diff"], decimals)),
        muted(numbers.interval(row["ci_low"], row["ci_high"], decimals)),
        finding_cell(row["word"], SIGNS[row["word"]]),
    ]


def export(view: View, board: Board) -> pd.DataFrame:
    """The leaderboard as a plain frame for the CSV: full precision, one row per run."""
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
