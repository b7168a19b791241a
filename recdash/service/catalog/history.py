"""What happened to an experiment, in words: from what is stored of it, and who did it from the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from recdash.decisions import LABELS
from recdash.domain.journal import AuditEvent, Entry, Report
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.formatting.wording import listed, named_number

MOST_NAMED = 3
ENTRIES: Mapping[str, str] = {
    "proposal": "proposed {name}",
    "offline evidence": "attached the offline evidence for {name}",
    "online evidence": "attached an A/B test of {name}",
    "comment": "wrote a comment",
}
CHANGES: Mapping[str, str] = {
    "name": "renamed the experiment",
    "baseline": "chose another baseline",
    "note": "changed the note",
}
OF_THINGS: Mapping[str, str] = {"run": "run", "online test": "A/B test", "report": "report"}
"""What the audit log calls a thing → what people call it."""


@dataclass(frozen=True)
class Happening:
    """Something that was done. ``by`` is empty where nobody noted it; ``run`` names an added run."""

    when: datetime
    what: str
    by: str = ""
    run: str = ""

    def __str__(self) -> str:
        """``M. Okafor decided: Ship ALS v3``."""
        return self.inside if self.by else f"{self.what[:1].upper()}{self.what[1:]}"

    @property
    def inside(self) -> str:
        """The same inside a sentence."""
        return f"{self.by} {self.what}".strip()


@dataclass(frozen=True)
class Stored:
    """What is stored of an experiment, archived or not."""

    runs: Sequence[Run] = ()
    tests: Sequence[OnlineTest] = ()
    entries: Sequence[Entry] = ()
    reports: Sequence[Report] = ()


def happenings(experiment: Experiment, stored: Stored, deeds: Iterable[AuditEvent] = ()) -> list[Happening]:
    """The newest first. Runs that one person added on one day, with nothing in between, are one of them."""
    events = list(deeds)
    names = _names(events)
    authors = {event.target: event.who for event in events if event.action.startswith("add ")}
    changes = [
        Happening(experiment.created, "made the experiment", authors.get(experiment.id, "")),
        *(_of_run(run, authors) for run in stored.runs if not run.reference),
        *(_of_test(test, authors) for test in stored.tests),
        *(_of_entry(entry) for entry in stored.entries),
        *(
            Happening(event.created, f"made the report “{event.title}”", event.author)
            for event in stored.reports
        ),
        *(change for deed in events for change in _changes(deed, names)),
    ]
    return _together(sorted(changes, key=lambda one: one.when))[::-1]


def _of_run(run: Run, authors: Mapping[str, str]) -> Happening:
    return Happening(run.created, "", authors.get(run.id, ""), run.name)


def _of_test(test: OnlineTest, authors: Mapping[str, str]) -> Happening:
    return Happening(test.created, f"added the A/B test {test.name}", authors.get(test.id, ""))


def _of_entry(entry: Entry) -> Happening:
    subject = entry.facts.get("subject") or {}
    name = (subject.get("run") or {}).get("name", "")
    if entry.kind == "decision":
        label = LABELS[entry.facts["outcome"]]
        return Happening(entry.created, f"decided: {label}{f' – {name}' if name else ''}", entry.author)
    return Happening(entry.created, ENTRIES[entry.kind].format(name=name or "a candidate"), entry.author)


def _changes(event: AuditEvent, names: Mapping[str, str]) -> list[Happening]:
    """What of a line of the audit log is not told by what is stored."""
    verb, _, kind = event.action.partition(" ")
    phrases: list[str] = []
    if event.action == "change experiment":
        phrases = [words for name, words in CHANGES.items() if name in event.details]
        phrases += [phrase.format(thing="the experiment") for phrase in _put_away(event)]
    elif kind in OF_THINGS and verb in {"change", "delete"}:
        thing = f"the {OF_THINGS[kind]} {names.get(event.target, '')}".rstrip()
        phrases = [phrase.format(thing=thing) for phrase in _of_thing(verb, event)]
    return [Happening(event.at, words, event.who) for words in phrases]


def _of_thing(verb: str, event: AuditEvent) -> list[str]:
    if verb == "delete":
        return ["deleted {thing}"]
    renamed = ["renamed {thing}"] if "name" in event.details else []
    linked = ["changed which run a variant of {thing} served"] if "links" in event.details else []
    return [*renamed, *linked, *_put_away(event)]


def _put_away(event: AuditEvent) -> list[str]:
    if "archived" not in event.details:
        return []
    return ["archived {thing}" if event.details["archived"] else "restored {thing}"]


def _names(events: Iterable[AuditEvent]) -> dict[str, str]:
    """The last name that the log knows of each thing."""
    names: dict[str, str] = {}
    for event in sorted(events, key=lambda one: one.number):
        name = event.details.get("name") or event.details.get("title")
        if name:
            names[event.target] = str(name)
    return names


def _together(changes: Sequence[Happening]) -> list[Happening]:
    """``added 3 runs: a, b and c`` in place of three lines."""
    merged = []
    for (_, by, is_run), some in groupby(changes, key=lambda one: (one.when.date(), one.by, bool(one.run))):
        group = list(some)
        merged += (
            [replace(group[-1], what=_added([change.run for change in group]), by=by)] if is_run else group
        )
    return merged


def _added(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"added the run {names[0]}"
    more = len(names) - MOST_NAMED
    shown = [*names[:MOST_NAMED], *([f"{named_number(more).lower()} more"] if more > 0 else [])]
    return f"added {named_number(len(names)).lower()} runs: {listed(shown)}"
