"""The leaderboard's table: ranks, values, paired differences and findings, one row per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recdash import numbers
from recdash.ui.cards import finding_cell, value_text
from recdash.ui.escaping import Html, html
from recdash.ui.findings import EQUAL, Delta, values
from recdash.ui.widgets import Column, run_cell
from recdash.ui.words import BEYOND, CORE, base, has_k, is_percent, metric_at, metric_name

if TYPE_CHECKING:
    import pandas as pd

    from recdash.ui.state import View
    from recdash.views import Standing

SETS = {"core": "Core", "beyond": "Beyond accuracy", "all": "All"}
FEW = 3


@dataclass(frozen=True)
class Board:
    """What the leaderboard shows: run ids in order, the metrics of its columns, and their numbers.

    ``apart``: runs that share no user with the baseline; ``standing`` where there are references.
    """

    order: tuple[str, ...]
    metrics: tuple[str, ...]
    scores: pd.DataFrame
    deltas: Mapping[str, Delta]
    absences: Mapping[str, Mapping[str, str]]
    n_users: Mapping[str, int]
    apart: frozenset[str] = frozenset()
    standing: Standing | None = None


def metrics_of_set(available: Sequence[str], primary: str, name: str, few: int = FEW) -> tuple[str, ...]:
    """Primary first. Core: a ``few`` more accuracy metrics; beyond: beyond accuracy; all: everything."""
    others = [metric for metric in available if metric != primary]
    if name == "all":
        return (primary, *others)
    wanted = CORE if name == "core" else BEYOND
    plain = [metric for metric in others if "(" not in metric and base(metric) in wanted]
    return (primary, *(plain[:few] if name == "core" else plain))


def ranks(ordered: Sequence[str], scores: Mapping[str, float]) -> dict[str, str]:
    """Run id → rank in words: equal values share it ("=1"); a run without a value has none ("–")."""
    best_first = [run_id for run_id in ordered if run_id in scores]
    groups: list[list[str]] = []
    for run_id in best_first:
        if groups and abs(scores[groups[-1][0]] - scores[run_id]) <= EQUAL:
            groups[-1].append(run_id)
        else:
            groups.append([run_id])
    found = dict.fromkeys(ordered, numbers.NONE)
    for group in groups:
        place = best_first.index(group[0]) + 1
        found |= dict.fromkeys(group, f"={place}" if len(group) > 1 else str(place))
    return found


def matching(view: View, wanted: str) -> tuple[str, ...]:
    """Runs whose name or a tag contains ``wanted``, whatever its case."""
    word = wanted.strip().casefold()
    return tuple(
        run.id for run in view.runs if any(word in text.casefold() for text in (run.name, *run.tags))
    )


def baseline_first(order: Sequence[str], baseline: str) -> tuple[str, ...]:
    return (*(run for run in order if run == baseline), *(run for run in order if run != baseline))


def columns(view: View, board: Board) -> list[Column]:
    base_name = view.name(view.baseline.id) if view.baseline else ""
    others = [Column(_head(metric, view.k), number=True) for metric in board.metrics[1:]]
    return [
        Column("Rank"),
        Column("Run"),
        Column(_head(view.metric, view.k), number=True),
        Column(two_lines("Difference", f"to {_clipped(base_name)}"), number=True),
        Column(two_lines("95 % CI", "(paired)"), number=True),
        Column("Finding"),
        Column(two_lines("n", "users"), number=True),
        *_standing_columns(board.standing),
        *others,
    ]


def _standing_columns(standing: Standing | None) -> list[Column]:
    """Of the way from floor to ceiling, and how many times the usual: where there are references for it."""
    way = [Column(two_lines("Of the", "way, %"), number=True)] if standing and standing.share else []
    times = [Column(two_lines("× Most", "popular"), number=True)] if standing and standing.times else []
    return [*way, *times]


def _standing_cells(view: View, standing: Standing | None, run_id: str) -> list[str]:
    if standing is None:
        return []
    shares = {run: 100 * share for run, share in standing.share.items()}
    return [
        numbers.fixed(found.get(run_id), numbers.places(_without_references(view, found).values()))
        for found in (shares, standing.times)
        if found
    ]


def _clipped(name: str) -> str:
    return name if len(name) <= 16 else name[:15] + "…"


def _head(metric: str, k: int) -> Html:
    cutoff = f"@{k}" if has_k(metric) else ""
    return two_lines(metric_name(metric), f"{cutoff} %" if is_percent(metric) else cutoff)


def two_lines(first: str, second: str) -> Html:
    return html("{first}<br>{second}", first=first, second=second)


def rows(view: View, board: Board) -> list[list[object]]:
    """Cells of the table, in the board's order."""
    known = {metric: values(board.scores, metric) for metric in board.metrics}
    ranked = _without_references(view, known[view.metric])
    rank = ranks([*ranked, *(run for run in view.run_ids if run not in ranked)], ranked)
    decimals = {
        metric: _decimals(metric, _without_references(view, known[metric])) for metric in board.metrics
    }
    spread = numbers.places([x for d in board.deltas.values() for x in (d.mean_diff, d.ci_low, d.ci_high)])

    def cell(run_id: str, metric: str) -> Html:
        if run_id in known[metric]:
            return html("{text}", text=value_text(metric, known[metric][run_id], decimals[metric]))
        reason = board.absences.get(metric, {}).get(run_id, "not scored")
        return html('<span title="{reason}">–</span>', reason=reason)

    return [
        [
            html("<b>{rank}</b>", rank=rank[run_id]),
            run_cell(view.marks[run_id]),
            html("<b>{value}</b>", value=cell(run_id, view.metric)),
            *_difference(view, board, run_id, spread),
            numbers.count(board.n_users.get(run_id)),
            *_standing_cells(view, board.standing, run_id),
            *(cell(run_id, metric) for metric in board.metrics[1:]),
        ]
        for run_id in board.order
    ]


def _without_references(view: View, found: Mapping[str, float]) -> dict[str, float]:
    """An oracle's 1 must take neither a rank nor the candidates' digits."""
    return {run_id: value for run_id, value in found.items() if not view.is_reference(run_id)}


def _decimals(metric: str, found: Mapping[str, float]) -> int:
    scale = 100 if is_percent(metric) else 1
    return numbers.places(value * scale for value in found.values())


def _difference(view: View, board: Board, run_id: str, decimals: int) -> list[object]:
    delta = board.deltas.get(run_id)
    if view.baseline and run_id == view.baseline.id:
        return [html('<span class="rd-muted">baseline</span>'), numbers.NONE, ""]
    if view.is_reference(run_id):
        return [html('<span class="rd-muted">reference</span>'), numbers.NONE, ""]
    if delta is None:
        if run_id in board.apart:
            return [html('<span class="rd-muted">no shared user</span>'), numbers.NONE, ""]
        reason = html('<span title="No mean over users, so no paired interval">–</span>')
        return [reason, numbers.NONE, ""]
    interval = numbers.interval(delta.ci_low, delta.ci_high, decimals)
    return [
        html("<b>{text}</b>", text=numbers.signed(delta.mean_diff, decimals)),
        html('<span class="rd-muted">{text}</span>', text=interval),
        finding_cell(delta.word, delta.sign),
    ]


def reasons(view: View, order: Sequence[str], absences: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Why cells are empty or columns missing: one line per reason and the runs that it concerns."""
    lines: dict[tuple[str, str], list[str]] = {}
    for metric, absent in absences.items():
        for reason in dict.fromkeys(absent.values()):
            concerned = [run for run in order if absent.get(run) == reason]
            everyone = len(concerned) == len(order)
            who = "all runs" if everyone else ", ".join(view.name(run) for run in concerned)
            if concerned:
                lines.setdefault((who, reason), []).append(metric_name(metric))
    return [f"– {', '.join(metrics)} ({who}): {reason}" for (who, reason), metrics in lines.items()]


def export(view: View, board: Board) -> pd.DataFrame:
    """The leaderboard as a plain frame for the CSV: full precision, one row per run."""
    import pandas as pd

    known = {metric: values(board.scores, metric) for metric in board.metrics}
    records = []
    for run_id in board.order:
        delta = board.deltas.get(run_id)
        named = {metric_at(metric, view.k): known[metric].get(run_id) for metric in board.metrics}
        paired = {
            "difference": delta.mean_diff if delta else None,
            "ci_low": delta.ci_low if delta else None,
            "ci_high": delta.ci_high if delta else None,
            "finding": delta.word if delta else "",
        }
        role = "reference" if view.is_reference(run_id) else view.marks[run_id].role
        count = board.n_users.get(run_id)
        records.append({"run": view.name(run_id), "role": role, **named, **paired, "n_users": count})
    return pd.DataFrame(records)
