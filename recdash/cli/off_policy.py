"""``recdash ope``: estimates a new policy's reward from a log with propensities."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.input_file import InputFile, sheet_named
from recdash.cli.options import columns_option, form_option, refuse_option, tell
from recdash.cli.output import aligned
from recdash.cli.terminal import say_lines
from recdash.formatting import numbers

if TYPE_CHECKING:
    from recdash.ingest import Sheet
    from recdash.online.off_policy.estimates import OffPolicy

TARGET_HELP = (
    "Target policy: uniform, or a file with item_id, probability and the columns of the log it depends on."
)
TITLES = {
    "observed": "observed (logging policy)",
    "ips": "IPS",
    "snips": "SNIPS",
    "clipped": "IPS, clipped at {clip:.4g}",
    "dm": "direct method (DM)",
    "dr": "doubly robust (DR)",
    "switch_dr": "Switch-DR, threshold {switch:.4g}",
}


@click.command()
@click.option(
    "--log",
    required=True,
    type=InputFile(),
    help="Log of what was shown: item_id, click, propensity_score, position …",
)
@click.option("--target", default="uniform", show_default=True, help=TARGET_HELP)
@columns_option
@refuse_option
@click.option(
    "--items", type=int, help="Items that the uniform policy chooses from (default: those in the log)."
)
@click.option(
    "--clip",
    type=float,
    help="Largest weight in the clipped estimate (default: square root of the number of rows).",
)
@click.option(
    "--switch",
    type=float,
    help="Weight above which Switch-DR uses the reward model alone (default: chosen by estimated error).",
)
@click.option(
    "--user-column", help="Column of the log with the user (default: user_id or another usual name)."
)
@form_option
def ope(
    log: Path | Sheet,
    target: str,
    *,
    columns: Mapping[str, Any],
    items: int | None,
    clip: float | None,
    switch: float | None,
    user_column: str | None,
    refuse: Sequence[str],
    form: str,
) -> None:
    """Estimate from a log with propensities what a new policy would have earned, and whether the log supports
    an estimate.
    """
    start_light()
    from recdash.online.off_policy.ope import ope as estimate

    estimates = estimate(
        log,
        sheet_named(target) or target,
        n_items=items,
        clip=clip,
        switch=switch,
        columns=columns,
        user_column=user_column,
        refuse=refuse,
    )
    tell(estimates.notices)
    say_lines(json.dumps(estimates.as_dict(), indent=2) if form == "json" else off_policy_text(estimates))


def off_policy_text(result: OffPolicy) -> str:
    """Returns the conclusion, the estimates with their intervals, and the diagnostics as text."""
    estimates = {name: getattr(result, name) for name in TITLES}
    digits = numbers.places(estimate.value for estimate in estimates.values())
    lines = [["per slot", "value", "95 % CI"]]
    for name, estimate in estimates.items():
        ends = numbers.NONE
        if estimate.low is not None:
            ends = f"{numbers.fixed(estimate.low, digits)} to {numbers.fixed(estimate.high, digits)}"
        lines.append(
            [
                TITLES[name].format(clip=result.clip, switch=result.switch),
                numbers.fixed(estimate.value, digits),
                ends,
            ]
        )
    return "\n".join([result.sentence, "", aligned(lines), "", aligned(_evidence_rows(result))])


def _evidence_rows(result: OffPolicy) -> list[list[str]]:
    from recdash.online.off_policy.estimates import chance

    users = []
    if result.n_users is not None:
        users = [["users", numbers.count(result.n_users)]]
        users += [["effective users", numbers.count(result.effective_users)]]
    return [
        ["rows", numbers.count(result.n)],
        *users,
        ["standard errors by", "rows (no user column)" if result.n_users is None else "users"],
        ["rows with a click", numbers.count(result.clicks)],
        ["of them shown by the target policy", numbers.count(result.clicks_that_count)],
        ["effective rows (ESS)", numbers.count(result.ess)],
        ["mean weight", numbers.three(result.mean_weight)],
        ["standard error of the mean weight", numbers.three(result.mean_weight_std_error)],
        ["largest weight", numbers.three(result.max_weight)],
        ["smallest propensity", chance(result.least_propensity)],
    ]
