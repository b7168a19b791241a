"""``recdash settings``: shows and sets the decision rules of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import form_option, metric_and_k, open_experiment, run_ids, run_named
from recdash.cli.terminal import say_json, say_lines
from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.comparison.rules import DecisionRules
    from recdash.domain.records import Experiment
    from recdash.service import Workspace

FIXED = "fixed when the experiment was created"


@click.command()
@click.argument("experiment")
@click.option("--baseline", help="Name of the run to compare the others with.")
@click.option("--metric", help="Primary metric, such as ndcg or ndcg@10.")
@click.option("--k", type=int, help="Cutoff of the primary metric.")
@click.option("--margin", help="Smallest difference that matters: 1% of the baseline's value, or 0.002.")
@click.option(
    "--preset",
    type=click.Choice(["strict", "usual", "none"]),
    help="Guardrails: each metric may lose 10 % (strict), 20 % (usual), or there are none.",
)
@click.option(
    "--guardrail",
    "guardrails",
    multiple=True,
    metavar="METRIC=SHARE",
    help="Share that a metric may lose, such as coverage=20%; repeatable.",
)
@click.option(
    "--no-guardrail",
    "removed",
    multiple=True,
    metavar="METRIC",
    help="Metric without a guardrail; repeatable.",
)
@click.option("--owner", help="Person responsible for the decision; an empty text removes the owner.")
@click.option(
    "--two-people/--no-two-people",
    default=None,
    help="Whether a review is decided by another person than proposed it, and ship needs one; for admins.",
)
@form_option
def settings(experiment: str, *, baseline: str | None, form: str, **changes: Any) -> None:
    """Show the decision rules of an experiment, or set those that are given.

    The rules are what the recommendation goes by: baseline, primary metric and k, margin, guardrails.
    """
    from recdash.service.rules import UNCHANGED

    workspace, stored = open_experiment(experiment)
    base = UNCHANGED if baseline is None else run_named(run_ids(workspace, stored.id), baseline)
    rules = workspace.rules.of(stored.id)
    if _changed(rules, **changes) != rules or base != UNCHANGED:
        workspace.rules.change(stored.id, partial(_changed, **changes), baseline=base)
    facts = _facts(workspace, workspace.experiments.get(stored.id))
    if form == "json":
        say_json(facts)
    else:
        say_lines(_text(facts))


def _changed(
    rules: DecisionRules,
    *,
    metric: str | None,
    k: int | None,
    margin: str | None,
    preset: str | None,
    guardrails: Sequence[str],
    removed: Sequence[str],
    owner: str | None,
    two_people: bool | None,
) -> DecisionRules:
    """Returns the rules with the given changes; a preset of guardrails is applied before single
    guardrails.
    """
    from recdash.comparison.rules import PRESETS

    limits = dict(rules.guardrails if preset is None else PRESETS[preset])
    limits |= dict(map(_guardrail, guardrails))
    kept = {name: share for name, share in limits.items() if name not in removed}
    _check_removed(removed)
    metric, k = metric_and_k(metric, k)
    return replace(
        rules,
        guardrails=kept,
        metric=metric or rules.metric,
        k=k or rules.k,
        margin=rules.margin if margin is None else margin,
        owner=rules.owner if owner is None else owner,
        two_people=rules.two_people if two_people is None else two_people,
    )


def _guardrail(text: str) -> tuple[str, float]:
    from recdash.comparison.rules import read_share

    name, equals, share = text.partition("=")
    if not equals:
        fix = "Write METRIC=SHARE, such as coverage=20%."
        raise InputError(Problem("bad-guardrail", "--guardrail", f"'{text}'", fix))
    return name.strip(), read_share(share)


def _check_removed(names: Sequence[str]) -> None:
    from recdash.errors import check_known
    from recdash.metrics.naming import GUARDRAILS

    check_known("guardrail", names, GUARDRAILS)


def _facts(workspace: Workspace, experiment: Experiment) -> dict[str, Any]:
    """Returns the rules, and what they recommend today, as JSON-ready values."""
    rules, runs = workspace.rules.of(experiment.id), workspace.runs.all(experiment.id)
    query = workspace.queries.of(experiment.id) if runs else None
    names = {run.id: run.name for run in runs}
    return {
        "experiment": experiment.name,
        "baseline": names.get(query.baseline) if query else None,
        "baseline_chosen": query is not None and query.baseline == experiment.baseline,
        "metric": query.metric if query else rules.metric,
        "k": query.k if query else rules.k,
        "margin": rules.margin,
        "preset": rules.preset,
        "guardrails": dict(rules.guardrails),
        "owner": rules.owner,
        "two_people": rules.two_people,
        "relevance_threshold": experiment.settings.get("relevance_threshold"),
        "depth": experiment.settings["depth"],
        "recommendation": _headline(workspace, experiment.id),
    }


def _headline(workspace: Workspace, experiment_id: str) -> str:
    """Returns the headline of today's recommendation by these rules, or why there is none."""
    card = workspace.overview.verdict(experiment_id)
    return card.verdict.headline if card.verdict else card.why_not


def _text(facts: Mapping[str, Any]) -> str:
    from recdash.comparison.rules import guardrail_title
    from recdash.metrics.naming import metric_title

    is_suggested = facts["baseline"] is not None and not facts["baseline_chosen"]
    suggested = " (suggested; none is chosen)" if is_suggested else ""
    limits = [f"{guardrail_title(name)} {100 * share:.3g} %" for name, share in facts["guardrails"].items()]
    threshold = facts["relevance_threshold"]
    relevant = "every row with a relevance above 0" if threshold is None else f"from {threshold:g} on"
    rows = [
        ["baseline", f"{facts['baseline'] or numbers.NONE}{suggested}"],
        ["metric", metric_title(facts["metric"], facts["k"]) if facts["metric"] else numbers.NONE],
        ["margin", _margin_text(facts["margin"])],
        ["guardrails", f"{', '.join(limits) or 'none'} ({facts['preset']})"],
        ["owner", facts["owner"] or numbers.NONE],
        ["reviews", f"decided by {'another person than proposes' if facts['two_people'] else 'any editor'}"],
        ["relevant", f"{relevant} ({FIXED})"],
        ["depth", f"{facts['depth']} ({FIXED})"],
        ["recommendation", facts["recommendation"]],
    ]
    return text_table(rows, texts=2)


def _margin_text(margin: str) -> str:
    return f"{margin} of the baseline's value" if margin.endswith("%") else f"{margin} of the metric"
