"""The page Off-policy: the form for a log and a target policy, and the verdict with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.off_policy import estimates, weights
from recdash.errors import Problem, RecdashError
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.signs import OPEN
from recdash.formatting.tables import Cell, count, number_columns, single, text_columns
from recdash.formatting.wording import capital
from recdash.ingest import get_ready
from recdash.online.off_policy.display import TITLES, estimate_lines
from recdash.online.off_policy.estimates import (
    LEAST_CLICKS,
    LEAST_ESS,
    LEAST_PROPENSITY,
    LEAST_USERS,
    MOST_ERRORS,
    OffPolicy,
    chance,
)
from recdash.online.off_policy.list_policy import DEFAULT_K
from recdash.online.off_policy.ope import UNIFORM, ope
from recdash.online.off_policy.reward_model import FOLDS, SHRINK_ROWS
from recdash.ui.app import state, theme
from recdash.ui.components import actions, file_zone, widgets
from recdash.ui.components.templates import template_button
from recdash.ui.components.widgets import table_html
from recdash.web.received_files import ReceivedFile

if TYPE_CHECKING:
    import pandas as pd

    from recdash.domain.records import Experiment
    from recdash.online.off_policy.estimates import SlateEstimate

TARGETS = {UNIFORM: "Every item equally likely", "file": "From a file", "run": "A stored run"}
POLICIES = {"top": "Deterministic", "softmax": "Softmax"}
POLICY_HELP = (
    "Deterministic: each position shows the item at its rank; a log without positions shows the first item. "
    "Softmax: each slot shows one of the first items, drawn by exp(score ÷ temperature)."
)
SLATE_NOTES = [
    "Independent (IIPS): a reward depends on the item in its position alone.",
    "Reward interaction (RIPS): on the items above it, too, as for users who read from the top.",
    "Standard (IPS): on all items of the slate. The more it may depend on, the fewer slates count.",
    "Propensities are those of an item given the items above it, or of positions drawn independently.",
]
GAIN = "Doubly robust − observed"
"""The paired difference by which the target is better or worse; its interval is not that of an estimate."""


@dataclass(frozen=True)
class RunTarget:
    """A stored run as the target: its id, its experiment's, and how its lists fill slots (``ListPolicy``)."""

    run_id: str
    experiment_id: str
    k: int = DEFAULT_K
    temperature: float | None = None


@dataclass(frozen=True)
class FileTarget:
    """The target policy: a received file, or the uniform policy over ``n_items`` if there is none."""

    file: ReceivedFile | None = None
    n_items: int | None = None


@dataclass(frozen=True)
class OffPolicyRequest:
    """The log, the target policy, and the options of an estimate."""

    log: ReceivedFile
    target: FileTarget | RunTarget
    clip: float | None
    user_column: str | None = None


# ── input ────────────────────────────────────────────────────────────────────────────────────


def ask() -> OffPolicyRequest | None:
    """Draws the form and returns its files and options; None while a file is missing."""
    get_ready()
    left, right = st.columns(2, gap="large")
    with left:
        log = _file("bandit", "Log: item shown, its propensity (the chance to show it), and whether clicked")
    with right:
        target = _target()
    clip, user_column = _details()
    st.caption("No file is stored: files are deleted when you remove them or close the dashboard.")
    if log is None or target is None:
        return None
    return OffPolicyRequest(log, target, clip, user_column)


def _target() -> FileTarget | RunTarget | None:
    """Draws the choice of the target policy and returns it; None while its file is missing."""
    experiments = [
        experiment
        for experiment in state.workspace().experiments.all()
        if state.workspace().runs.all(experiment.id)
    ]
    offered = {name: title for name, title in TARGETS.items() if name != "run" or experiments}
    chosen = widgets.choice("Target policy", "target", offered, UNIFORM)
    if chosen == "run":
        return _run_target(experiments)
    if chosen == "file":
        file = _file("policy", "Target: item_id and probability")
        return FileTarget(file) if file else None
    n_items = st.number_input(
        "Number of items",
        min_value=1,
        value=None,
        step=1,
        key="off-policy-items",
        width=260,
        placeholder="items in the log",
        help="Set it if the policy can also show items that are not in the log.",
    )
    return FileTarget(n_items=n_items)


def _run_target(experiments: Sequence[Experiment]) -> RunTarget:
    """Draws the choice of a stored run and of how its lists fill slots."""
    names = {experiment.id: experiment.name for experiment in experiments}
    newest = max(experiments, key=lambda experiment: experiment.created).id
    experiment = widgets.select(
        "Experiment", "e", names, state.option("e", newest, list(names)), "off-policy-experiment", 420
    )
    runs = {run.id: run.name for run in state.workspace().runs.all(experiment)}
    run = widgets.select(
        "Run", "run", runs, state.option("run", next(iter(runs)), list(runs)), "off-policy-run", 420
    )
    policy = widgets.choice("Policy", "policy", POLICIES, "top", POLICY_HELP)
    if policy == "top":
        return RunTarget(run, experiment)
    left, right = st.columns(2)
    k = left.number_input("First items to draw from", min_value=1, value=DEFAULT_K, key="off-policy-k")
    temperature = right.number_input("Temperature", min_value=0.001, value=1.0, key="off-policy-temperature")
    return RunTarget(run, experiment, int(k), float(temperature))


def _file(kind: str, label: str) -> ReceivedFile | None:
    with st.container(gap="xsmall"):
        files = file_zone.show(label, f"off-policy-{kind}")
        template_button(kind, "off-policy")
    return files[-1] if files else None


def _details() -> tuple[float | None, str | None]:
    with st.expander("More options"):
        user_column = st.text_input(
            "User column of the log",
            key="off-policy-users",
            width=300,
            placeholder="user_id or a similar name",
            help="Rows of one user are not independent; standard errors are then clustered by user.",
        )
        chosen: float | None = st.number_input(
            "Maximum weight (clipped IPS)",
            min_value=0.1,
            value=None,
            key="off-policy-clip",
            placeholder="√ number of rows",
            width=300,
            help="A lower maximum reduces variance and adds bias downwards.",
        )
    return chosen, user_column.strip() or None


def explain() -> None:
    """Says what the page is for, while there is no log."""
    widgets.title(
        "What would another recommender have earned?",
        "An estimate from a log, without a new test (off-policy). The recommender in the log must have "
        "chosen items partly at random.",
    )


def estimate(request: OffPolicyRequest) -> OffPolicy:
    """Returns the estimates, cached by file; if there are none, shows the reasons and ends this run of the
    page.
    """
    target = request.target
    target_key: RunTarget | tuple[str | None, int | None]
    if isinstance(target, RunTarget):
        target_key = target
    else:
        target_key = (target.file.id if target.file else None, target.n_items)
    try:
        return _estimated(request.log.id, target_key, request.clip, request.user_column, request)
    except RecdashError as error:
        widgets.problems(error)
        state.stop()


@st.cache_data(show_spinner="Estimating", max_entries=32)
def _estimated(
    log_id: str,  # noqa: ARG001 - for the cache
    target_key: RunTarget | tuple[str | None, int | None],  # noqa: ARG001
    clip: float | None,
    user_column: str | None,
    _request: OffPolicyRequest,
) -> OffPolicy:
    target, workspace = _request.target, state.workspace()
    if isinstance(target, RunTarget):
        return workspace.off_policy.of_run(
            target.run_id,
            _request.log.path,
            k=target.k,
            temperature=target.temperature,
            clip=clip,
            user_column=user_column,
        )
    return ope(
        _request.log.path,
        target.file.path if target.file else UNIFORM,
        n_items=target.n_items,
        clip=clip,
        user_column=user_column,
        limits=workspace.limits,
    )


def keep(request: OffPolicyRequest, result: OffPolicy) -> None:
    """Draws the button that keeps the numbers with an experiment; nothing for viewers and without one."""
    workspace, target = state.workspace(), request.target
    names = {experiment.id: experiment.name for experiment in workspace.experiments.all()}
    if not names or not workspace.person.may("editor"):
        return
    st.space("small")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if isinstance(target, RunTarget):
            chosen, run_id = target.experiment_id, target.run_id
        else:
            run_id = None
            chosen = st.selectbox(
                "Experiment", **widgets.titled(names), key="off-policy-keep-with", width=420
            )
        if st.button("Keep with experiment", key="off-policy-keep"):
            done = f"Kept with {markdown(names[chosen])}: see Offline vs online."
            actions.attempt(lambda: workspace.off_policy.keep(chosen, result, run_id), done)


# ── results ──────────────────────────────────────────────────────────────────────────────────


def finding(result: OffPolicy) -> str:
    """Returns the verdict as a headline."""
    name = capital(result.target)
    if result.verdict == "refused":
        return f"No verdict: this log cannot estimate {result.target}"
    factor, unit = result.scale
    values = [factor * (estimate.value or 0.0) for estimate in (result.dr, result.observed)]
    decimals = numbers.places(values)
    expected, was = (f"{numbers.fixed(value, decimals)}{unit}" for value in values)
    word = {"better": "would do better", "worse": "would do worse", "not settled": "is inconclusive"}
    return f"{name} {word[result.against_log]}: {expected} estimated, {was} observed"


def verdict_badges(result: OffPolicy) -> Html:
    """Returns badges: how the target compares with the log, and whether the estimates are usable."""
    if result.verdict == "refused":
        badges = [("worse", "≠ No verdict"), ("", "Do not use the estimates below")]
    else:
        tones = {
            "better": ("better", "▲ Better"),
            "worse": ("worse", "▼ Worse"),
            "not settled": ("same", f"{OPEN} Inconclusive"),
        }
        badges = [tones[result.against_log], ("", "All checks pass")]
    cells = join([widgets.badge(text, tone) for tone, text in badges])
    return html('<div class="rd-badges">{cells}</div>', cells=cells)


def subtitle(result: OffPolicy) -> str:
    reward = "slots with a click" if result.scale[1] else "mean reward per slot"
    return (
        f"{capital(reward)} of {result.target} vs the logged policy. Doubly robust estimate from "
        f"{numbers.count(result.n)} rows, {numbers.count(result.clicks)} of them with a click."
    )


def show_reasons(result: OffPolicy) -> None:
    """Shows why there is no verdict; nothing if there is one."""
    if result.reasons:
        widgets.notices([Problem("refused", "Why", capital(reason), "") for reason in result.reasons])


def show_estimates(result: OffPolicy) -> None:
    unit = result.scale[1]
    used = "" if result.verdict == "usable" else " Hollow: do not use."
    where = "% of slots with a click" if unit else "reward per slot"
    widgets.section(
        "Estimates vs observed",
        f"{capital(where)}, 95 % CI. Dashed: observed.{used}",
    )
    chart = estimates(
        estimate_lines(result.scaled()), theme.palette(), unit, hollow=result.verdict == "refused"
    )
    widgets.chart(chart, "off-policy-estimates", alt(result))
    widgets.note(_method_notes(result))


def alt(result: OffPolicy) -> str:
    unit = result.scale[1]
    parts = [f"{line.name} {numbers.three(line.value)}{unit}" for line in estimate_lines(result.scaled())]
    return f"Estimates per slot: {', '.join(parts)}."


def _method_notes(result: OffPolicy) -> list[str]:
    clipped = f"weights are capped at {result.clip:,.4g}"
    drawn = f"shrunk towards the overall mean as by {SHRINK_ROWS} rows"
    model = f"the mean reward of an item in a position, {drawn}"
    return [
        "IPS: mean of weight × reward.",
        "SNIPS: IPS normalised by the sum of weights; lower variance.",
        f"Clipped IPS: {clipped}; lower variance, biased downwards.",
        "Direct method: a reward model's prediction alone; without a CI, as its bias is unknown.",
        "Doubly robust: a reward model's prediction, corrected by its weighted errors.",
        f"Switch-DR: doubly robust; the prediction alone for rows with a weight above {result.switch:,.4g}.",
        f"Standard errors count {result.errors_by}.",
        f"Reward model: {model}, cross-fitted over {FOLDS} folds.",
    ]


def show_slates(result: OffPolicy) -> None:
    """Shows the estimates per slate; nothing if the log names no slates."""
    if result.slates is None:
        return
    slates = result.slates
    st.space("small")
    n_slates = numbers.count(slates.n)
    observed = numbers.three(slates.observed.value)
    widgets.section("Reward per slate", f"{n_slates} slates; {observed} observed per slate, 95 % CI.")
    titles = ("Estimate", "95 % CI", "Effective slates", "Weight 0")
    columns = [*text_columns("Estimator"), *number_columns(*titles), *text_columns("Support")]
    rows = [_slate_row(name, of_slates) for name, of_slates in slates.estimates.items()]
    st.html(table_html(columns, rows, kind="rd-small"))
    widgets.note(SLATE_NOTES)


def _slate_row(name: str, of_slates: SlateEstimate) -> tuple[Cell, ...]:
    value, _, low, high = of_slates.estimate
    decimals = numbers.places([value, low, high])
    amount, interval = numbers.fixed(value, decimals), numbers.NONE
    if low is not None:
        interval = f"{numbers.fixed(low, decimals)} to {numbers.fixed(high, decimals)}"
    rule = _rule(f"at least {LEAST_ESS}, mean weight 1", not of_slates.is_usable)
    zero = f"{numbers.three(100 * of_slates.zero_share)} %"
    return name, amount, interval, count(of_slates.ess), zero, rule


# ── checks ────────────────────────────────────────────────────────────────────────────────────


def show_checks(result: OffPolicy) -> None:
    st.space("small")
    widgets.section("Checks", "There is no verdict if one fails.")
    columns = [*text_columns("Check"), *number_columns("Value"), *text_columns("Required", "Meaning")]
    st.html(table_html(columns, _checks(result), kind="rd-small"))


def _checks(result: OffPolicy) -> list[tuple[Cell, ...]]:
    fails = result.failed
    rows: list[tuple[Cell, ...]] = []
    if result.n_users is not None:
        value, rule = count(result.effective_users), _rule(f"at least {LEAST_USERS}", fails.users)
        meaning = f"Effective sample size of {numbers.users(result.n_users)}; standard errors are by user."
        rows.append(("Effective users", value, rule, meaning))
    rule = _rule(f"at least {LEAST_ESS}", fails.ess)
    meaning = f"(Σw)² / Σw², the effective sample size of {numbers.count(result.n)} rows."
    rows.append(("Effective rows (ESS)", count(result.ess), rule, meaning))
    mean = f"{numbers.three(result.mean_weight)} ± {numbers.three(result.mean_weight_std_error)}"
    rule = _rule(f"1, within {MOST_ERRORS:g} standard errors", fails.mean_weight)
    meaning = "If it differs from 1, propensities are wrong or items of the target are missing from the log."
    rows.append(("Mean weight", mean, rule, meaning))
    rule = _rule(f"at least {chance(LEAST_PROPENSITY)}", fails.least_propensity)
    meaning = "Smallest propensity of a shown item; such a row can dominate the estimate."
    rows.append(("Smallest propensity", chance(result.least_propensity), rule, meaning))
    meaning = "Weight of the heaviest row."
    rows.append(("Largest weight", single(result.max_weight), "", meaning))
    meaning = "Rows with an item that the target never shows there; the estimate rests on the others."
    rows.append(("Rows with weight 0", f"{numbers.three(100 * result.not_shown_share)} %", "", meaning))
    rule = _rule(f"at least {LEAST_CLICKS}", fails.clicks)
    clicks = numbers.count(result.clicks)
    meaning = f"Of {clicks} clicks, those on items that the target can show."
    rows.append(("Clicks that count", count(result.clicks_that_count), rule, meaning))
    return rows


def _rule(text: str, fails: bool) -> Html:
    tone, sign = ("worse", "✗") if fails else ("better", "✓")
    return html('<span class="rd-{tone}">{sign}</span> {text}', tone=tone, sign=sign, text=text)


def show_weights(result: OffPolicy) -> None:
    spread = result.weights
    st.space("small")
    widgets.section(_heaviest(result), _weights_words(result))
    if spread.counts:
        chart = weights(spread.edges, spread.counts, theme.palette())
        widgets.chart(chart, "off-policy-weights", _heaviest(result))


def _heaviest(result: OffPolicy) -> str:
    shares = result.weights.carried
    if not shares:
        return "No row with a click has a weight"
    first, ten = (numbers.three(100 * shares[count]) for count in (1, 10))
    return f"Top row: {first} % of the IPS estimate; top ten: {ten} %"


def _weights_words(result: OffPolicy) -> str:
    zero = result.weights.zero
    never = f" {numbers.count(zero)} rows have weight 0: the target never shows their items." if zero else ""
    return f"Rows by weight. Heavy line: weight 1.{never}"


def show_notices(result: OffPolicy) -> None:
    if result.notices:
        st.space("small")
        widgets.section("Notices")
        widgets.notices(result.notices)


def tidy(result: OffPolicy) -> pd.DataFrame:
    """Returns the estimates with their intervals, and the difference that the headline is about."""
    import pandas as pd

    names = {**TITLES, "gain": GAIN}
    rows = [{"estimate": title, **getattr(result, name)._asdict()} for name, title in names.items()]
    return pd.DataFrame(rows)
