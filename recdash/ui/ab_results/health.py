"""Can the test be believed? A row of checks, what each rule left out, and the rules in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import streamlit as st

from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.wording import cut, many
from recdash.online import OnlineRules
from recdash.online.agreement.join import SPLIT_BROKEN
from recdash.online.analysis.sample import WEEK, SampleSummary
from recdash.online.rules import USUAL
from recdash.ui.ab_results.page import AbTest
from recdash.ui.components import widgets
from recdash.ui.components.online_rules import RULE_TITLES
from recdash.ui.components.widgets import TableColumn

State = Literal["good", "bad", "unknown"]
LOOKS = {"good": ("✓", "better"), "bad": ("!", "worse"), "unknown": ("–", "muted")}
ADDED_UP = "added up before the upload"


@dataclass(frozen=True)
class HealthCheck:
    """One of the checks: what it looks at, what it found in a word, and the number behind it."""

    title: str
    state: State
    word: str
    number: str


def show(found: AbTest) -> None:
    """The checks; the rest is one click away. A broken split stands above everything, in big words."""
    mismatch, others = _warnings(found)
    for problem in mismatch:
        st.error(f"**The split of users is broken: nothing is judged.** {widgets.problem_text(problem)}")
    st.html(checks_html(checks(found)))
    if others:
        widgets.notices(others)
    with st.expander("What was left out, and the rules in force"):
        _left_out(found)
        _rules(found)
        rest = [one for one in found.results.notices if one not in (*mismatch, *others)]
        if rest:
            widgets.section("Also noticed")
            widgets.notices(rest)


def _warnings(found: AbTest) -> tuple[list[Problem], list[Problem]]:
    """The broken split, and everything else that makes the results doubtful."""
    warnings = found.results.health.warnings
    mismatch = [one for one in warnings if one.code == SPLIT_BROKEN]
    return mismatch, [one for one in warnings if one.code != SPLIT_BROKEN]


def checks_html(found: Sequence[HealthCheck]) -> Html:
    cells = [
        html(
            '<div><h2>{title}</h2><b class="rd-{tone}">{sign} {word}</b><small>{number}</small></div>',
            title=one.title, sign=LOOKS[one.state][0], tone=LOOKS[one.state][1], word=one.word,
            number=one.number,
        )
        for one in found
    ]  # fmt: skip
    return html(
        '<div class="rd-checks" role="group" aria-label="Health of the test">{cells}</div>', cells=join(cells)
    )


def checks(found: AbTest) -> list[HealthCheck]:
    return [_split(found), _crossed(found), _bots(found), _exposure(found), _days(found), _novelty(found)]


# ── one check each ───────────────────────────────────────────────────────────────────────────


def _split(found: AbTest) -> HealthCheck:
    p = found.results.health.srm_p
    if p is None:
        return HealthCheck("Split", "unknown", "not known", found.results.health.unchecked)
    chance = "p < 0.001" if p < 0.001 else f"p = {numbers.fixed(p, 3)}"
    state: State = "bad" if found.blocked else "good"
    word = "broken" if found.blocked else "as planned"
    return HealthCheck("Split", state, word, f"{chance}; planned {planned(found)}")


def planned(found: AbTest) -> str:
    """``2 : 1``, control first, or ``even``; no more than four shares are written out."""
    split = found.rules.split
    if not split:
        return "even"
    shares = [f"{split[one]:g}" for one in found.results.variants if one in split]
    return " : ".join(shares[:4]) + (" …" if len(shares) > 4 else "")


def _crossed(found: AbTest) -> HealthCheck:
    title = "In several variants"
    if found.census is None:
        return HealthCheck(title, "unknown", "not known", ADDED_UP)
    crossed, everybody = found.census.crossed, found.census.n_units
    if not crossed:
        return HealthCheck(title, "good", "nobody", f"of {many(everybody, 'user')}")
    is_bad = _is_warned(found, "many-crossovers")
    share = f"{numbers.three(100 * crossed / everybody)} %, left out"
    return HealthCheck(title, "bad" if is_bad else "good", many(crossed, "user"), share)


def _is_warned(found: AbTest, code: str) -> bool:
    return any(one.code == code for one in found.results.health.warnings)


def _bots(found: AbTest) -> HealthCheck:
    title = "Bots"
    if found.census is None:
        return HealthCheck(title, "unknown", "not known", ADDED_UP)
    if found.rules.bot_clicks is None and found.rules.bot_sessions is None:
        return HealthCheck(title, "unknown", "not looked for", "the rule is off")
    bots = _removed(found).get("bots", {})
    n = sum(bots.values())
    if not n:
        return HealthCheck(title, "good", "none", f"of {many(sum(found.census.assigned.values()), 'user')}")
    uneven = _is_warned(found, "bots-uneven")
    word = f"{numbers.count(n)} {'uneven' if uneven else 'left out'}"
    return HealthCheck(title, "bad" if uneven else "good", word, _shares(bots, found.census.assigned))


def _removed(found: AbTest) -> dict[str, Mapping[str, int]]:
    return {one.rule: one.by_variant for one in found.results.removed}


def _shares(counts: Mapping[str, int], of: Mapping[str, int]) -> str:
    """``0.2 to 0.3 % of a variant``."""
    shares = [100 * counts.get(one, 0) / max(n, 1) for one, n in of.items()]
    decimals = numbers.places(shares) - 1 if max(shares) else 0
    low, high = (numbers.fixed(end, max(decimals, 0)) for end in (min(shares), max(shares)))
    return f"{low if low == high else f'{low} to {high}'} % of a variant"


def _exposure(found: AbTest) -> HealthCheck:
    """Nobody without a session is known where only sessions were uploaded."""
    title = "Without a session"
    if found.census is None:
        return HealthCheck(title, "unknown", "not known", ADDED_UP)
    silent = sum(found.census.silent.values())
    if silent:
        return HealthCheck(
            title, "good", many(silent, "user"), f"count; {_shares(found.census.silent, found.census.n)}"
        )
    if "exposures" not in found.test.tables:
        return HealthCheck(title, "unknown", "not known", "no exposures were uploaded")
    return HealthCheck(title, "good", "nobody", f"of {many(sum(found.census.n.values()), 'user')}")


def _days(found: AbTest) -> HealthCheck:
    census = found.census
    if census is None or not census.days:
        return HealthCheck(
            "Days", "unknown", "not known", ADDED_UP if census is None else "no row has a time"
        )
    uneven = _is_warned(found, "uneven-days")
    weeks = census.days // WEEK
    word = "split unevenly" if uneven else _weeks(census)
    return HealthCheck("Days", "bad" if uneven or not weeks else "good", word, _dates(census))


def _weeks(census: SampleSummary) -> str:
    weeks, rest = divmod(census.days, WEEK)
    if not weeks:
        return f"{many(census.days, 'day')} only"
    return many(weeks, "full week") if not rest else f"{many(weeks, 'week')}, {many(rest, 'day')}"


def _dates(census: SampleSummary) -> str:
    return f"{census.dates} (UTC)"


def _novelty(found: AbTest) -> HealthCheck:
    title = "Novelty"
    if found.census is None:
        return HealthCheck(title, "unknown", "not known", ADDED_UP)
    if found.census.days < 2 or not found.challengers:
        why = "there is one variant" if found.census.days > 1 else "it takes several days"
        return HealthCheck(title, "unknown", "not known", why)
    fades = [one for one in found.results.health.warnings if one.code == "novelty"]
    if not fades:
        return HealthCheck(title, "good", "no clear fading", "of all goals together")
    word = "a gain wears off" if len(fades) == 1 else f"{len(fades)} gains wear off"
    return HealthCheck(title, "bad", word, cut(fades[0].place.removeprefix("variant ").strip("'"), 40))


# ── what was left out, by which rules ────────────────────────────────────────────────────────


def _left_out(found: AbTest) -> None:
    if found.census is None:
        st.caption("What was left out was decided before the table was added up.")
        return
    variants = found.results.variants
    widgets.section("What each rule left out", "By the variant that was seen.")
    columns = [
        TableColumn("Rule"),
        TableColumn("Counted in"),
        *(TableColumn(cut(one, 26), number=True) for one in variants),
        TableColumn("Together", number=True),
    ]
    rows = _left_out_rows(found, found.census, variants)
    st.html(widgets.table_html(columns, rows, kind="rd-small"))


def _left_out_rows(found: AbTest, census: SampleSummary, variants: Sequence[str]) -> Iterator[list[object]]:
    yield ["Users as they came", "users", *(_count(census.assigned, one) for one in variants),
           numbers.count(sum(census.assigned.values()))]  # fmt: skip
    yield ["Seen in several variants", "users", *("–" for _ in variants), numbers.count(census.crossed)]
    for one in found.results.removed:
        what = one.what[:1].upper() + one.what[1:]
        yield [what, one.unit, *(_count(one.by_variant, name) for name in variants), numbers.count(one.count)]
    yield ["Users who count", "users", *(_count(census.n, one) for one in variants),
           numbers.count(sum(census.n.values()))]  # fmt: skip


def _count(by_variant: Mapping[str, int], variant: str) -> str:
    return numbers.count(by_variant.get(variant, 0))


def _rules(found: AbTest) -> None:
    """Those that hold here, and which of them are not the usual ones."""
    widgets.section("Rules in force", "Fixed before looking, and the same in every variant.")
    rows = [
        [RULE_TITLES[name], rule_text(value), "" if value == usual else f"usual: {rule_text(usual)}"]
        for name, value, usual in rules_of(found.rules)
        if name in applying(found)
    ]
    st.html(
        widgets.table_html([TableColumn("Rule"), TableColumn("Here"), TableColumn("")], rows, kind="rd-small")
    )


def applying(found: AbTest) -> tuple[str, ...]:
    """The rules that move something: what events are folded by, sessions have behind them."""
    if found.census is None:
        return ("split",)
    of_logs = {"sessions": (), "events": ("threshold_s", "item_cap_s", "zone")}
    start = ("grace_min", "exposures_of") if "exposures" in found.test.tables else ("starts",)
    return (
        *of_logs[found.test.kind],
        *start,
        "bot_clicks",
        "bot_sessions",
        "winsorise",
        "planned_users",
        "split",
    )


def rules_of(rules: OnlineRules) -> list[tuple[str, Any, Any]]:
    """(name, value, usual value) of each rule."""
    names = [field.name for field in fields(OnlineRules)]
    return [(name, getattr(rules, name), getattr(USUAL, name)) for name in names]


def rule_text(value: Any) -> str:
    if value is None:
        return "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {share:g}" for name, share in value.items()) or "even"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def changes(old: OnlineRules, new: OnlineRules) -> list[str]:
    """``Planned split: even → control 2, new 1``, for each rule that is another now."""
    before = {name: value for name, value, _ in rules_of(old)}
    return [
        f"{RULE_TITLES[name]}: {rule_text(before[name])} → {rule_text(value)}"
        for name, value, _ in rules_of(new)
        if value != before[name]
    ]
