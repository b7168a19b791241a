"""The history of an experiment as sentences, made from stored data and, for the authors, the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby

from recdash.decisions import LABELS
from recdash.domain.journal import AuditEvent, Entry, Report
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.formatting.wording import listed, named_number

MOST_NAMED = 3
CREATED = "created the experiment"
SAMPLE_AUTHOR = "demo (sample)"
"""The author of the review, the decision and the report that the demo comes with."""
ENTRIES: Mapping[str, str] = {
    "proposal": "proposed {name}",
    "offline evidence": "attached the offline evidence for {name}",
    "online evidence": "attached an A/B test of {name}",
    "comment": "wrote a comment",
    "plan": "planned an A/B test",
}
CHANGES: Mapping[str, str] = {
    "name": "renamed the experiment",
    "baseline": "changed the baseline",
    "note": "changed the note",
    "settings": "changed the decision rules",
}
OF_THINGS: Mapping[str, str] = {"run": "run", "online test": "A/B test", "report": "report"}
"""Kinds of records as the audit log names them → as people call them."""


@dataclass(frozen=True)
class HistoryEvent:
    """One change of an experiment.

    ``by`` is empty if the author is unknown.

    ``run`` is the name of an added run, empty for other changes.
    """

    when: datetime
    what: str
    by: str = ""
    run: str = ""

    def __str__(self) -> str:
        """Returns the event as a sentence, such as ``M. Okafor decided: Ship ALS v3``."""
        return self.inside if self.by else f"{self.what[:1].upper()}{self.what[1:]}"

    @property
    def inside(self) -> str:
        """Returns the event as text that can follow other words in a sentence."""
        return f"{self.by} {self.what}".strip()


@dataclass(frozen=True)
class ExperimentContents:
    """The stored contents of an experiment, archived ones included."""

    runs: Sequence[Run] = ()
    tests: Sequence[OnlineTest] = ()
    entries: Sequence[Entry] = ()
    reports: Sequence[Report] = ()


def history_of(
    experiment: Experiment, stored: ExperimentContents, log: Iterable[AuditEvent] = ()
) -> list[HistoryEvent]:
    """Returns the changes of an experiment, the newest first.

    Runs that one person added on one day without another change in between become one event.
    """
    events = list(log)
    names = _names(events)
    authors = {event.target: event.who for event in events if event.action.startswith("add ")}
    author = authors.get
    runs, tests = [run for run in stored.runs if not run.reference], stored.tests
    changes = [
        HistoryEvent(experiment.created, CREATED, author(experiment.id, "")),
        *(HistoryEvent(run.created, "", author(run.id, ""), run.name) for run in runs),
        *(
            HistoryEvent(test.created, f"added the A/B test {test.name}", author(test.id, ""))
            for test in tests
        ),
        *map(_of_entry, stored.entries),
        *(
            HistoryEvent(report.created, f"created the report “{report.title}”", report.author)
            for report in stored.reports
        ),
        *(change for event in events for change in _changes(event, names)),
    ]
    # an experiment is stored together with its first data, which may have been read before
    changes.sort(key=lambda change: (change.what != CREATED, change.when))
    return _together(_loaded(changes) if experiment.demo else changes)[::-1]


def _loaded(changes: Sequence[HistoryEvent]) -> Sequence[HistoryEvent]:
    """Returns the changes of the demo, with one event in place of all that loading it stored: everything up
    to its last sample.

    The demo of an older release dates its samples before its runs; its changes stay as they are.
    """
    created = next(change for change in changes if change.what == CREATED)
    samples = [place for place, change in enumerate(changes) if change.by == SAMPLE_AUTHOR]
    if not samples or changes[samples[0]].when < created.when:
        return changes
    last = samples[-1]
    return [HistoryEvent(changes[last].when, "loaded the demo", created.by), *changes[last + 1 :]]


def _of_entry(entry: Entry) -> HistoryEvent:
    name = entry.subject_name
    if entry.kind == "decision":
        label = LABELS[entry.facts["outcome"]]
        return HistoryEvent(entry.created, f"decided: {label}{f' – {name}' if name else ''}", entry.author)
    if entry.kind == "plan" and entry.about:
        return HistoryEvent(entry.created, "changed the plan of an A/B test", entry.author)
    return HistoryEvent(entry.created, ENTRIES[entry.kind].format(name=name or "a candidate"), entry.author)


def _changes(event: AuditEvent, names: Mapping[str, str]) -> list[HistoryEvent]:
    """Returns the changes in a line of the audit log that no other stored data shows; empty for other
    lines.
    """
    verb, _, kind = event.action.partition(" ")
    details, phrases = event.details, []
    if event.action == "change experiment":
        thing = "the experiment"
        phrases = [words for name, words in CHANGES.items() if name in details]
    elif kind in OF_THINGS and verb in {"change", "delete"}:
        thing = f"the {OF_THINGS[kind]} {names.get(event.target, '')}".rstrip()
        if verb == "delete":
            return [HistoryEvent(event.at, f"deleted {thing}", event.who)]
        phrases += [f"renamed {thing}"] if "name" in details else []
        phrases += [f"changed which run a variant of {thing} served"] if "links" in details else []
    else:
        return []
    if "archived" in details:
        phrases.append(f"{'archived' if details['archived'] else 'unarchived'} {thing}")
    return [HistoryEvent(event.at, words, event.who) for words in phrases]


def _names(events: Iterable[AuditEvent]) -> dict[str, str]:
    """Returns the last known name of each record in the audit log: {id: name}."""
    names: dict[str, str] = {}
    for event in sorted(events, key=lambda event: event.number):
        name = event.details.get("name") or event.details.get("title")
        if name:
            names[event.target] = str(name)
    return names


def _together(changes: Sequence[HistoryEvent]) -> list[HistoryEvent]:
    """Returns the changes with one event ``added 3 runs: a, b and c`` in place of three neighbouring ones."""
    merged = []
    for (_, by, is_run), same_day in groupby(changes, key=_day_and_author):
        group = list(same_day)
        merged += (
            [replace(group[-1], what=_added([change.run for change in group]), by=by)] if is_run else group
        )
    return merged


def _day_and_author(event: HistoryEvent) -> tuple[date, str, bool]:
    """Returns the key by which neighbouring events are grouped: day, author, and whether a run was added."""
    return event.when.date(), event.by, bool(event.run)


def _added(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"added the run {names[0]}"
    more = len(names) - MOST_NAMED
    named = [*names[:MOST_NAMED], *([f"{named_number(more).lower()} more"] if more > 0 else [])]
    return f"added {named_number(len(names)).lower()} runs: {listed(named)}"
