"""Compares the stored rows with the audit log, whose lines say what each row should be."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from recdash.domain.journal import AuditEvent, AuditResult, Mismatch
from recdash.domain.results import Unavailable
from recdash.errors import EvidenceDamaged
from recdash.formatting.wording import many
from recdash.store import audit
from recdash.store.audit_key import AuditKey, LogState
from recdash.store.checksums import seal
from recdash.store.tables import (
    EXPERIMENT,
    KINDS,
    RUN,
    CurveRow,
    Kind,
    LibraryMetricRow,
    columns_of,
    curve_of,
    is_intact,
    seal_of,
    seal_of_curves,
)

OLD_SEALS = {
    "entry": ("id", "experiment", "created", "author", "kind", "about", "text", "facts"),
    "report": (
        "id", "experiment", "created", "author", "title", "narrative", "blocks", "question", "document",
    ),
    "share link": ("id", "experiment", "created", "author", "expires", "report", "label"),
    "saved view": ("id", "experiment", "name", "created", "author", "page", "params"),
}  # fmt: skip
"""The fields in the hash that older releases logged for a record that people write, under ``sha256``."""
BY_OTHERS = ("baseline", "links")
"""The fields that also change when a run is deleted or replaced, in a line about the run."""
WORDS = {"online test": "A/B test"}
"""How the kinds of rows are called where the word in the log is not the one that people read."""
AT_ONCE = 256
"""How many curves are in memory at the same time."""
MOST_SHOWN = 80
"""The number of characters to which a value in a message is cut."""


@dataclass
class Recorded:
    """What the log says of a row: its newest ``line``, its ``seal``, and the values of its ``fields``.

    ``old_seal`` is that of an older release. ``seal`` and ``curves`` are None if no line has them.
    """

    name: str
    line: AuditEvent
    held_by: tuple[Any, ...]
    old_seal: str | None
    seal: str | None = None
    curves: tuple[str, AuditEvent] | None = None
    fields: dict[str, Any] = field(default_factory=dict)


Records = dict[str, Recorded]
"""{``word id``: what the log says} of all rows that should exist."""
Held = defaultdict[Any, set[str]]
"""{id: ``word id`` of each row that is deleted with the row of this id}."""


def log_state(session: Session) -> LogState:
    """Returns the last line of the log, and the rows that no line says were added."""
    log = audit.events(session, None)
    ids = {f"{kind.word} {key}" for kind in KINDS for key in session.scalars(select(kind.row.id))}
    unlogged = tuple(sorted(ids - _recorded(log).keys()))
    return LogState(log[-1].number, log[-1].hash, unlogged) if log else LogState(unlogged=unlogged)


def audited(session: Session, key: AuditKey | None) -> AuditResult:
    """Returns all that is wrong with the log itself and with the rows, and what the log cannot say."""
    log = audit.events(session, None)
    chain = [mismatch for _, mismatch in audit.broken_lines(log, key)]
    compared = replay(session, log, key)
    return AuditResult((*chain, *compared.mismatches), tuple(compared.unsealed), audit.n_plain(log, key))


def replay(session: Session, log: Sequence[AuditEvent], key: AuditKey | None) -> Comparison:
    """Returns the stored rows, compared with what the complete log says of them.

    A row may have another content than was written, be missing although no line says that it was deleted, or
    be there although no line says that it was added.
    """
    records = _recorded(log)
    unlogged = None if key is None else frozenset(key.since.unlogged)
    names = _experiment_names(session, records)
    comparison = Comparison(records, unlogged, names)
    for kind in KINDS:
        for row in session.scalars(select(kind.row).order_by(kind.row.id)):
            comparison.add(kind, row)
        session.expunge_all()
    comparison.add_missing()
    comparison.add_curves(_stored_curves(session))
    comparison.add_library(
        log, session.scalars(select(LibraryMetricRow).order_by(LibraryMetricRow.name)).all()
    )
    return comparison


def _recorded(log: Sequence[AuditEvent]) -> Records:
    words = {kind.word for kind in KINDS}
    records: Records = {}
    held: Held = defaultdict(set)
    for line in log:
        verb, _, word = line.action.replace("replace damaged", "replace").partition(" ")
        if word in words:
            _follow(records, held, line, verb, word)
        elif line.action == audit.SCORE_AGAIN:
            _forget_held(records, held, line.target)
            _follow(records, held, line, "change", RUN.word)
        seals = line.details.get(audit.SEALS)
        for name, sealed in seals.items() if isinstance(seals, Mapping) else ():
            _take_seal(records, line, name, sealed)
    return records


def _follow(records: Records, held: Held, line: AuditEvent, verb: str, word: str) -> None:
    """Changes the records as the line says that the rows were changed."""
    name, details = f"{word} {line.target}", {**line.details}
    details.pop(audit.SEALS, None)
    if verb == "add":
        called = str(details.get("kind", word)) if word == "entry" else word
        held_by = tuple(details.get(holder) for holder in ("experiment", "report", "replicate_of"))
        records[name] = Recorded(called, line, held_by, details.get("sha256"), fields=details)
        for holder in held_by:
            held[holder].add(name)
    elif verb == "change" and name in records:
        record = records[name]
        record.line = line
        for changed, value in details.items():
            known = record.fields.get(changed)
            merges = isinstance(known, dict) and isinstance(value, dict)
            record.fields[changed] = (known | value) if merges else value
    elif verb in ("delete", "replace"):
        records.pop(name, None)
        _forget_held(records, held, line.target)


def _forget_held(records: Records, held: Held, holder: str) -> None:
    """Removes the records that were deleted with the experiment, report or run that held them."""
    for name in held.pop(holder, ()):
        if name in records and holder in records[name].held_by:
            del records[name]


def _take_seal(records: Records, line: AuditEvent, name: str, sealed: Any) -> None:
    word, _, key = name.rpartition(" ")
    if word == "curves":
        if f"{RUN.word} {key}" in records:
            records[f"{RUN.word} {key}"].curves = (str(sealed), line)
    elif name in records:
        record = records[name]
        record.seal, record.line = str(sealed), line
        if key != line.target:
            for other in BY_OTHERS:
                record.fields.pop(other, None)


def _experiment_names(session: Session, records: Records) -> dict[str, str]:
    logged = {
        name.removeprefix(f"{EXPERIMENT.word} "): str(record.fields.get("name", ""))
        for name, record in records.items()
        if name.startswith(f"{EXPERIMENT.word} ")
    }
    columns = select(EXPERIMENT.row.id, EXPERIMENT.row.name)
    return {key: name for key, name in logged.items() if name} | {
        str(key): str(name) for key, name in session.execute(columns)
    }


@dataclass(frozen=True)
class StoredCurves:
    """The seal of a run's stored curves, their number, and whether the checksum of one does not match."""

    seal: str
    n: int
    is_damaged: bool


NO_CURVES = StoredCurves(seal_of_curves(()), 0, is_damaged=False)


def _stored_curves(session: Session) -> dict[str, StoredCurves]:
    """Returns {run id: its curves} of the runs that have curves."""
    query = select(CurveRow).order_by(CurveRow.run).execution_options(yield_per=AT_ONCE)
    seals: dict[str, dict[str, str]] = defaultdict(dict)
    damaged = set()
    for row in session.scalars(query):
        try:
            seals[str(row.run)][str(row.metric)] = seal(columns_of(row))
        except (TypeError, UnicodeError):
            seals[str(row.run)][str(row.metric)] = "unreadable"
        if isinstance(curve_of(row), Unavailable):
            damaged.add(str(row.run))
    return {run: StoredCurves(seal(own), len(own), run in damaged) for run, own in seals.items()}


class Comparison:
    """The stored rows, one after the other, compared with what the log says of them.

    ``unlogged`` are the rows that are older than the log; None if that is not known.
    """

    def __init__(
        self, records: Records, unlogged: frozenset[str] | None, experiments: Mapping[str, str]
    ) -> None:
        self._records, self._unlogged, self._experiments = records, unlogged, experiments
        self._stored: set[str] = set()
        self._run_names: dict[str, str] = {}
        self.mismatches: list[Mismatch] = []
        self.unsealed: list[str] = []

    def add(self, kind: Kind, row: Any) -> None:
        name = f"{kind.word} {row.id}"
        self._stored.add(name)
        record = self._records.get(name)
        shown = self._shown(kind, row)
        if kind is RUN:
            self._run_names[str(row.id)] = shown
        if record is None:
            if kind.changes is None and (self._unlogged is None or name in self._unlogged):
                self.unsealed.append(shown)
            else:
                actual = "no line of the audit log says that it was added"
                self._note(kind, shown, actual, f"a row with a line 'add {kind.word}'", _record(kind, row))
        elif record.seal is not None:
            if record.seal != seal_of(kind, row):
                self._note_changes(kind, row, record, shown)
        elif kind.changes is None:
            self.unsealed.append(shown)
        else:
            self._check_old_seal(kind, row, record, shown)

    def _shown(self, kind: Kind, row: Any) -> str:
        """Returns how a row is called in a message, such as ``run 'als' of 'Films'``."""
        word = str(getattr(row, "kind", kind.word)) if kind.word == "entry" else kind.word
        title = getattr(row, "name", None) or getattr(row, "title", None)
        return self._called(kind, word, title, row.id, getattr(row, "experiment", None))

    def _called(self, kind: Kind, word: str, title: Any, key: str, experiment: Any) -> str:
        word = WORDS.get(word, word)
        named = f"{word} '{title}'" if title else f"{word} {key}"
        home = self._experiments.get(str(experiment), experiment)
        return f"{named} of '{home}'" if kind.has("experiment") else named

    def _note(
        self, kind: Kind, shown: str, actual: str, expected: str, record: str, *, is_damaged: bool = False
    ) -> None:
        table = str(kind.row.__tablename__)
        self.mismatches.append(Mismatch(table, shown, actual, expected, record, is_damaged))

    def _note_changes(self, kind: Kind, row: Any, record: Recorded, shown: str) -> None:
        """Notes each field whose value differs from that in the log; else that the content differs."""
        by = _by(record.line)
        is_damaged = kind.changes is None and not is_intact(row)
        changed = _changed_fields(kind, row, record.fields)
        for name, now, then in changed:
            actual, expected = f"{name} is {_text(now)}", f"{_text(then)}, as {by} wrote"
            record_name = f"{_record(kind, row)} ({name})"
            self._note(kind, shown, actual, expected, record_name, is_damaged=is_damaged)
        if not changed:
            actual, expected = "its content is not what was sealed", f"as {by} left it"
            self._note(kind, shown, actual, expected, _record(kind, row), is_damaged=is_damaged)

    def _check_old_seal(self, kind: Kind, row: Any, record: Recorded, shown: str) -> None:
        """Compares a row with what an older release logged: a hash of some fields, and later changes."""
        if record.old_seal != _old_seal(kind, row):
            actual = "its content is not what was written"
            self._note(kind, shown, actual, f"as {_by(record.line)} wrote it", _record(kind, row))
            return
        for name in sorted(kind.changeable):
            now, then = audit.shortened(getattr(row, name)), record.fields.get(name)
            if now != then:
                actual, expected = f"{name} is {_text(now)}", f"{_text(then)}, as the audit log says"
                self._note(kind, shown, actual, expected, f"{_record(kind, row)} ({name})")

    def add_missing(self) -> None:
        """Notes the rows that a line says were added, and no line says were deleted, but that are missing."""
        kinds = {kind.word: kind for kind in KINDS}
        for name, record in self._records.items():
            word, _, key = name.rpartition(" ")
            if name in self._stored:
                continue
            # Older releases did not log of which run a replicate is, with which it is deleted.
            if word == RUN.word and record.seal is None:
                continue
            title = record.fields.get("name") or record.fields.get("title")
            shown = self._called(kinds[word], record.name, title, key, record.fields.get("experiment"))
            expected = f"the row that {_by(record.line)} stored; no line says that it was deleted"
            record_name = f"{record.name} {key} (missing)"
            self._note(kinds[word], shown, f"no row has the id {key}", expected, record_name)

    def add_curves(self, stored: Mapping[str, StoredCurves]) -> None:
        """Notes the runs whose curves are not those that were stored with them."""
        for run_id, shown in self._run_names.items():
            record = self._records.get(f"{RUN.word} {run_id}")
            if record is None or record.curves is None:
                continue
            sealed, line = record.curves
            now = stored.get(run_id, NO_CURVES)
            if now.seal != sealed:
                actual = (
                    f"its {many(now.n, 'curve')} are not what was sealed" if now.n else "it has no curves"
                )
                row, expected = f"curves of {shown}", f"the curves that {_by(line)} stored"
                name = f"curves of run {run_id}"
                self.mismatches.append(Mismatch("curve", row, actual, expected, name, now.is_damaged))

    def add_library(self, log: Sequence[AuditEvent], rows: Sequence[LibraryMetricRow]) -> None:
        """Notes the metrics of the library that are not what was defined, are missing, or were never
        defined.
        """
        defined: dict[str, AuditEvent] = {}
        for line in log:
            if line.action == audit.DEFINE_METRIC:
                defined[line.target] = line
            elif line.action == audit.REMOVE_METRIC:
                defined.pop(line.target, None)
        for row in rows:
            own = defined.pop(row.name, None)
            if own is None:
                actual = "no line of the audit log says that it was defined"
                self._note_metric(row.name, actual, f"a metric with a line '{audit.DEFINE_METRIC}'")
            elif not _is_as_defined(row, own):
                self._note_metric(
                    row.name, "its definition is not what was written", f"as {_by(own)} wrote it"
                )
        for name, line in defined.items():
            expected = f"the definition that {_by(line)} stored; no line says that it was removed"
            self._note_metric(name, "no row has this name", expected)

    def _note_metric(self, name: str, actual: str, expected: str) -> None:
        table, shown = str(LibraryMetricRow.__tablename__), f"metric '{name}' of the library"
        self.mismatches.append(Mismatch(table, shown, actual, expected, audit.metric_key(name)))


def _is_as_defined(row: LibraryMetricRow, line: AuditEvent) -> bool:
    """Returns whether a metric of the library is what a line says, by its seal or, of an older release, by
    its facts.
    """
    seals = line.details.get(audit.SEALS)
    if isinstance(seals, Mapping):
        return bool(seals.get(audit.metric_key(row.name)) == seal(columns_of(row)))
    try:
        facts = json.loads(row.facts)
    except (TypeError, ValueError):
        return False
    return bool(audit.shortened(facts) == line.details.get("facts"))


def _record(kind: Kind, row: Any) -> str:
    return f"{row.kind if kind.word == 'entry' else kind.word} {row.id}"


def _by(line: AuditEvent) -> str:
    """Returns a line in words, such as ``line 12 (ann, 2026-03-01 12:00 UTC)``."""
    return f"line {line.number} ({line.who}, {line.at:%Y-%m-%d %H:%M} UTC)"


def _changed_fields(kind: Kind, row: Any, logged: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Returns (name, value now, value in the log) of the fields that differ from those in the log."""
    try:
        value = kind.unchecked(row)
    except EvidenceDamaged:
        return []
    differing = []
    for name in kind.names:
        if name not in logged and name not in (kind.changes or ()):
            continue
        stored, then = getattr(value, name), logged.get(name)
        now = audit.shortened(stored)
        if isinstance(then, dict) and isinstance(stored, Mapping):
            now = {entry: audit.shortened(stored.get(entry)) for entry in then}
        if now != then:
            differing.append((name, now, then))
    return differing


def _text(value: Any) -> str:
    """Returns a value in a message, cut to ``MOST_SHOWN`` characters."""
    if value is None:
        return "empty"
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _old_seal(kind: Kind, row: Any) -> str | None:
    """Returns the hash that an older release would have logged for a row; None for an unreadable one."""
    try:
        value = kind.unchecked(row)
        fixed = {name: getattr(value, name) for name in OLD_SEALS.get(kind.word, kind.names)}
        text = json.dumps(fixed, sort_keys=True, default=_canonical)
    except (EvidenceDamaged, ValueError, TypeError, AttributeError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else dict(value)
