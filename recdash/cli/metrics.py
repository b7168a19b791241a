"""``recdash metrics``: the metric library, by which each new A/B test is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recdash.cli.online_options import metric_of
from recdash.cli.options import form_option, open_workspace
from recdash.cli.terminal import say_json, say_lines
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.online import OnlineMetric

HEADER = ("metric", "formula", "role", "better", "margin")


@click.group()
def metrics() -> None:
    """Metrics that all A/B tests have in common: list, add and remove them.

    A new A/B test that has their columns is counted by them. Stored tests keep their own.
    """


@metrics.command("list")
@form_option
def list_metrics(form: str) -> None:
    """List the metrics of the library."""
    known = open_workspace().metric_library.all()
    if form == "json":
        say_json([metric.facts() for metric in known])
    elif known:
        say_lines(text_table([HEADER, *map(_cells, known)], len(HEADER)))
    else:
        say_lines("The metric library is empty. Add one: recdash metrics add aov=revenue/orders")


@metrics.command("add")
@click.argument("metric")
def add_metric(metric: str) -> None:
    """Add METRIC, written as in `recdash online --metric`: NAME=NUMERATOR[/DENOMINATOR][:down]…"""
    definition = metric_of(metric)
    open_workspace().metric_library.add(definition)
    say_lines(f"Added {definition.name}.")


@metrics.command("remove")
@click.argument("name")
def remove_metric(name: str) -> None:
    """Remove the metric called NAME."""
    open_workspace().metric_library.remove(name)
    say_lines(f"Removed {name}.")


def _cells(metric: OnlineMetric) -> tuple[str, ...]:
    margin = "" if metric.margin is None else f"{100 * metric.margin:g} %"
    better = "lower" if metric.direction == "down" else "higher"
    return metric.name, metric.formula, metric.role, better, margin
