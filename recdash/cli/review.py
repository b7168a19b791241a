"""``recdash review``: a candidate proposed, backed with evidence, discussed, approved or rejected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.decide import (
    author_option,
    baseline_option,
    comment_facts,
    decision_facts,
    experiment_option,
    form_option,
    metric_option,
    named,
    review_option,
    review_wanted,
)
from recdash.cli.options import workspace
from recdash.cli.output import aligned
from recdash.cli.terminal import say, say_lines
from recdash.formatting.sanitize import visible

if TYPE_CHECKING:
    from recdash.decisions import Review

text_option = click.option("--text", default="", help="What there is to say about it.")


@click.group()
def review() -> None:
    """Bring a candidate before the one who approves it; recdash decide --review answers."""


@review.command()
@experiment_option
@click.option("--run", required=True, help="Name of the candidate.")
@baseline_option
@metric_option
@text_option
@author_option
def propose(
    experiment: str, run: str, baseline: str | None, metric: str | None, text: str, author: str
) -> None:
    """Ask for a candidate to be approved."""
    space = workspace()
    home = space.experiments.named(experiment).id
    asked = named(space, home, run, baseline, metric)
    _tell(space.reviews.propose(home, asked.pop("run_id"), text=text, author=author, **asked))


@review.command()
@experiment_option
@review_option
@text_option
@author_option
def offline(experiment: str, wanted: str | None, text: str, author: str) -> None:
    """Attach the verdict and its numbers as they stand now."""
    space = workspace()
    found = review_wanted(space, space.experiments.named(experiment).id, wanted)
    _tell(space.reviews.add_offline_evidence(found.id, text, author=author))


@review.command()
@experiment_option
@review_option
@click.option("--test", help="Name of the A/B test (default: the newest).")
@text_option
@author_option
def online(experiment: str, wanted: str | None, test: str | None, text: str, author: str) -> None:
    """Attach what an A/B test says of the candidate now."""
    space = workspace()
    home = space.experiments.named(experiment).id
    found = review_wanted(space, home, wanted)
    chosen = space.online_tests.online_test_named(home, test)
    _tell(space.reviews.add_online_evidence(found.id, chosen.id, text, author=author))


@review.command()
@experiment_option
@review_option
@click.option("--on", help="The id of an entry or a report instead of the review itself.")
@click.option("--text", required=True, help="What you have to say.")
@author_option
def comment(experiment: str, wanted: str | None, on: str | None, text: str, author: str) -> None:
    """Say something about a review, an entry or a report."""
    space = workspace()
    home = space.experiments.named(experiment).id
    about = on or review_wanted(space, home, wanted).id
    say(space.journal.comment(home, about, text, author=author).id)


@review.command()
@experiment_option
@click.option("--review", "wanted", help="Only this one: its id, or its candidate.")
@form_option
def show(experiment: str, wanted: str | None, form: str) -> None:
    """The reviews of an experiment: how far each is, and its checklist."""
    space = workspace()
    home = space.experiments.named(experiment)
    found = [review_wanted(space, home.id, wanted)] if wanted else space.journal.reviews(home.id)
    if form == "json":
        facts = {"experiment": home.name, "reviews": [_facts(one) for one in found]}
        say_lines(json.dumps(facts, ensure_ascii=False, indent=2))
    else:
        told = "\n\n".join("\n".join(_lines(one)) for one in found)
        say_lines(told or f"No candidate of '{home.name}' was proposed yet.")


def _tell(one: Review) -> None:
    say(f"{one.about}: {one.state} ({one.id})")
    if one.missing:
        say(f"next: {one.missing}", err=True)


def _lines(one: Review) -> Iterator[str]:
    yield from map(visible, _told(one))
    yield aligned([[item.name, item.state, item.reason] for item in one.checklist], 3)


def _told(one: Review) -> Iterator[str]:
    base = f" against {one.subject.baseline.name}" if one.subject.baseline else ""
    yield f"{one.about}: {one.state} ({one.id})"
    when = f"{one.entry.created:%Y-%m-%d %H:%M} UTC"
    yield f"Proposed by {one.entry.author}, {when}, by {one.subject.where}{base}."
    if one.decision:
        yield f"{one.decision.label}, {one.decision.author}: {one.decision.text}"
    if one.missing:
        yield f"Next: {one.missing}"


def _facts(one: Review) -> dict[str, Any]:
    """JSON-ready."""
    return {
        "id": one.id,
        "run": one.about,
        "state": one.state,
        "next": one.missing or None,
        "proposed": one.entry.created.isoformat(),
        "author": one.entry.author,
        "text": one.entry.text,
        "metric": one.subject.where,
        "checklist": [item.as_dict() for item in one.checklist],
        "offline": one.offline.as_dict() if one.offline else None,
        "online": [test.as_dict() for test in one.online],
        "decisions": [decision_facts(made) for made in one.decisions],
        "comments": [comment_facts(said) for said in one.comments],
    }
