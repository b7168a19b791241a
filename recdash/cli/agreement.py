"""``recdash agree``: shows whether offline metrics and A/B tests agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from recdash.cli.options import experiment_option, form_option, open_experiment
from recdash.cli.terminal import say_json, say_lines
from recdash.domain.defaults import DEFAULT_SPEC
from recdash.formatting import numbers
from recdash.formatting.text_table import text_table
from recdash.formatting.wording import shown

if TYPE_CHECKING:
    from recdash.online.agreement.agreement import Agreement, BestMetric
    from recdash.online.agreement.kept_estimates import EstimateBesideTest
    from recdash.online.agreement.track_record import TrackRecord

SHOWN_METRICS = 5


@click.command()
@experiment_option
@click.option("--test", help="Name of the A/B test (default: the newest).")
@click.option("--metric", default=DEFAULT_SPEC, show_default=True, help="One offline metric with its cutoff.")
@click.option("--online", help="One online metric (default: the first that disagrees).")
@form_option
def agree(experiment: str, test: str | None, metric: str, online: str | None, form: str) -> None:
    """Show whether offline metrics and an A/B test rank the runs alike, and how often they have so far."""
    from recdash.service.plain_agreement import MetricPair, agreement_of

    workspace, stored = open_experiment(experiment)
    answer = agreement_of(workspace, stored, MetricPair(test, metric, online))
    if form == "json":
        say_json(answer.as_dict())
    else:
        record = "\n".join(_record_lines(answer.record))
        parts = [answer.test, _agreement_text(answer.agreement), _best_text(answer.best), record]
        if answer.estimates:
            parts.append(_estimates_text(answer.estimates))
        say_lines("\n\n".join(parts))


def _estimates_text(estimates: Sequence[EstimateBesideTest]) -> str:
    """Returns a table of the kept off-policy estimates beside offline and online results."""
    rows = [["target", "off-policy", "observed", "against the log", "offline", "online"]]
    for beside in estimates:
        facts = beside.estimate.facts
        values = [numbers.three(facts[name]) for name in ("dr", "observed")]
        rows.append([beside.name, *values, *map(shown, (beside.off_policy, beside.offline, beside.online))])
    return text_table(rows)


def _agreement_text(agreement: Agreement) -> str:
    """Returns the sentences, and a table of the values and lifts as measured."""
    if agreement.reason:
        return "\n".join(agreement.sentences)
    offline_sign, online_sign = agreement.signs
    offline_title, online_title = agreement.metric, f"lift in {agreement.online_metric}, %"
    rows = [["run", _directed(offline_title, offline_sign), _directed(online_title, online_sign)]]
    values = [offline_sign * (run.offline or 0.0) for run in agreement.runs]
    lifts = [100 * online_sign * (run.online or 0.0) for run in agreement.runs]
    for run, value, lift in zip(agreement.runs, values, lifts, strict=True):
        name = f"{run.run} (control)" if run.is_control else run.run
        value_text = numbers.fixed(value, numbers.places(values))
        rows.append([name, value_text, numbers.signed(lift, numbers.places(lifts))])
    return "\n".join([*agreement.sentences, "", text_table(rows)])


def _directed(title: str, sign: int) -> str:
    return f"{title} (lower is better)" if sign < 0 else title


def _best_text(best: BestMetric) -> str:
    named = f"Best order: {', '.join(best.winners)}." if best.winners else f"No best metric: {best.reason}."
    rows = [
        [prediction.label, numbers.fixed(prediction.tau, 2)]
        for prediction in best.predictions[:SHOWN_METRICS]
        if prediction.tau is not None
    ]
    return "\n".join([named, *([text_table([["metric", "τ"], *rows])] if rows else [])])


def _record_lines(record: TrackRecord) -> Iterable[str]:
    right, n, low, high = record.called
    if low is not None and high is not None:
        ends = f"{numbers.fixed(100 * low, 0)} to {numbers.fixed(100 * high, 0)} of 100, 95 % CI"
        yield f"{record.metric} predicted the winner {right} of {n} times ({ends})."
    else:
        yield f"No comparison of {record.metric} is significant both offline and online."
    line = record.shown_calibration
    if line is None:
        yield f"No calibration: {record.reason}."
    else:
        ends = numbers.interval(line.low, line.high, numbers.places([line.low, line.high]))
        yield (
            f"A change of 1 % offline has corresponded to {numbers.three(line.slope)} % online (95 % CI "
            f"{ends})."
        )
        yield f"Variants are off this line by {numbers.three(line.tau)} % (τ; 95 % CI {line.tau_text})."
    yield from (f"excluded: {test}: {reason}" for test, reason in record.left_out)
