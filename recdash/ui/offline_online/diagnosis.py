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
    head = [html("<span>{title}</span>", title=title) for title in ("Check", "Answer", "What was found")]
    by_name = {answer.check: answer for answer in explained.answers}
    lines = [_line(check, by_name[check.name], mark) for check in CHECKS]
    return html('<div class="rd-why"><div class="rd-why-head">{head}</div>{lines}</div>',
                head=join(head), lines=join(lines))  # fmt: skip


def _line(check: Check, answer: CheckAnswer, mark: Mark) -> Html:
    sign, tone = SIGNS[answer.verdict]
    return html(
        "<details><summary><b>{title}</b>"
        '<span class="rd-{tone}"><i aria-hidden="true">{sign}</i> {verdict}</span>'
        "<span>{statistic}</span></summary>"
        '<div class="rd-why-body"><p class="rd-muted">{question}</p><p>{sentence}</p>{picture}{advice}</div>'
        "</details>",
        title=check.title, tone=tone, sign=sign, verdict=answer.verdict, statistic=_statistic(answer),
        question=check.question, sentence=answer.sentence, advice=_advice(check, answer),
        picture=picture_html(answer.picture, mark) if answer.picture else Html(""),
    )  # fmt: skip


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
        label=row.label, colour=colours[row.side], marks=_marks(row, drawn), text=row.text,
        ends=" · ".join(filter(None, (row.ends, row.note))),
    )  # fmt: skip


def _marks(row: Placed, drawn: Drawing) -> Html:
    kind = "rd-picture-bar" if row.dot is None else "rd-picture-ci"
    parts = [
        html('<i class="{kind}" style="left:{left}%;width:{width}%"></i>', kind=kind,
             left=f"{row.left:.2f}", width=f"{row.width:.2f}"),
        html('<i class="rd-picture-zero" style="left:{at}%"></i>', at=f"{drawn.zero:.2f}"),
    ]  # fmt: skip
    if row.dot is not None:
        hollow = " rd-hollow" if row.hollow else ""
        parts.append(html('<i class="rd-picture-dot{hollow}" style="left:{at}%"></i>',
                          hollow=hollow, at=f"{row.dot:.2f}"))  # fmt: skip
    return join(parts)
