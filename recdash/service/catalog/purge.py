"""Removes one user from stored data, and computes everything again that was computed from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.journal import SavedView
from recdash.domain.kinds import TableKind
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.errors import InputError, Problem, StoreBusy
from recdash.evaluation import reading, replicate_merge
from recdash.evaluation.candidates import PreparedRun, prepare_predictions, prepare_runs
from recdash.formatting.wording import listed
from recdash.service.catalog.experiments import Experiments, Setup
from recdash.service.catalog.runs import Runs, StagedRun
from recdash.service.context import ServiceContext
from recdash.service.online.interleaving import Interleaving
from recdash.service.online.tests import OnlineTests
from recdash.service.run_data import RunData
from recdash.service.validation import Progress, quiet

if TYPE_CHECKING:
    import pyarrow as pa

ID_COLUMNS = ("user_id", "unit_id")
"""The columns of stored tables that hold ids of users."""
TRIES = 3
_QUOTED = re.compile(r"(?<!\w)(run |column |variant |metric |table )?'([^']*)'(?!\w)")
"""What a notice quotes, with a word before it that says it is no user's id; an apostrophe follows a letter
and begins no quote.
"""
REMOVED = "users-removed"
"""The code of the notice of an experiment from which users were removed."""


@dataclass(frozen=True)
class Purged:
    """What was removed of a user, or would be.

    ``experiments``, ``runs`` and ``tests`` are the names of what had rows of the user, or was computed from
    them; ``views`` are the names of the deleted views, which showed the user. ``n_rows`` is the number of
    rows in all tables. ``mentioned`` says where people wrote the id as a word; these texts stay. ``left``
    says what may still have the user in the store: damaged rows, which cannot be read, files of the old
    tables that were not removed, files that are being written, and the write-ahead log. It is empty if
    nothing has.
    """

    experiments: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    n_rows: int = 0
    mentioned: tuple[str, ...] = ()
    left: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.experiments or self.runs or self.tests or self.views)


@dataclass(frozen=True)
class Affected:
    """The parts of an experiment that have rows of the user; ``tables`` are those of its set-up."""

    experiment: Experiment
    tables: tuple[TableKind, ...]
    runs: tuple[Run, ...]
    tests: tuple[OnlineTest, ...]
    n_rows: int


@dataclass(frozen=True)
class Rewritten:
    """An experiment without the user, whose files are stored and whose rows are not."""

    affected: Affected
    fields: Mapping[str, Any]
    runs: tuple[tuple[str, StagedRun], ...]
    tests: tuple[tuple[str, Mapping[str, Any]], ...]


class Purge:
    """The service that removes a user from stored data."""

    def __init__(
        self,
        context: ServiceContext,
        data: RunData,
        experiments: Experiments,
        runs: Runs,
        online_tests: OnlineTests,
        interleaving: Interleaving,
    ) -> None:
        self._context, self._data = context, data
        self._experiments, self._runs, self._online_tests = experiments, runs, online_tests
        self._interleaving = interleaving
        self._store = context.store

    def user(self, user_id: str, *, dry_run: bool = False, progress: Progress | None = None) -> Purged:
        """Removes every row of a user from all experiments, computes their numbers again, and returns what
        was removed; with ``dry_run`` only returns what would be.

        All of it is stored in one transaction, and nothing of the user stays in the database file, its log
        and the stored files. Decisions and reports keep the numbers of their time, which name no user; a
        notice of the experiment says so. Raises Forbidden unless the person is an admin, and InputError if
        numbers cannot be computed without the user.
        """
        self._context.person.must_be("admin")
        tell = progress or quiet
        for _ in range(TRIES):
            version = self._context.version()
            tell(0.0, "Looking for the user")
            affected = self._all_affected(user_id)
            views = self._views_of(user_id)
            if dry_run:
                return self._summary(user_id, affected, views)
            rewritten = []
            for number, part in enumerate(affected):
                tell((number + 1) / (len(affected) + 1), f"Computing '{part.experiment.name}' again")
                rewritten.append(self._rewrite(part, user_id))
            with self._store.transaction():
                if self._context.version() != version:
                    continue  # data was stored meanwhile: look again
                for done in rewritten:
                    self._write(done)
                for view in views:
                    self._store.saved_views.delete(view.id)
                summary = self._summary(user_id, affected, views)
                if not summary.is_empty:
                    experiments = [part.experiment.id for part in affected]
                    counts = (len(summary.runs), len(summary.tests), len(summary.views))
                    self._store.audit.purged(experiments, *counts)
            artifacts = self._store.artifacts
            refused = artifacts.remove_replaced().refused
            unneeded = artifacts.discard(lambda table: _rows_of(table, user_id) > 0).refused
            self._context.clear_caches()
            why = "; ".join(dict.fromkeys(filter(None, (refused, unneeded))))
            files = f"not all old data was removed: {why}" if why else ""
            return replace(summary, left="; ".join(filter(None, (summary.left, files))))
        raise StoreBusy("Others kept storing data meanwhile. Nothing was changed; try again.")

    def _all_affected(self, user_id: str) -> list[Affected]:
        experiments = self._store.experiments.all(archived=True)
        parts = [self._affected(experiment, user_id) for experiment in experiments]
        return [part for part in parts if part is not None]

    def _views_of(self, user_id: str) -> list[SavedView]:
        """Returns the saved views that show the user."""
        experiments = self._store.experiments.all(archived=True)
        views = [view for known in experiments for view in self._store.saved_views.of_experiment(known.id)]
        return [view for view in views if view.user == user_id]

    # ── what has the user ────────────────────────────────────────────────────────────────────

    def _affected(self, experiment: Experiment, user_id: str) -> Affected | None:
        """Returns what has rows of the user, None for nothing. Tables of the set-up affect all runs."""

        def rows_in(*files: str | None) -> int:
            return sum(_rows_of(self._store.artifacts.table(sha), user_id) for sha in files if sha)

        runs = self._store.runs.of_experiment(experiment.id, archived=True)
        tests = self._store.online_tests.of_experiment(experiment.id, archived=True)
        in_tables = {kind: rows_in(sha) for kind, sha in experiment.all_tables.items()}
        in_runs = {run.id: rows_in(run.upload, run.hits.get("predictions")) for run in runs}
        in_tests = {test.id: rows_in(test.upload, *test.tables.values()) for test in tests}
        n_rows = sum((*in_tables.values(), *in_runs.values(), *in_tests.values()))
        if not n_rows:
            return None
        tables = tuple(kind for kind, count in in_tables.items() if count)
        return Affected(
            experiment,
            tables,
            tuple(run for run in runs if tables or in_runs[run.id]),
            tuple(test for test in tests if in_tests[test.id]),
            n_rows,
        )

    def _summary(self, user_id: str, affected: Sequence[Affected], views: Sequence[SavedView]) -> Purged:
        return Purged(
            tuple(part.experiment.name for part in affected),
            tuple(run.name for part in affected for run in part.runs),
            tuple(test.name for part in affected for test in part.tests),
            tuple(view.name for view in views),
            sum(part.n_rows for part in affected),
            tuple(self._mentioned(user_id)),
            _not_read(self._store.damaged()),
        )

    def _mentioned(self, user_id: str) -> Iterator[str]:
        """Yields where people wrote the id as a word, such as ``run 'als'``."""
        for experiment in self._store.experiments.all(archived=True):
            texts = {f"experiment '{experiment.name}'": f"{experiment.name} {experiment.note}"}
            for run in self._store.runs.of_experiment(experiment.id, archived=True):
                written = (run.name, run.note, *run.tags, *run.params, *run.params.values())
                texts[f"run '{run.name}'"] = " ".join(map(str, written))
            for test in self._store.online_tests.of_experiment(experiment.id, archived=True):
                texts[f"A/B test '{test.name}'"] = test.name
            for link in self._store.share_links.of_experiment(experiment.id):
                texts[f"link {link.id}"] = link.label
            for entry in self._store.journal.of_experiment(experiment.id):
                texts[f"{entry.kind} {entry.id}"] = entry.text
            for report in self._store.reports.of_experiment(experiment.id, archived=True):
                texts[f"report '{report.title}'"] = f"{report.title} {report.narrative}"
            yield from (place for place, text in texts.items() if _has_word(text, user_id))

    # ── without the user ─────────────────────────────────────────────────────────────────────

    def _rewrite(self, affected: Affected, user_id: str) -> Rewritten:
        experiment = affected.experiment
        fields = self._without_in_set_up(affected, user_id)
        runs: list[tuple[str, StagedRun]] = []
        if affected.runs or "truth" in affected.tables:
            setup = self._setup(experiment, fields)
            known: dict[str, tuple[Run, PreparedRun]] = {}
            for run in sorted(affected.runs, key=lambda run: run.fallback is not None):
                try:
                    prepared = self._prepared_again(run, setup, user_id, known)
                    staged = self._staged_again(run, setup, prepared, user_id)
                    known[run.id] = staged.run, prepared
                    runs.append((run.id, staged))
                except InputError as error:
                    place, problem = f"run '{run.name}'", "it cannot be scored without this user"
                    fix = f"Delete it, then purge again. The reason: {error}"
                    raise InputError(Problem("only-user", place, problem, fix)) from error
        tests = [(test.id, self._counted_again(test, user_id)) for test in affected.tests]
        return Rewritten(affected, fields, tuple(runs), tuple(tests))

    def _without(self, sha256: str, user_id: str) -> str:
        return self._store.artifacts.put(without(self._store.artifacts.table(sha256), user_id))

    def _without_in_set_up(self, affected: Affected, user_id: str) -> dict[str, Any]:
        """Returns the changed fields of the experiment, with a notice that a user was removed."""
        experiment = affected.experiment
        fields: dict[str, Any] = {}
        for kind in affected.tables:
            sha256 = self._without(str(experiment.all_tables[kind]), user_id)
            if kind in experiment.tables:
                fields["tables"] = {**fields.get("tables", experiment.tables), kind: sha256}
            else:
                fields[kind] = sha256
        known = [notice for notice in experiment.settings.get("notices", ()) if not _quotes(notice, user_id)]
        before = sum(notice["count"] or 0 for notice in known if notice["code"] == REMOVED)
        kept = [notice for notice in known if notice["code"] != REMOVED]
        settings = {**experiment.settings, "notices": [*kept, _removed(before + 1)]}
        if "truth" in affected.tables:
            users = self._store.artifacts.table(fields["truth"])["user_id"]
            settings["truth_users"] = len(users.unique())
        return {**fields, "settings": settings}

    def _setup(self, experiment: Experiment, fields: Mapping[str, Any]) -> Setup:
        """Returns the experiment's set-up with the changed tables. Raises InputError if nothing is left."""
        changed = replace(experiment, **fields)
        tables = self._data.tables_of(changed)
        if not tables["truth"].table.num_rows:
            fix = "Delete the experiment."
            place = f"experiment '{experiment.name}'"
            raise InputError(Problem("only-user", place, "its test set has no other user", fix))
        reference = reading.reference_of(tables, experiment.settings["relevance_threshold"])
        return Setup(experiment.name, tables, reference, changed.settings)

    def _prepared_again(
        self, run: Run, setup: Setup, user_id: str, known: Mapping[str, tuple[Run, PreparedRun]]
    ) -> PreparedRun:
        """Returns a run scored again without the user. Lists that were computed are computed again, those of
        a completed run from the run that it completes, if ``known`` has it.

        ``known`` has the runs that were scored again before: {id: the run to store, and what was read}.
        """
        if run.reference:
            return self._runs.prepare_references(setup, run.reference)[0]
        if run.fallback and run.fallback["of"] in known:
            source, prepared = known[run.fallback["of"]]
            if source.ledger["without_list"]:
                again = self._runs.prepare_completed(setup, source, prepared)
                changed = {name: (again.run.fallback or {})[name] for name in ("upload", "users")}
                return replace(again, run=replace(again.run, fallback={**run.fallback, **changed}))
        return self._scored_again(run, setup, user_id)

    def _scored_again(self, run: Run, setup: Setup, user_id: str) -> PreparedRun:
        """Returns a run's stored lists and predictions without the user, scored again."""
        scoring = self._runs.how_scored(setup, accept_unknown_ids=True)
        rated = run.hits.get("predictions")
        predictions = None
        has_lists = run.has_lists or run.is_mean
        if rated is not None:
            table = self._store.artifacts.table(rated if has_lists else str(run.upload))
            predictions = Upload("predictions", run.name, without(table, user_id), {})
        if not has_lists:
            assert predictions is not None  # noqa: S101 a run has lists or predictions
            return prepare_predictions(run.name, predictions, scoring)
        uploads = [_filtered(upload, user_id) for upload in self._uploads(run)]
        if not run.replicated:
            scoring = scoring.in_order(run.provenance.get("order"))
        kind = run.replicated.kind if run.replicated else None
        (prepared,) = prepare_runs([uploads], scoring, quiet, kind, predictions)
        return replace(prepared, run=replace(prepared.run, fallback=run.fallback))

    def _staged_again(self, run: Run, setup: Setup, prepared: PreparedRun, user_id: str) -> StagedRun:
        """Returns what to store of a run that was scored again, with the notices of its file."""
        named = replace(prepared.run, name=run.name)
        (staged,) = self._runs.stage(setup, [replace(prepared, run=named)], [{}])
        before = {part.name: part for part in self._store.runs.replicates([run.id])[run.id]}
        noun = run.replicated.noun if run.replicated else ""
        replicates = tuple(
            (_noted(part, before.get(part.name), user_id, noun), curves) for part, curves in staged.replicates
        )
        provenance = {**run.provenance, **staged.run.provenance}
        scored = replace(_noted(staged.run, run, user_id, noun), provenance=provenance)
        return replace(staged, run=scored, replicates=replicates)

    def _uploads(self, run: Run) -> list[Recommendations]:
        from recdash import ingest

        path = self._store.artifacts.path(str(run.upload))
        label, noun = (replicate_merge.LABEL, run.replicated.noun) if run.replicated else ("", "")
        mapping = {"replicate": label}
        uploads = ingest.read_recommendations(path, name=run.name, mapping=mapping, checked=True)
        return [replace(upload, noun=noun) for upload in uploads]

    def _counted_again(self, test: OnlineTest, user_id: str) -> dict[str, Any]:
        tables = {kind: self._without(sha, user_id) for kind, sha in test.tables.items()}
        changed = {"upload": self._without(test.upload, user_id), "tables": tables}
        notices = tuple(notice for notice in test.notices if not _quotes(asdict(notice), user_id))
        service = self._interleaving if test.is_interleaved else self._online_tests
        return service.recounted(replace(test, notices=notices), **changed)

    def _write(self, rewritten: Rewritten) -> None:
        store = self._store
        store.experiments.update(rewritten.affected.experiment.id, **rewritten.fields)
        for run_id, staged in rewritten.runs:
            store.runs.replace_scores(run_id, staged.run, staged.curves, staged.replicates)
        for test_id, fields in rewritten.tests:
            store.online_tests.update(test_id, **fields)


def _not_read(damaged: Sequence[Problem]) -> str:
    """Returns what of a store was not searched for a user, because it is damaged; "" for nothing."""
    if not damaged:
        return ""
    places = listed(list(dict.fromkeys(problem.place for problem in damaged)))
    return (
        f"{places} cannot be read, and may have the user. Repair what recdash check names, then purge again"
    )


def _noted(scored: Run, before: Run | None, user_id: str, noun: str = "") -> Run:
    """Returns a run that was scored again with the stored notices (``before``) of kinds that it lacks: they
    are from reading its file.

    Stored rows call each fold or seed a replicate; ``noun`` is the word of the file.
    """
    notices = [
        replace(notice, place=notice.place.replace(", replicate ", f", {noun} ")) if noun else notice
        for notice in scored.notices
    ]
    codes = {notice.code for notice in notices}
    read = before.notices if before is not None else ()
    kept = [notice for notice in read if notice.code not in codes and not _quotes(asdict(notice), user_id)]
    return replace(scored, notices=(*kept, *notices))


def _rows_of(table: pa.Table, user_id: str) -> int:
    """Returns the number of rows of a user."""
    return table.num_rows - without(table, user_id).num_rows


def without(table: pa.Table, user_id: str) -> pa.Table:
    """Returns a table without the rows of a user, and without values of theirs in columns' dictionaries."""
    import pyarrow as pa
    import pyarrow.compute as pc

    n_rows = table.num_rows
    for name in ID_COLUMNS:
        if name in table.column_names:
            is_other = pc.not_equal(table.column(name).cast(pa.string()), user_id)
            table = table.filter(pc.fill_null(is_other, fill_value=True))
    if table.num_rows == n_rows:
        return table
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            words = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field, words.dictionary_encode().cast(field.type))
    return table


def _filtered(upload: Recommendations, user_id: str) -> Recommendations:
    """Returns a candidate's lists without those of a user."""
    import pyarrow as pa

    def batches(columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for batch in upload.batches():
            kept = without(pa.Table.from_batches([batch]), user_id)
            yield from (kept if columns is None else kept.select(list(columns))).to_batches()

    return replace(upload, batches=batches, n_rows=None)


def _quotes(notice: Mapping[str, Any], user_id: str) -> bool:
    """Returns whether a notice has the id, such as an example of an unknown id.

    A number is an id only in quotes, as a notice also has counts, lines and values.
    """
    texts = [text for text in notice.values() if isinstance(text, str)]
    if not user_id.isdecimal():
        return any(_has_word(text, user_id) for text in texts)
    quotes = [quote for text in texts for quote in _QUOTED.findall(text)]
    return any(not kind and _is_number(quoted, user_id) for kind, quoted in quotes)


def _is_number(quoted: str, user_id: str) -> bool:
    """Returns whether a quoted text is the id, also with blanks or as a decimal."""
    whole, _, decimals = quoted.strip().partition(".")
    return whole == user_id and not decimals.strip("0")


def _has_word(text: str, word: str) -> bool:
    """Returns whether a text has a word, which is not a part of a longer one."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (_continues(text[start - 1 : start]) or _continues(text[end : end + 1])):
            return True
        start = text.find(word, start + 1)
    return False


def _continues(character: str) -> bool:
    """Returns whether the character next to a word belongs to it; "" at the end of a text does not."""
    return character.isalnum() or character == "_"


def _removed(n_users: int) -> dict[str, Any]:
    """Returns the notice that users were removed, as it is stored with an experiment."""
    return {
        "code": REMOVED,
        "place": "experiment",
        "found": "data of users was removed on request; numbers in earlier decisions and reports include it",
        "fix": "Make reports again for numbers without these users.",
        "count": n_users,
    }
