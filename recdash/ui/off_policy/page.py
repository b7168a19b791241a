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
from recdash.ui.components.widgets import TableColumn, table_html

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
            n_items, target = _n_items(), None
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


def _n_items() -> int | None:
    chosen: int | None = st.number_input(
        "Items to choose from", min_value=1, value=None, step=1, key="off-policy-items", width=260,
        placeholder="those in the log",
        help="Where some items can be shown and never are in the log, say how many there are.",
    )  # fmt: skip
    return chosen


def _details() -> tuple[float | None, str | None]:
    with st.expander("Clipping, and the column of users"):
        user_column = st.text_input(
            "Column of the log that names the user", key="off-policy-users", width=300,
            placeholder="user_id and other usual names",
            help="Rows of one user are not independent: standard errors are then by user.",
        )  # fmt: skip
        chosen: float | None = st.number_input(
            "Largest weight in the clipped estimate", min_value=0.1, value=None, key="off-policy-clip",
            placeholder="the root of the number of rows", width=300,
            help="Less lets heavy rows sway the estimate less, and draws it further down.",
        )  # fmt: skip
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


def estimate(asked: OffPolicyRequest) -> OffPolicy:
    """The estimates, computed once for these files; stops the page with the reasons where they are none."""
    target_id = asked.target.file_id if asked.target else UNIFORM
    try:
        return _estimated(asked.log.file_id, target_id, asked.n_items, asked.clip, asked.user_column, asked)
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
    _asked: OffPolicyRequest,
) -> OffPolicy:
    for file in filter(None, (_asked.log, _asked.target)):
        file.seek(0)
    limits = state.workspace().limits
    return ope(
        _asked.log,
        _asked.target or UNIFORM,
        n_items=n_items,
        clip=clip,
        user_column=user_column,
        limits=limits,
    )


# ── what is found ────────────────────────────────────────────────────────────────────────────


def scale(found: OffPolicy) -> tuple[float, str]:
    """Clicks are read in % of slots; any other reward as it is."""
    return (100.0, " %") if found.of_clicks else (1.0, "")


def finding(found: OffPolicy) -> str:
    """The verdict as a headline."""
    name = found.target[:1].upper() + found.target[1:]
    if found.verdict == "refused":
        return f"No verdict: this log cannot tell what {found.target} would get"
    factor, unit = scale(found)
    values = [factor * (one.value or 0.0) for one in (found.dr, found.observed)]
    decimals = numbers.places(values)
    told, was = (f"{numbers.fixed(value, decimals)}{unit}" for value in values)
    word = {"better": "would get more", "worse": "would get less", "not settled": "is not settled"}
    return f"{name} {word[found.against_log]}: {told} expected, {was} observed"


def verdict_badges(found: OffPolicy) -> Html:
    """Whether the estimates may be used, and what they say of the target."""
    if found.verdict == "refused":
        badges = [("worse", "≠ Refused"), ("", "The estimates below are not to be used")]
    else:
        tones = {
            "better": ("better", "▲ Better"),
            "worse": ("worse", "▼ Worse"),
            "not settled": ("same", "= Not settled"),
        }
        badges = [tones[found.against_log], ("", "Usable: every check below holds")]
    cells = [html('<span class="rd-badge rd-badge-{tone}">{text}</span>', tone=tone, text=text)
             for tone, text in badges]  # fmt: skip
    return html('<div class="rd-badges">{cells}</div>', cells=join(cells))


def subtitle(found: OffPolicy) -> str:
    what = "slots with a click" if scale(found)[1] else "mean reward per slot"
    return (
        f"Expected {what} if {found.target} had chosen, against what the log's own policy got. Doubly robust "
        f"estimate from {numbers.count(found.n)} rows, {numbers.count(found.clicks)} of them with a click."
    )


def show_reasons(found: OffPolicy) -> None:
    """Why there is no verdict."""
    if found.reasons:
        reasons = [Problem("refused", "Why", f"{one[:1].upper()}{one[1:]}", "") for one in found.reasons]
        widgets.notices(reasons)


def show_estimates(found: OffPolicy) -> None:
    unit = scale(found)[1]
    used = "" if found.verdict == "usable" else " Hollow: not to be used."
    where = "% of slots with a click" if unit else "reward per slot"
    widgets.section(
        "Four estimates beside what was observed",
        f"{where[:1].upper()}{where[1:]}, 95 % CI. Dashed: observed.{used}",
    )
    chart = estimates(lines(found), theme.palette(), unit, hollow=found.verdict == "refused")
    widgets.chart(chart, "off-policy-estimates", alt(found))
    st.html(
        html('<div class="rd-note">{lines}</div>', lines=join([html("<p>{x}</p>", x=x) for x in _how(found)]))
    )


def lines(found: OffPolicy) -> list[EstimateLine]:
    factor, _ = scale(found)

    def scaled(value: float | None) -> float | None:
        return None if value is None else factor * value

    each = {name: getattr(found, name) for name in NAMES}
    return [
        EstimateLine(
            NAMES[name], scaled(one.value), scaled(one.low), scaled(one.high), observed=name == "observed"
        )
        for name, one in each.items()
    ]


def alt(found: OffPolicy) -> str:
    unit = scale(found)[1]
    told = [f"{line.name} {numbers.three(line.value)}{unit}" for line in lines(found)]
    return f"Estimates per slot: {', '.join(told)}."


def _how(found: OffPolicy) -> list[str]:
    clipped = f"no weight counts more than {found.clip:,.4g}"
    model = (
        f"the mean reward of an item in a position, drawn to the overall mean as by {SHRINK_ROWS} rows of it"
    )
    return [
        "IPS: the mean of weight × reward.",
        "SNIPS: the same divided by the sum of the weights; steadier where they do not average 1.",
        f"Clipped: {clipped}; steadier, and drawn down.",
        "Doubly robust: what a model expects, plus its weighted errors.",
        f"Standard errors count {found.errors_by}.",
        f"The model is {model}; each fifth of the rows is scored by what the other {FOLDS - 1} teach.",
    ]


# ── what it rests on ─────────────────────────────────────────────────────────────────────────


def show_checks(found: OffPolicy) -> None:
    st.space("small")
    widgets.section("What the estimates rest on", "Where a rule does not hold there is no verdict.")
    columns = [
        TableColumn("Check"),
        TableColumn("Value", number=True),
        TableColumn("Rule"),
        TableColumn("What it means"),
    ]
    st.html(table_html(columns, _checks(found), kind="rd-small"))


def _checks(found: OffPolicy) -> list[list[object]]:
    fails, error = found.failed, numbers.three(found.mean_weight_std_error)
    rules = (
        _rule(f"at least {LEAST_ESS}", fails.ess),
        _rule(f"1, within {MOST_ERRORS:g} standard errors", fails.mean_weight),
        _rule(f"at least {chance(LEAST_PROPENSITY)}", fails.least_propensity),
        _rule(f"at least {LEAST_CLICKS}", fails.clicks),
    )
    rows = numbers.count(found.n)
    return [
        *_of_users(found),
        ["Effective rows (ESS)", numbers.count(found.ess), rules[0],
         f"(Σw)² / Σw²: what {rows} rows are worth once they count unequally."],
        ["Mean weight", f"{numbers.three(found.mean_weight)} ± {error}", rules[1],
         "Off 1, the probabilities are not the log's, or it lacks what the target shows."],
        ["Least propensity", chance(found.least_propensity), rules[2],
         "The smallest chance of anything shown. One such row can outweigh all others."],
        ["Largest weight", numbers.three(found.max_weight), "", "How many rows the heaviest one counts for."],
        ["Clicks that count", numbers.count(found.clicks_that_count), rules[3],
         f"Of {numbers.count(found.clicks)} rows with a click, those that the target might have shown."],
    ]  # fmt: skip


def _of_users(found: OffPolicy) -> list[list[object]]:
    """The check of the users, where the log says them."""
    if found.n_users is None:
        return []
    rule = _rule(f"at least {LEAST_USERS}", found.failed.users)
    users = f"{numbers.users(found.n_users)} {'is' if found.n_users == 1 else 'are'}"
    return [
        ["Effective users", numbers.count(found.effective_users), rule,
         f"What {users} worth once they count unequally; standard errors are by user."]
    ]  # fmt: skip


def _rule(text: str, fails: bool) -> Html:
    tone, sign = ("worse", "✗") if fails else ("better", "✓")
    return html('<span class="rd-{tone}">{sign}</span> {text}', tone=tone, sign=sign, text=text)


def show_weights(found: OffPolicy) -> None:
    spread = found.weights
    st.space("small")
    widgets.section(_heaviest(found), _weights_words(found))
    if spread.counts:
        widgets.chart(
            weights(spread.edges, spread.counts, theme.palette()), "off-policy-weights", _heaviest(found)
        )


def _heaviest(found: OffPolicy) -> str:
    shares = found.weights.carried
    if not shares:
        return "No row with a click has a weight"
    one, ten = (numbers.three(100 * shares[count]) for count in (1, 10))
    return f"The heaviest row carries {one} % of the IPS estimate, the ten heaviest {ten} %"


def _weights_words(found: OffPolicy) -> str:
    zero = found.weights.zero
    never = f" {numbers.count(zero)} rows weigh nothing: the target never shows their items." if zero else ""
    return f"Rows by weight; the heavy line is 1, where both policies are equally likely.{never}"


def show_notices(found: OffPolicy) -> None:
    if found.notices:
        st.space("small")
        widgets.section("To know about this log")
        widgets.notices(found.notices)


def tidy(found: OffPolicy) -> pd.DataFrame:
    import pandas as pd

    rows = [{"estimate": NAMES[name], **getattr(found, name)._asdict()} for name in NAMES]
    return pd.DataFrame(rows)
