"""``recdash decide`` and ``recdash decisions``: record a decision with its numbers, and list decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from recdash.cli.options import experiment_option, form_option, open_experiment, run_ids, run_named
from recdash.cli.terminal import say, say_json, say_lines
from recdash.domain.defaults import FIRST_CANDIDATES
from recdash.errors import NotFound, UnknownName
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.comparison import ComparisonQuery
    from recdash.decisions import ChecklistItem, Review
    from recdash.domain.journal import Outcome
    from recdash.service import Workspace

OUTCOMES: Mapping[str, Outcome] = {
    "ship": "ship",
    "do-not-ship": "do not ship",
    "inconclusive": "inconclusive",
    "needs-ab": "needs A/B",
}
author_option = click.option("--author", default="", help="Author of the decision (default: you).")
review_option = click.option(
    "--review", "wanted", help="Id or candidate of the review (default: the open one)."
)
baseline_option = click.option("--baseline", help="Name of the baseline (default: the experiment's).")
metric_option = click.option("--metric", help="A metric with its cutoff, such as ndcg@10.")

test_option = click.option("--test", help="Name of the A/B test of --variant (default: the newest).")


@click.command()
@experiment_option
@click.option("--outcome", required=True, type=click.Choice(list(OUTCOMES)), help="The outcome.")
@click.option("--text", required=True, help="Why.")
@click.option("--run", help="Name of the run the decision is about.")
@click.option("--variant", help="Variant of an A/B test that the decision is about, where no run is stored.")
@test_option
@click.option("--review", "wanted", help="The review that the decision closes: its id or its candidate.")
@click.option("--although", default="", help="Reason for approving with a failed checklist item.")
@click.option("--supersedes", help="Id of the decision to replace, or 'last'.")
@baseline_option
@metric_option
@author_option
def decide(
    *,
    experiment: str,
    outcome: str,
    text: str,
    run: str | None,
    variant: str | None,
    test: str | None,
    wanted: str | None,
    although: str,
    supersedes: str | None,
    baseline: str | None,
    metric: str | None,
    author: str,
) -> None:
    """Record a decision with the current numbers. It can be replaced later but never edited."""
    refuse_unused(variant, {"--test": test, "--baseline": baseline, "--metric": metric})
    workspace, stored = open_experiment(experiment)
    review = None if wanted is None else review_wanted(workspace, stored.id, wanted)
    by_name = run_ids(workspace, stored.id, archived=True)
    run_id = None if run is None else run_named(by_name, run)
    query = query_wanted(workspace, stored.id, run_id, baseline, metric)
    decision = workspace.decisions.decide(
        stored.id,
        OUTCOMES[outcome],
        run_id=run_id,
        query=query,
        text=text,
        about=review.id if review else None,
        although=although,
        supersedes=_last(workspace, stored.id) if supersedes == "last" else supersedes,
        author=author,
        variant=variant,
        test=test_id_wanted(workspace, stored.id, test),
    )
    say(f"{decision.label}{f': {decision.about}' if decision.about else ''} ({decision.id})")
    for line in unmet(decision.checklist):
        say(f"note: {line}", err=True)


def refuse_unused(variant: str | None, given: Mapping[str, str | None]) -> None:
    """Raises UsageError for an option that a decision or proposal would not use; ``given`` is {option:
    value}.
    """
    if variant is None:
        if given["--test"] is not None:
            raise click.UsageError("--test needs --variant: it says in which A/B test the variant is.")
        return
    for option in ("--baseline", "--metric"):
        if given[option] is not None:
            raise click.UsageError(f"{option} is of a decision on a run; leave it out with --variant.")


@click.command()
@experiment_option
@form_option
def decisions(experiment: str, form: str) -> None:
    """List decisions, the newest first, and whether each still applies; --format json adds the recorded
    numbers.
    """
    from recdash.service.plain_decisions import decisions_facts

    workspace, stored = open_experiment(experiment)
    if form == "json":
        say_json(decisions_facts(workspace, stored))
        return
    entries = workspace.journal.decisions(stored.id)
    rows = [["id", "decided (UTC)", "outcome", "about", "by", "applies", "why"]]
    for decision in entries:
        applies = "yes" if decision.is_current else f"no: {decision.superseded_by}"
        line = " ".join(decision.text.split())
        why = line if len(line) <= 60 else f"{line[:59]}…"
        cells = [decision.id, f"{decision.created:%Y-%m-%d %H:%M}", decision.label, decision.about or "–"]
        rows.append([*cells, decision.author, applies, why])
    say_lines(text_table(rows, texts=7) if entries else f"'{stored.name}' has no decision yet.")


def query_wanted(
    workspace: Workspace, experiment_id: str, run_id: str | None, baseline: str | None, metric: str | None
) -> ComparisonQuery | None:
    """Returns the query with this baseline and metric; None if neither is given. Raises UnknownName for an
    unknown run.
    """
    from recdash.metrics import parse

    if baseline is None and metric is None:
        return None
    spec = parse(metric) if metric else None
    by_name = run_ids(workspace, experiment_id, archived=True)
    base = None if baseline is None else run_named(by_name, baseline)
    by = (spec.label, spec.k) if spec else (None, None)
    query = workspace.queries.of(experiment_id, (), base, *by)
    if run_id is not None and run_id not in query.runs:  # the run is one of the candidates compared
        query = replace(query, runs=query.runs[: FIRST_CANDIDATES - 1])
    return query


def test_id_wanted(workspace: Workspace, experiment_id: str, name: str | None) -> str | None:
    """Returns the id of the A/B test with this name; None without a name."""
    return None if name is None else workspace.online_tests.named(experiment_id, name).id


def review_wanted(workspace: Workspace, experiment_id: str, wanted: str | None) -> Review:
    """Returns the review with this id, or the newest one of the candidate with this name; without ``wanted``,
    the newest open one. Raises UnknownName if there is none.
    """
    reviews = workspace.journal.reviews(experiment_id)
    if wanted is None:
        still_open = [review for review in reviews if review.is_open]
        if not still_open:
            raise NotFound("No review is open. Start one with recdash review propose.")
        return still_open[0]
    by_name = {review.about: review for review in reversed(reviews)} | {
        review.id: review for review in reviews
    }
    if wanted not in by_name:
        raise UnknownName("review", wanted, list(dict.fromkeys(review.about for review in reviews)))
    return by_name[wanted]


def unmet(items: tuple[ChecklistItem, ...]) -> Iterator[str]:
    """Yields one line for each checklist item that does not hold, with the reason."""
    from recdash.decisions import not_holding

    for item in not_holding(items):
        yield f"{item.title} – {item.state}: {item.reason}"


def _last(workspace: Workspace, experiment_id: str) -> str:
    decision = workspace.journal.last_decision(experiment_id)
    if decision is None:
        raise NotFound("There is no decision to replace yet.")
    return decision.id
