"""The view: which experiment, runs, metric and k are shown. It lives in the URL by stable ids.

The link is read once per session; afterwards the session is the truth and is written back on each
run, so a slow browser's old query string never undoes a click. A step in the browser's history is told
by page.js, since its query string looks like that of a slow browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn
from urllib.parse import parse_qsl

import streamlit as st

from recdash.charts.marks import Marks, marks, short_names
from recdash.comparison import ComparisonQuery, Terms
from recdash.domain.access import Person
from recdash.domain.defaults import (
    MOST_CANDIDATES,
    default_candidates,
    default_k,
    default_metric,
)
from recdash.domain.records import Experiment, Run
from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError
from recdash.formatting.html import markdown
from recdash.formatting.wording import unavailable
from recdash.metrics import define
from recdash.metrics.naming import metric_title, ordered_metrics
from recdash.service import Workspace, question
from recdash.service.rules import rules_of
from recdash.ui.app import current_user, theme

_PARAMS, _WRITTEN, _SHOWN = "recdash.params", "recdash.written", "recdash.shown"
_PAGE, _ARRIVED, _LAST = "recdash.page", "recdash.arrived", "recdash.last"
SEPARATOR = question.SEPARATOR
LONGEST_NAME = 32
"""Of a run's name in a table, a heading or a sentence; the full one is in its tooltip and the CSV."""
OF_EXPERIMENT = ("b", "c", "s", "th", "t", "u", "of", "v", "om", "seg", "pr", "dec", "rev")
"""The parameters that name something inside an experiment."""


def person() -> Person:
    """Returns who reads this page. Raises RecdashError where the share link is no longer open."""
    return current_user.reader()


def workspace() -> Workspace:
    """Returns the workspace as this person may see it."""
    return current_user.full_workspace().seen_by(current_user.reader())


@dataclass(frozen=True)
class View:
    """What the frame shows. ``runs`` are all of the experiment; ``candidates`` at most 20 of them."""

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

    @property
    def shown(self) -> tuple[Run, ...]:
        """Baseline first, then the candidates."""
        return (*((self.baseline,) if self.baseline else ()), *self.candidates)

    @property
    def others(self) -> tuple[Run, ...]:
        """All runs but the baseline: what candidates are chosen from."""
        return tuple(run for run in self.runs if self.baseline is None or run.id != self.baseline.id)

    @property
    def shown_ids(self) -> tuple[str, ...]:
        return tuple(run.id for run in self.shown)

    @property
    def candidate_ids(self) -> tuple[str, ...]:
        return tuple(run.id for run in self.candidates)

    @cached_property
    def query(self) -> ComparisonQuery:
        """What the frame asks, of all runs that it shows."""
        return ComparisonQuery(
            self.candidate_ids, self.shown[0].id, self.metric, self.k, self.scope, self.terms
        )

    @cached_property
    def verdict_query(self) -> ComparisonQuery:
        """What findings compare."""
        return self.query.without(self._references)

    @cached_property
    def own_ids(self) -> tuple[str, ...]:
        """All runs of the experiment but the reference candidates."""
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
        """The baseline's name; empty without one."""
        return self.name(self.baseline.id) if self.baseline else ""

    def name(self, run_id: str) -> str:
        return self.marks[run_id].name

    @cached_property
    def _short_names(self) -> dict[str, str]:
        return short_names(self.marks, LONGEST_NAME)

    def short(self, run_id: str) -> str:
        """Returns the name for a heading or a sentence; distinct from those of the experiment's
        other runs.
        """
        return self._short_names[run_id]


def begin(page: str) -> None:
    """A run of the page with this address begins; "" is the overview's."""
    st.session_state[_ARRIVED] = st.session_state.get(_PAGE) != (page or "overview")
    st.session_state[_PAGE] = page or "overview"
    for key in (_LAST, _WRITTEN):  # a run that was stopped early may have left them
        st.session_state.pop(key, None)


def return_to(query: str) -> None:
    """Takes the view from an address of the browser's history, such as ``?e=films&k=20``."""
    turn_to(dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True)))


def arrived() -> bool:
    """Returns whether this run is the first on its page: the one before was of another page, or of none."""
    return bool(st.session_state[_ARRIVED])


def page() -> str:
    """Returns the address of the page that is shown."""
    return str(st.session_state[_PAGE])


def at_end(draw: Callable[[], None]) -> None:
    """Have ``draw`` called when the page is drawn, and all parameters of its link are known."""
    st.session_state[_LAST] = draw


def shown() -> dict[str, str]:
    """Returns all parameters of the view that is shown: those that its address names."""
    params_shown: dict[str, str] = st.session_state.get(_SHOWN, {})
    return params_shown


def params() -> dict[str, str]:
    """Returns the view's parameters in this session; at its start, those of the link."""
    if _PARAMS not in st.session_state:
        st.session_state[_PARAMS] = {name: st.query_params[name] for name in st.query_params}
    known: dict[str, str] = st.session_state[_PARAMS]
    return known


def choose(**values: str | None) -> None:
    """Change parameters of the view; ``None`` returns one to its default."""
    for name, value in values.items():
        if value is None:
            params().pop(name, None)
        else:
            params()[name] = value


def turn_to(view: Mapping[str, str]) -> None:
    """Replace all parameters of the view."""
    st.session_state[_PARAMS] = dict(view)


def show_experiment(experiment_id: str) -> None:
    """Turn the view to another experiment, with its own baseline and candidates."""
    choose(e=experiment_id, **dict.fromkeys(OF_EXPERIMENT))


def write(name: str, value: str | None) -> None:
    """Have the URL name a parameter of the view; None removes it. Parameters not chosen stay defaults."""
    st.session_state.setdefault(_WRITTEN, {})[name] = value


def to_url() -> None:
    """Put what was written into the URL, as one step of the browser's history; none where it is the same."""
    present = dict(st.query_params)
    wanted = present | st.session_state.pop(_WRITTEN, {})
    written = {name: value for name, value in wanted.items() if value is not None}
    st.session_state[_SHOWN] = written
    if written != present:
        st.query_params.from_dict(written)
    if draw := st.session_state.pop(_LAST, None):
        draw()


def stop() -> NoReturn:
    """End the page here, with its URL written: nothing reaches the browser after a stop."""
    to_url()
    st.stop()


def view_of(experiment: Experiment, *, scoped: bool = False, with_lists: bool = False) -> View | None:
    """Returns the view of ``experiment`` that the parameters ask for; None when it has no runs.

    Not ``scoped``: of all users and items, whatever part the parameters name. ``with_lists``: without the
    runs whose lists cannot be read.
    """
    source = workspace()
    runs, unreadable = _readable(experiment, tuple(source.runs.all(experiment.id)), with_lists)
    if not runs:
        warn(unreadable)
        return None
    baseline, baseline_missing = _baseline(experiment, runs)
    candidates, candidates_missing = _candidates(runs, baseline)
    offered = ordered_metrics(source.scores.metrics_of([run.id for run in runs]))
    rules = rules_of(experiment)
    metrics, metric, metric_missing = _metric(offered, rules.metric)
    depth = source.experiments.depth(experiment.id)
    k, k_missing = _k(depth, rules.k)
    scope, scope_missing = _scope(experiment) if scoped else (WHOLE, [])
    of_link = (*baseline_missing, *candidates_missing, *metric_missing, *k_missing, *scope_missing)
    missing = (*unreadable, *of_link)
    shown = (runs, baseline, candidates, metrics, metric, k)
    return View(experiment, *shown, depth, missing, scope, rules.terms)


def _readable(
    experiment: Experiment, runs: tuple[Run, ...], with_lists: bool
) -> tuple[tuple[Run, ...], list[str]]:
    """Returns the runs without those that would be shown and cannot be read, and what to say of these.

    Only shown ones are looked at: in the place of one that is left out comes the next.
    """
    sentences: list[str] = []
    while runs:
        baseline, _ = _baseline(experiment, runs)
        run_ids = [run.id for run in (baseline, *_candidates(runs, baseline)[0]) if run is not None]
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
    """Warn of what a link or the store lacks, as a list; nothing for an empty list."""
    if sentences:
        st.warning("\n".join(f"- {markdown(sentence)}." for sentence in sentences))


def view_without_runs(experiment: Experiment) -> View:
    """Returns the view of an experiment without runs: for a page that shows something else of it."""
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


def _candidates(runs: Sequence[Run], baseline: Run | None) -> tuple[tuple[Run, ...], list[str]]:
    known = {run.id: run for run in runs if run != baseline}
    wanted = params().get("c")
    if wanted is None:
        return default_candidates(runs, baseline), []
    ids = [run_id for run_id in dict.fromkeys(wanted.split(SEPARATOR)) if run_id]
    gone = [run_id for run_id in ids if run_id not in known and (baseline is None or run_id != baseline.id)]
    names = [_gone(runs[0].experiment, run_id) for run_id in gone]
    missing = [unavailable("candidate", name, "the others") for name in names]
    chosen = [known[run_id] for run_id in ids if run_id in known]
    if len(chosen) > MOST_CANDIDATES:
        missing.append(f"The link has {len(chosen)} candidates; showing the first {MOST_CANDIDATES}")
    return tuple(chosen[:MOST_CANDIDATES]), missing


def _gone(experiment: Experiment | str, run_id: str) -> str:
    """Returns the name of an archived run, and that it is archived; the id of a run that no longer exists."""
    experiment_id = experiment if isinstance(experiment, str) else experiment.id
    archived = {run.id: run.name for run in workspace().runs.all(experiment_id, archived=True)}
    if run_id in archived:
        return f"{archived[run_id]} (archived)"
    return run_id


def _metric(offered: Sequence[str], usual: str | None) -> tuple[tuple[str, ...], str, list[str]]:
    """Returns the metrics to choose from, the chosen one, and what is missing.

    Another definition of a metric that is offered can be named in a link: it is computed when asked for.
    """
    default = default_metric(offered, usual)
    wanted = params().get("m", default)
    if wanted in offered or not offered:
        return tuple(offered), wanted if wanted in offered else default, []
    try:
        defined = define(wanted)
    except InputError:
        defined = None
    if defined is not None and defined.metric.name in offered:
        return (*offered, str(defined)), str(defined), []
    return tuple(offered), default, [unavailable("metric", wanted, metric_title(default))]


def _k(depth: int, usual: int | None) -> tuple[int, list[str]]:
    default = default_k(depth, usual)
    wanted = params().get("k", str(default))
    if wanted.isdecimal() and len(wanted) < 9 and 1 <= int(wanted) <= depth:
        return int(wanted), []
    return default, [f'k = "{wanted}" isn\'t between 1 and {depth}; showing k = {default}']


def _scope(experiment: Experiment) -> tuple[Scope, list[str]]:
    """Returns the part of the users or items, and the relevance from which a row counts."""
    missing = []
    threshold: float | None
    try:
        threshold = float(params().get("th", ""))
    except ValueError:
        threshold = None
    if "th" in params() and threshold not in workspace().scopes.thresholds(experiment.id):
        missing.append(unavailable("relevance threshold", params()["th"], "the usual one"))
        threshold = None
    part = params().get("s", "")
    if part and part not in workspace().scopes.of(experiment.id, threshold):
        missing.append(unavailable("segment", part, "all users and items"))
        part = ""
    return Scope(part, threshold), missing


def option(name: str, default: str, allowed: Sequence[str]) -> str:
    """Returns a page's own parameter; the default where its value is not ``allowed``."""
    wanted = params().get(name, default)
    return wanted if wanted in allowed else default
