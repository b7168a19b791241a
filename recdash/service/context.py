"""What the answers are made from: the store, and what was read or computed once for the next question."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from recdash.domain.access import Person
from recdash.domain.hits import Hits
from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import TableKind, Users
from recdash.domain.records import Experiment, Run
from recdash.domain.results import WHOLE, Absent, Curve, Scope, UserValues
from recdash.engines import Reference, hits_from_tables, list_metrics, match
from recdash.errors import EvidenceDamaged, InputError, NotFound, Problem, UnknownName
from recdash.evaluation import reading, replicate_merge, replicates, scoring
from recdash.evaluation.replicate_means import rated_values
from recdash.evaluation.slices import Slice, known_slices, slices_of
from recdash.metrics import Definition, Material, define, score
from recdash.metrics.catalogue import CatalogueMetric, Shelf
from recdash.metrics.ratings import RatingMetric
from recdash.metrics.sample import Ideals, Sample, sample_of
from recdash.service.cache import Kept
from recdash.settings import settings
from recdash.store import Store, new_id

if TYPE_CHECKING:
    from recdash.ingest import Limits
    from recdash.metrics.ratings import Predictions


def person_here() -> Person:
    """Whoever sits at this machine may do everything, under the name of the settings or of the login."""
    return Person(settings().user or login_name(), "admin", named=False)


def login_name() -> str:
    """``you`` where the system does not know the user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "you"


def _now() -> datetime:
    return datetime.now(UTC)


def _needs_lists(definition: Definition) -> bool:
    metric = definition.metric
    return isinstance(metric, CatalogueMetric) and metric.from_lists(definition.parameters)


def absent_for(metric: str, error: InputError) -> Absent:
    """The metric, absent because of what was found in its input."""
    return Absent(metric, "; ".join(problem.found for problem in error.problems))


def _several_lists(run: Run) -> Problem:
    found = f"it is the mean of {run.replicated}, so that each user has several lists"
    return Problem("several-lists", f"run '{run.name}'", found, "Upload one of them by itself to see lists.")


def _files_of(run: Run, with_lists: bool) -> list[str]:
    """The hashes of the stored files that a page reads of a run; its upload, if it was kept, for lists."""
    upload = [run.upload] if with_lists and run.upload else []
    return [*run.hits.values(), *upload]


class Evidence:
    """The store as one person sees it; keeps what it read, keyed by ids of things that never change."""

    def __init__(
        self,
        store: Store,
        *,
        person: Person | None = None,
        limits: Limits | None = None,
        clock: Callable[[], datetime] = _now,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self.person = person or person_here()
        self.store = store.by(self.person.name, self.person.role, read_only=not self.person.may("editor"))
        self.limits, self._clock, self._new_id = limits, clock, make_id
        self._keep()

    def _keep(self) -> None:
        """Make room for what is asked again."""
        self._reference = lru_cache(maxsize=4)(self._read_reference)
        self._hits = Kept(self._read_hits, least=64)
        self._lasting = lru_cache(maxsize=4096)(self.store.run)
        """What never changes of a run: hits, provenance, experiment. Its name and archive may."""
        self._settings = lru_cache(maxsize=64)(lambda experiment_id: self.experiment(experiment_id).settings)
        self._reference_under = lru_cache(maxsize=8)(self._take_as_relevant)
        self._slices = lru_cache(maxsize=32)(self._cut_into)
        self._ideals = lru_cache(maxsize=8)(lambda _experiment, _scope: Ideals())
        self._values = Kept(self._compute_values, least=64)
        self._material = Kept(self._read_material, least=64)
        self._computed = lru_cache(maxsize=1024)(self._compute_curve)
        self._possible = lru_cache(maxsize=4096)(self._ask_whether_possible)
        self._whole_shelf = lru_cache(maxsize=16)(self._look_at_all_lists)
        self._rated_pairs = lru_cache(maxsize=4)(lambda home: reading.RatedPairs(self._reference(home)))
        self._below = lru_cache(maxsize=4096)(self._read_replicates)

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

    def _runs(self, run_ids: Sequence[str]) -> list[Run]:
        """The runs in the order asked for; two queries, however many they are."""
        if not run_ids:
            return []
        experiment = self.store.run(run_ids[0]).experiment
        known = {run.id: run for run in self.store.runs(experiment, archived=True)}
        return [known.get(run_id) or self.store.run(run_id) for run_id in run_ids]

    def _curves(
        self, run_ids: Sequence[str], metrics: Sequence[str], scope: Scope = WHOLE
    ) -> dict[str, dict[str, Curve]]:
        stored: dict[str, dict[str, Curve | Absent]] = {run_id: {} for run_id in run_ids}
        if scope == WHOLE:
            stored |= {run_id: dict(found) for run_id, found in self.store.curves(run_ids, metrics).items()}
        for run in self._runs(run_ids):
            for metric in metrics:
                if metric not in stored[run.id] and metric not in run.absent:
                    stored[run.id][metric] = self._computed(run.id, metric, scope)
        return {
            run_id: {metric: curve for metric, curve in found.items() if isinstance(curve, Curve)}
            for run_id, found in stored.items()
        }

    def unreadable(self, run_ids: Sequence[str], *, with_lists: bool = False) -> dict[str, str]:
        """{run id: why} of the runs whose stored hits are lost or damaged, their replicates' too; with lists,
        also of those whose stored upload is.

        A file is read and compared once in a process.
        """
        why: dict[str, str] = {}
        for run in self._runs(run_ids):
            everyone = (run, *(self._below(run.id) if run.replicated else ()))
            try:
                for sha256 in {sha256 for each in everyone for sha256 in _files_of(each, with_lists)}:
                    self.store.path(sha256)
            except (NotFound, EvidenceDamaged) as error:
                why[run.id] = str(error)
        return why

    def damaged(self, experiment_id: str | None = None) -> list[Problem]:
        """What of an experiment, or of all, was found damaged in reading, and is left out therefore."""
        return self.store.damaged(experiment_id)

    def _refuse_damage(self, run_ids: Sequence[str], test_id: str | None = None) -> None:
        """Raises EvidenceDamaged where something stored of these runs, of a test or of their experiment is
        not what was written: numbers, hits, uploads, tables.

        A file is read once in a process. One that is not there any more is no damage: what was counted
        from it stands.
        """
        runs = self._runs(run_ids)
        everyone = [one for run in runs for one in (run, *(self._below(run.id) if run.replicated else ()))]
        self._refuse_damaged_curves({run.id: run.name for run in everyone})
        homes = [self.experiment(experiment) for experiment in {run.experiment for run in runs}]
        tests = [self.store.online_test(test_id)] if test_id else []
        for files in (
            *((home.truth, home.train, home.catalogue, *home.tables.values()) for home in homes),
            *((run.upload, *run.hits.values()) for run in everyone),
            *((test.upload, *test.tables.values()) for test in tests),
        ):
            self._refuse_damaged_files(files)

    def _refuse_damaged_curves(self, names: Mapping[str, str]) -> None:
        for run_id, curves in self.store.curves(list(names)).items():
            for curve in curves.values():
                if isinstance(curve, Absent):
                    place = f"{curve.metric} of run '{names[run_id]}'"
                    raise EvidenceDamaged(Problem("damaged", place, curve.reason, ""))

    def _refuse_damaged_files(self, files: Iterable[str | None]) -> None:
        for sha256 in files:
            if sha256 is not None:
                with suppress(NotFound):
                    self.store.path(sha256)

    def _read_replicates(self, run_id: str) -> tuple[Run, ...]:
        """The folds or seeds of a run; empty for one that was uploaded once."""
        return tuple(self.store.replicates([run_id])[run_id])

    def _compute_curve(self, run_id: str, metric: str, scope: Scope = WHOLE) -> Curve | Absent:
        definition = define(metric)
        if scope.slice and isinstance(definition.metric, RatingMetric):
            return Absent(metric, scoring.NOT_IN_SLICES)
        try:
            if self.store.run(run_id).is_mean:
                return self._mean_curve(run_id, definition, scope)
            (found,) = score([definition], self._material_for(run_id, definition, scope))
        except InputError as error:
            return absent_for(metric, error)
        return found

    def _mean_curve(self, run_id: str, definition: Definition, scope: Scope) -> Curve | Absent:
        """Of a run whose users have a list in each of its replicates."""
        metric, below = str(definition), self._below(run_id)
        known = self._curves([one.id for one in below], [metric], scope)
        samples = [self._sample(one.id, None, scope) for one in below]
        found = replicates.mean_curve(definition, samples, [known[one.id].get(metric) for one in below])
        return found or self._first_absence(below, metric)

    def _first_absence(self, below: Sequence[Run], metric: str) -> Absent:
        """Why the first that lacks the metric does."""
        asked = (Absent(metric, one.absent[metric]) for one in below if metric in one.absent)
        computed = (self._computed(one.id, metric) for one in below if metric not in one.absent)
        lacking = [one for one in (*asked, *computed) if isinstance(one, Absent)]
        return lacking[0] if lacking else Absent(metric, "one of its replicates lacks it")

    def _material_for(self, run_id: str, definition: Definition, scope: Scope = WHOLE) -> Material:
        """What the metric is computed from; what was not stored of the lists comes from the upload.

        Raises InputError when the upload was not kept.
        """
        if isinstance(definition.metric, RatingMetric):
            return Material(predictions=self._predictions(run_id))
        if not self.store.run(run_id).has_lists:
            return Material()
        material = self._material(run_id, None, scope)
        shelf = material.shelf
        if shelf is None or not isinstance(definition.metric, CatalogueMetric):
            return material
        if _needs_lists(definition) and definition.of_lists not in shelf.exposure.list_means:
            shelf = self._with_list_means(run_id, shelf, definition)
        elif definition.parameters["users"] == "run" and not shelf.is_whole:
            shelf = self._whole_shelf(run_id)
        return replace(material, shelf=shelf)

    def _with_list_means(self, run_id: str, shelf: Shelf, definition: Definition) -> Shelf:
        """With the metric's means over the lists; without them where the set-up lacks what it needs."""
        reference = self._reference(self.store.run(run_id).experiment)
        wanted = list_metrics([definition], reference, shelf.depth)
        if not wanted:
            return shelf
        again = self._match_again(run_id, list_metrics=wanted)
        return scoring.shelf_of(again, reference) or shelf

    def _look_at_all_lists(self, run_id: str) -> Shelf | None:
        """What the stored upload shows to everybody, for a run that was scored before that was counted."""
        return scoring.shelf_of(self._match_again(run_id), self._reference(self.store.run(run_id).experiment))

    def _ask_whether_possible(self, run_id: str, metric: str) -> bool:
        """Are the tables there that the metric needs? Asks without computing it."""
        definition, run = define(metric), self.store.run(run_id)
        if run.is_mean:
            return all(self._possible(one.id, metric) for one in self._below(run_id))
        if isinstance(definition.metric, RatingMetric):
            return "predictions" in run.hits
        if not run.has_lists:
            return False
        if isinstance(definition.metric, CatalogueMetric):
            shelf = self._material(run_id).shelf
            return shelf is not None and not definition.metric.lacks(
                shelf.of(definition.parameters["users"]), definition.parameters
            )
        return not definition.lacks(self._sample(run_id))

    def _predictions(self, run_id: str) -> Predictions | None:
        sha = self.store.run(run_id).hits.get("predictions")
        if sha is None:
            return None
        return reading.predictions_of(Upload("predictions", run_id, self.store.table(sha), {}))

    def _compute_values(
        self, run_id: str, metric: str, k: int, users: Users | None = None, scope: Scope = WHOLE
    ) -> UserValues | None:
        """None without lists, and for a metric that the run lacks."""
        definition = define(metric)
        if isinstance(definition.metric, RatingMetric):
            return None if scope.slice else self._rated_values(run_id, definition)
        definition.formula()  # refuses a metric without a value per user
        run, users = self._lasting(run_id), definition.own_rule or users
        if run.is_mean:
            samples = [self._sample(one.id, users, scope) for one in self._below(run_id)]
            return replicates.user_values(definition, samples, k)
        if not run.has_lists:
            return None
        if definition.own_rule is None and self._rule(run, users) == "both":
            found = self._values(run_id, metric, k, "truth", scope)
            if found is not None:  # what a user got does not depend on who else counts
                return found.of(self._sample(run_id, "truth", scope).list_length > 0)
        return replicates.user_values(definition, [self._sample(run_id, users, scope)], k)

    def _rated_values(self, run_id: str, definition: Definition) -> UserValues | None:
        """None without predictions."""
        run = self._lasting(run_id)
        if "predictions" not in run.hits:
            return None
        table = self.store.table(run.hits["predictions"])
        return rated_values(definition, self._rated_pairs(run.experiment).rows(table))

    def _sample(self, run_id: str, users: Users | None = None, scope: Scope = WHOLE) -> Sample:
        """The run's users who count, by the experiment's rule unless another is named."""
        sample = self._material(run_id, users, scope).sample
        if sample is None:
            raise ValueError(f"run '{run_id}' has no lists")
        return sample

    def _read_material(self, run_id: str, users: Users | None = None, scope: Scope = WHOLE) -> Material:
        """Of a slice only what accuracy rests on: what it is shown takes another look at the lists."""
        run = self._lasting(run_id)
        rule = self._rule(run, users)
        reference = self._reference_under(run.experiment, scope.threshold)
        hits = replace(self._hits(run_id), truth=reference.truth)
        # where the same users count for every run, what their best lists gain is worked out once
        ideals = self._ideals(run.experiment, scope) if rule == "truth" else None
        if not scope.slice:
            return scoring.material_of(hits, reference, rule, ideals=ideals)
        of = self._slice(run.experiment, scope)
        known = scoring.familiar_of(reference)
        return Material(sample_of(hits, rule, of.users, of.rows, known, ideals))

    def _rule(self, run: Run, users: Users | None) -> Users:
        """Who counts: by the rule named, that of the replicate, or that of the experiment."""
        rule: Users = users or run.provenance.get("users") or self._settings(run.experiment)["users"]
        return rule

    def _slice(self, experiment_id: str, scope: Scope) -> Slice:
        """Raises UnknownName for a slice in which nobody counts."""
        known = known_slices(self._reference(experiment_id))
        by = max((one for one in known if scope.slice.startswith(f"{one}=")), key=len, default="")
        cuts = self._slices(experiment_id, by, scope.threshold) if by else ()
        names = {f"{one.by}={one.value}": one for one in cuts}
        if scope.slice not in names:
            raise UnknownName("slice", scope.slice, sorted(names) or [f"{one}=…" for one in known])
        return names[scope.slice]

    def _cut_into(self, experiment_id: str, by: str, threshold: float | None = None) -> tuple[Slice, ...]:
        return tuple(slices_of(self._reference_under(experiment_id, threshold), by))

    def _take_as_relevant(self, experiment_id: str, threshold: float | None) -> Reference:
        """The reference with another threshold; the experiment's own without one."""
        own = self._reference(experiment_id)
        if threshold is None:
            return own
        if not threshold > 0:
            fix = "Use a number above 0; rows with relevance 0 or less are never relevant."
            raise InputError(Problem("bad-threshold", "relevance threshold", f"{threshold:g}", fix))
        truth = own.truth.under(threshold)
        if not truth.relevant().any():
            found = f"no row of the truth has a relevance of {threshold:g} or more"
            fix = f"The largest is {float(truth.gain.max()):g}; choose a smaller threshold."
            raise InputError(Problem("nothing-relevant", "relevance threshold", found, fix))
        return replace(own, truth=truth)

    def _read_hits(self, run_id: str) -> Hits:
        run = self._lasting(run_id)
        if run.is_mean:
            raise InputError(_several_lists(run))
        tables = {name: self.store.table(sha) for name, sha in run.hits.items() if name != "predictions"}
        return hits_from_tables(tables, self._reference(run.experiment).truth)

    def _lists_of(self, run: Run) -> Recommendations:
        """The stored upload of a run; a replicate's rows stand in that of its candidate.

        Raises InputError when it was not kept, and for a run whose users have several lists.
        """
        from recdash import ingest

        home = run if run.replicate_of is None else self.store.run(run.replicate_of)
        if home.upload is None:
            raise InputError(Problem("no-upload", f"run '{run.name}'", "its upload was not kept", ""))
        if run.is_mean:
            raise InputError(_several_lists(run))
        column = {"replicate": replicate_merge.LABEL if run is not home else ""}
        mapping = column if home.replicated else None
        found = ingest.read_recommendations(
            self.store.path(home.upload), name=run.name, mapping=mapping, checked=True
        )
        return next(one for one in found if one.replicate is None or one.replicate == run.name)

    def _match_again(self, run_id: str, reference: Reference | None = None, **how: Any) -> Hits:
        """Hits from the stored upload, for what was not stored with those that are.

        Unless told otherwise, in the same order and against the experiment's own reference.
        """
        run, stored = self.store.run(run_id), self._hits(run_id)
        own = {"depth": stored.depth, "order": stored.order, "duplicates": stored.duplicates}
        how = own | how
        return match(self._lists_of(run), reference or self._reference(run.experiment), **how)[0]

    def _read_reference(self, experiment_id: str) -> Reference:
        threshold = self.experiment(experiment_id).settings["relevance_threshold"]
        return reading.reference_of(self._tables(experiment_id), threshold)

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

    def secret(self) -> bytes:
        """What links and cookies are signed with: that of the settings, else that of the store."""
        known = settings().secret
        return self.store.secret() if known is None else known.get_secret_value().encode()

    def _may_write(self) -> None:
        self.person.must_be("editor")

    def _write(self) -> Store:
        self._may_write()
        return self.store
