"""What the Off-policy page shows: a log and a target go in, a verdict and its evidence come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from recdash.charts.off_policy import EstimateLine, estimates, weights
from recdash.errors import Problem, RecdashError
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.tables import Cell, count, number_columns, single, text_columns
from recdash.formatting.wording import capital
from recdash.ingest import get_ready
from recdash.online.off_policy.estimates import (
    LEAST_CLICKS,
    LEAST_ESS,
    LEAST_PROPENSITY,
    LEAST_USERS,
    MOST_ERRORS,
    OffPolicy,
    chance,
)
from recdash.online.off_policy.ope import UNIFORM, ope
from recdash.online.off_policy.reward_model import FOLDS, SHRINK_ROWS
from recdash.ui.app import state, theme
from recdash.ui.components import widgets
from recdash.ui.components.templates import TEMPLATES, template_button
from recdash.ui.components.widgets import table_html

if TYPE_CHECKING:
    import pandas as pd

TARGETS = {UNIFORM: "All items alike", "file": "From a file"}
NAMES = {
    "observed": "Observed",
    "ips": "IPS",
    "snips": "SNIPS",
    "clipped": "IPS, clipped",
    "dr": "Doubly robust",
}


@dataclass(frozen=True)
class OffPolicyRequest:
    """The files and what was chosen beside them; ``target`` None: uniform."""

    log: UploadedFile
    target: UploadedFile | None
    n_items: int | None
    clip: float | None
    user_column: str | None = None


# ── what is asked ────────────────────────────────────────────────────────────────────────────


def ask() -> OffPolicyRequest | None:
    """The files and choices; None while a file is missing."""
    get_ready()
    left, right = st.columns(2, gap="large")
    with left:
        log = _file("bandit", "The log: what was shown, how likely that was, and whether it was clicked")
    with right:
        chosen = widgets.choice("The target policy", "target", TARGETS, UNIFORM)
        if chosen == UNIFORM:
            target = None
            n_items = st.number_input(
                "Items to choose from",
                min_value=1,
                value=None,
                step=1,
                key="off-policy-items",
                width=260,
                placeholder="those in the log",
                help="Where some items can be shown and never are in the log, say how many there are.",
            )
        else:
            n_items, target = None, _file("policy", "The target: item_id and probability")
    clip, user_column = _details()
    st.caption("Nothing is stored: the files are read, answered, and forgotten when you leave.")
    if log is None or (chosen != UNIFORM and target is None):
        return None
    return OffPolicyRequest(log, target, n_items, clip, user_column)


def _file(kind: str, label: str) -> UploadedFile | None:
    with st.container(gap="xsmall"):
        file = st.file_uploader(label, key=f"off-policy-{kind}", help=TEMPLATES[kind].purpose)
        template_button(kind, "off-policy")
    return file


def _details() -> tuple[float | None, str | None]:
    with st.expander("Clipping, and the column of users"):
        user_column = st.text_input(
            "Column of the log that names the user",
            key="off-policy-users",
            width=300,
            placeholder="user_id and other usual names",
            help="Rows of one user are not independent: standard errors are then by user.",
        )
        chosen: float | None = st.number_input(
            "Largest weight in the clipped estimate",
            min_value=0.1,
            value=None,
            key="off-policy-clip",
            placeholder="the root of the number of rows",
            width=300,
            help="Less lets heavy rows sway the estimate less, and draws it further down.",
        )
    return chosen, user_column.strip() or None


def explain() -> None:
    """What the page is for, while there is nothing to show."""
    widgets.title(
        "What would another policy have got?",
        "Where a recommender draws what it shows by chance and logs how likely each item was, that log can "
        "answer for another policy too: each row counts as often as the other policy would have shown its "
        "item. Upload such a log. One without probabilities, or of a recommender that always shows the same, "
        "cannot answer.",
    )


def estimate(request: OffPolicyRequest) -> OffPolicy:
    """The estimates, computed once for these files; stops the page with the reasons where they are none."""
    target_id = request.target.file_id if request.target else UNIFORM
    try:
        return _estimated(
            request.log.file_id, target_id, request.n_items, request.clip, request.user_column, request
        )
    except RecdashError as error:
        widgets.problems(error)
        state.stop()


@st.cache_data(show_spinner="Weighing the rows", max_entries=32)
def _estimated(
    log_id: str,  # noqa: ARG001 - what is kept is known by the files' ids
    target_id: str,  # noqa: ARG001
    n_items: int | None,
    clip: float | None,
    user_column: str | None,
    _request: OffPolicyRequest,
) -> OffPolicy:
    for file in filter(None, (_request.log, _request.target)):
        file.seek(0)
    return ope(
        _request.log,
        _request.target or UNIFORM,
        n_items=n_items,
        clip=clip,
        user_column=user_column,
        limits=state.workspace().limits,
    )


# ── what is found ────────────────────────────────────────────────────────────────────────────


def scale(result: OffPolicy) -> tuple[float, str]:
    """Clicks are read in % of slots; any other reward as it is."""
    return (100.0, " %") if result.of_clicks else (1.0, "")


def finding(result: OffPolicy) -> str:
    """The verdict as a headline."""
    name = capital(result.target)
    if result.verdict == "refused":
        return f"No verdict: this log cannot tell what {result.target} would get"
    factor, unit = scale(result)
    values = [factor * (estimate.value or 0.0) for estimate in (result.dr, result.observed)]
    decimals = numbers.places(values)
    expected, was = (f"{numbers.fixed(value, decimals)}{unit}" for value in values)
    word = {"better": "would get more", "worse": "would get less", "not settled": "is not settled"}
    return f"{name} {word[result.against_log]}: {expected} expected, {was} observed"


def verdict_badges(result: OffPolicy) -> Html:
    """Whether the estimates may be used, and what they say of the target."""
    if result.verdict == "refused":
        badges = [("worse", "≠ Refused"), ("", "The estimates below are not to be used")]
    else:
        tones = {
            "better": ("better", "▲ Better"),
            "worse": ("worse", "▼ Worse"),
            "not settled": ("same", "= Not settled"),
        }
        badges = [tones[result.against_log], ("", "Usable: every check below holds")]
    cells = join([widgets.badge(text, tone) for tone, text in badges])
    return html('<div class="rd-badges">{cells}</div>', cells=cells)


def subtitle(result: OffPolicy) -> str:
    reward = "slots with a click" if scale(result)[1] else "mean reward per slot"
    return (
        f"Expected {reward} if {result.target} had chosen, against what the log's own policy got. Doubly "
        f"robust estimate from {numbers.count(result.n)} rows, {numbers.count(result.clicks)} of them with a "
        "click."
    )


def show_reasons(result: OffPolicy) -> None:
    """Why there is no verdict."""
    if result.reasons:
        widgets.notices([Problem("refused", "Why", capital(reason), "") for reason in result.reasons])


def show_estimates(result: OffPolicy) -> None:
    unit = scale(result)[1]
    used = "" if result.verdict == "usable" else " Hollow: not to be used."
    where = "% of slots with a click" if unit else "reward per slot"
    widgets.section(
        "Four estimates beside what was observed",
        f"{capital(where)}, 95 % CI. Dashed: observed.{used}",
    )
    chart = estimates(lines(result), theme.palette(), unit, hollow=result.verdict == "refused")
    widgets.chart(chart, "off-policy-estimates", alt(result))
    widgets.note(_method_notes(result))


def lines(result: OffPolicy) -> list[EstimateLine]:
    factor, _ = scale(result)

    def scaled(value: float | None) -> float | None:
        return None if value is None else factor * value

    rows = []
    for name, title in NAMES.items():
        estimate = getattr(result, name)
        value, low, high = map(scaled, (estimate.value, estimate.low, estimate.high))
        rows.append(EstimateLine(title, value, low, high, observed=name == "observed"))
    return rows


def alt(result: OffPolicy) -> str:
    unit = scale(result)[1]
    parts = [f"{line.name} {numbers.three(line.value)}{unit}" for line in lines(result)]
    return f"Estimates per slot: {', '.join(parts)}."


def _method_notes(result: OffPolicy) -> list[str]:
    clipped = f"no weight counts more than {result.clip:,.4g}"
    drawn = f"drawn to the overall mean as by {SHRINK_ROWS} rows of it"
    model = f"the mean reward of an item in a position, {drawn}"
    return [
        "IPS: the mean of weight × reward.",
        "SNIPS: the same divided by the sum of the weights; steadier where they do not average 1.",
        f"Clipped: {clipped}; steadier, and drawn down.",
        "Doubly robust: what a model expects, plus its weighted errors.",
        f"Standard errors count {result.errors_by}.",
        f"The model is {model}; each fifth of the rows is scored by what the other {FOLDS - 1} teach.",
    ]


# ── what it rests on ─────────────────────────────────────────────────────────────────────────


def show_checks(result: OffPolicy) -> None:
    st.space("small")
    widgets.section("What the estimates rest on", "Where a rule does not hold there is no verdict.")
    columns = [*text_columns("Check"), *number_columns("Value"), *text_columns("Rule", "What it means")]
    st.html(table_html(columns, _checks(result), kind="rd-small"))


def _checks(result: OffPolicy) -> list[tuple[Cell, ...]]:
    fails = result.failed
    rows: list[tuple[Cell, ...]] = []
    if result.n_users is not None:
        value, rule = count(result.effective_users), _rule(f"at least {LEAST_USERS}", fails.users)
        users = f"{numbers.users(result.n_users)} {'is' if result.n_users == 1 else 'are'}"
        meaning = f"What {users} worth once they count unequally; standard errors are by user."
        rows.append(("Effective users", value, rule, meaning))
    rule = _rule(f"at least {LEAST_ESS}", fails.ess)
    meaning = f"(Σw)² / Σw²: what {numbers.count(result.n)} rows are worth once they count unequally."
    rows.append(("Effective rows (ESS)", count(result.ess), rule, meaning))
    mean = f"{numbers.three(result.mean_weight)} ± {numbers.three(result.mean_weight_std_error)}"
    rule = _rule(f"1, within {MOST_ERRORS:g} standard errors", fails.mean_weight)
    meaning = "Off 1, the probabilities are not the log's, or it lacks what the target shows."
    rows.append(("Mean weight", mean, rule, meaning))
    rule = _rule(f"at least {chance(LEAST_PROPENSITY)}", fails.least_propensity)
    meaning = "The smallest chance of anything shown. One such row can outweigh all others."
    rows.append(("Least propensity", chance(result.least_propensity), rule, meaning))
    meaning = "How many rows the heaviest one counts for."
    rows.append(("Largest weight", single(result.max_weight), "", meaning))
    rule = _rule(f"at least {LEAST_CLICKS}", fails.clicks)
    clicks = numbers.count(result.clicks)
    meaning = f"Of {clicks} rows with a click, those that the target might have shown."
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
    return f"The heaviest row carries {first} % of the IPS estimate, the ten heaviest {ten} %"


def _weights_words(result: OffPolicy) -> str:
    zero = result.weights.zero
    never = f" {numbers.count(zero)} rows weigh nothing: the target never shows their items." if zero else ""
    return f"Rows by weight; the heavy line is 1, where both policies are equally likely.{never}"


def show_notices(result: OffPolicy) -> None:
    if result.notices:
        st.space("small")
        widgets.section("To know about this log")
        widgets.notices(result.notices)


def tidy(result: OffPolicy) -> pd.DataFrame:
    import pandas as pd

    rows = [{"estimate": NAMES[name], **getattr(result, name)._asdict()} for name in NAMES]
    return pd.DataFrame(rows)
