"""Decisions and reviews as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recdash.decisions import Decision, Review
    from recdash.domain.journal import Entry
    from recdash.domain.records import Experiment
    from recdash.service import Workspace


def decisions_facts(workspace: Workspace, experiment: Experiment) -> dict[str, Any]:
    """Returns the decisions of an experiment as JSON-ready values, the newest first."""
    decisions = workspace.journal.decisions(experiment.id)
    return {"experiment": experiment.name, "decisions": list(map(decision_facts, decisions))}


def reviews_facts(experiment: Experiment, reviews: Sequence[Review]) -> dict[str, Any]:
    """Returns reviews of an experiment as JSON-ready values."""
    return {"experiment": experiment.name, "reviews": list(map(review_facts, reviews))}


def decision_facts(decision: Decision) -> dict[str, Any]:
    """Returns the decision as JSON-ready values, with the numbers that were recorded with it."""
    facts = {name: value for name, value in decision.entry.facts.items() if name not in {"mark", "subject"}}
    return {
        "id": decision.id,
        "decided": decision.created.isoformat(),
        "author": decision.author,
        "outcome": decision.outcome,
        "run": decision.subject.run.name if decision.subject.run else None,
        "variant": decision.subject.variant.name if decision.subject.variant else None,
        "metric": decision.subject.where,
        "text": decision.text,
        "review": decision.review,
        "superseded_by": decision.superseded_by,
        "comments": [comment_facts(comment) for comment in decision.comments],
        **facts,
    }


def comment_facts(comment: Entry) -> dict[str, Any]:
    return {"author": comment.author, "written": comment.created.isoformat(), "text": comment.text}


def review_facts(review: Review) -> dict[str, Any]:
    """Returns the review as JSON-ready values."""
    return {
        "id": review.id,
        "run": review.about,
        "variant": review.subject.variant.name if review.subject.variant else None,
        "state": review.state,
        "next": review.missing or None,
        "proposed": review.entry.created.isoformat(),
        "author": review.entry.author,
        "text": review.entry.text,
        "metric": review.subject.where,
        "checklist": [item.as_dict() for item in review.checklist],
        "offline": review.offline.as_dict() if review.offline else None,
        "online": [test.as_dict() for test in review.online],
        "decisions": [decision_facts(decision) for decision in review.decisions],
        "comments": [comment_facts(comment) for comment in review.comments],
    }
