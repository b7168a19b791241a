"""All numbers of a decision or of evidence as they stood, with definitions and where they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

from recdash.comparison.guardrails import LESS_IS_BETTER
from recdash.decisions import Offline, Online
from recdash.decisions.changes_since import Changed
from recdash.decisions.checklist import rail_value
from recdash.decisions.snapshot import Difference, Guardrail, Lift
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.wording import many, nested
from recdash.online.analysis.judgement import SIGNS as ONLINE_SIGNS
from recdash.stats.family import SIGNS
from recdash.ui.components import widgets
from recdash.ui.components.tiles import finding_cell, value_text
from recdash.ui.components.widgets import TableColumn, table_html
from recdash.ui.decisions.tiles import online_value, rail_interval

NUMBERS = ("Value", "Baseline", "Difference", "95 % CI, corrected", "p, corrected", "n")


def show(offline: Offline | None, online: Sequence[Online]) -> None:
    """Every number, offline first."""
    if offline is not None:
        _offline(offline)
    for one in online:
        _online(one)


def _offline(found: Offline) -> None:
    widgets.section(f"Offline: {found.headline}", f"{found.subject.where}. {_capital(found.terms)}.")
    _quietly(found.sentences)
    base = found.subject.baseline.id if found.subject.baseline else ""
    against = [one for one in found.pairs if one.baseline == base]
    _differences("Candidate", [(found.name(one.candidate), one) for one in against])
    name = found.subject.run.name if found.subject.run else ""
    _differences(f"{name} by other metrics", [(one.title, one) for one in found.metrics])
    _guardrails(found)
    _differences(f"{name} in slices of users", [(one.part, one) for one in found.slices])
    _show_among(found, [one for one in found.pairs if one.baseline != base])
    notes = [*found.warnings, *(f"{run}: {why}." for run, why in found.apart.items())]
    _quietly(notes)


def _quietly(told: Sequence[str]) -> None:
    if told:
        st.html(join([html('<p class="rd-quiet">{told}</p>', told=one) for one in told]))


def _differences(first: str, rows: Sequence[tuple[str, Difference]]) -> None:
    if rows:
        st.html(_table(first, rows))


def _table(first: str, rows: Sequence[tuple[str, Difference]]) -> Html:
    columns = [
        TableColumn(first),
        *(TableColumn(name, number=True) for name in NUMBERS),
        TableColumn("Finding"),
    ]
    return table_html(columns, [_row(name, one) for name, one in rows], kind="rd-small rd-frozen")


def _show_among(found: Offline, pairs: Sequence[Difference]) -> None:
    """The candidates against each other, which are many: they open."""
    if not pairs:
        return
    rows = [(f"{found.name(one.candidate)} against {found.name(one.baseline)}", one) for one in pairs]
    st.html(
        html(
            '<details class="rd-more rd-wide"><summary>{told}</summary>{table}</details>',
            told=f"Candidates against each other: {many(len(pairs), 'pair')}", table=_table("Pair", rows),
        )
    )  # fmt: skip


def _row(name: str, one: Difference) -> list[object]:
    digits = numbers.places([one.difference, one.low, one.high])
    return [
        name,
        value_text(one.metric, one.value) if one.value is not None else numbers.NONE,
        value_text(one.metric, one.base_value) if one.base_value is not None else numbers.NONE,
        numbers.signed(one.difference, digits),
        numbers.interval(one.low, one.high, digits),
        numbers.p_value(one.p_corrected),
        numbers.count(one.n),
        finding_cell(one.word, next((sign for word, sign in SIGNS.items() if word == one.word), "=")),
    ]


def _allowed(one: Guardrail) -> str:
    """``−20 %``; of Gini, of which less is better, ``+20 %``."""
    return f"{'+' if one.metric in LESS_IS_BETTER else '−'}{100 * one.guard:.3g} %"


def _guardrails(found: Offline) -> None:
    if not found.guardrails:
        return
    columns = [
        TableColumn("Guardrail"),
        *(TableColumn(name, number=True) for name in ("Value", "Baseline", "Change")),
        TableColumn("95 % CI"),
        TableColumn("Finding"),
    ]
    rows = [
        [one.title, rail_value(one.metric, one.value), rail_value(one.metric, one.base_value),
         _percent(one.change), rail_interval(one).removeprefix("95 % CI "),
         f"{'broken' if one.broken else 'holds'}: {_allowed(one)} is allowed"]
        for one in found.guardrails
    ]  # fmt: skip
    st.html(table_html(columns, rows, kind="rd-small rd-frozen"))


# ── online ───────────────────────────────────────────────────────────────────────────────────


def _online(found: Online) -> None:
    users = ", ".join(f"{name} {numbers.count(n)}" for name, n in found.users.items()) or "not known"
    p = numbers.p_value(found.srm_p)
    split = "broken: nothing is judged" if found.blocked else "as planned" if found.srm_p else "not known"
    widgets.section(
        f"Online: {found.test.name}",
        f"Variant {found.variant} against {found.control}. Users: {users}. Split of users {split} "
        f"(SRM p {p if '<' in p else f'= {p}'}).",
    )
    names = ("Variant", "Control", "Lift, %", "95 % CI, corrected", "p, corrected", "n")
    columns = [
        TableColumn("Metric"),
        TableColumn("Role"),
        *(TableColumn(name, number=True) for name in names),
        TableColumn("Finding"),
    ]
    st.html(table_html(columns, [_lift_row(one) for one in found.lifts], kind="rd-small rd-frozen"))
    told = [*found.warnings, *(side.sentence for side in found.sides)]
    told += [f"Explained: {side.explained}" for side in found.sides if side.explained]
    _quietly(told)


def _lift_row(one: Lift) -> list[object]:
    percents = [None if end is None else 100 * end for end in (one.lift, one.low, one.high)]
    digits = numbers.places(percents)
    sign = next((sign for word, sign in ONLINE_SIGNS.items() if word == one.word), "=")
    return [
        one.title,
        f"guardrail, −{100 * (one.margin or 0):.3g} %" if one.role == "guardrail" else one.role,
        _value_cell(one, one.value, counts=True),
        _value_cell(one, one.control_value),
        numbers.signed(percents[0], digits),
        numbers.interval(percents[1], percents[2], digits),
        numbers.p_value(one.p_corrected),
        f"{numbers.count(one.n)} / {numbers.count(one.control_n)}",
        finding_cell(one.word or one.note or "–", sign),
    ]


def _value_cell(one: Lift, value: float | None, *, counts: bool = False) -> Html:
    known = counts and one.numerator is not None and one.denominator is not None
    of = f"{numbers.count(one.numerator)} / {numbers.count(one.denominator)}" if known else ""
    return html('{value}<br><small class="rd-muted">{of}</small>' if of else "{value}",
                value=online_value(one, value), of=of)  # fmt: skip


def _percent(share: float | None) -> str:
    if share is None:
        return numbers.NONE
    return f"{numbers.signed(100 * share, numbers.places([100 * share]))} %"


# ── what they mean, where they come from ─────────────────────────────────────────────────────


def show_definitions(offline: Offline | None, online: Sequence[Online]) -> None:
    """Each metric as it was counted."""
    for one in offline.definitions if offline else ():
        st.markdown(f"**{markdown(one.title)}** · `{one.spec}` · {markdown(one.meaning)}. "
                    f"Counted: {markdown(one.counted)}.")  # fmt: skip
        st.latex(one.formula)
    rows = [
        [one.title, one.formula or numbers.NONE, one.meaning] for test in online for one in test.definitions
    ]
    if rows:
        columns = [TableColumn("Online metric"), TableColumn("Counted as"), TableColumn("Meaning")]
        st.html(table_html(columns, rows, kind="rd-words"))


def show_provenance(found: Mapping[str, Any]) -> None:
    """Hashes and versions."""
    if not found:
        st.caption("Where the numbers come from was not written down.")
        return
    rows = [[name, told] for name, told in _provenance_rows(found) if told]
    st.html(
        table_html([TableColumn("What"), TableColumn("Where it comes from")], rows, kind="rd-words rd-hashes")
    )


def _provenance_rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Tables by their sha256, then the rules, the versions and the moments."""
    home = found["experiment"]
    for name in ("truth", "train", "catalogue"):
        yield name, home[name] or ""
    yield from home["tables"].items()
    for run in found["runs"]:
        yield f"run {run['name']}", run["upload"] or f"reference {run.get('reference', '')}"
    for test in found["tests"]:
        yield f"A/B test {test['name']}", nested([test["upload"], *test["tables"].values()])
        yield f"rules of {test['name']}", nested({k: v for k, v in test["rules"].items() if v})
    yield "settings", nested(home["settings"])
    yield "versions", nested(found["versions"])
    yield "worked out", str(found["moment"])
    yield "attached", nested(found.get("attached", []))


def show_since(changes: Sequence[Changed]) -> None:
    """How today's numbers differ."""
    if not changes:
        st.html('<p class="rd-quiet">✓ Asked again today, the numbers are the same.</p>')
        return
    columns = [TableColumn("What differs today"), TableColumn("Then"), TableColumn("Now")]
    st.html(table_html(columns, [[one.what, one.then, one.now] for one in changes], kind="rd-words"))


def download(facts: Mapping[str, Any], name: str) -> None:
    st.download_button(
        "Download as JSON", lambda: json.dumps(dict(facts), indent=2, ensure_ascii=False),
        file_name=f"{name}.json", mime="application/json", key=f"facts-{name}", on_click="ignore",
    )  # fmt: skip


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
