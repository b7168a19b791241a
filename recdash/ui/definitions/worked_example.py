"""Draws the formula of a preset, and its computation for one list, line by line."""

from __future__ import annotations

import streamlit as st

from recdash.definitions.latex import formula, is_exact
from recdash.definitions.worked_example import N_POPULAR, ExamplePlace, Worked, example, why_no_example
from recdash.domain.access import NUMBERS_ONLY
from recdash.domain.records import Run
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.tables import Cell, muted, number_columns, text_columns
from recdash.metrics import METRICS, define
from recdash.metrics.naming import reads_train
from recdash.ui.app import cached, state
from recdash.ui.components import widgets
from recdash.ui.components.widgets import table_html
from recdash.ui.definitions.page import PresetsOfRun

EXAMPLES = {"small": "A list of five items", "run": "One user of this run"}
MOST_LINES = 12
DECIMALS = 4
LETTERS = (
    "$k$: the cutoff; $m$: number of relevant items of the user; $r_j$: rank of the $j$-th hit; $g_j$: its "
    "relevance; $g^*_i$: that of all relevant items, best first"
)
LIST = "; $L$: the list"
MISS = html('<span class="rd-muted" aria-label="no hit">○</span>')


def print_formula(by_preset: PresetsOfRun, preset: str) -> None:
    """Draws the formula of a preset with its symbols, its parameters and the metric's example."""
    row = by_preset.row(preset)
    definition = define(row["spec"])
    metric, text = METRICS[by_preset.metric], formula(definition)
    widgets.section(f"{row['title']}: {by_preset.where}")
    st.markdown(f"{metric.title}.\n\n$$\n{text}\n$$")
    st.caption(f"{LETTERS}{LIST if '|L|' in text or 'L_u' in text else ''}.")
    hidden = (
        f"The formula shown is the default's. This preset uses {row['spec']}."
        if not is_exact(definition)
        else ""
    )
    lines = [
        hidden,
        *(f"{name}={value}: {meaning}." for name, value, meaning in _chosen(row["spec"])),
        f"Example with the default. {metric.example}" if metric.example else "",
    ]
    widgets.note(lines)


def _chosen(spec: str) -> list[tuple[str, str, str]]:
    """Returns (name, value, meaning) of each parameter that differs from the default."""
    definition = define(spec)
    return [
        (knob.name, value, knob.values[value])
        for knob in definition.metric.parameters
        if (value := definition.parameters[knob.name]) in knob.values and value != knob.default
    ]


def work_out(by_preset: PresetsOfRun, preset: str) -> None:
    """Draws the computation for the built-in list or for a user of the run, as chosen."""
    chosen = widgets.choice("Example", "ex", EXAMPLES, "small")
    row = by_preset.row(preset)
    if chosen == "run" and state.person().numbers_only:
        st.info(NUMBERS_ONLY)
        return
    if chosen == "run" and (reason := _why_no_user(by_preset.run, row["reason"])):
        st.info(f"No example from this run: {reason}.")
        return
    if chosen == "small":
        worked = example(define(row["spec"]))
    else:
        worked = cached.worked_example(by_preset.run.id, by_preset.metric, by_preset.k, preset)
    if worked is None:
        why = why_no_example(define(row["spec"])) or "no user counts"
        st.info(f"No list can be worked out: {why}.")
        return
    st.html(heading(worked, chosen))
    for part in worked.parts or (worked,):
        st.html(places_table(part))
        st.html(html('<p class="rd-sum">{line}</p>', line=arithmetic(part)))
    if worked.parts:
        st.html(html('<p class="rd-sum">{line}</p>', line=combined(worked)))


def _why_no_user(run: Run, reason: str) -> str:
    """Returns why there is no example from the run; empty if there is one."""
    if not run.is_mean:
        return reason
    return f"it is the mean of {run.replicated}, so each user has several lists"


def heading(worked: Worked, chosen: str) -> Html:
    """Returns a sentence on which user's list it is, and which items are relevant."""
    if chosen == "small":
        text = (
            "The list x, a, y, b with k = 5. The relevant items are a (relevance 3), b (1) and c "
            f"(2), so m\u00a0=\u00a0{worked.m}; the list misses c. Of the two that are not relevant, y at "
            "position 3 was judged, x at position 1 was not."
        )
        if reads_train(worked.spec):
            text += (
                f" In training data of {N_POPULAR} items, b is the most popular, followed by x, c, y and a."
            )
    else:
        text = (
            f"User {worked.user}: m = {worked.m} relevant items, a list of {numbers.count(worked.length)} "
            f"items, k = {worked.k}. Only hits are stored, so other items have no name."
        )
    return widgets.note_html([text])


def places_table(worked: Worked) -> Html:
    texts, sums = text_columns("Item", "Hit"), number_columns("Relevance", "Credit", "Sum so far")
    columns = [*number_columns("Position"), *texts, *sums]
    return table_html(columns, rows(worked), kind="rd-small")


def rows(worked: Worked) -> list[list[Cell]]:
    """Returns a row per position; in a long list, neighbouring positions without a hit share a row."""
    lines = [_row(place) for place in worked.places]
    empty = range(max(worked.length, len(worked.places)) + 1, worked.k + 1)
    if len(worked.places) > MOST_LINES:
        lines = _hits_only(worked)
    if empty:
        span = str(empty[0]) if len(empty) == 1 else f"{empty[0]} to {empty[-1]}"
        lines.append([span, html('<i class="rd-muted">no item</i>'), "", "", "", ""])
    return lines


def _hits_only(worked: Worked) -> list[list[Cell]]:
    lines: list[list[Cell]] = []
    begin = 1
    for place in [*(place_ for place_ in worked.places if place_.gain is not None or place_.negative), None]:
        end = place.rank - 1 if place else worked.places[-1].rank
        if end >= begin:
            span = str(begin) if begin == end else f"{begin} to {end}"
            lines.append([span, muted("not relevant"), MISS, "", "", ""])
        if place:
            lines.append(_row(place))
            begin = place.rank + 1
    return lines


def _row(place: ExamplePlace) -> list[Cell]:
    hit = place.gain is not None
    return [
        str(place.rank),
        place.item or "" if hit else muted(_no_hit(place)),
        html('<b aria-label="hit">●</b>') if hit else MISS,
        f"{place.gain:g}" if place.gain is not None else "",
        _amount(place.credit),
        _amount(place.total),
    ]


def _no_hit(place: ExamplePlace) -> str:
    return "judged, not relevant" if place.negative else "not relevant"


def _amount(number: float | None) -> str:
    return "" if number is None else numbers.fixed(number, DECIMALS) if number else "0"


def arithmetic(worked: Worked) -> str:
    """Returns the computation as text, such as ``0.6309 + 0.4307 = 1.0616; divided by the norm 2.1309:
    0.4982``.
    """
    value = numbers.fixed(worked.value, DECIMALS)
    if worked.total is None or worked.norm is None:
        return f"{worked.spec} = {value}"
    parts = [place.credit for place in worked.places if place.credit]
    total = numbers.fixed(worked.total, DECIMALS)
    added = " + ".join(numbers.fixed(credit, DECIMALS) for credit in parts)
    summed = f"{added} = {total}" if len(parts) > 1 else total
    norm = numbers.fixed(worked.norm, DECIMALS)
    if worked.pooled:
        return (
            f"This user adds {summed} to the numerator and {norm} to the denominator; the sums over all "
            f"users are divided. For this user alone: {total} ÷ {norm} = {value}"
        )
    return f"{summed}; divided by the norm {norm}: {value}"


def combined(worked: Worked) -> str:
    """Returns the harmonic mean of both parts as a written computation."""
    a, b = (numbers.fixed(part.value, DECIMALS) for part in worked.parts)
    return f"2 × {a} × {b} ÷ ({a} + {b}) = {numbers.fixed(worked.value, DECIMALS)}"
