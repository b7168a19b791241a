"""Explains why a variant's online result differs from its offline result: the likely cause, then all
checks.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from recdash.charts.marks import Mark
from recdash.charts.mini_chart import Drawing, Placed, drawing
from recdash.diagnosis import CHECKS, Check, CheckAnswer
from recdash.diagnosis.mini_chart import Picture
from recdash.diagnosis.summary import likely
from recdash.errors import RecdashError
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.records import Row, records
from recdash.formatting.wording import capital, lowered, many
from recdash.online.agreement.agreement import DISAGREE
from recdash.service import Explanation
from recdash.ui.app import cached, links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import online_tests, widgets
from recdash.ui.components.offline_online import OfflineOnline, choose, gather, no_link, no_test

SIGNS: Mapping[str, tuple[str, str, str]] = {
    "supports": ("●", "possible cause", "worse"),
    "rules out": ("○", "ruled out", "same"),
    "can't tell": ("?", "inconclusive", "muted"),
}
"""Answer of a check → sign, words and tone."""
FOOTNOTE = "Several causes may hold at once. ? inconclusive: open to see which data is missing."


def show(view: View) -> None:
    """Draws the page for one linked variant, by default one whose results disagree; the URL keeps it."""
    tests = online_tests.tests(view)
    if not tests:
        no_test()
        return
    title = st.container()
    test, online_metric = choose(view, tests)
    sides = gather(view, test, online_metric)
    if sides.rows.empty:
        with title:
            widgets.title(f"{test.name}: nothing to explain")
        no_link()
        return
    row = _choose(records(sides.rows))
    try:
        explained = cached.explanation(view, sides.test.id, row["variant"], sides.online_metric)
    except RecdashError as error:
        with title:
            widgets.title(f"{row['run']} cannot be explained here", str(error))
        return
    with title:
        widgets.title(finding(explained), subtitle(explained))
    st.html(html('<p class="rd-lead rd-why-lead">{summary}</p>', summary=explained.summary))
    st.html(table(explained, sides.marks[row["run_id"]]))
    widgets.note([FOOTNOTE])
    st.html(_back(view, sides))


def finding(explained: Explanation) -> str:
    """Returns the most likely cause, or that no check explains the result."""
    causes = likely(explained.answers)
    return capital(causes[0].cause) if causes else f"No check explains {explained.run}'s result"


def subtitle(explained: Explanation) -> str:
    n_causes = len(likely(explained.answers))
    n_open = sum(answer.verdict == "can't tell" for answer in explained.answers)
    is_open = f", {n_open} of them inconclusive" if n_open else ""
    of = f"{many(n_causes, 'possible cause')} in {len(explained.answers)} checks{is_open}"
    metrics = f"{explained.where} offline, {lowered(explained.online)} online, vs {explained.base}"
    return f"{explained.question} {capital(of)}. {metrics}."


def _choose(rows: list[Row]) -> Row:
    by_variant = {row["variant"]: row for row in rows}
    disagreeing = [row["variant"] for row in rows if row["quadrant"] in DISAGREE]
    first = (disagreeing or list(by_variant))[0]
    links.tell_unknown("v", "variant", by_variant, by_variant[first]["run"])
    chosen = state.option("v", first, list(by_variant))
    if len(by_variant) > 1:
        names = {
            variant: " · ".join(dict.fromkeys((str(row["run"]), str(variant))))
            for variant, row in by_variant.items()
        }
        return by_variant[widgets.select("Variant", "v", names, chosen, "why-variant", 520)]
    state.write("v", chosen)
    return by_variant[chosen]


def _back(view: View, sides: OfflineOnline) -> Html:
    chosen = {"t": sides.test.id, "om": sides.online_metric}
    way = links.link(view, "Offline vs online", "offline-online", chosen)
    return html('<div class="rd-note"><p>All variants side by side: {way}.</p></div>', way=way)


# ── the twelve checks ────────────────────────────────────────────────────────────────────────


def table(explained: Explanation, mark: Mark) -> Html:
    """Returns a row per check, which opens to show its details; possible causes come first."""
    by_name = {answer.check: answer for answer in explained.answers}
    causes = [answer.check for answer in likely(explained.answers)]
    checks = sorted(CHECKS, key=lambda check: check.name not in causes)
    lines = [_line(check, by_name[check.name], mark) for check in checks]
    return widgets.folding_rows(("Check", "Answer", "Evidence"), lines)


def _line(check: Check, answer: CheckAnswer, mark: Mark) -> Html:
    sign, words, tone = SIGNS[answer.verdict]
    marked = html('<i aria-hidden="true">{sign}</i> {words}', sign=sign, words=words)
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
    """Returns the numbers of a check, or which data is missing."""
    if answer.statistic != numbers.NONE:
        return html("{statistic}", statistic=answer.statistic)
    return widgets.muted(f"needs {answer.needs}")


def _advice(check: Check, answer: CheckAnswer) -> Html:
    if answer.verdict == "supports":
        return html("<p><b>What to do:</b> {advice}</p>", advice=check.advice)
    if answer.verdict == "can't tell":
        return html("<p><b>Missing data:</b> {needs}.</p>", needs=answer.needs)
    return Html("")


# ── a picture ────────────────────────────────────────────────────────────────────────────────


def picture_html(picture: Picture, mark: Mark) -> Html:
    """Returns a check's picture as HTML: bars from zero, or dots with their intervals; the run's have its
    colour.
    """
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
