"""``recdash why``: explains why a candidate's online result differs from its offline result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recdash.cli.options import experiment_option, form_option, open_experiment, run_ids, run_named
from recdash.cli.terminal import say_json, say_lines
from recdash.domain.defaults import DEFAULT_SPEC
from recdash.errors import InputError, NotFound, Problem
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.domain.records import OnlineTest
    from recdash.service import Explanation, Workspace


@click.command()
@experiment_option
@click.option("--test", help="Name of the A/B test (default: the newest).")
@click.option("--variant", help="Variant to explain (default: the first whose results disagree).")
@click.option("--run", "run", help="Explain the variant that served this run.")
@click.option("--metric", default=DEFAULT_SPEC, show_default=True, help="An offline metric with its cutoff.")
@click.option("--online", help="An online metric (default: the primary one, or the first that disagrees).")
@form_option
def why(
    experiment: str,
    test: str | None,
    variant: str | None,
    run: str | None,
    *,
    metric: str,
    online: str | None,
    form: str,
) -> None:
    """Explain why a candidate won offline but lost online. Each of twelve checks supports a cause, rules it
    out or is inconclusive.
    """
    from recdash.comparison.result import cutoff_of
    from recdash.metrics import parse

    spec = parse(metric)
    workspace, stored = open_experiment(experiment)
    chosen = workspace.online_tests.named(stored.id, test)
    label, k = spec.label, cutoff_of(spec)
    if online is None:
        online = chosen.metric_to_explain(workspace.online_tests.disagreeing_metrics(chosen.id, label, k))
    question = (label, k, online)
    run_id = None if run is None else run_named(run_ids(workspace, stored.id, archived=True), run)
    variant = _variant(workspace, chosen, variant, run_id, question)
    explanation = workspace.diagnosis.explain(chosen.id, variant, *question)
    if form == "json":
        say_json(explanation.as_dict())
    else:
        say_lines(as_text(explanation))


def _variant(
    workspace: Workspace,
    test: OnlineTest,
    variant: str | None,
    run: str | None,
    question: tuple[str, int, str],
) -> str:
    """Returns the variant to explain: the one that is named, else the one that served the run, else the first
    whose offline and online results disagree.

    Raises InputError if both a variant and a run are named, and NotFound if no variant is linked to a run.
    """
    from recdash.online.agreement.agreement import DISAGREE

    if variant is not None and run is not None:
        fix = "Name either the variant or the run."
        raise InputError(Problem("two-names", "recdash why", "both --variant and --run", fix))
    if variant is not None:
        return variant
    linked = {name: run_id for name, run_id in test.links.items() if name != test.control}
    if run is not None:
        variants = [name for name, run_id in linked.items() if run_id == run]
        if not variants:
            raise NotFound(f"No variant of '{test.name}' is linked to that run.")
        return variants[0]
    if not linked:
        raise NotFound(f"No variant of '{test.name}' is linked to a run. Link them on the Runs page.")
    rows = workspace.online_tests.offline_online(test.id, *question)
    disagreeing = rows[rows["quadrant"].isin(DISAGREE)]["variant"].tolist()
    return str((disagreeing or list(linked))[0])


def as_text(explanation: Explanation) -> str:
    """Returns the question, the summary, one line per check, and advice for each supported cause."""
    from recdash.diagnosis import CHECKS

    titles = {check.name: check.title for check in CHECKS}
    lines = [["check", "answer", "finding"]]
    for answer in explanation.answers:
        finding = f"needs {answer.needs}" if answer.statistic == "–" else str(answer.statistic)
        lines.append([titles[answer.check], answer.verdict, finding])
    advice = [
        f"{check.title}: {answer.sentence} {check.advice}"
        for answer, check in zip(explanation.answers, CHECKS, strict=True)
        if answer.verdict == "supports"
    ]
    notes = ["", *advice] if advice else []
    return "\n".join([explanation.question, explanation.summary, "", text_table(lines, texts=3), *notes])
