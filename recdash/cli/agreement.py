"""``recdash agree``: do offline metrics and A/B tests agree?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from recdash.cli.options import workspace
from recdash.cli.output import aligned
from recdash.cli.terminal import say_lines
from recdash.formatting import numbers

if TYPE_CHECKING:
    from recdash.online.agreement.agreement import Agreement, BestMetric
    from recdash.online.agreement.track_record import TrackRecord

SHOWN_METRICS = 5


@click.command()
@click.option("--experiment", required=True, help="Name of the experiment.")
@click.option("--test", help="Name of the A/B test (default: the newest).")
@click.option("--metric", default="ndcg@10", show_default=True, help="One offline metric with its cutoff.")
@click.option("--online", default="session_watch_time", show_default=True, help="One online metric.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def agree(experiment: str, test: str | None, metric: str, online: str, form: str) -> None:
    """Whether offline metrics and an A/B test put the runs in the same order, and how often so far."""
    from recdash.comparison.result import cutoff_of
    from recdash.metrics import parse

    space, spec = workspace(), parse(metric)
    label, k = spec.label, cutoff_of(spec)
    chosen = space.online_tests.online_test_named(space.experiments.named(experiment).id, test)
    found = space.agreement.agreement(chosen.id, label, k, online)
    best, record = (
        space.agreement.best_metric(chosen.id, online),
        space.track_records.track_record(label, k, online),
    )
    if form == "json":
        told = {"test": chosen.name, **found.as_dict()}
        further = {"best_metric": best.as_dict(), "track_record": record.as_dict()}
        say_lines(json.dumps(told | further, indent=2, ensure_ascii=False))
    else:
        parts = (chosen.name, _agreement_text(found), _best_text(best), _record_text(record))
        say_lines("\n\n".join(parts))


def _agreement_text(found: Agreement) -> str:
    if found.reason:
        return "\n".join(found.sentences)
    head = ["run", found.metric, f"lift in {found.online_metric}, %"]
    offline = numbers.places(run.offline for run in found.runs)
    lifts = [100 * (run.online or 0.0) for run in found.runs]
    rows = [
        [f"{run.run} (control)" if run.is_control else run.run, numbers.fixed(run.offline, offline),
         numbers.signed(lift, numbers.places(lifts))]
        for run, lift in zip(found.runs, lifts, strict=True)
    ]  # fmt: skip
    return "\n".join([*found.sentences, "", aligned([head, *rows])])


def _best_text(found: BestMetric) -> str:
    named = (
        f"Best order: {', '.join(found.winners)}." if found.winners else f"No metric named: {found.reason}."
    )
    rows = [
        [one.label, numbers.fixed(one.tau, 2)]
        for one in found.predictions[:SHOWN_METRICS]
        if one.tau is not None
    ]
    return "\n".join([named, *([aligned([["metric", "τ"], *rows])] if rows else [])])


def _record_text(found: TrackRecord) -> str:
    return "\n".join(_record_lines(found))


def _record_lines(found: TrackRecord) -> Iterable[str]:
    right, n, low, high = found.called
    if low is not None and high is not None:
        ends = f"{numbers.fixed(100 * low, 0)} to {numbers.fixed(100 * high, 0)} of 100, 95 % CI"
        yield f"{found.metric} called the winner {right} of {n} times ({ends})."
    else:
        yield f"No comparison of {found.metric} is settled on both sides."
    if found.calibration is None:
        yield f"No calibration: {found.reason}."
    else:
        line = found.calibration
        ends = numbers.interval(line.low, line.high, numbers.places([line.low, line.high]))
        yield f"1 % offline has meant {numbers.three(line.slope)} % online (95 % CI {ends})."
    yield from (f"left out: {test}: {reason}" for test, reason in found.left_out)
