"""The section "Why?": what twelve checks say of one variant, the sentence that sums them up first."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from recdash.charts.marks import Mark
from recdash.charts.mini_chart import Drawing, Placed, drawing
from recdash.diagnosis import CHECKS, Check, CheckAnswer
from recdash.diagnosis.mini_chart import Picture
from recdash.errors import RecdashError
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.records import Row, records
from recdash.formatting.wording import lowered
from recdash.online.agreement.agreement import DISAGREE
from recdash.service import Explanation
from recdash.ui.app import cached, links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.offline_online.page import OfflineOnlinePage

SIGNS: Mapping[str, tuple[str, str]] = {
    "supports": ("●", "worse"),
    "rules out": ("○", "same"),
    "can't tell": ("?", "muted"),
}
FOOTNOTE = (
    "● supports: this could explain it. ○ rules out: this is not the reason. ? can't tell: what it takes is "
    "named. The checks look at one reason each; several may hold at once."
)


def show(view: View, sides: OfflineOnlinePage) -> None:
    """For one of the linked variants, which is kept in the URL; the page opens on one that disagrees."""
    row = _choose(records(sides.rows))
    try:
        explained = cached.explanation(view, sides.test.id, row["variant"], sides.online_metric)
    except RecdashError as error:
        widgets.section("Why?", f"{row['run']} cannot be explained here: {error}")
        return
    metrics = f"{explained.where} offline and {lowered(explained.online)} online"
    how = "Open a check for its reading, its picture, and what to do."
    widgets.section(explained.question, f"{metrics}, both against {explained.base}. {how}")
    st.html(html('<p class="rd-lead rd-why-lead">{summary}</p>', summary=explained.summary))
    st.html(table(explained, sides.marks[row["run_id"]]))
    widgets.note([FOOTNOTE])


def _choose(rows: list[Row]) -> Row:
    by_variant = {row["variant"]: row for row in rows}
    telling = [row["variant"] for row in rows if row["quadrant"] in DISAGREE]
    links.tell_unknown("v", "variant", by_variant)
    chosen = state.option("v", (telling or list(by_variant))[0], list(by_variant))
    if len(by_variant) > 1:
        names = {
            variant: " · ".join(dict.fromkeys((str(variant), str(row["run"]))))
            for variant, row in by_variant.items()
        }
        return by_variant[widgets.select("Explain", "v", names, chosen, "why-variant", 520)]
    state.write("v", chosen)
    return by_variant[chosen]


# ── the twelve ───────────────────────────────────────────────────────────────────────────────


def table(explained: Explanation, mark: Mark) -> Html:
    """One line per check, which opens to the rest of it."""
    by_name = {answer.check: answer for answer in explained.answers}
    lines = [_line(check, by_name[check.name], mark) for check in CHECKS]
    return widgets.folding_rows(("Check", "Answer", "What was found"), lines)


def _line(check: Check, answer: CheckAnswer, mark: Mark) -> Html:
    sign, tone = SIGNS[answer.verdict]
    marked = html('<i aria-hidden="true">{sign}</i> {verdict}', sign=sign, verdict=answer.verdict)
    picture = picture_html(answer.picture, mark) if answer.picture else Html("")
    rest = html(
        "<p>{sentence}</p>{picture}{advice}",
        sentence=answer.sentence,
        picture=picture,
        advice=_advice(check, answer),
    )
    return widgets.folding_row(
        check.title, widgets.toned(marked, tone), _statistic(answer), check.question, rest
    )


def _statistic(answer: CheckAnswer) -> Html:
    """The numbers; where there are none, what is missing."""
    if answer.statistic != numbers.NONE:
        return html("{statistic}", statistic=answer.statistic)
    return widgets.muted(f"– needs {answer.needs}")


def _advice(check: Check, answer: CheckAnswer) -> Html:
    if answer.verdict == "supports":
        return html("<p><b>What to do:</b> {advice}</p>", advice=check.advice)
    if answer.verdict == "can't tell":
        return html("<p><b>To tell, add:</b> {needs}.</p>", needs=answer.needs)
    return Html("")


# ── a picture ────────────────────────────────────────────────────────────────────────────────


def picture_html(picture: Picture, mark: Mark) -> Html:
    """Bars from zero, or dots with their intervals; the run's in its colour."""
    drawn = drawing(picture)
    rows = join([_row(row, drawn, mark) for row in drawn.rows])
    template = '<figure class="rd-picture"><figcaption>{title}</figcaption>{rows}</figure>'
    return html(template, title=picture.title, rows=rows)


def _row(row: Placed, drawn: Drawing, mark: Mark) -> Html:
    palette = theme.palette()
    colours = {"run": mark.colour, "baseline": palette.baseline, "neither": palette.muted}
    return html(
        '<div><span class="rd-picture-label" title="{label}">{label}</span>'
        '<span class="rd-picture-track" style="--run:{colour}" aria-hidden="true">{marks}</span>'
        "<span><b>{text}</b> <small>{ends}</small></span></div>",
        label=row.label,
        colour=colours[row.side],
        marks=_marks(row, drawn),
        text=row.text,
        ends=" · ".join(filter(None, (row.ends, row.note))),
    )


def _marks(row: Placed, drawn: Drawing) -> Html:
    def shape(kind: str, left: float, width: str = "") -> Html:
        style = f"left:{left:.2f}%{width}"
        return html('<i class="rd-picture-{kind}" style="{style}"></i>', kind=kind, style=style)

    interval = shape("bar" if row.dot is None else "ci", row.left, f";width:{row.width:.2f}%")
    zero = shape("zero", drawn.zero)
    dot = [] if row.dot is None else [shape("dot rd-hollow" if row.hollow else "dot", row.dot)]
    return join([interval, zero, *dot])
