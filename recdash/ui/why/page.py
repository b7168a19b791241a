"""Explains why a variant's online result differs from its offline result: the likely cause, then all
checks.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from recdash.charts.marks import Mark
from recdash.charts.mini_chart import Drawing, Placed, drawing
from recdash.charts.picture import Picture
from recdash.diagnosis import CHECKS, Check, CheckAnswer
from recdash.diagnosis.summary import likely
from recdash.errors import RecdashError
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.records import Row, records
from recdash.formatting.wording import listed, lowered
from recdash.online.agreement.agreement import AGREE, DISAGREE
from recdash.online.agreement.join import BLOCKED, outcome
from recdash.service import Explanation
from recdash.ui.app import cached, links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import online_tests, widgets
from recdash.ui.components.offline_online import REASONS, OfflineOnline, choose, gather, no_link, no_test

SIGNS: Mapping[str, tuple[str, str, str]] = {
    "supports": ("●", "possible cause", "worse"),
    "rules out": ("○", "not the cause", "same"),
    "can't tell": ("?", "inconclusive", "muted"),
}
"""Answer of a check → sign, words and tone."""
MOST_LIKELY = "most likely cause"
"""The words of the strongest cause, as in the headline."""
AGREED_WORDS: dict[str, str] = {"supports": "reason for doubt", "rules out": "no reason for doubt"}
"""Answer of a check → words if offline and online have the same result, which needs no cause."""
FOOTNOTE = "Several causes may hold at once. Open a row to see how it was checked, and what it needs."
MOST_NAMED = 3


def show(view: View) -> None:
    """Draws the page for one linked variant, by default one whose results disagree; the URL keeps it."""
    tests = online_tests.tests(view)
    if not tests:
        no_test(view, REASONS)
        return
    title = st.container()
    test, online_metric = choose(view, tests)
    sides = gather(view, test, online_metric)
    if sides.rows.empty:
        with title:
            widgets.title(f"{test.name}: nothing to explain")
        no_link(view, test)
        return
    row = _choose(records(sides.rows))
    try:
        explained = cached.explanation(view, sides.test.id, row["variant"], sides.online_metric)
    except RecdashError as error:
        with title:
            widgets.title(f"{row['run']} cannot be explained here", str(error))
        return
    with title:
        widgets.title(finding(explained, row["also_lost"]), subtitle(explained))
    causes = likely(explained.answers)
    if causes:
        st.html(html('<p class="rd-lead rd-why-lead">{sentence}</p>', sentence=causes[0].sentence))
    st.html(table(view, explained, sides.marks[row["run_id"]]))
    widgets.note([FOOTNOTE])
    st.html(_back(view, sides))


def finding(explained: Explanation, also_lost: str = "") -> str:
    """Returns what happened and its most likely cause; for a run with the same result offline and online,
    the reasons to doubt that. ``also_lost`` names the other online metrics that it lost.
    """
    names = {check.name: check.cause for check in CHECKS}
    causes = [names[answer.check] for answer in likely(explained.answers)]
    run, quadrant = explained.run, explained.quadrant
    if quadrant in AGREE:
        quadrant = outcome({"quadrant": quadrant, "also_lost": also_lost})
        if not causes:
            return f"{run} {quadrant}: no check finds a reason for doubt"
        reasons = "a reason for doubt is" if len(causes) == 1 else f"{len(causes)} reasons for doubt are"
        named = listed(causes) if len(causes) <= MOST_NAMED else f"{listed(causes[:MOST_NAMED])} and others"
        return f"{run} {quadrant}; {reasons} {named}"
    if quadrant in DISAGREE:
        because = f"most likely because of {causes[0]}" if causes else "and no check explains why"
        return f"{run} {quadrant}, {because}"
    if quadrant == BLOCKED:
        return f"{run} is not judged: the split of users is broken"
    return f"{run}: no significant disagreement between offline and online"


def subtitle(explained: Explanation) -> str:
    verdicts = [answer.verdict for answer in explained.answers]
    noun, nouns, otherwise = "possible cause", "possible causes", "ruled out as the cause"
    if explained.quadrant in AGREE:
        noun, nouns, otherwise = "reason for doubt", "reasons for doubt", "without a reason for doubt"
    n_supported, n_open = verdicts.count("supports"), verdicts.count("can't tell")
    parts = []
    if n_supported and explained.quadrant in DISAGREE:  # the table names the strongest so, too
        parts, n_supported = [f"1 {MOST_LIKELY}"], n_supported - 1
        noun, nouns = f"other {noun}", f"other {nouns}"
    parts += [f"{n_supported} {noun if n_supported == 1 else nouns}"] if n_supported else []
    parts += [f"{n_open} inconclusive"] if n_open else []
    parts += [f"{verdicts.count('rules out')} {otherwise}"]
    metrics = f"{explained.where} offline, {lowered(explained.online)} online, vs {explained.base}"
    return f"{metrics}. {len(verdicts)} checks: {', '.join(parts)}."


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


def table(view: View, explained: Explanation, mark: Mark) -> Html:
    """Returns a row per check, which opens to show its details; possible causes come first."""
    by_name = {answer.check: answer for answer in explained.answers}
    causes = [answer.check for answer in likely(explained.answers)]
    checks = sorted(CHECKS, key=lambda check: check.name not in causes)
    words = AGREED_WORDS if explained.quadrant in AGREE else {}
    first = {"supports": MOST_LIKELY} if explained.quadrant in DISAGREE else {}
    lines = [
        _line(view, check, by_name[check.name], mark, words | first if check.name in causes[:1] else words)
        for check in checks
    ]
    return widgets.folding_rows(("Check", "Answer", "Evidence"), lines)


def _line(view: View, check: Check, answer: CheckAnswer, mark: Mark, words: Mapping[str, str]) -> Html:
    sign, word, tone = SIGNS[answer.verdict]
    template = '<i aria-hidden="true">{sign}</i> {word}'
    marked = html(template, sign=sign, word=words.get(answer.verdict, word))
    picture = picture_html(answer.picture, mark) if answer.picture else Html("")
    rest = html(
        "<p>{sentence}</p>{picture}{advice}",
        sentence=answer.sentence,
        picture=picture,
        advice=_advice(view, check, answer),
    )
    return widgets.folding_row(
        check.title, widgets.toned(marked, tone), _statistic(answer), check.question, rest
    )


def _statistic(answer: CheckAnswer) -> Html:
    """Returns the numbers of a check, or which data is missing."""
    if answer.statistic != numbers.NONE:
        return html("{statistic}", statistic=answer.statistic)
    return widgets.muted(f"needs {answer.needs}")


def _advice(view: View, check: Check, answer: CheckAnswer) -> Html:
    if answer.verdict == "supports":
        advice = html("{advice} {way}", advice=check.advice, way=_with_threshold(view, answer))
        return html("<p><b>What to do:</b> {advice}</p>", advice=advice)
    if answer.verdict == "can't tell":
        return html("<p><b>This needs:</b> {needs}.</p>", needs=answer.needs)
    return Html("")


def _with_threshold(view: View, answer: CheckAnswer) -> Html:
    """Returns a link to the recommendation with the relevance threshold of the advice; empty without one, and
    if it cannot be chosen.
    """
    known = state.workspace().scopes.thresholds(view.experiment.id)
    if answer.threshold is None or answer.threshold not in known:
        return Html("")
    least = f"{answer.threshold:g}"
    words = f"See the recommendation with relevance from {least} on →"
    return links.link(view, words, "overview", {"th": least})


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
