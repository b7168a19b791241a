"""Tables of all numbers of a decision or of evidence at that time, with definitions and provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from recdash.comparison.cells import metric_value
from recdash.decisions import Offline, Online
from recdash.decisions.changes_since import Changed
from recdash.decisions.snapshot import Difference, Lift
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, markdown
from recdash.formatting.numbers import percent
from recdash.formatting.tables import (
    Cell,
    count,
    finding,
    muted,
    number_columns,
    p_value,
    text_columns,
    with_intervals,
)
from recdash.formatting.wording import adjusted, capital, many, nested
from recdash.metrics.naming import less_is_wanted
from recdash.ui.components import widgets
from recdash.ui.components.widgets import table_html
from recdash.ui.decisions.tiles import interval_of, online_value, rail_interval

NUMBERS = ("Value", "Baseline", "Difference", "95 % CI, corrected", "p, corrected", "n")


def show(offline: Offline | None, online: Sequence[Online]) -> None:
    """Draws all numbers, the offline results first."""
    if offline is not None:
        _offline(offline)
    for test in online:
        _online(test)


def _offline(offline: Offline) -> None:
    widgets.section(f"Offline: {offline.headline}", f"{offline.subject.where}. {capital(offline.terms)}.")
    _notes(offline.sentences)
    base = offline.subject.baseline.id if offline.subject.baseline else ""
    against = [pair for pair in offline.pairs if pair.baseline == base]
    among = [pair for pair in offline.pairs if pair.baseline != base]
    _differences("Candidate", [(offline.name(pair.candidate), pair) for pair in against])
    name = offline.subject.run.name if offline.subject.run else ""
    _differences(f"{name} by other metrics", [(metric.title, metric) for metric in offline.metrics])
    _guardrails(offline)
    _differences(f"{name} by segment of users", [(part.part, part) for part in offline.slices])
    if among:  # there may be many, so they are in an expander
        names = [f"{offline.name(pair.candidate)} against {offline.name(pair.baseline)}" for pair in among]
        table = _table("Pair", list(zip(names, among, strict=True)))
        title = f"Candidates against each other: {many(len(among), 'pair')}"
        folded = '<details class="rd-more rd-wide"><summary>{title}</summary>{table}</details>'
        st.html(html(folded, title=title, table=table))
    _notes([*offline.warnings, *(f"{run}: {why}." for run, why in offline.apart.items())])


def _notes(lines: Sequence[str]) -> None:
    if lines:
        st.html(widgets.small_paragraphs(lines))


def _differences(first: str, rows: Sequence[tuple[str, Difference]]) -> None:
    if rows:
        st.html(_table(first, rows))


def _table(first: str, rows: Sequence[tuple[str, Difference]]) -> Html:
    columns = [*text_columns(first), *number_columns(*NUMBERS), *text_columns("Finding")]
    cells = [_row(name, difference) for name, difference in rows]
    return table_html(columns, cells, kind="rd-small rd-frozen")


def _row(name: str, pair: Difference) -> list[Cell]:
    value, base = (metric_value(pair.metric, value) for value in (pair.value, pair.base_value))
    differences, bounds = with_intervals([pair.difference], [interval_of(pair)])
    word = finding(pair.word)
    return [name, value, base, *differences, *bounds, p_value(pair.p_corrected), count(pair.n), word]


def _guardrails(offline: Offline) -> None:
    if not offline.guardrails:
        return
    number_titles = number_columns("Value", "Baseline", "Change")
    columns = [*text_columns("Guardrail"), *number_titles, *text_columns("95 % CI", "Finding")]
    rows: list[list[Cell]] = []
    for rail in offline.guardrails:
        allowed = f"{'+' if less_is_wanted(rail.metric) else '−'}{100 * rail.guard:.3g} %"
        state = f"{'broken' if rail.broken else 'holds'}: {allowed} is allowed"
        values = (metric_value(rail.metric, value) for value in (rail.value, rail.base_value))
        change, interval = numbers.change(percent(rail.change), " %"), rail_interval(rail)
        rows.append([rail.title, *values, change, interval.removeprefix("95 % CI "), state])
    st.html(table_html(columns, rows, kind="rd-small rd-frozen"))


# ── online ───────────────────────────────────────────────────────────────────────────────────


def _online(online: Online) -> None:
    users = ", ".join(f"{name} {numbers.count(n)}" for name, n in online.users.items()) or "not known"
    split = "The split of users was not checked"
    if online.srm_p is not None:
        broken = "Sample ratio mismatch: nothing is judged"
        split = (
            f"{broken if online.blocked else 'No sample ratio mismatch'} ({numbers.p_equals(online.srm_p)})"
        )
    widgets.section(
        f"Online: {online.test.name}",
        f"Variant {online.variant} against {online.control}. Users: {users}. {split}.",
    )
    columns = [
        *text_columns("Metric", "Role"),
        *number_columns("Variant", "Control", "Lift, %", "95 % CI, corrected", "p, corrected", "n"),
        *text_columns("Finding"),
    ]
    st.html(table_html(columns, [_lift_row(lift) for lift in online.lifts], kind="rd-small rd-frozen"))
    plain = [f"{lift.title}: {adjusted(lift.plain)}." for lift in online.lifts if lift.plain is not None]
    lines = [*plain, *online.warnings, *(side.sentence for side in online.sides)]
    _notes([*lines, *(f"Explained: {side.explained}" for side in online.sides if side.explained)])


def _lift_row(lift: Lift) -> list[Cell]:
    lifts, bounds = with_intervals([lift.lift], [(lift.low, lift.high)], scale=100)
    return [
        lift.title,
        f"guardrail, −{100 * (lift.margin or 0):.3g} %" if lift.role == "guardrail" else lift.role,
        _value_cell(lift, lift.value, counts=True),
        _value_cell(lift, lift.control_value),
        *lifts,
        *bounds,
        p_value(lift.p_corrected),
        f"{numbers.count(lift.n)} / {numbers.count(lift.control_n)}",
        finding(lift.word) if lift.word else muted(lift.note or numbers.NONE),
    ]


def _value_cell(lift: Lift, value: float | None, *, counts: bool = False) -> Html:
    text = online_value(lift, value)
    if not counts or lift.numerator is None or lift.denominator is None:
        return html("{text}", text=text)
    return widgets.two_lines(text, f"{numbers.count(lift.numerator)} / {numbers.count(lift.denominator)}")


# ── what they mean, where they come from ─────────────────────────────────────────────────────


def show_definitions(offline: Offline | None, online: Sequence[Online]) -> None:
    """Draws the definition of each metric."""
    for definition in offline.definitions if offline else ():
        meaning, counted = markdown(definition.meaning), markdown(definition.counted)
        title = f"**{markdown(definition.title)}** · `{definition.spec}`"
        st.markdown(f"{title} · {meaning}. Counted: {counted}.")
        st.latex(definition.formula)
    rows = [
        [definition.title, definition.formula or numbers.NONE, definition.meaning]
        for test in online
        for definition in test.definitions
    ]
    if rows:
        columns = text_columns("Online metric", "Counted as", "Meaning")
        st.html(table_html(columns, rows, kind="rd-words"))


def show_provenance(provenance: Mapping[str, Any]) -> None:
    """Draws a table with the hashes and versions behind the numbers."""
    if not provenance:
        st.caption("Where the numbers come from was not written down.")
        return
    rows = [[name, source] for name, source in _provenance_rows(provenance) if source]
    st.html(table_html(text_columns("What", "Where it comes from"), rows, kind="rd-words rd-hashes"))


def _provenance_rows(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (name, source): tables with their sha256, then rules, versions and times."""
    home = provenance["experiment"]
    for name in ("truth", "train", "catalogue"):
        yield name, home[name] or ""
    yield from home["tables"].items()
    for run in provenance["runs"]:
        yield f"run {run['name']}", run["upload"] or f"reference {run.get('reference', '')}"
    for test in provenance["tests"]:
        kind = "interleaving test" if test["kind"] == "interleaving" else "A/B test"
        yield f"{kind} {test['name']}", nested([test["upload"], *test["tables"].values()])
        yield f"rules of {test['name']}", nested({k: v for k, v in test["rules"].items() if v})
    yield "settings", nested(home["settings"])
    yield "versions", nested(provenance["versions"])
    yield "worked out", str(provenance["moment"])
    yield "attached", nested(provenance.get("attached", []))


def show_since(changes: Sequence[Changed]) -> None:
    """Draws a table of the numbers that differ today, or a sentence that none does."""
    if not changes:
        st.html('<p class="rd-quiet">✓ Asked again today, the numbers are the same.</p>')
        return
    columns = text_columns("What differs today", "Then", "Now")
    rows = [[change.what, change.then, change.now] for change in changes]
    st.html(table_html(columns, rows, kind="rd-words"))


def download(facts: Mapping[str, Any], name: str) -> None:
    def text() -> str:
        return json.dumps(dict(facts), indent=2, ensure_ascii=False)

    widgets.download("Download as JSON", text, f"{name}.json", "application/json", f"facts-{name}")
