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
from recdash.cli.terminal import say, say_lines
from recdash.formatting import numbers
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.ingest import Sheet
    from recdash.online.off_policy.estimates import Estimated, OffPolicy, SlateEstimates

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
@click.option(
    "--run",
    help="Use the lists of this stored run as the target policy; the log then needs a column of users.",
)
@click.option("--experiment", help="Experiment of the run.")
@click.option(
    "--temperature",
    type=float,
    help="Draw each item from the run's first k by exp(score ÷ temperature) (default: show the item at the "
    "rank of each position).",
)
@click.option(
    "--k", "k", type=int, help="First items of a list to draw from with --temperature (default: 10)."
)
@click.option("--keep", metavar="EXPERIMENT", help="Keep the estimates with this experiment; not the log.")
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
    run: str | None,
    experiment: str | None,
    temperature: float | None,
    k: int | None,
    keep: str | None,
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
    options: dict[str, Any] = {
        "clip": clip,
        "switch": switch,
        "columns": columns,
        "user_column": user_column,
        "refuse": refuse,
    }
    if run is not None or experiment is not None:
        named = {"--target": target != "uniform", "--items": items is not None}
        estimates = _of_run(log, run, experiment, named, k=k, temperature=temperature, **options)
    else:
        _without_run({"--temperature": temperature is not None, "--k": k is not None})
        start_light()
        from recdash.online.off_policy.ope import ope as estimate

        estimates = estimate(log, sheet_named(target) or target, n_items=items, **options)
    if keep is not None:
        _keep(estimates, keep, run if experiment is not None else None)
    tell(estimates.notices)
    say_lines(json.dumps(estimates.as_dict(), indent=2) if form == "json" else off_policy_text(estimates))


def _keep(estimates: OffPolicy, experiment: str, run: str | None) -> None:
    """Stores the estimates with the experiment, in which the target is the run, if it is one."""
    from recdash.cli.options import open_experiment, run_ids, run_named

    workspace, stored = open_experiment(experiment)
    run_id = None if run is None else run_named(run_ids(workspace, stored.id, archived=True), run)
    workspace.off_policy.keep(stored.id, estimates, run_id)
    say(f"kept with '{stored.name}': see recdash agree, or Offline vs online", err=True)


def _of_run(
    log: Path | Sheet,
    run: str | None,
    experiment: str | None,
    named: Mapping[str, bool],
    *,
    k: int | None,
    temperature: float | None,
    **options: Any,
) -> OffPolicy:
    """Returns the estimates for a stored run; ``named`` says which options of other targets are given.

    Raises InputError unless run and experiment are named, and nothing of another target is.
    """
    from recdash.cli.options import open_experiment, run_ids, run_named

    if run is None or experiment is None:
        raise _refused("a stored run is named by both", "Give --experiment and --run.")
    given = [option for option, is_given in named.items() if is_given]
    if given:
        raise _refused(f"{given[0]} names another target than --run", "Give one of them.")
    if k is not None and temperature is None:
        raise _refused("--k counts with a temperature only", "Give --temperature, or leave out --k.")
    workspace, stored = open_experiment(experiment)
    run_id = run_named(run_ids(workspace, stored.id, archived=True), run)
    drawn = {} if k is None else {"k": k}
    return workspace.off_policy.of_run(run_id, log, temperature=temperature, **drawn, **options)


def _without_run(named: Mapping[str, bool]) -> None:
    """Raises InputError if an option is given that only counts with a run."""
    given = [option for option, is_given in named.items() if is_given]
    if given:
        raise _refused(f"{given[0]} without --run", "Name a stored run by --experiment and --run.")


def _refused(reason: str, fix: str) -> Exception:
    from recdash.errors import InputError, Problem

    return InputError(Problem("bad-target", "recdash ope", reason, fix))


def off_policy_text(result: OffPolicy) -> str:
    """Returns the conclusion, the estimates with their intervals, and the diagnostics as text."""
    estimates = {name: getattr(result, name) for name in TITLES}
    digits = numbers.places(estimate.value for estimate in estimates.values())
    lines = [["per slot", "value", "95 % CI"]]
    for name, estimate in estimates.items():
        title = TITLES[name].format(clip=result.clip, switch=result.switch)
        lines.append([title, *_amounts(estimate, digits)])
    slates = ["", text_table(_slate_rows(result.slates))] if result.slates else []
    warning = ["Do not use the estimates below."] if result.verdict == "refused" else []
    return "\n".join(
        [result.sentence, *warning, "", text_table(lines), *slates, "", text_table(_evidence_rows(result))]
    )


def _slate_rows(slates: SlateEstimates) -> list[list[str]]:
    """Returns a header and a row per estimate of the mean reward per slate."""
    estimates = {name: of_slates.estimate for name, of_slates in slates.estimates.items()}
    digits = numbers.places(estimate.value for estimate in (slates.observed, *estimates.values()))
    rows = [["per slate", "value", "95 % CI", "effective slates", "weight 0", "usable"]]
    rows.append(["observed", *_amounts(slates.observed, digits), numbers.count(slates.n), "", ""])
    for name, of_slates in slates.estimates.items():
        zero = f"{numbers.three(100 * of_slates.zero_share)} %"
        support = [numbers.count(of_slates.ess), zero, "yes" if of_slates.is_usable else "no"]
        rows.append([name, *_amounts(of_slates.estimate, digits), *support])
    return rows


def _amounts(estimate: Estimated, digits: int) -> tuple[str, str]:
    """Returns the value and the interval of an estimate as texts."""
    ends = numbers.NONE
    if estimate.low is not None:
        ends = f"{numbers.fixed(estimate.low, digits)} to {numbers.fixed(estimate.high, digits)}"
    return numbers.fixed(estimate.value, digits), ends


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
        ["rows whose item it never shows", f"{numbers.three(100 * result.not_shown_share)} %"],
        ["effective rows (ESS)", numbers.count(result.ess)],
        ["mean weight", numbers.three(result.mean_weight)],
        ["standard error of the mean weight", numbers.three(result.mean_weight_std_error)],
        ["largest weight", numbers.three(result.max_weight)],
        ["smallest propensity", chance(result.least_propensity)],
    ]
