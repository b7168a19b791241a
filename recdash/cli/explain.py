"""``recdash why``: explains why a candidate's online result differs from its offline result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recdash.cli.options import experiment_option, form_option, open_experiment
from recdash.cli.terminal import say_json, say_lines
from recdash.domain.defaults import DEFAULT_SPEC
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.service import Explanation


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
    from recdash.service.plain_agreement import MetricPair, explanation_of

    asked = MetricPair(test, metric, online)
    explanation = explanation_of(*open_experiment(experiment), asked, variant, run)
    if form == "json":
        say_json(explanation.as_dict())
    else:
        say_lines(as_text(explanation))


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
