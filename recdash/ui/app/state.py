"""The view: which experiment, runs, metric and k are shown.

The URL keeps it, with stable ids.

The URL is read once per session. Afterwards the session state is authoritative, and is written to the URL in
each run, so that an old query string of a slow browser never undoes a click. page.js reports a step in the
browser's history, because its query string could not be distinguished from that of a slow browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import parse_qsl

import streamlit as st

from recdash.charts.marks import Marks, marks, short_names
from recdash.comparison import ComparisonQuery, Terms
from recdash.comparison.headlines import values
from recdash.domain.access import Person
from recdash.domain.defaults import (
    MOST_CANDIDATES,
    default_k,
    default_metric,
)
from recdash.domain.records import Experiment, Run
from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError, RecdashError
from recdash.formatting.html import markdown
from recdash.formatting.wording import unavailable
from recdash.metrics import define
from recdash.metrics.naming import metric_title, ordered_metrics, why_not_installed
from recdash.service import Workspace, question
from recdash.service.rules import rules_of
from recdash.ui.app import answers, current_user, theme

_PARAMS, _WRITTEN, _SHOWN = "recdash.params", "recdash.written", "recdash.shown"
_PAGE, _ARRIVED, _LAST = "recdash.page", "recdash.arrived", "recdash.last"
_UNTIL_LEFT = "recdash.until-left"
_BELOW = "recdash.below-title"
_TOAST = "recdash.toast"
SEPARATOR = question.SEPARATOR
LONGEST_NAME = 32
"""The maximum length of a run's name in a table, heading or sentence; tooltips and CSV files have the full
name.
"""
OF_EXPERIMENT = ("b", "c", "s", "th", "t", "u", "of", "v", "om", "seg", "pr", "dec", "rev")
"""The parameters that only make sense within one experiment."""


def person() -> Person:
    """Returns the person who reads this page. Raises RecdashError if their share link no longer works."""
    return current_user.reader()


def workspace() -> Workspace:
    """Returns the workspace as this person sees it."""
    return current_user.full_workspace().seen_by(current_user.reader())


@dataclass(frozen=True)
class View:
    """What the frame shows: an experiment, its runs, a metric and k, and a part of the users and items
    (``scope``).

    ``runs`` are all runs of the experiment, ``candidates`` the chosen ones, at most 20 and the best first;
    ``chosen_ids`` are their ids in the order of the link. ``missing`` are sentences on what the link names
    and does not exist.
    """

    experiment: Experiment
    runs: tuple[Run, ...]
    baseline: Run | None
    candidates: tuple[Run, ...]
    metrics: tuple[str, ...]
    metric: str
    k: int
    depth: int
    missing: tuple[str, ...] = ()
    scope: Scope = WHOLE
    terms: Terms = field(default_factory=Terms)
    chosen_ids: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[Run, ...]:
        """Returns the runs that are shown: the baseline first, then the candidates."""
        return (*((self.baseline,) if self.baseline else ()), *self.candidates)

    @property
    def others(self) -> tuple[Run, ...]:
        """Returns all runs except the baseline, from which candidates can be chosen."""
        return tuple(run for run in self.runs if self.baseline is None or run.id != self.baseline.id)

    @property
    def shown_ids(self) -> tuple[str, ...]:
        return tuple(run.id for run in self.shown)

    @property
    def candidate_ids(self) -> tuple[str, ...]:
        return tuple(run.id for run in self.candidates)

    @cached_property
    def query(self) -> ComparisonQuery:
        """Returns the query that compares all runs that the page shows."""
        return ComparisonQuery(
            self.candidate_ids, self.shown[0].id, self.metric, self.k, self.scope, self.terms
        )

    @cached_property
    def verdict_query(self) -> ComparisonQuery:
        """Returns the comparison on which findings are based: the query without reference candidates."""
        return self.query.without(self._references)

    @cached_property
    def own_ids(self) -> tuple[str, ...]:
        """Returns the ids of all runs of the experiment that are not reference candidates."""
        return tuple(run.id for run in self.runs if not run.reference)

    @cached_property
    def _references(self) -> frozenset[str]:
        return frozenset(run.id for run in self.runs if run.reference)

    def is_reference(self, run_id: str) -> bool:
        return run_id in self._references

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(run.id for run in self.runs)

    @cached_property
    def marks(self) -> Marks:
        baseline = self.baseline.id if self.baseline else None
        return marks(self.runs, baseline, self.candidate_ids, theme.palette())

    @property
    def base_name(self) -> str:
        """Returns the name of the baseline; empty without one."""
        return self.name(self.baseline.id) if self.baseline else ""

    def name(self, run_id: str) -> str:
        return self.marks[run_id].name

    @cached_property
    def _short_names(self) -> dict[str, str]:
        return short_names(self.marks, LONGEST_NAME)

    def short(self, run_id: str) -> str:
        """Returns the run's name for a heading or sentence, shortened if necessary, but different from all
        other runs' names.
        """
        return self._short_names[run_id]

    def with_short_names(self, text: str) -> str:
        """Returns a text in which names of runs are shortened as in headings and sentences."""
        names = {mark.name: self._short_names[run_id] for run_id, mark in self.marks.items()}
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, names[name])
        return text


def begin(page: str) -> None:
    """Records that a run of the page with this address begins; "" is the overview."""
    st.session_state[_ARRIVED] = st.session_state.get(_PAGE) != (page or "overview")
    st.session_state[_PAGE] = page or "overview"
    if st.session_state[_ARRIVED]:
        st.session_state.pop(_UNTIL_LEFT, None)
    for key in (_LAST, _WRITTEN, _BELOW):  # a run that was stopped early may not have removed them
        st.session_state.pop(key, None)


def return_to(query: str) -> None:
    """Takes the view from a query string in the browser's history, such as ``?e=films&k=20``."""
    turn_to(dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True)))


def arrived() -> bool:
    """Returns True on the first rerun of the script since the person opened the page, so that the rerun
    before was on another page or there was none.
    """
    return bool(st.session_state[_ARRIVED])


def until_left() -> dict[str, Any]:
    """Returns what this session holds until the person opens another page."""
    held: dict[str, Any] = st.session_state.setdefault(_UNTIL_LEFT, {})
    return held


def page() -> str:
    """Returns the address of the current page."""
    return str(st.session_state[_PAGE])


def at_end(draw: Callable[[], None]) -> None:
    """Stores a function that is called once at the end of this run, when all parameters of the view are
    known.
    """
    st.session_state[_LAST] = draw


def below_title(draw: Callable[[], None]) -> None:
    """Stores a function that is called once below the headline of the page, or at its end if it has none: the
    answer comes before notices about links and data.
    """
    st.session_state.setdefault(_BELOW, []).append(draw)


def show_below_title() -> None:
    """Calls what ``below_title`` stored."""
    for draw in st.session_state.pop(_BELOW, []):
        draw()


def shown() -> dict[str, str]:
    """Returns all parameters of the current view, as in its address."""
    params_shown: dict[str, str] = st.session_state.get(_SHOWN, {})
    return params_shown


def params() -> dict[str, str]:
    """Returns the view's parameters in this session; they begin with those of the URL."""
    if _PARAMS not in st.session_state:
        st.session_state[_PARAMS] = {name: st.query_params[name] for name in st.query_params}
    known: dict[str, str] = st.session_state[_PARAMS]
    return known


def choose(**values: str | None) -> None:
    """Changes parameters of the view; None resets one to its default."""
    for name, value in values.items():
        if value is None:
            params().pop(name, None)
        else:
            params()[name] = value


def turn_to(view: Mapping[str, str]) -> None:
    """Replaces all parameters of the view."""
    st.session_state[_PARAMS] = dict(view)


def show_experiment(experiment_id: str) -> None:
    """Changes the view to another experiment, with that experiment's default baseline and candidates."""
    choose(e=experiment_id, **dict.fromkeys(OF_EXPERIMENT))


def write(name: str, value: str | None) -> None:
    """Puts a parameter of the view into the URL at the end of this run; None removes it."""
    st.session_state.setdefault(_WRITTEN, {})[name] = value


def to_url() -> None:
    """Updates the URL with the parameters that were written, in one step of the browser's history.

    If they are the same, the URL does not change.
    """
    present = dict(st.query_params)
    wanted = present | st.session_state.pop(_WRITTEN, {})
    written = {name: value for name, value in wanted.items() if value is not None}
    st.session_state[_SHOWN] = written
    if written != present:
        st.query_params.from_dict(written)
    show_below_title()
    if draw := st.session_state.pop(_LAST, None):
        draw()


def toast(text: str) -> None:
    """Confirms in the next run, on any page, what was done; for an action that redraws the page."""
    st.session_state[_TOAST] = text


def show_toast() -> None:
    if text := st.session_state.pop(_TOAST, None):
        st.toast(text)


def stop() -> NoReturn:
    """Ends this run of the page after updating the URL."""
    to_url()
    st.stop()


def view_of(experiment: Experiment, *, scoped: bool = False, with_lists: bool = False) -> View | None:
    """Returns the view of the experiment that the parameters name; None if it has no readable run.

    Unless ``scoped``, the view is of all users and items, whatever the parameters say. ``with_lists`` also
    leaves out runs whose lists cannot be read.
    """
    source = workspace()
    runs, unreadable = _readable(experiment, tuple(source.runs.all(experiment.id)), with_lists)
    if not runs:
        warn(unreadable)
        return None
    baseline, baseline_missing = _baseline(experiment, runs)
    candidates, candidates_missing = _candidates(experiment, runs, baseline)
    run_ids = [run.id for run in runs]
    offered, gone = ordered_metrics(source.scores.metrics_of(run_ids)), source.scores.gone_metrics(run_ids)
    rules = rules_of(experiment)
    metrics, metric, metric_missing = _metric(offered, rules.metric, gone)
    depth = source.experiments.depth(experiment.id)
    k, k_missing = _k(depth, rules.k)
    scope, scope_missing = _scope(experiment) if scoped else (WHOLE, [])
    of_link = (*baseline_missing, *candidates_missing, *metric_missing, *k_missing, *scope_missing)
    missing = (*unreadable, *of_link)
    shown = (runs, baseline, _best_first(candidates, metric, k, scope), metrics, metric, k)
    chosen_ids = tuple(run.id for run in candidates)
    return View(experiment, *shown, depth, missing, scope, rules.terms, chosen_ids)


def _readable(
    experiment: Experiment, runs: tuple[Run, ...], with_lists: bool
) -> tuple[tuple[Run, ...], list[str]]:
    """Returns the runs without those that would be shown and cannot be read, and a sentence for each of
    these.

    Only shown runs are checked; if one is left out, the run that takes its part is checked next.
    """
    sentences: list[str] = []
    while runs:
        baseline, _ = _baseline(experiment, runs)
        candidates, _ = _candidates(experiment, runs, baseline)
        run_ids = [run.id for run in (baseline, *candidates) if run is not None]
        why = workspace().runs.unreadable(run_ids, with_lists=with_lists)
        for run in (run for run in runs if run.id in why):
            reason = why[run.id].rstrip(".")
            sentences.append(
                f"{run.name} is damaged and left out: {reason}. Upload its file again, or restore it"
            )
        if not why:
            break
        runs = tuple(run for run in runs if run.id not in why)
    return runs, sentences


def warn(sentences: Sequence[str]) -> None:
    """Writes the sentences as a list of warnings; nothing for an empty list."""
    if sentences:
        st.warning("\n".join(f"- {markdown(sentence)}." for sentence in sentences))


def view_without_runs(experiment: Experiment) -> View:
    """Returns the view of an experiment without runs, for a page that shows its A/B tests or decisions."""
    depth = workspace().experiments.depth(experiment.id)
    metrics = ordered_metrics([default_metric(())])
    return View(experiment, (), None, (), tuple(metrics), metrics[0], default_k(depth), depth)


def _baseline(experiment: Experiment, runs: Sequence[Run]) -> tuple[Run | None, list[str]]:
    known = {run.id: run for run in runs}
    default = workspace().queries.baseline(experiment, runs)
    wanted = params().get("b", default.id)
    if wanted in known:
        return known[wanted], []
    return default, [unavailable("baseline", _gone(experiment, wanted), default.name)]


def _candidates(
    experiment: Experiment, runs: Sequence[Run], baseline: Run | None
) -> tuple[tuple[Run, ...], list[str]]:
    known = {run.id: run for run in runs if run != baseline}
    wanted = params().get("c")
    if wanted is None:
        base = baseline.id if baseline else None
        return workspace().queries.candidates(experiment, [run.id for run in runs], base), []
    ids = [run_id for run_id in dict.fromkeys(wanted.split(SEPARATOR)) if run_id]
    gone = [run_id for run_id in ids if run_id not in known and (baseline is None or run_id != baseline.id)]
    names = [_gone(experiment, run_id) for run_id in gone]
    missing = [unavailable("candidate", name, "the others") for name in names]
    chosen = [known[run_id] for run_id in ids if run_id in known]
    if len(chosen) > MOST_CANDIDATES:
        missing.append(f"The link has {len(chosen)} candidates; showing the first {MOST_CANDIDATES}")
    return tuple(chosen[:MOST_CANDIDATES]), missing


def _best_first(candidates: tuple[Run, ...], metric: str, k: int, scope: Scope) -> tuple[Run, ...]:
    """Returns the candidates by their values of the metric at k, the best first, and reference candidates and
    those without a value last. All pages show runs in this order.
    """
    if len(candidates) < 2:
        return candidates
    try:
        run_ids = tuple(run.id for run in candidates)
        scores = answers.answer(workspace().scores.scoreboard, (run_ids, (metric,), k), scope)
    except RecdashError:  # the page says what cannot be computed
        return candidates
    places = {run_id: place for place, run_id in enumerate(values(scores, metric))}
    last = len(candidates)
    return tuple(sorted(candidates, key=lambda run: (bool(run.reference), places.get(run.id, last))))


def _gone(experiment: Experiment, run_id: str) -> str:
    """Returns the name of an archived run with the word "archived"; the id of a run that no longer exists."""
    archived = {run.id: run.name for run in workspace().runs.all(experiment.id, archived=True)}
    if run_id in archived:
        return f"{archived[run_id]} (archived)"
    return run_id


def _metric(
    offered: Sequence[str], usual: str | None, gone: Mapping[str, str]
) -> tuple[tuple[str, ...], str, list[str]]:
    """Returns the available metrics, the chosen one, and sentences on what is missing.

    A link can also name another definition of an available metric, which is then computed. ``usual`` is the
    metric of the decision rules, ``gone`` has the reasons why own metrics are not installed.
    """
    if usual is not None and (why := why_not_installed(usual)):
        gone = {**gone, usual: why}
    default = default_metric(offered, usual)
    wanted = params().get("m", usual if usual is not None and usual in gone else default)
    if wanted in offered or not offered:
        return tuple(offered), wanted if wanted in offered else default, []
    try:
        defined = define(wanted)
    except InputError:
        defined = None
    if defined is not None and defined.metric.name in offered:
        return (*offered, str(defined)), str(defined), []
    sentence = unavailable("metric", wanted, metric_title(default))
    return tuple(offered), default, [f"{sentence}: {gone[wanted]}" if wanted in gone else sentence]


def _k(depth: int, usual: int | None) -> tuple[int, list[str]]:
    default = default_k(depth, usual)
    wanted = params().get("k", str(default))
    if wanted.isdecimal() and len(wanted) < 9 and 1 <= int(wanted) <= depth:
        return int(wanted), []
    return default, [f'k = "{wanted}" isn\'t between 1 and {depth}; showing k = {default}']


def _scope(experiment: Experiment) -> tuple[Scope, list[str]]:
    """Returns the scope of the view (slice and relevance threshold), and sentences on what is missing."""
    missing = []
    threshold: float | None
    try:
        threshold = float(params().get("th", ""))
    except ValueError:
        threshold = None
    own = experiment.settings.get("relevance_threshold")
    is_known = threshold is not None and threshold in (own, *workspace().scopes.thresholds(experiment.id))
    if "th" in params() and not is_known:
        missing.append(unavailable("relevance threshold", params()["th"], "the usual one"))
        threshold = None
    if threshold == own:
        threshold = None  # the experiment's own is the usual view
    part = params().get("s", "")
    if part and part not in workspace().scopes.of(experiment.id, threshold):
        missing.append(unavailable("segment", part, "all users and items"))
        part = ""
    return Scope(part, threshold), missing


def option(name: str, default: str, allowed: Sequence[str]) -> str:
    """Returns the value of a page's own parameter; the default if the value is not ``allowed``."""
    wanted = params().get(name, default)
    return wanted if wanted in allowed else default
