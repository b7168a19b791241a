"""``recdash review``: proposes a candidate, attaches evidence, and adds comments; ``recdash decide`` approves
or rejects it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recdash.cli.decide import (
    author_option,
    baseline_option,
    metric_option,
    query_wanted,
    refuse_unused,
    review_option,
    review_wanted,
    test_id_wanted,
    test_option,
)
from recdash.cli.options import experiment_option, form_option, open_experiment, run_ids, run_named
from recdash.cli.terminal import say, say_json, say_lines
from recdash.formatting.sanitize import visible
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.decisions import Review

text_option = click.option("--text", default="", help="Text of the entry.")


@click.group()
def review() -> None:
    """Propose a candidate for approval; recdash decide --review answers."""


@review.command()
@experiment_option
@click.option("--run", help="Name of the candidate.")
@click.option("--variant", help="Variant of an A/B test to propose, where no run is stored.")
@test_option
@baseline_option
@metric_option
@text_option
@author_option
def propose(
    *,
    experiment: str,
    run: str | None,
    variant: str | None,
    test: str | None,
    baseline: str | None,
    metric: str | None,
    text: str,
    author: str,
) -> None:
    """Propose a candidate for approval."""
    if (run is None) == (variant is None):
        raise click.UsageError("Name a candidate: either --run or --variant.")
    refuse_unused(variant, {"--test": test, "--baseline": baseline, "--metric": metric})
    workspace, stored = open_experiment(experiment)
    run_id = None if run is None else run_named(run_ids(workspace, stored.id, archived=True), run)
    query = query_wanted(workspace, stored.id, run_id, baseline, metric)
    test_id = test_id_wanted(workspace, stored.id, test)
    _say_state(
        workspace.reviews.propose(
            stored.id, run_id, query, text=text, author=author, variant=variant, test=test_id
        )
    )


@review.command()
@experiment_option
@review_option
@text_option
@author_option
def offline(experiment: str, wanted: str | None, text: str, author: str) -> None:
    """Attach the current verdict and its numbers."""
    workspace, stored = open_experiment(experiment)
    review_ = review_wanted(workspace, stored.id, wanted)
    _say_state(workspace.reviews.add_offline_evidence(review_.id, text, author=author))


@review.command()
@experiment_option
@review_option
@click.option("--test", help="Name of the A/B test (default: the newest that tested the candidate).")
@text_option
@author_option
def online(experiment: str, wanted: str | None, test: str | None, text: str, author: str) -> None:
    """Attach the current results of an A/B test of the candidate."""
    workspace, stored = open_experiment(experiment)
    review_ = review_wanted(workspace, stored.id, wanted)
    tests = workspace.reviews.tests_for(review_.id)
    chosen = tests[0] if test is None and tests else workspace.online_tests.named(stored.id, test)
    _say_state(workspace.reviews.add_online_evidence(review_.id, chosen.id, text, author=author))


@review.command()
@experiment_option
@review_option
@click.option("--on", help="Id of an entry or report to comment on instead of the review.")
@click.option("--text", required=True, help="The comment.")
@author_option
def comment(experiment: str, wanted: str | None, on: str | None, text: str, author: str) -> None:
    """Comment on a review, an entry or a report."""
    workspace, stored = open_experiment(experiment)
    about = on or review_wanted(workspace, stored.id, wanted).id
    say(workspace.journal.comment(stored.id, about, text, author=author).id)


@review.command()
@experiment_option
@click.option("--review", "wanted", help="Only this review: its id or its candidate.")
@form_option
def show(experiment: str, wanted: str | None, form: str) -> None:
    """List an experiment's reviews with their state and checklist."""
    from recdash.service.plain_decisions import reviews_facts

    workspace, stored = open_experiment(experiment)
    reviews = workspace.journal.reviews(stored.id)
    if wanted:
        reviews = [review_wanted(workspace, stored.id, wanted)]
    if form == "json":
        say_json(reviews_facts(stored, reviews))
    else:
        text = "\n\n".join(map(_text, reviews))
        say_lines(text or f"'{stored.name}' has no review yet.")


def _say_state(review_: Review) -> None:
    say(f"{review_.about}: {review_.state} ({review_.id})")
    if review_.missing:
        say(f"next: {review_.missing}", err=True)


def _text(review_: Review) -> str:
    """Returns the review's state and its checklist as text."""
    entry, baseline = review_.entry, review_.subject.baseline
    against = f" against {baseline.name}" if baseline else ""
    proposed = f"Proposed by {entry.author}, {entry.created:%Y-%m-%d %H:%M} UTC"
    lines = [
        f"{review_.about}: {review_.state} ({review_.id})",
        f"{proposed}, by {review_.subject.where}{against}.",
    ]
    if review_.decision:
        lines.append(f"{review_.decision.label}, {review_.decision.author}: {review_.decision.text}")
    if review_.missing:
        lines.append(f"Next: {review_.missing}")
    checklist = text_table([[item.title, item.state, item.reason] for item in review_.checklist], 3)
    return "\n".join([*map(visible, lines), checklist])
