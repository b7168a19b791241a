"""What a user can ask, once for pages, terminal and Python: the Workspace over one store.

Numbers are computed first; then one short write stores them, idempotent by content, so that a double
click or a stopped page leaves either nothing or the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recdash import question, reading, scoring, views
from recdash.comparability import basis_of, problems, served
from recdash.definitions import habits, worked
from recdash.definitions.habits import Habit, Number
from recdash.domain import (
    Absent,
    Curve,
    Experiment,
    Hits,
    OnlineTest,
    Recommendations,
    Run,
    TableKind,
    Upload,
    Users,
)
from recdash.engines import Reference, hits_from_tables, hits_to_tables, list_metrics, match
from recdash.errors import Forbidden, InputError, NameTaken, NotFound, Problem, UnknownName
from recdash.guide import MetricGuide, PresetGuide, metric_guides, preset_guides
from recdash.metrics import define, sample_of
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.sample import Sample
from recdash.metrics.tie_band import TieBand, tie_band
from recdash.references import REFERENCES, make_references
from recdash.shown import COLUMNS as SHOWN_COLUMNS
from recdash.shown import attributes_of, check_attribute, shown_rows
from recdash.slices import MOST_SLICES, Slice, known_slices, slices_of
from recdash.stats import paired_difference
from recdash.store import Store, new_id, open_store

if TYPE_CHECKING:
    import os

    import pandas as pd

    from recdash.definitions.worked import Worked
    from recdash.domain import Floats, Ints
    from recdash.ingest import Limits, Preview
    from recdash.metrics.ratings import Predictions
    from recdash.online import OnlineResults
    from recdash.scoring import SliceScores

REFERENCE_TAG = "reference"
Role = Literal["viewer", "editor", "admin"]
OnlineKind = Literal["sessions", "aggregates"]
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class AddedRun:
    """A run and whether the very same upload was there before."""

    run: Run
    already_there: bool


@dataclass(frozen=True)
class Setup:
    """An evaluation set-up that was read and checked, and is not stored yet."""

    name: str
    tables: Mapping[TableKind, Upload]
    reference: Reference
    settings: Mapping[str, Any]
    note: str = ""
    demo: bool = False


@dataclass(frozen=True)
class PreparedRun:
    """A run that was read and scored, and is not stored yet."""

    run: Recommendations
    scored: scoring.Scored


@dataclass(frozen=True)
class ReferenceChoice:
    """A reference candidate for one experiment: what it lacks ("" = nothing), and whether it is there."""

    name: str
    label: str
    meaning: str
    lacks: str
    is_there: bool


@dataclass(frozen=True)
class UserValues:
    """``users`` [n] places in the truth of those who count; their ``values``; what each got (``own``)."""

    users: Ints
    values: Floats
    own: Floats


def _now() -> datetime:
    return datetime.now(UTC)


def _quiet(fraction: float, text: str) -> None:
    """Progress that nobody watches."""


class Workspace:
    """Experiments, runs and online tests of one store, seen by one role."""

    def __init__(
        self,
        store: Store,
        *,
        role: Role = "editor",
        limits: Limits | None = None,
        clock: Callable[[], datetime] = _now,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self.store, self.role, self.limits, self._clock, self._new_id = store, role, limits, clock, make_id
        # Per workspace, keyed by ids of things that never change once stored.
        self._reference = lru_cache(maxsize=4)(self._read_reference)
        self._lacks = lru_cache(maxsize=64)(self._read_lacks)
        self._hits = lru_cache(maxsize=64)(self._read_hits)
        self._values = lru_cache(maxsize=64)(self._compute_values)
        self._means = lru_cache(maxsize=4096)(self._compute_mean)
        self._computed = lru_cache(maxsize=1024)(self._compute_curve)
        self._tie_bands = lru_cache(maxsize=1024)(self._compute_tie_band)
        self._slices = lru_cache(maxsize=16)(self._cut)
        self._shown = lru_cache(maxsize=2 * MOST_SLICES)(self._look_at_slice)
        self._slice_scores = lru_cache(maxsize=1024)(self._score_slices)
        self._counted = lru_cache(maxsize=1024)(self._count)
        self._attributes = lru_cache(maxsize=64)(self._read_attributes)
        self._shown_rows = lru_cache(maxsize=1024)(self._count_shown)
        self._hits_again = lru_cache(maxsize=8)(self._read_hits_again)

    @classmethod
    def open(
        cls,
        database_url: str | None = None,
        artifacts: str | os.PathLike[str] | None = None,
        role: Role = "editor",
        limits: Limits | None = None,
    ) -> Workspace:
        """The workspace of a database (by default that of the settings); a viewer's is read-only."""
        return cls(open_store(database_url, artifacts, read_only=role == "viewer"), role=role, limits=limits)

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def experiments(self, archived: bool = False) -> list[Experiment]:
        return self.store.experiments(archived)

    def experiment(self, experiment_id: str) -> Experiment:
        return self.store.experiment(experiment_id)

    def experiment_named(self, name: str) -> Experiment:
        """Raises NotFound, naming the experiments there are."""
        found = self.store.experiment_named(name)
        if found is None:
            known = ", ".join(f"'{one.name}'" for one in self.store.experiments()) or "none"
            raise NotFound(f"No experiment is called '{name}'. There are: {known}.")
        return found

    def runs(self, experiment_id: str, archived: bool = False) -> list[Run]:
        return self.store.runs(experiment_id, archived)

    def depth(self, experiment_id: str) -> int:
        return int(self.experiment(experiment_id).settings["depth"])

    def metrics_of(self, run_ids: Sequence[str]) -> list[str]:
        """Canonical specs that at least one of the runs has, in the order of the guide."""
        stored = {metric for metrics in self.store.metrics(run_ids).values() for metric in metrics}
        usual = [str(define(metric)) for metric in question.DEFAULT_METRICS]
        return [metric for metric in usual if metric in stored] + sorted(stored.difference(usual))

    def curves(self, run_ids: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
        """Tidy: run_id, run, metric, k, value, std_error, n_users.

        A definition that was not stored is computed from the hits.
        """
        return views.curve_frame(self._runs(run_ids), self._curves(run_ids, metrics))

    def scoreboard(self, run_ids: Sequence[str], metrics: Sequence[str], k: int) -> pd.DataFrame:
        """run_id, run, metric, value, std_error, n_users at k; best first by the first metric."""
        return views.score_rows(self._runs(run_ids), self._curves(run_ids, metrics), metrics, k)

    def differences(self, run_ids: Sequence[str], baseline_id: str, metric: str, k: int) -> pd.DataFrame:
        """Each run minus the baseline, paired over the users.

        Columns: run_id, run, mean_diff, ci_low, ci_high, p, n_users, wins, ties, losses. Raises InputError
        for a metric without a value per user.
        """
        import pandas as pd

        rows = [self._difference(run, baseline_id, metric, k) for run in self._runs(run_ids)]
        columns = [
            "run_id", "run", "mean_diff", "ci_low", "ci_high", "p", "n_users", "wins", "ties", "losses",
        ]  # fmt: skip
        return pd.DataFrame([row for row in rows if row], columns=columns)

    def _difference(self, run: Run, baseline_id: str, metric: str, k: int) -> dict[str, Any] | None:
        mine, theirs = self._values(run.id, metric, k), self._values(baseline_id, metric, k)
        if mine is None or theirs is None:
            return None
        _, here, there = np.intersect1d(mine.users, theirs.users, assume_unique=True, return_indices=True)
        if not len(here):
            return None
        own = (mine.own[here], theirs.own[there])
        paired = paired_difference(mine.values[here], theirs.values[there], own=own)
        return {
            "run_id": run.id, "run": run.name, "mean_diff": paired.mean, "ci_low": paired.low,
            "ci_high": paired.high, "p": paired.p, "n_users": paired.n, "wins": paired.wins,
            "ties": paired.ties, "losses": paired.losses,
        }  # fmt: skip

    def absences(self, run_ids: Sequence[str], metric: str) -> dict[str, str]:
        """Why a run lacks the metric, for the runs that do."""
        return {run.id: run.absent[metric] for run in self._runs(run_ids) if metric in run.absent}

    def list_ends(self, run_ids: Sequence[str]) -> dict[str, int | None]:
        """The k from which more than half of a run's lists have ended; None = never within depth."""
        return {run.id: run.provenance.get("list_end") for run in self._runs(run_ids)}

    def population_effect(self, run_ids: Sequence[str], metric: str, k: int) -> views.PopulationEffect | None:
        """Does the winner depend on whether users without a list count? None below two runs with lists."""
        names = {run.id: run.name for run in self._runs(run_ids) if run.hits}
        if len(names) < 2:
            return None
        values: dict[str, dict[str, float]] = {"truth": {}, "both": {}}
        n_users: dict[str, dict[str, int]] = {"truth": {}, "both": {}}
        rules: tuple[Users, Users] = ("truth", "both")
        for rule in rules:
            for run_id in names:
                mean, n = self._means(run_id, metric, k, rule)
                if n:
                    values[rule][run_id], n_users[rule][run_id] = mean, n
        if not values["truth"] or not values["both"]:
            return None
        return views.population_effect(names, values, n_users, views.metric_title(metric, k))

    def standing(self, run_ids: Sequence[str], metric: str, k: int) -> views.Standing | None:
        """Where runs stand between the experiment's reference candidates; None where that means nothing."""
        references = [
            run.id
            for experiment in {run.experiment for run in self._runs(run_ids)}
            for run in self.runs(experiment)
            if run.reference
        ]
        everyone = list(dict.fromkeys((*run_ids, *references)))
        if not references or not define(metric).has_user_values:
            return None
        return views.standing(self._runs(everyone), self.scoreboard(everyone, [metric], k), metric, k)

    def tie_band(self, run_id: str, metric: str, k: int) -> TieBand | None:
        """Worst, expected and best of a metric over the orders of equal scores; None where none changes it.

        That is so too for lists that are ordered by rank and for metrics that the run lacks.
        """
        return self._tie_bands(run_id, metric, k)

    def comparability(self, run_ids: Sequence[str]) -> list[Problem]:
        """Why the numbers of these runs may not stand side by side as they are; empty where they may."""
        runs = self._runs(run_ids)
        experiments = {id_: self.experiment(id_) for id_ in {run.experiment for run in runs}}
        return problems([basis_of(run, experiments[run.experiment]) for run in runs])

    # ── reading: one run under many definitions ──────────────────────────────────────────────

    def under_presets(self, run_id: str, metric: str, k: int) -> pd.DataFrame:
        """The run as every preset would count it; columns as in ``recdash.definitions.habits.preset_frame``.

        Parameters written in ``metric`` win over the presets'. Raises InputError for a k beyond the depth.
        """
        own_order = self.store.run(run_id).provenance["order"]
        return habits.preset_frame(self._habits(run_id, metric), self._count_at(run_id, k), own_order)

    def preset_causes(self, run_id: str, metric: str, k: int) -> pd.DataFrame:
        """What sets each preset's value apart from the default's, one cause at a time; columns as in
        ``recdash.definitions.habits.cause_frame``.
        """
        return habits.cause_frame(self._habits(run_id, metric), self._count_at(run_id, k))

    def worked_example(self, run_id: str, metric: str, k: int, preset: str = "default") -> Worked | None:
        """The metric's arithmetic for one user of the run, chosen to be short; None where there is none."""
        habit = self._habits(run_id, metric)[preset]
        hits, reference = self._hits_under(run_id, habit)
        return worked.of_run(define(habit.spec), hits, k, scoring.familiar_of(reference))

    def _habits(self, run_id: str, metric: str) -> dict[str, Habit]:
        return habits.of_metric(metric, self.experiment(self.store.run(run_id).experiment).settings)

    def _count_at(self, run_id: str, k: int) -> habits.Count:
        """Scores the run under a habit, at k."""

        def count(habit: Habit) -> Number:
            found = self._counted(run_id, habit)
            if isinstance(found, Absent):
                return Number(float("nan"), reason=found.reason)
            return Number(**views.at(found, k))

        return count

    def _count(self, run_id: str, habit: Habit) -> Curve | Absent:
        definition = define(habit.spec)
        try:
            hits, reference = self._hits_under(run_id, habit)
        except InputError as error:
            return Absent(habit.spec, "; ".join(problem.found for problem in error.problems))
        rated = self._predictions(run_id)
        curves, absent = scoring.score_hits(hits, reference, [definition], habit.users, rated)
        return curves[habit.spec] if curves else Absent(habit.spec, absent[habit.spec])

    def _hits_under(self, run_id: str, habit: Habit) -> tuple[Hits, Reference]:
        """The run's hits in the habit's order against what it takes as relevant, and the reference to match.

        Raises InputError when the upload lacks the column to order by.
        """
        reference = self._reference(self.store.run(run_id).experiment)
        truth = habits.truth_under(reference.truth, habit)
        hits = self._hits(run_id)
        if habits.needs_upload(hits, truth, habit):
            hits = self._hits_again(run_id, habits.of_upload(habit))
        return replace(hits, truth=truth), replace(reference, truth=truth)

    def _read_hits_again(self, run_id: str, habit: Habit) -> Hits:
        run = self.store.run(run_id)
        lists, kept = self._lists_of(run), self._reference(run.experiment)
        reference = replace(kept, truth=habits.truth_under(kept.truth, habit))
        depth = self.depth(run.experiment)
        wanted = list_metrics([define(habit.spec)], reference, depth)
        how: dict[str, Any] = {"depth": depth, "order": habit.order, "ties": habit.ties}
        return match(lists, reference, list_metrics=wanted, **how)[0]

    def _predictions(self, run_id: str) -> Predictions | None:
        sha = self.store.run(run_id).hits.get("predictions")
        if sha is None:
            return None
        return reading.predictions_of(Upload("predictions", run_id, self.store.table(sha), {}))

    # ── reading: some of the users or items ──────────────────────────────────────────────────

    def slices(self, experiment_id: str) -> list[str]:
        """What ``sliced`` can tell apart here, such as ``user_warmth`` or ``item:genre``."""
        return known_slices(self._reference(experiment_id))

    def sliced(self, run_ids: Sequence[str], by: str, metrics: Sequence[str], k: int) -> pd.DataFrame:
        """One row per run, slice and metric; columns as in ``recdash.views.slice_rows``.

        Raises UnknownName for an unknown ``by``, InputError for one whose table is missing.
        """
        runs = self._runs(run_ids)
        scores = [(run, metric, self._slice_scores(run.id, by, metric)) for run in runs for metric in metrics]
        return views.slice_rows(scores, k)

    def _cut(self, experiment_id: str, by: str) -> tuple[Slice, ...]:
        return tuple(slices_of(self._reference(experiment_id), by))

    def _score_slices(self, run_id: str, by: str, metric: str) -> tuple[SliceScores, ...]:
        run, definition = self.store.run(run_id), define(metric)
        hits, reference = self._hits(run_id), self._reference(run.experiment)
        users = self.experiment(run.experiment).settings["users"]
        # Metrics that counts suffice for share one look at the lists; the others need their own.
        watch = metric if list_metrics([definition], reference, hits.depth) else ""
        asks_what_is_shown = isinstance(definition.metric, CatalogueMetric)
        cuts = self._slices(run.experiment, by)
        looks = [
            self._shown(run_id, by, at, watch) if asks_what_is_shown else None for at in range(len(cuts))
        ]
        return tuple(
            scoring.score_slice(hits, reference, [definition], users, one, shown)
            for one, shown in zip(cuts, looks, strict=True)
        )

    def _look_at_slice(self, run_id: str, by: str, place: int, watch: str) -> Hits | None:
        """What the lists show to the users of a slice, from the stored upload; None for a slice of items.

        ``watch`` is a metric that needs the lists themselves, or nothing.
        """
        run = self.store.run(run_id)
        hits, reference = self._hits(run_id), self._reference(run.experiment)
        users = self._slices(run.experiment, by)[place].users
        if users is None:
            return None
        wanted = list_metrics([define(watch)] if watch else [], reference, hits.depth)
        how: dict[str, Any] = {"depth": hits.depth, "order": hits.order, "list_metrics": wanted}
        return match(self._lists_of(run), reference, shown_to=users, **how)[0]

    # ── reading: what is shown of the catalogue ──────────────────────────────────────────────

    def attributes(self, experiment_id: str) -> list[str]:
        """The columns of the catalogue that ``shown_by`` says something by; empty without a catalogue."""
        return list(self._attributes(experiment_id))

    def shown_by(self, run_ids: Sequence[str], attribute: str, k: int) -> pd.DataFrame:
        """How the runs' places within k, and the catalogue's items, fall on the values of an attribute.

        Columns: run_id, run, then those of ``recdash.shown.shown_rows``; a run without lists has no rows.
        Raises InputError without a catalogue and for a k beyond the depth, UnknownName for a column that the
        catalogue lacks.
        """
        import pandas as pd

        rows = [
            {"run_id": run.id, "run": run.name, **row}
            for run in self._runs(run_ids)
            for row in self._shown_rows(run.id, attribute, k)
        ]
        return pd.DataFrame(rows, columns=["run_id", "run", *SHOWN_COLUMNS])

    def _read_attributes(self, experiment_id: str) -> Sequence[str]:
        return attributes_of(self._reference(experiment_id))

    def _count_shown(self, run_id: str, attribute: str, k: int) -> Sequence[Mapping[str, Any]]:
        run = self.store.run(run_id)
        reference = self._reference(run.experiment)
        check_attribute(reference, attribute)
        shelf = scoring.shelf_of(self._hits(run_id), reference) if run.hits else None
        if shelf is None:
            return []
        if k > shelf.depth:
            raise views.beyond_depth(k, shelf.depth)
        return shown_rows(shelf, reference, attribute, k)

    def guide(self) -> list[MetricGuide]:
        return metric_guides()

    def presets(self) -> list[PresetGuide]:
        return preset_guides()

    # ── writing: experiments ─────────────────────────────────────────────────────────────────

    def preview(
        self, kind: TableKind, source: Any, name: str | None = None, mapping: Mapping[str, str] | None = None
    ) -> Preview:
        """How a file would be read; stores nothing."""
        from recdash import ingest

        return ingest.preview(kind, source, name=name, mapping=mapping, limits=self.limits)

    def create_experiment(self, name: str, truth: Any, **how: Any) -> Experiment:
        """Store an evaluation set-up; arguments as for ``read_setup``.

        The same set-up under the same name is recognised, not doubled. Raises InputError with the problems
        of all tables, NameTaken for another set-up of that name.
        """
        return self.store_setup(self.read_setup(name, truth, **how))

    def read_setup(
        self,
        name: str,
        truth: Any,
        *,
        train: Any = None,
        catalogue: Any = None,
        user_attributes: Any = None,
        item_vectors: Any = None,
        item_similarity: Any = None,
        relevance: str | None = None,
        relevance_threshold: float | None = None,
        depth: int = 100,
        users: Users = "truth",
        note: str = "",
        mappings: Mapping[str, Mapping[str, str]] | None = None,
        demo: bool = False,
    ) -> Setup:
        """Read and check an evaluation set-up; stores nothing."""
        self._may_write()
        sources: dict[TableKind, Any] = {
            "truth": truth, "train": train, "catalogue": catalogue, "users": user_attributes,
            "vectors": item_vectors, "similarity": item_similarity,
        }  # fmt: skip
        tables = reading.read_tables(sources, relevance, mappings, self.limits)
        question.check_depth(depth)
        reference = reading.reference_of(tables, relevance_threshold)
        settings = {
            "depth": depth,
            "users": users,
            "relevance": relevance,
            "relevance_threshold": relevance_threshold,
            "truth_users": reference.truth.n_users,
            "graded": reference.truth.graded,
            "notices": [_as_dict(notice) for notice in reference.notices],
        }
        return Setup(_clean_name(name), tables, reference, settings, note, demo)

    def store_setup(self, setup: Setup) -> Experiment:
        """Store what ``read_setup`` read."""
        self._may_write()
        artifacts = {kind: self.store.put(upload.table) for kind, upload in setup.tables.items()}
        known = self.store.experiment_named(setup.name)
        if known is not None and _same_setup(known, setup.settings, artifacts):
            return known
        return self.store.add_experiment(
            Experiment(
                id=self._new_id(),
                name=setup.name,
                created=self._clock(),
                truth=artifacts["truth"],
                train=artifacts.get("train"),
                catalogue=artifacts.get("catalogue"),
                tables=_further(artifacts),
                settings=setup.settings,
                note=setup.note,
                demo=setup.demo,
            )
        )

    def same_truth(self, experiment_id: str) -> list[Experiment]:
        """Other experiments over the very same truth."""
        truth = self.experiment(experiment_id).truth
        return [
            one for one in self.experiments(archived=True) if one.truth == truth and one.id != experiment_id
        ]

    def rename_experiment(self, experiment_id: str, name: str) -> Experiment:
        return self._write().update_experiment(experiment_id, name=_clean_name(name))

    def note_experiment(self, experiment_id: str, note: str) -> Experiment:
        return self._write().update_experiment(experiment_id, note=note)

    def set_baseline(self, experiment_id: str, run_id: str | None) -> Experiment:
        return self._write().update_experiment(experiment_id, baseline=run_id)

    def archive_experiment(self, experiment_id: str) -> Experiment:
        return self._write().update_experiment(experiment_id, archived=self._clock())

    def restore_experiment(self, experiment_id: str) -> Experiment:
        return self._write().update_experiment(experiment_id, archived=None)

    def delete_experiment(self, experiment_id: str, typed_name: str) -> None:
        """Raises InputError unless the name was typed exactly."""
        _check_typed(typed_name, self.experiment(experiment_id).name)
        self._write().delete_experiment(experiment_id)
        self.store.collect()

    # ── writing: runs ────────────────────────────────────────────────────────────────────────

    def add_runs(
        self,
        experiment_id: str,
        source: Any,
        *,
        name: str | None = None,
        mapping: Mapping[str, str] | None = None,
        predictions: Any = None,
        predictions_mapping: Mapping[str, str] | None = None,
        tags: Sequence[str] = (),
        note: str = "",
        params: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> list[AddedRun]:
        """Score an upload (one candidate, or several told apart by a column) and store it.

        Raises InputError for a file that cannot be used, NameTaken when another upload has the name;
        then nothing of it is stored.
        """
        prepared = self.prepare_runs(
            experiment_id,
            source,
            name=name,
            mapping=mapping,
            predictions=predictions,
            predictions_mapping=predictions_mapping,
            progress=progress,
        )
        facts = {"tags": tuple(tags), "note": note, "params": dict(params or {})}
        return self.store_runs(experiment_id, prepared, facts, progress)

    def prepare_runs(
        self,
        where: str | Setup,
        source: Any,
        *,
        name: str | None = None,
        mapping: Mapping[str, str] | None = None,
        predictions: Any = None,
        predictions_mapping: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> list[PreparedRun]:
        """Read and score an upload for an experiment (its id) or a set-up not stored yet; stores nothing.

        Raises InputError for a file that cannot be used.
        """
        self._may_write()
        from recdash import ingest

        tell = progress or _quiet
        tell(0.0, "Reading the file")
        found = ingest.read_recommendations(source, name=name, mapping=mapping, limits=self.limits)
        rated = reading.open_predictions(predictions, predictions_mapping, self.limits)
        if rated is not None and len(found) > 1:
            raise InputError(_predictions_of_several(len(found)))
        return self._scored(where, found, rated, tell)

    def store_runs(
        self,
        experiment_id: str,
        prepared: Sequence[PreparedRun],
        facts: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[AddedRun]:
        """Store scored runs, all or, when a name is taken, none. ``facts``: tags, note, params of each."""
        self._may_write()
        tell = progress or _quiet
        uploads = {one.run.name: self.store.put(one.run.batches()) for one in prepared}
        self._check_names_free(experiment_id, uploads)
        added = []
        for place, one in enumerate(prepared, start=1):
            tell(place / len(prepared), f"Storing {one.run.name}")
            added.append(self._add_run(experiment_id, one, uploads[one.run.name], facts or {}))
        return added

    def add_references(
        self, experiment_id: str, names: str | Sequence[str], progress: Progress | None = None
    ) -> list[AddedRun]:
        """Compute reference candidates (``"popular,oracle"``) from the set-up's tables, score and store them.

        Computed again, they are recognised. Raises UnknownName, and InputError when a table that one needs is
        missing; then nothing is stored.
        """
        prepared = self.prepare_references(experiment_id, names, progress)
        return self.store_runs(experiment_id, prepared, progress=progress)

    def prepare_references(
        self, where: str | Setup, names: str | Sequence[str], progress: Progress | None = None
    ) -> list[PreparedRun]:
        """Compute and score reference candidates for an experiment (its id) or a set-up; stores nothing."""
        self._may_write()
        if isinstance(where, Setup):
            tables, reference, settings = where.tables, where.reference, where.settings
        else:
            tables, reference = self._tables(where), self._reference(where)
            settings = self.experiment(where).settings
        found = make_references(names, reference, tables, settings["depth"])
        return self._scored(where, found, None, progress or _quiet)

    def reference_choices(self, experiment_id: str) -> list[ReferenceChoice]:
        """The reference candidates that this experiment may have, has, or lacks a table for."""
        lacks = self._lacks(experiment_id)
        there = {run.reference for run in self.runs(experiment_id, archived=True)}
        return [
            ReferenceChoice(one.name, one.label, one.meaning, lacks[one.name], one.name in there)
            for one in REFERENCES.values()
        ]

    def _scored(
        self, where: str | Setup, runs: Sequence[Recommendations], predictions: Any, tell: Progress
    ) -> list[PreparedRun]:
        prepared = []
        for place, run in enumerate(runs):
            tell(place / len(runs), f"Scoring {run.name}")
            prepared.append(PreparedRun(run, self._score(where, run, predictions)))
        return prepared

    def _score(self, where: str | Setup, run: Recommendations, predictions: Any) -> scoring.Scored:
        if isinstance(where, Setup):
            settings, reference = where.settings, where.reference
        else:
            settings, reference = self.experiment(where).settings, self._reference(where)
        asked, rules = question.read_question(None, depth=settings["depth"], users=settings["users"])
        return scoring.score_run(run, reference, asked, rules, predictions)

    def _add_run(
        self, experiment_id: str, prepared: PreparedRun, upload: str, facts: Mapping[str, Any]
    ) -> AddedRun:
        run, scored = prepared.run, prepared.scored
        hits, ledger = scored.hits, scored.ledger
        if hits is None or ledger is None:
            raise InputError(
                Problem("no-lists", f"run '{run.name}'", "it has no lists", "Upload ranked lists.")
            )
        # Put again even if the run is there: that mends files that were lost or damaged.
        tables = {kind: self.store.put(table) for kind, table in hits_to_tables(hits).items()}
        known = self.store.find_run(experiment_id, upload)
        if known is not None:
            _check_nothing_new(known, scored)
            return AddedRun(known, already_there=True)
        if scored.predictions is not None:
            tables["predictions"] = self.store.put(scored.predictions)
        new = Run(
            id=self._new_id(),
            experiment=experiment_id,
            name=run.name,
            created=self._clock(),
            slot=-1,
            upload=upload,
            hits=tables,
            ledger=ledger.as_dict(),
            notices=scored.notices,
            absent=scored.absent,
            provenance=self._provenance(experiment_id, run, hits),
            **_tagged(facts, run),
        )
        try:
            return AddedRun(self.store.add_run(new, list(scored.curves.values())), already_there=False)
        except NameTaken:
            # Another tab may have stored the same upload since we looked.
            known = self.store.find_run(experiment_id, upload)
            if known is None:
                raise
            return AddedRun(known, already_there=True)

    def _provenance(self, experiment_id: str, run: Recommendations, hits: Hits) -> dict[str, Any]:
        from recdash import __version__

        return {
            "version": __version__,
            "order": hits.order,
            "ties": "file",
            "depth": hits.depth,
            "users": self.experiment(experiment_id).settings["users"],
            "mapping": dict(run.mapping),
            "list_end": views.list_end(hits),
            "served": served(hits),
            "rows": hits.ledger.rows,
            **({"reference": run.reference} if run.reference else {}),
        }

    def _check_names_free(self, experiment_id: str, uploads: Mapping[str, str]) -> None:
        """Before any of the uploads, by name, is stored. The very same upload may come again."""
        taken = {run.name for run in self.runs(experiment_id, archived=True)} & uploads.keys()
        for name in sorted(taken):
            if self.store.find_run(experiment_id, uploads[name]) is None:
                raise NameTaken(f"Another run of this experiment is called '{name}'. Choose another name.")

    def rename_run(self, run_id: str, name: str) -> Run:
        return self._write().update_run(run_id, name=_clean_name(name))

    def tag_run(self, run_id: str, tags: Sequence[str]) -> Run:
        cleaned = dict.fromkeys(tag.strip() for tag in tags if tag.strip())
        return self._write().update_run(run_id, tags=tuple(cleaned))

    def note_run(self, run_id: str, note: str) -> Run:
        return self._write().update_run(run_id, note=note)

    def set_params(self, run_id: str, params: Mapping[str, str]) -> Run:
        return self._write().update_run(run_id, params=dict(params))

    def archive_run(self, run_id: str) -> Run:
        return self._write().update_run(run_id, archived=self._clock())

    def restore_run(self, run_id: str) -> Run:
        return self._write().update_run(run_id, archived=None)

    def delete_run(self, run_id: str, typed_name: str) -> None:
        """Raises InputError unless the name was typed exactly."""
        _check_typed(typed_name, self.store.run(run_id).name)
        self._write().delete_run(run_id)
        self.store.collect()

    # ── online tests ─────────────────────────────────────────────────────────────────────────

    def online_tests(self, experiment_id: str, archived: bool = False) -> list[OnlineTest]:
        return self.store.online_tests(experiment_id, archived)

    def add_online_test(
        self,
        experiment_id: str,
        name: str,
        source: Any,
        *,
        kind: OnlineKind = "sessions",
        control: str | None = None,
        mapping: Mapping[str, str] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> OnlineTest:
        """Read an A/B test's table, compute its results and store both. ``links`` are {variant: run id}."""
        self._may_write()
        upload, found = self._read_online(kind, source, mapping, control)
        self._check_links(experiment_id, links or {}, found.variants)
        test = OnlineTest(
            id=self._new_id(),
            experiment=experiment_id,
            name=_clean_name(name),
            created=self._clock(),
            kind=kind,
            upload=self.store.put(upload.table),
            control=found.control,
            links=dict(links or {}),
            results=[vars(row) for row in found.rows],
            notices=(*upload.notices, *found.notices),
        )
        return self._same_test(test) or self.store.add_online_test(test)

    def _same_test(self, test: OnlineTest) -> OnlineTest | None:
        """The test that a second click would double: same name, table and control."""
        same = [
            one
            for one in self.online_tests(test.experiment, archived=True)
            if (one.name, one.upload, one.control) == (test.name, test.upload, test.control)
        ]
        return same[0] if same else None

    def try_online_test(
        self,
        kind: OnlineKind,
        source: Any,
        mapping: Mapping[str, str] | None = None,
        control: str | None = None,
    ) -> OnlineResults:
        """The results as they would be; stores nothing."""
        return self._read_online(kind, source, mapping, control)[1]

    def _read_online(
        self, kind: OnlineKind, source: Any, mapping: Mapping[str, str] | None, control: str | None
    ) -> tuple[Upload, OnlineResults]:
        from recdash import ingest, online

        upload = ingest.read_upload(kind, source, mapping=mapping, limits=self.limits)
        return upload, online.results(upload, control)

    def link_variants(self, test_id: str, links: Mapping[str, str]) -> OnlineTest:
        """Say which run each variant served: {variant: run id}."""
        self._may_write()
        test = self.store.online_test(test_id)
        self._check_links(test.experiment, links, [str(row["variant"]) for row in test.results])
        return self.store.update_online_test(test_id, links=dict(links))

    def _check_links(self, experiment_id: str, links: Mapping[str, str], variants: Sequence[str]) -> None:
        known = {run.id for run in self.runs(experiment_id, archived=True)}
        for variant, run_id in links.items():
            if variant not in variants:
                raise UnknownName("variant", variant, sorted(set(variants)))
            if run_id not in known:
                raise NotFound(f"Variant '{variant}' is linked to a run that is not in this experiment.")

    def archive_online_test(self, test_id: str) -> OnlineTest:
        return self._write().update_online_test(test_id, archived=self._clock())

    def restore_online_test(self, test_id: str) -> OnlineTest:
        return self._write().update_online_test(test_id, archived=None)

    def delete_online_test(self, test_id: str, typed_name: str) -> None:
        _check_typed(typed_name, self.store.online_test(test_id).name)
        self._write().delete_online_test(test_id)

    def online_results(self, test_id: str) -> pd.DataFrame:
        """One row per metric and variant.

        Columns: metric, title, unit, variant, run_id, is_control, n_users, value, ci_low, ci_high, lift,
        lift_low, lift_high, p, note.
        """
        import pandas as pd

        test = self.store.online_test(test_id)
        frame = pd.DataFrame([dict(row) for row in test.results])
        frame.insert(4, "run_id", frame["variant"].map(dict(test.links)))
        return frame

    def offline_online(self, test_id: str, metric: str, k: int, online_metric: str) -> pd.DataFrame:
        """One row per linked variant; columns as in ``recdash.online.joining``.

        The offline difference is paired against the run that the control served (else the baseline).
        """
        from recdash.online.joining import SPLIT_BROKEN, join_offline

        test = self.store.online_test(test_id)
        names = {run.id: run.name for run in self._runs(list(test.links.values()))}
        reference = test.links.get(test.control) or self.experiment(test.experiment).baseline
        others = [run_id for run_id in names if run_id != reference]
        paired = reference is not None and define(metric).has_user_values
        delta = self.differences(others, reference, metric, k) if paired and reference else None
        return join_offline(
            self.online_results(test_id),
            online_metric,
            names,
            scores=self.scoreboard(list(names), [metric], k),
            differences=delta,
            offline_title=views.metric_title(metric, k),
            broken_split=any(notice.code == SPLIT_BROKEN for notice in test.notices),
        )

    # ── demo ─────────────────────────────────────────────────────────────────────────────────

    def has_demo(self) -> bool:
        return any(one.demo for one in self.experiments(archived=True))

    def load_demo(self, progress: Progress | None = None) -> Experiment:
        """Five candidates of an invented film service, and an A/B test; loading again changes nothing."""
        self._may_write()
        from recdash import demo

        tell = progress or _quiet
        tell(0.0, "Inventing a film service")
        made = demo.make()
        known = [one for one in self.experiments(archived=True) if one.demo]
        experiment = (
            self.restore_experiment(known[0].id)
            if known
            else self.create_experiment(
                made.experiment, made.truth, train=made.train, catalogue=made.catalogue, demo=True
            )
        )
        ids = {}
        for place, (name, table) in enumerate(made.runs.items(), start=1):
            ids[name] = self.add_runs(experiment.id, table, name=name)[0].run.id
            tell(place / (len(made.runs) + 1), f"Scored {name}")
        if not self.online_tests(experiment.id, archived=True):
            links = {variant: ids[run] for variant, run in made.links.items()}
            self.add_online_test(experiment.id, made.test, made.sessions, control=made.control, links=links)
        tell(1.0, "Done")
        return self.set_baseline(experiment.id, ids[made.baseline])

    def remove_demo(self) -> None:
        for one in self.experiments(archived=True):
            if one.demo:
                self._write().delete_experiment(one.id)

    # ── from the store, kept for the next question ───────────────────────────────────────────

    def _runs(self, run_ids: Sequence[str]) -> list[Run]:
        """The runs in the order asked for; two queries, however many they are."""
        if not run_ids:
            return []
        experiment = self.store.run(run_ids[0]).experiment
        known = {run.id: run for run in self.store.runs(experiment, archived=True)}
        return [known.get(run_id) or self.store.run(run_id) for run_id in run_ids]

    def _curves(self, run_ids: Sequence[str], metrics: Sequence[str]) -> dict[str, dict[str, Curve]]:
        stored = {run_id: dict(found) for run_id, found in self.store.curves(run_ids, metrics).items()}
        for run in self._runs(run_ids):
            for metric in metrics:
                if metric not in stored[run.id] and metric not in run.absent:
                    curve = self._computed(run.id, metric)
                    if curve is not None:
                        stored[run.id][metric] = curve
        return stored

    def _compute_curve(self, run_id: str, metric: str) -> Curve | None:
        run = self.store.run(run_id)
        if not run.hits:
            return None
        users = self.experiment(run.experiment).settings["users"]
        hits, reference = self._hits(run_id), self._reference(run.experiment)
        curves, _ = scoring.score_hits(hits, reference, [define(metric)], users)
        return next(iter(curves.values()), None)

    def _compute_values(
        self, run_id: str, metric: str, k: int, users: Users | None = None
    ) -> UserValues | None:
        """None without lists, and for a metric that the run lacks."""
        run = self.store.run(run_id)
        if not run.hits or metric in run.absent:
            return None
        sample = self._sample(run, users)
        if k > sample.depth:
            raise views.beyond_depth(k, sample.depth)
        formula = define(metric).formula()
        return UserValues(sample.truth_user, formula.values(sample, k), formula.own(sample, k))

    def _compute_tie_band(self, run_id: str, metric: str, k: int) -> TieBand | None:
        run = self.store.run(run_id)
        if not run.hits or metric in run.absent:
            return None
        sample = self._sample(run)
        if k > sample.depth:
            raise views.beyond_depth(k, sample.depth)
        return tie_band(define(metric), self._hits(run_id), sample, k)

    def _sample(self, run: Run, users: Users | None = None) -> Sample:
        """The run's users who count, by the experiment's rule unless another is named."""
        rule = users or self.experiment(run.experiment).settings["users"]
        familiar = scoring.familiar_of(self._reference(run.experiment))
        return sample_of(self._hits(run.id), rule, familiar=familiar)

    def _compute_mean(self, run_id: str, metric: str, k: int, users: Users) -> tuple[float, int]:
        """Mean and number of users; (0, 0) where nobody counts."""
        found = self._compute_values(run_id, metric, k, users)
        if found is None or not len(found.users):
            return 0.0, 0
        return float(found.values.mean()), len(found.users)

    def _read_hits(self, run_id: str) -> Hits:
        run = self.store.run(run_id)
        tables = {name: self.store.table(sha) for name, sha in run.hits.items() if name != "predictions"}
        return hits_from_tables(tables, self._reference(run.experiment).truth)

    def _lists_of(self, run: Run) -> Recommendations:
        """The stored upload of a run."""
        from recdash import ingest

        if run.upload is None:
            raise InputError(Problem("no-upload", f"run '{run.name}'", "its upload was not kept", ""))
        (lists,) = ingest.read_recommendations(self.store.path(run.upload), name=run.name)
        return lists

    def _read_reference(self, experiment_id: str) -> Reference:
        threshold = self.experiment(experiment_id).settings["relevance_threshold"]
        return reading.reference_of(self._tables(experiment_id), threshold)

    def _read_lacks(self, experiment_id: str) -> dict[str, str]:
        """What each reference candidate lacks in the experiment's tables, by its name."""
        tables = self._tables(experiment_id)
        return {name: one.lacks(tables) for name, one in REFERENCES.items()}

    def _tables(self, experiment_id: str) -> dict[TableKind, Upload]:
        """The tables of the experiment's set-up, as they were stored."""
        experiment = self.experiment(experiment_id)
        main = {"truth": experiment.truth, "train": experiment.train, "catalogue": experiment.catalogue}
        stored = {**main, **experiment.tables}
        kinds: tuple[TableKind, ...] = ("truth", "train", "catalogue", *reading.OTHER_TABLES)
        return {
            kind: Upload(kind, experiment.name, self.store.table(sha), {})
            for kind in kinds
            if (sha := stored.get(kind)) is not None
        }

    # ── rights ───────────────────────────────────────────────────────────────────────────────

    def _may_write(self) -> None:
        if self.role == "viewer":
            raise Forbidden("Viewers read; ask an editor to change things here.")

    def _write(self) -> Store:
        self._may_write()
        return self.store


def _same_setup(known: Experiment, settings: Mapping[str, Any], artifacts: Mapping[TableKind, str]) -> bool:
    """The same tables under the same rules; notices may have been worded otherwise."""
    tables = (artifacts["truth"], artifacts.get("train"), artifacts.get("catalogue"))
    rules = ("depth", "users", "relevance_threshold")
    return (
        (known.truth, known.train, known.catalogue) == tables
        and known.tables == _further(artifacts)
        and all(known.settings.get(rule) == settings[rule] for rule in rules)
    )


def _further(artifacts: Mapping[TableKind, str]) -> dict[str, str]:
    """The tables beyond truth, train and catalogue."""
    return {kind: artifacts[kind] for kind in reading.OTHER_TABLES if kind in artifacts}


def _tagged(facts: Mapping[str, Any], run: Recommendations) -> Mapping[str, Any]:
    """A reference candidate carries its tag beside those that were asked for."""
    if not run.reference:
        return facts
    return {**facts, "tags": tuple(dict.fromkeys((*facts.get("tags", ()), REFERENCE_TAG)))}


def _check_nothing_new(known: Run, scored: scoring.Scored) -> None:
    if scored.predictions is not None and "predictions" not in known.hits:
        raise InputError(
            Problem(
                "predictions-too-late",
                f"run '{known.name}'",
                "it is already there, without rating predictions",
                "Delete it, then add it again together with its predictions.",
            )
        )


def _predictions_of_several(count: int) -> Problem:
    found = f"the file of lists holds {count} candidates"
    return Problem(
        "whose-predictions", "rating predictions", found, "Upload each candidate in a file of its own."
    )


def _clean_name(name: str) -> str:
    if not name.strip():
        raise InputError(Problem("no-name", "name", "nothing", "Give it a name."))
    return name.strip()


def _check_typed(typed: str, name: str) -> None:
    if typed != name:
        raise InputError(
            Problem("name-not-typed", "name", f"'{typed}'", f"Type '{name}' exactly to delete it for good.")
        )


def _as_dict(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("code", "place", "found", "fix", "count")}
