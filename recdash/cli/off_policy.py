"""``recdash ope``: what another policy would have got, from a log with propensities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.options import columns_option, tell
from recdash.cli.output import aligned
from recdash.cli.terminal import say_lines
from recdash.formatting import numbers

if TYPE_CHECKING:
    from recdash.online.off_policy.estimates import OffPolicy

TARGET_HELP = "uniform, or a file: item_id, probability, and columns of the log that it depends on."
TITLES = {
    "observed": "observed (the log's own policy)",
    "ips": "IPS",
    "snips": "SNIPS",
    "clipped": "IPS, clipped at {clip:.4g}",
    "dr": "doubly robust (DR)",
}


@click.command()
@click.option(
    "--log", required=True, type=Path, help="What was shown: item_id, click, propensity_score, position …"
)
@click.option("--target", default="uniform", show_default=True, help=TARGET_HELP)
@columns_option
@click.option("--items", type=int, help="Items that uniform chooses from (default: those in the log).")
@click.option(
    "--clip", type=float, help="Largest weight of the clipped estimate (default: root of the rows)."
)
@click.option(
    "--user-column", help="Column of the log that names the user (default: user_id and other usual names)."
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def ope(
    log: Path,
    target: str,
    *,
    columns: Mapping[str, Any],
    items: int | None,
    clip: float | None,
    user_column: str | None,
    form: str,
) -> None:
    """What another policy would have got from a log with propensities, and whether that can be told."""
    start_light()
    from recdash.online.off_policy.ope import ope as estimate

    found = estimate(log, target, n_items=items, clip=clip, columns=columns, user_column=user_column)
    tell(found.notices)
    say_lines(json.dumps(found.as_dict(), indent=2) if form == "json" else off_policy_text(found))


def off_policy_text(found: OffPolicy) -> str:
    """The verdict, the estimates with their intervals, and what they rest on."""
    each = {name: getattr(found, name) for name in TITLES}
    digits = numbers.places(one.value for one in each.values())
    lines = [["per slot", "value", "95 % CI"]]
    lines += [
        [
            TITLES[name].format(clip=found.clip),
            numbers.fixed(one.value, digits),
            f"{numbers.fixed(one.low, digits)} to {numbers.fixed(one.high, digits)}"
            if one.low is not None
            else numbers.NONE,
        ]
        for name, one in each.items()
    ]
    return "\n".join([found.sentence, "", aligned(lines), "", aligned(_rests_on(found))])


def _rests_on(found: OffPolicy) -> list[list[str]]:
    from recdash.online.off_policy.estimates import chance

    users = [] if found.n_users is None else [
        ["users", numbers.count(found.n_users)], ["effective users", numbers.count(found.effective_users)]
    ]  # fmt: skip
    return [
        ["rows", numbers.count(found.n)],
        *users,
        ["standard errors by", "rows (no column names the user)" if found.n_users is None else "users"],
        ["rows with a click", numbers.count(found.clicks)],
        ["of them shown by the target", numbers.count(found.clicks_that_count)],
        ["effective rows (ESS)", numbers.count(found.ess)],
        ["mean weight", numbers.three(found.mean_weight)],
        ["its standard error", numbers.three(found.mean_weight_std_error)],
        ["largest weight", numbers.three(found.max_weight)],
        ["least propensity", chance(found.least_propensity)],
    ]
