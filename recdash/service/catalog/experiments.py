"""Reads, stores, renames, archives and deletes evaluation set-ups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from recdash.domain.inputs import Upload
from recdash.domain.kinds import Duplicates, TableKind, Users
from recdash.domain.records import Experiment
from recdash.engines import Reference
from recdash.errors import InputError, NameTaken, Problem, no_experiment
from recdash.evaluation import reading, request
from recdash.evaluation.column_choice import (
    ColumnsGiven,
    by_kind,
    check_columns,
    mappings_of,
    read_column_choice,
)
from recdash.evaluation.relevance import every_row_notice
from recdash.formatting.sanitize import check_note
from recdash.service.context import ServiceContext
from recdash.service.validation import check_typed, clean_name
from recdash.store import new_id

if TYPE_CHECKING:
    from recdash.ingest import Preview


@dataclass(frozen=True)
class Setup:
    """An evaluation set-up that was read and checked, but is not stored yet.

    ``reference`` is None without a test set; such an experiment can have A/B tests, but no runs.
    """

    name: str
    tables: Mapping[TableKind, Upload]
    reference: Reference | None
    settings: Mapping[str, Any]
    note: str = ""
    demo: bool = False


class Experiments:
    """The service for operations on whole experiments."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store

    def all(self, archived: bool = False) -> list[Experiment]:
        return self._store.experiments.all(archived)

    def get(self, experiment_id: str) -> Experiment:
        """Returns the experiment. Raises NotFound for an unknown id."""
        return self._store.experiments.get(experiment_id)

    def named(self, name: str) -> Experiment:
        """Returns the experiment with this name. Raises NotFound, which lists the existing names."""
        experiment = self._store.experiments.named(name)
        if experiment is None:
            raise no_experiment(name, [other.name for other in self.all()])
        return experiment

    def depth(self, experiment_id: str) -> int:
        """Returns the number of positions of each list that are read."""
        return int(self.get(experiment_id).settings["depth"])

    def preview(
        self,
        kind: TableKind,
        source: Any,
        name: str | None = None,
        mapping: Mapping[str, str] | None = None,
        zone: str | None = None,
    ) -> Preview:
        """Returns how a file would be read; stores nothing.

        ``zone`` is the time zone of log timestamps that state none.
        """
        from recdash import ingest

        return ingest.preview(
            kind, source, name=name, mapping=mapping, zone=zone, limits=self._context.limits
        )

    def create(self, name: str, truth: Any = None, **how: Any) -> Experiment:
        """Stores an evaluation set-up; the arguments are those of ``read_setup``.

        Without a test set (``truth``) the experiment can have A/B tests only, until ``add_test_set`` adds
        one. If the same set-up is stored already, its experiment is returned. Raises InputError with the
        problems of all tables, NameTaken if another set-up has the name.

        The notices in the experiment's settings say also if every row counts as relevant although the values
        look like ratings.
        """
        setup = self.read_setup(name, truth, **how)
        more = every_row_notice(setup.reference.truth) if setup.reference else []
        notices = [*setup.settings["notices"], *map(_as_dict, more)]
        return self.store_setup(replace(setup, settings={**setup.settings, "notices": notices}))

    def read_setup(
        self,
        name: str,
        truth: Any = None,
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
        duplicates: Duplicates = "first",
        note: str = "",
        mappings: Mapping[str, Mapping[str, str]] | None = None,
        columns: ColumnsGiven | None = None,
        demo: bool = False,
    ) -> Setup:
        """Reads and checks an evaluation set-up; stores nothing.

        Raises InputError with the problems of all tables.

        ``columns`` maps roles to columns as in ``recdash.evaluate``; ``mappings`` does the same for each
        table.
        """
        self._context.must_be_editor()
        sources: dict[TableKind, Any] = {
            "truth": truth, "train": train, "catalogue": catalogue, "users": user_attributes,
            "vectors": item_vectors, "similarity": item_similarity,
        }  # fmt: skip
        choice = read_column_choice(columns, tuple(sources))
        check_columns("mappings", mappings, (Mapping,))
        mappings = by_kind(mappings)
        choice.check_given([kind for kind, table in sources.items() if table is not None], mappings)
        request.check_relevance(relevance, relevance_threshold)
        mappings = mappings_of(choice, tuple(sources), mappings)
        if truth is None:
            _refuse_without_test_set(sources)
        tables = reading.read_tables(sources, relevance, mappings, self._context.limits)
        choice.check_used()
        request.check_depth(depth)
        request.check_choice("users", users, get_args(Users))
        request.check_choice("duplicates", duplicates, get_args(Duplicates))
        reference = None if truth is None else reading.reference_of(tables, relevance_threshold)
        settings = {
            "depth": depth,
            "users": users,
            "duplicates": duplicates,
            "relevance": relevance,
            "relevance_threshold": relevance_threshold,
            "truth_users": reference.truth.n_users if reference else 0,
            "graded": reference is not None and reference.truth.graded,
            "notices": [_as_dict(notice) for notice in (reference.notices if reference else ())],
        }
        name, note = clean_name(name), check_note("note", note)
        return Setup(name, tables, reference, settings, note, demo)

    def with_rules(
        self,
        setup: Setup,
        *,
        name: str,
        note: str,
        threshold: float | None,
        depth: int | None,
        users: Users,
        duplicates: Duplicates,
    ) -> Setup:
        """Returns a set-up that was already read with another name, note and other rules.

        ``depth`` None keeps the depth; ``threshold`` None counts every row above 0 as relevant. Raises
        InputError for invalid rules, and if no row of the test set is relevant.
        """
        depth = int(setup.settings["depth"]) if depth is None else depth
        request.check_depth(depth)
        request.check_choice("users", users, get_args(Users))
        request.check_choice("duplicates", duplicates, get_args(Duplicates))
        reference = setup.reference
        if reference is not None:
            reference = replace(reference, truth=reference.truth.under(threshold))
            if not reference.truth.relevant().any():
                fix = "Lower the relevance threshold."
                raise InputError(
                    Problem("nothing-relevant", "relevance threshold", "no row is relevant", fix)
                )
        rules = {"depth": depth, "users": users, "duplicates": duplicates, "relevance_threshold": threshold}
        graded = reference is not None and reference.truth.graded
        settings = {**setup.settings, **rules, "graded": graded}
        name, note = clean_name(name), check_note("note", note)
        return replace(setup, name=name, note=note, reference=reference, settings=settings)

    def store_tables(self, setup: Setup) -> dict[TableKind, str]:
        """Stores the tables of a set-up as files, which no experiment needs yet: {kind: sha256}."""
        store = self._context.writable_store()
        return {kind: store.artifacts.put(upload.table) for kind, upload in setup.tables.items()}

    def store_setup(self, setup: Setup, files: Mapping[TableKind, str] | None = None) -> Experiment:
        """Stores a set-up that ``read_setup`` returned, and returns its experiment.

        ``files`` is what ``store_tables`` returned, if it was called already.

        If an experiment with this name has no test set yet, it gets the set-up's. If the same set-up is
        stored already, its experiment is returned. Raises NameTaken if another set-up has the name.
        """
        self._context.must_be_editor()
        known = self._store.experiments.named(setup.name)
        if known is not None and known.truth is None and setup.reference is not None:
            return self.store_test_set(known.id, setup, files)
        artifacts = self.store_tables(setup) if files is None else files
        new = Experiment(
            id=new_id(),
            name=setup.name,
            created=self._context.now(),
            truth=artifacts.get("truth"),
            train=artifacts.get("train"),
            catalogue=artifacts.get("catalogue"),
            tables=_further(artifacts),
            settings=setup.settings,
            note=setup.note,
            demo=setup.demo,
        )
        try:
            return self._same(setup, artifacts) or self._store.experiments.add(new)
        except NameTaken:  # another process may have stored the same set-up meanwhile
            known = self._same(setup, artifacts)
            if known is None:
                raise
            return known

    def add_test_set(self, experiment_id: str, truth: Any, **how: Any) -> Experiment:
        """Adds a test set, and the tables that go with it, to an experiment that has none.

        The arguments are those of ``read_setup``. Raises InputError with the problems of all tables, and for
        an experiment that has a test set already.
        """
        self._context.must_be_editor()
        known = self.get(experiment_id)
        return self.store_test_set(experiment_id, self.read_setup(known.name, truth, **how))

    def store_test_set(
        self, experiment_id: str, setup: Setup, files: Mapping[TableKind, str] | None = None
    ) -> Experiment:
        """Stores a set-up's tables and settings in an experiment without a test set; its name and note stay.

        ``files`` is what ``store_tables`` returned, if it was called already.

        Raises InputError if the experiment has a test set already.
        """
        store = self._context.writable_store()
        artifacts = self.store_tables(setup) if files is None else files

        def fields_of(known: Experiment) -> dict[str, Any]:
            if known.truth is not None:
                fix = "Create a new experiment for another test set."
                place = f"experiment '{known.name}'"
                raise InputError(Problem("has-test-set", place, "it has a test set already", fix))
            return {
                "truth": artifacts["truth"],
                "train": artifacts.get("train"),
                "catalogue": artifacts.get("catalogue"),
                "tables": _further(artifacts),
                "settings": {**known.settings, **setup.settings},
            }

        return store.experiments.change(experiment_id, fields_of)

    def _same(self, setup: Setup, artifacts: Mapping[TableKind, str]) -> Experiment | None:
        """Returns the stored experiment that has the set-up's name, tables and rules; None if there is
        none.
        """
        known = self._store.experiments.named(setup.name)
        return known if known is not None and _same_setup(known, setup.settings, artifacts) else None

    def same_truth(self, experiment_id: str) -> list[Experiment]:
        """Returns the other experiments with the same test set, archived ones included."""
        truth = self._store.experiments.get(experiment_id).truth
        return (
            []
            if truth is None
            else [
                other
                for other in self._store.experiments.all(archived=True)
                if other.truth == truth and other.id != experiment_id
            ]
        )

    def rename(self, experiment_id: str, name: str) -> Experiment:
        return self._context.writable_store().experiments.update(experiment_id, name=clean_name(name))

    def set_note(self, experiment_id: str, note: str) -> Experiment:
        return self._context.writable_store().experiments.update(experiment_id, note=check_note("note", note))

    def set_baseline(self, experiment_id: str, run_id: str | None) -> Experiment:
        return self._context.writable_store().experiments.update(experiment_id, baseline=run_id)

    def archive(self, experiment_id: str) -> Experiment:
        return self._context.writable_store().experiments.update(experiment_id, archived=self._context.now())

    def unarchive(self, experiment_id: str) -> Experiment:
        return self._context.writable_store().experiments.update(experiment_id, archived=None)

    def delete(self, experiment_id: str, typed_name: str) -> None:
        """Deletes an experiment with all it has.

        Raises InputError unless ``typed_name`` is its exact name.

        Decisions are permanent: an experiment that has some raises Forbidden unless the person is an admin,
        or it is the demo.
        """
        self._context.must_be_editor()
        experiment = self._store.experiments.get(experiment_id)
        entries = self._store.journal.of_experiment(experiment_id)
        if not experiment.demo and any(entry.kind == "decision" for entry in entries):
            self._context.person.must_be("admin")
        check_typed(typed_name, experiment.name)
        self._context.writable_store().experiments.delete(experiment_id)


def _same_setup(known: Experiment, settings: Mapping[str, Any], artifacts: Mapping[TableKind, str]) -> bool:
    """Returns whether a stored experiment has these tables and rules; the wording of notices may differ."""
    tables = (artifacts.get("truth"), artifacts.get("train"), artifacts.get("catalogue"))
    rules = ("depth", "users", "relevance_threshold")
    return (
        (known.truth, known.train, known.catalogue) == tables
        and known.tables == _further(artifacts)
        and all(known.settings.get(rule) == settings[rule] for rule in rules)
        and known.settings.get("duplicates", "first") == settings["duplicates"]
    )


def _refuse_without_test_set(sources: Mapping[TableKind, Any]) -> None:
    """Raises InputError if any table is given, as each of them is of use only with a test set."""
    fix = "Add the test set too: what users actually chose later."
    problems = [
        Problem("without-test-set", f"{kind} table", "given without a test set", fix)
        for kind, source in sources.items()
        if source is not None
    ]
    if problems:
        raise InputError(problems)


def _further(artifacts: Mapping[TableKind, str]) -> dict[str, str]:
    """Returns the set-up's tables other than test set, training data and catalogue: {kind: sha256}."""
    return {kind: artifacts[kind] for kind in reading.OTHER_TABLES if kind in artifacts}


def _as_dict(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in ("code", "place", "found", "fix", "count")}
