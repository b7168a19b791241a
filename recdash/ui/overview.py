"""What the overview says about a view, gathered once for its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from recdash import numbers
from recdash.errors import Problem
from recdash.ui import both_sides, data, findings, frame, reference_offer
from recdash.ui.cards import value_text
from recdash.ui.escaping import Html, html
from recdash.ui.findings import Cell, Delta, Headline
from recdash.ui.state import USUAL_K, View, workspace
from recdash.ui.widgets import Column, empty, notices_html, run_cell, table_html
from recdash.ui.words import CORE, listed, metric_at, named_number

if TYPE_CHECKING:
    import pandas as pd

    from recdash.views import PopulationEffect

TILES = 4
MOST_NOTES = 6


@dataclass(frozen=True)
class Summary:
    """Everything the page draws."""

    headline: Headline
    best: Delta | None
    base: str
    cells: tuple[Cell, ...]
    deltas: tuple[Delta, ...]
    tiles: tuple[Delta, ...]
    differences: pd.DataFrame
    forest_title: str
    forest_note: str
    strip_note: str
    alt: str
    values: Html


def one_run(view: View) -> None:
    """A single run has nothing to be compared with: its value, and what to do next."""
    score = data.scoreboard(view, view.contender_ids, (view.metric,), view.k)
    where, run = metric_at(view.metric, view.k), view.shown[0].name
    value = numbers.three(float(score["value"].iloc[0])) if len(score) else numbers.NONE
    users = numbers.count(score["n_users"].iloc[0]) if len(score) else numbers.NONE
    own = [run_id for run_id in view.contender_ids if not view.is_reference(run_id)]
    stands = findings.stands(data.standing(view, view.contender_ids), own)
    empty("Add a second run to compare", f"{run} has {where} {value} over {users} users. "
          f"{stands or 'One number alone decides nothing.'}")  # fmt: skip
    if len(view.runs) > 1:
        st.caption("Choose baseline and candidates under *Change runs* above.")
    elif st.button("Upload a run", type="primary", key="go-upload"):
        frame.go("upload")
    reference_offer.offer(workspace(), view.experiment)


def summarise(view: View) -> Summary:
    """Numbers and sentences for the baseline and candidates that the frame shows."""
    baseline = view.shown[0].id
    base = view.name(baseline)
    scores = data.scoreboard(view, view.contender_ids, (view.metric,), view.k)
    differences = data.differences(view, view.contender_ids, baseline, view.metric, view.k)
    found = tuple(findings.deltas(differences, scores, view.metric, baseline))
    known = findings.values(scores, view.metric)
    names = {run_id: view.name(run_id) for run_id in view.contender_ids}
    headline = findings.headline(known, names, baseline, found, view.metric, view.k)
    effect = data.population_effect(view, view.contender_ids)
    best = headline.about
    where = metric_at(view.metric, view.k)
    alone = [names[run_id] for run_id in findings.apart(known, differences, view.metric, baseline)]
    return Summary(
        headline=replace(headline, aside=_aside(view, known, effect, findings.no_shared_user(alone, base))),
        best=best,
        base=base,
        cells=tuple(_cells(view, known, effect)),
        deltas=found,
        tiles=_tiles(view, best, baseline),
        differences=differences,
        forest_title=findings.beats(found, base) if found else f"{where} has no intervals",
        forest_note=_forest_note(found, scores, where, base),
        strip_note=_strip_note(found, base),
        alt=_alt(found, where, base),
        values=_values(view, known),
    )


def _forest_note(found: tuple[Delta, ...], scores: pd.DataFrame, where: str, base: str) -> str:
    if not found:
        return f"Values over each run's own users, n = {_range(int(n) for n in scores['n_users'])}"
    users = _range(delta.n_users for delta in found)
    return f"Paired difference in {where} to {base}, 95 % CI, n = {users}. Hollow: it includes zero"


def _range(counts: Iterable[int]) -> str:
    """``6,040``; ``5,100 to 6,040`` where the candidates share different users with the baseline."""
    known = sorted(set(counts))
    return " to ".join(dict.fromkeys(map(numbers.count, (*known[:1], *known[-1:])))) or numbers.NONE


def _strip_note(found: tuple[Delta, ...], base: str) -> str:
    """The strips are left out where values and differences are means over different users."""
    drawn = any(numbers.is_number(delta.percent(delta.mean_diff)) for delta in found)
    strips = f" Strips: one scale, in % of {base}'s value; the tick is zero" if drawn else ""
    return f"Difference to {base}, over the users of both.{strips}"


def _values(view: View, known: Mapping[str, float]) -> Html:
    """The plain values, for a metric that has no differences to draw."""
    rows = [[run_cell(view.marks[run_id]), value_text(view.metric, value)] for run_id, value in known.items()]
    return table_html([Column("Run"), Column(metric_at(view.metric, view.k), number=True)], rows)


def in_numbers(summary: Summary) -> str:
    """``in four numbers``."""
    count = len(summary.tiles)
    return f"in {named_number(count).lower()} {'number' if count == 1 else 'numbers'}"


def _aside(view: View, known: Mapping[str, float], effect: PopulationEffect | None, alone: str) -> str:
    if not known:
        return ""
    leader = next(iter(known))
    to_leader = data.differences(view, view.contender_ids, leader, view.metric, view.k)
    close = findings.not_separable(to_leader, view.name(leader))
    changed = effect.sentence if effect and effect.changes else ""
    own = [run_id for run_id in known if not view.is_reference(run_id)]
    stands = findings.stands(data.standing(view, view.contender_ids), own)
    return " ".join(part for part in (close, alone, changed, stands) if part)


def _cells(view: View, known: Mapping[str, float], effect: PopulationEffect | None) -> list[Cell]:
    """Other cutoffs, another metric, the other population."""
    if not known:
        return []
    present = [view.name(run_id) for run_id in findings.leaders(known)]
    first_at = {k: _first(view, view.metric, k) for k in USUAL_K if k <= view.depth and k != view.k}
    cells = (
        [findings.leaders_at({k: names for k, names in first_at.items() if names}, present)]
        if first_at
        else []
    )
    other = next((metric for metric in view.metrics if metric in CORE and metric != view.metric), None)
    if other:
        cells.append(findings.leader_by(other, view.metric, _first(view, other, view.k), present))
    if effect:
        both = [view.name(run_id) for run_id in effect.leaders_both]
        cells.append(Cell("Only users with lists", findings.still_first(both, present)))
    return cells


def _first(view: View, metric: str, k: int) -> list[str]:
    """The names of the run that is first, and of all that equal it."""
    known = findings.values(data.scoreboard(view, view.contender_ids, (metric,), k), metric)
    return [view.name(run_id) for run_id in findings.leaders(known)]


def _tiles(view: View, best: Delta | None, baseline: str) -> tuple[Delta, ...]:
    """The best candidate by the primary metric and up to three more that have paired intervals."""
    if best is None:
        return ()
    found = [best]
    for metric in [metric for metric in view.metrics if metric in CORE and metric != view.metric]:
        if len(found) == TILES:
            break
        pair = (best.run_id, baseline)
        scores = data.scoreboard(view, pair, (metric,), view.k)
        paired = data.differences(view, pair[:1], baseline, metric, view.k)
        found += findings.deltas(paired, scores, metric, baseline)
    return tuple(found)


def _alt(found: tuple[Delta, ...], where: str, base: str) -> str:
    parts = [
        f"{d.name} {numbers.signed(d.mean_diff, numbers.places([d.mean_diff]))} ({d.word})" for d in found
    ]
    return f"Paired difference in {where} to {base}: {listed(parts)}." if parts else where


def together(notices: list[Problem]) -> list[Problem]:
    """What is the same for several runs is said once, with all their places."""
    places: dict[Problem, list[str]] = {}
    for notice in notices:
        places.setdefault(replace(notice, place=""), []).append(notice.place)
    return [replace(notice, place=listed(list(dict.fromkeys(where)))) for notice, where in places.items()]


def _nothing(view: View) -> str:
    """What to say when nothing was noticed; what stands between the runs is in the banner above."""
    if workspace().comparability(list(view.contender_ids)):
        return "Nothing was noticed in the uploads and the online tests"
    many = named_number(len(view.contender_ids)).lower()
    return f"Same truth and definitions for all {many} runs"


def notes(view: View) -> Html:
    """Data notices of the shown runs and their online tests; a tick when there are none."""
    ids = set(view.contender_ids)
    of_runs = [notice for run in view.runs if run.id in ids for notice in run.notices]
    broken, others = both_sides.notices_of_tests(view)
    found = [
        *broken,
        *both_sides.disagreements(view),
        *others,
        *together(of_runs),
    ]
    list_html = notices_html(found[:MOST_NOTES], nothing=_nothing(view))
    more = len(found) - MOST_NOTES
    rest = html('<p class="rd-muted">and {more} more, listed on the Runs page</p>', more=more)
    return html("{list_html}{rest}", list_html=list_html, rest=rest if more > 0 else "")
