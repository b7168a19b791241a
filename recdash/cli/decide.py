"""``recdash decide`` and ``recdash decisions``: what is done, by whom and why, with the numbers then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import run_named, workspace
from recdash.cli.output import aligned
from recdash.cli.terminal import say, say_lines
from recdash.errors import NotFound, UnknownName

if TYPE_CHECKING:
    from recdash.decisions import ChecklistItem, Decision, Review
    from recdash.domain.journal import Entry, Outcome
    from recdash.service import Workspace

OUTCOMES: Mapping[str, Outcome] = {
    "ship": "ship",
    "do-not-ship": "do not ship",
    "inconclusive": "inconclusive",
    "needs-ab": "needs A/B",
}
experiment_option = click.option("--experiment", required=True, help="Name of the experiment.")
author_option = click.option("--author", default="", help="Who says so (default: you).")
review_option = click.option("--review", "wanted", help="Its id, or its candidate (default: the open one).")
form_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
baseline_option = click.option("--baseline", help="Name of the run to beat (default: the experiment's).")
metric_option = click.option("--metric", help="A metric with its cutoff, such as ndcg@10.")


@click.command()
@experiment_option
@click.option("--outcome", required=True, type=click.Choice(list(OUTCOMES)), help="What was decided.")
@click.option("--text", required=True, help="Why.")
@click.option("--run", help="Name of the run that it is about.")
@click.option("--review", "wanted", help="The review that it answers: its id, or its candidate.")
@click.option("--although", default="", help="Why it is approved while some of the checklist does not hold.")
@click.option("--supersedes", help="The id of the decision that no longer holds, or 'last'.")
@baseline_option
@metric_option
@author_option
def decide(
    *, experiment: str, outcome: str, text: str, run: str | None, wanted: str | None, although: str,
    supersedes: str | None, baseline: str | None, metric: str | None, author: str,
) -> None:  # fmt: skip
    """Write down an outcome, with the numbers as they stand. It is superseded later, never edited."""
    space = workspace()
    home = space.experiments.named(experiment).id
    review = None if wanted is None else review_wanted(space, home, wanted)
    found = space.decisions.decide(
        home,
        OUTCOMES[outcome],
        text=text,
        about=review.id if review else None,
        although=although,
        supersedes=_last(space, home) if supersedes == "last" else supersedes,
        author=author,
        **named(space, home, run, baseline, metric),
    )
    say(f"{_headline(found)} ({found.id})")
    for line in unmet(found.checklist):
        say(f"note: {line}", err=True)


@click.command()
@experiment_option
@form_option
def decisions(experiment: str, form: str) -> None:
    """What was decided, the newest first, and what of it still holds; as JSON with every number then."""
    space = workspace()
    home = space.experiments.named(experiment)
    found = space.journal.decisions(home.id)
    if form == "json":
        facts = {"experiment": home.name, "decisions": [decision_facts(one) for one in found]}
        say_lines(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    rows = [["id", "decided (UTC)", "outcome", "about", "by", "holds", "why"]]
    rows += [
        [one.id, f"{one.created:%Y-%m-%d %H:%M}", one.label, one.about or "–", one.author,
         "yes" if one.is_current else f"no: {one.superseded_by}", _short(one.text)]
        for one in found
    ]  # fmt: skip
    say_lines(aligned(rows, texts=7) if found else f"Nothing is decided on '{home.name}' yet.")


def decision_facts(one: Decision) -> dict[str, Any]:
    """JSON-ready, with the numbers as they stood."""
    facts = {name: value for name, value in one.entry.facts.items() if name not in {"mark", "subject"}}
    return {
        "id": one.id,
        "decided": one.created.isoformat(),
        "author": one.author,
        "outcome": one.outcome,
        "run": one.about or None,
        "metric": one.subject.where,
        "text": one.text,
        "review": one.review,
        "superseded_by": one.superseded_by,
        "comments": [comment_facts(comment) for comment in one.comments],
        **facts,
    }


def comment_facts(one: Entry) -> dict[str, Any]:
    return {"author": one.author, "written": one.created.isoformat(), "text": one.text}


def named(
    space: Workspace, experiment_id: str, run: str | None, baseline: str | None, metric: str | None
) -> dict[str, Any]:
    """Names as ids, a metric with its cutoff as both. Raises UnknownName."""
    from recdash.metrics import parse

    known = {one.name: one.id for one in space.runs.all(experiment_id, archived=True)}
    spec = parse(metric) if metric else None
    return {
        "run_id": None if run is None else run_named(known, run),
        "baseline": None if baseline is None else run_named(known, baseline),
        "metric": spec.label if spec else None,
        "k": spec.k if spec else None,
    }


def review_wanted(space: Workspace, experiment_id: str, wanted: str | None) -> Review:
    """By its id, or by its candidate's name the newest; without either the newest that is open."""
    known = space.journal.reviews(experiment_id)
    if wanted is None:
        found = next((one for one in known if one.is_open), None)
        if found is None:
            raise NotFound("No review is open. Begin one with recdash review propose.")
        return found
    by_name = {one.about: one for one in reversed(known)} | {one.id: one for one in known}
    if wanted not in by_name:
        raise UnknownName("review", wanted, list(dict.fromkeys(one.about for one in known)))
    return by_name[wanted]


def unmet(items: tuple[ChecklistItem, ...]) -> Iterator[str]:
    """What of a checklist does not hold, with its reason."""
    from recdash.decisions import not_holding

    for one in not_holding(items):
        yield f"{one.name} – {one.state}: {one.reason}"


def _last(space: Workspace, experiment_id: str) -> str:
    found = space.journal.last_decision(experiment_id)
    if found is None:
        raise NotFound("There is no decision to supersede yet.")
    return found.id


def _headline(one: Decision) -> str:
    return f"{one.label}: {one.about}" if one.about else one.label


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
