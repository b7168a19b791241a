"""Options of an A/B test's tables and of how they are counted, for the commands that read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.input_file import InputFile
from recdash.cli.options import is_on_cluster, refuse_twice
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    from recdash.ingest import Sheet
    from recdash.online import OnlineMetric, OnlineRules


class EventsFile(click.ParamType["Path | Sheet | str"]):
    """The type of a file of events: for a cluster its path or table as text, which only that reads."""

    name = InputFile.name

    def convert(
        self, value: str | Path, parameter: click.Parameter | None, context: click.Context | None
    ) -> Path | Sheet | str:
        return str(value) if is_on_cluster(context) else InputFile().convert(value, parameter, context)


TABLES = ("sessions", "exposures", "events", "served", "aggregates")


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with an option for each kind of table of an A/B test."""
    for option in reversed(_TABLE_OPTIONS):
        command = option(command)
    return command


def counting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the options that say how an A/B test is counted, and its own metrics."""
    for option in reversed(_COUNTING_OPTIONS):
        command = option(command)
    return command


_TABLE_OPTIONS = (
    click.option("--sessions", type=InputFile(), help="One row per session."),
    click.option(
        "--exposures",
        type=InputFile(),
        help="Which user saw which variant, and when; with --events (or --sessions).",
    ),
    click.option("--events", type=EventsFile(), help="Impressions, clicks and watch time; with --exposures."),
    click.option("--served", type=InputFile(), help="The lists that were actually shown; with --events."),
    click.option(
        "--aggregates", type=InputFile(), help="Aggregated results: one row per variant and metric."
    ),
)
_COUNTING_OPTIONS = (
    click.option(
        "--threshold",
        type=float,
        default=120,
        show_default=True,
        help="Seconds of watching from which a view counts.",
    ),
    click.option("--item-cap", type=float, help="Cap on the seconds of one item that count in a session."),
    click.option(
        "--clock-difference",
        type=float,
        default=0,
        show_default=True,
        help="Minutes by which the clocks of exposures and of events without sessions may differ.",
    ),
    click.option("--zone", help="Time zone of timestamps without one, such as Europe/Berlin (default: UTC)."),
    click.option("--exposures-of", help="The experiment_id to read if the exposures contain several."),
    click.option("--starts", help="First day of the test; earlier sessions are pre-test data."),
    click.option(
        "--bot-clicks",
        type=int,
        default=300,
        show_default=True,
        help="Bot filter: most clicks per day; 0 turns it off.",
    ),
    click.option(
        "--bot-sessions",
        type=int,
        default=100,
        show_default=True,
        help="Bot filter: most sessions per day; 0 turns it off.",
    ),
    click.option(
        "--winsorise", type=float, help="Quantile of users at which totals are capped, such as 0.99."
    ),
    click.option("--activated-by", help="Count only users with this column, or kind of event, above 0."),
    click.option(
        "--planned-users", type=int, help="Planned sample size: users in control and variant together."
    ),
    click.option("--split", help="Planned split if it is uneven: control=2,new=1."),
    click.option(
        "--metric",
        "own_metrics",
        multiple=True,
        help="A metric, as NAME=NUMERATOR[/DENOMINATOR][:down][:guardrail:MARGIN], also with :cap=500 (per "
        "user) or :within=24 (hours after exposure), or NAME=retention:day=7, or NAME=COLUMN:quantile=0.95 "
        "(over the rows); repeatable.",
    ),
)


def rules_given(
    *,
    threshold: float,
    item_cap: float | None,
    bot_clicks: int,
    bot_sessions: int,
    clock_difference: float,
    split: str | None,
    **same: Any,
) -> OnlineRules:
    from recdash.online.rules import OnlineRules

    return OnlineRules(
        threshold_s=threshold,
        item_cap_s=item_cap,
        bot_clicks=bot_clicks or None,
        bot_sessions=bot_sessions or None,
        clock_min=clock_difference,
        split=_shares(split) if split else {},
        **same,
    )


def _shares(text: str) -> dict[str, float]:
    """Returns the shares of variants that a text such as ``control=2,new=1`` gives. Raises InputError for
    others.
    """
    pairs = [pair.rpartition("=") for pair in text.split(",")]
    fix = "Write a share for each variant: control=2,new=1."
    if any(not name.strip() or not equals for name, equals, _ in pairs):
        raise InputError(Problem("bad-split", "--split", f"'{text}'", fix))
    refuse_twice("--split", [name.strip() for name, _, _ in pairs])
    return {name.strip(): _number(share, "--split", fix) for name, _, share in pairs}


def metric_of(text: str) -> OnlineMetric:
    """Returns the metric that a text such as ``plays_per_session=plays/sessions:down:guardrail:0.02``
    defines. Raises InputError for other texts.
    """
    from recdash.online import OnlineMetric

    name, equals, rest = text.partition("=")
    formula, *words = rest.split(":")
    numerator, _, denominator = formula.partition("/")
    if not (equals and name.strip() and numerator.strip()):
        fix = "Write NAME=NUMERATOR/DENOMINATOR, such as plays_per_session=plays/sessions."
        raise InputError(Problem("bad-metric", "--metric", f"'{text}'", fix))
    fix = "The formula can be followed by up or down, goal or guardrail, a margin such as 0.02, cap=500, "
    fix += "within=24 (hours), day=7, quantile=0.95 or covariate=COLUMN."
    known = ("up", "down", "goal", "guardrail")
    derived = dict(word.split("=", 1) for word in words if "=" in word)
    margins = [_number(word, "--metric", fix) for word in words if word not in known and "=" not in word]
    if unknown := sorted({*derived} - {"cap", "within", "day", "quantile", "covariate"}):
        raise InputError(Problem("bad-metric", "--metric", f"'{unknown[0]}=' in '{text}'", fix))
    amounts = {
        name: _number(value, "--metric", fix) for name, value in derived.items() if name != "covariate"
    }
    if len(margins) > 1 or {"up", "down"} <= set(words) or {"goal", "guardrail"} <= set(words):
        raise InputError(Problem("bad-metric", "--metric", f"'{text}' contradicts itself", fix))
    return OnlineMetric(
        name=name.strip(),
        title=name.strip(),
        unit="",
        meaning="",
        numerator=numerator.strip(),
        denominator=denominator.strip() or None,
        low=None,
        direction="down" if "down" in words else "up",
        role="guardrail" if "guardrail" in words else "goal",
        margin=margins[0] if margins else None,
        covariate=derived.get("covariate"),
        cap=amounts.get("cap"),
        within_hours=amounts.get("within"),
        retention_day=int(amounts["day"]) if "day" in amounts else None,
        quantile=amounts.get("quantile"),
    )


def _number(text: str, option: str, fix: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(Problem("bad-number", option, f"'{text}' is not a number", fix)) from None
