"""Can the test be believed? A row of checks, what each rule left out, and the rules in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.tables import Cell, count, number_columns, text_columns
from recdash.formatting.wording import capital, cut, many, span
from recdash.online import OnlineRules
from recdash.online.agreement.join import SPLIT_BROKEN
from recdash.online.analysis.sample import WEEK, SampleSummary
from recdash.online.rules import USUAL
from recdash.ui.ab_results.page import AbTest
from recdash.ui.components import widgets
from recdash.ui.components.online_rules import RULE_TITLES

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


def show(ab_test: AbTest) -> None:
    """Draw a broken split first, then the checks; what was left out and the rules open on a click."""
    warnings = ab_test.results.health.warnings
    others = [warning for warning in warnings if warning.code != SPLIT_BROKEN]
    for problem in (warning for warning in warnings if warning.code == SPLIT_BROKEN):
        st.error(f"**The split of users is broken: nothing is judged.** {widgets.problem_text(problem)}")
    st.html(checks_html(checks(ab_test)))
    if others:
        widgets.notices(others)
    with st.expander("What was left out, and the rules in force"):
        _left_out(ab_test)
        _rules(ab_test)
        rest = [notice for notice in ab_test.results.notices if notice not in warnings]
        if rest:
            widgets.section("Also noticed")
            widgets.notices(rest)


def checks_html(results: Sequence[HealthCheck]) -> Html:
    template = '<div><h2>{title}</h2><b class="rd-{tone}">{sign} {word}</b><small>{number}</small></div>'
    cells = []
    for check in results:
        sign, tone = LOOKS[check.state]
        cells.append(html(template, **vars(check), sign=sign, tone=tone))
    group = '<div class="rd-checks" role="group" aria-label="Health of the test">{cells}</div>'
    return html(group, cells=join(cells))


def checks(ab_test: AbTest) -> list[HealthCheck]:
    """The checks of a test; of aggregates only the split is known."""
    of_users = {
        "In several variants": _crossed,
        "Bots": _bots,
        "Without a session": _exposure,
        "Days": _days,
        "Novelty": _novelty,
    }
    if ab_test.census is None:
        others = [HealthCheck(title, "unknown", "not known", ADDED_UP) for title in of_users]
    else:
        others = [check(title, ab_test, ab_test.census) for title, check in of_users.items()]
    return [_split(ab_test), *others]


# ── one check each ───────────────────────────────────────────────────────────────────────────


def _split(ab_test: AbTest) -> HealthCheck:
    p = ab_test.results.health.srm_p
    if p is None:
        return HealthCheck("Split", "unknown", "not known", ab_test.results.health.unchecked)
    chance = "p < 0.001" if p < 0.001 else f"p = {numbers.fixed(p, 3)}"
    state: State = "bad" if ab_test.blocked else "good"
    word = "broken" if ab_test.blocked else "as planned"
    of_trials = ", if trials are users" if ab_test.results.health.unchecked else ""
    return HealthCheck("Split", state, word, f"{chance}{of_trials}; planned {planned(ab_test)}")


def planned(ab_test: AbTest) -> str:
    """``2 : 1``, control first, or ``even``; no more than four shares are written out."""
    split = ab_test.rules.split
    if not split:
        return "even"
    shares = [f"{split[variant]:g}" for variant in ab_test.results.variants if variant in split]
    return " : ".join(shares[:4]) + (" …" if len(shares) > 4 else "")


def _crossed(title: str, ab_test: AbTest, census: SampleSummary) -> HealthCheck:
    crossed, everybody = census.crossed, census.n_units
    if not crossed:
        return HealthCheck(title, "good", "nobody", f"of {many(everybody, 'user')}")
    is_bad = _is_warned(ab_test, "many-crossovers")
    share = f"{numbers.three(100 * crossed / everybody)} %, left out"
    return HealthCheck(title, "bad" if is_bad else "good", many(crossed, "user"), share)


def _is_warned(ab_test: AbTest, code: str) -> bool:
    return any(warning.code == code for warning in ab_test.results.health.warnings)


def _bots(title: str, ab_test: AbTest, census: SampleSummary) -> HealthCheck:
    if ab_test.rules.bot_clicks is None and ab_test.rules.bot_sessions is None:
        return HealthCheck(title, "unknown", "not looked for", "the rule is off")
    removed = {rule.rule: rule.by_variant for rule in ab_test.results.removed}
    bots = removed.get("bots", {})
    n = sum(bots.values())
    if not n:
        return HealthCheck(title, "good", "none", f"of {many(sum(census.assigned.values()), 'user')}")
    uneven = _is_warned(ab_test, "bots-uneven")
    word = f"{numbers.count(n)} {'uneven' if uneven else 'left out'}"
    return HealthCheck(title, "bad" if uneven else "good", word, _shares(bots, census.assigned))


def _shares(counts: Mapping[str, int], totals: Mapping[str, int]) -> str:
    """``0.2 to 0.3 % of a variant``."""
    shares = [100 * counts.get(variant, 0) / max(n, 1) for variant, n in totals.items()]
    decimals = numbers.places(shares) - 1 if max(shares) else 0
    low, high = (numbers.fixed(end, max(decimals, 0)) for end in (min(shares), max(shares)))
    return f"{span(low, high)} % of a variant"


def _exposure(title: str, ab_test: AbTest, census: SampleSummary) -> HealthCheck:
    """The check of exposed users without a session, which needs uploaded exposures."""
    silent = sum(census.silent.values())
    if silent:
        return HealthCheck(title, "good", many(silent, "user"), f"count; {_shares(census.silent, census.n)}")
    if "exposures" not in ab_test.test.tables:
        return HealthCheck(title, "unknown", "not known", "no exposures were uploaded")
    return HealthCheck(title, "good", "nobody", f"of {many(sum(census.n.values()), 'user')}")


def _days(title: str, ab_test: AbTest, census: SampleSummary) -> HealthCheck:
    if not census.days:
        return HealthCheck(title, "unknown", "not known", "no row has a time")
    uneven = _is_warned(ab_test, "uneven-days")
    weeks, rest = divmod(census.days, WEEK)
    if uneven:
        word = "split unevenly"
    elif not weeks:
        word = f"{many(census.days, 'day')} only"
    else:
        word = f"{many(weeks, 'week')}, {many(rest, 'day')}" if rest else many(weeks, "full week")
    return HealthCheck(title, "bad" if uneven or not weeks else "good", word, f"{census.dates} (UTC)")


def _novelty(title: str, ab_test: AbTest, census: SampleSummary) -> HealthCheck:
    if census.days < 2 or not ab_test.challengers:
        why = "there is one variant" if census.days > 1 else "it takes several days"
        return HealthCheck(title, "unknown", "not known", why)
    warnings = [warning for warning in ab_test.results.health.warnings if warning.code == "novelty"]
    if not warnings:
        return HealthCheck(title, "good", "no clear fading", "of all goals together")
    word = "a gain wears off" if len(warnings) == 1 else f"{len(warnings)} gains wear off"
    return HealthCheck(title, "bad", word, cut(warnings[0].place.removeprefix("variant ").strip("'"), 40))


# ── what was left out, by which rules ────────────────────────────────────────────────────────


def _left_out(ab_test: AbTest) -> None:
    if ab_test.census is None:
        st.caption("What was left out was decided before the table was added up.")
        return
    widgets.section("What each rule left out", "By the variant that was seen.")
    columns = [
        *text_columns("Rule", "Counted in"),
        *number_columns(*(cut(variant, 26) for variant in ab_test.results.variants), "Together"),
    ]
    st.html(widgets.table_html(columns, _left_out_rows(ab_test, ab_test.census), kind="rd-small"))


def _left_out_rows(ab_test: AbTest, census: SampleSummary) -> Iterator[list[Cell]]:
    variants = ab_test.results.variants

    def row(title: str, unit: str, by_variant: Mapping[str, int], total: int) -> list[Cell]:
        counts = (count(by_variant.get(variant, 0)) for variant in variants)
        return [title, unit, *counts, count(total)]

    yield row("Users as they came", "users", census.assigned, sum(census.assigned.values()))
    yield ["Seen in several variants", "users", *("–" for _ in variants), count(census.crossed)]
    for rule in ab_test.results.removed:
        yield row(capital(rule.what), rule.unit, rule.by_variant, rule.count)
    yield row("Users who count", "users", census.n, sum(census.n.values()))


def _rules(ab_test: AbTest) -> None:
    """Draw the rules that apply here, and which of them are not the defaults."""
    widgets.section("Rules in force", "Fixed before looking, and the same in every variant.")
    rows = [
        [RULE_TITLES[name], rule_text(value), "" if value == usual else f"usual: {rule_text(usual)}"]
        for name, value, usual in rules_of(ab_test.rules)
        if name in applying(ab_test)
    ]
    st.html(widgets.table_html(text_columns("Rule", "Here", ""), rows, kind="rd-small"))


def applying(ab_test: AbTest) -> tuple[str, ...]:
    """The names of the rules that apply to the test's tables."""
    if ab_test.census is None:
        return ("split",)
    of_logs = {"sessions": (), "events": ("threshold_s", "item_cap_s", "zone")}
    start = ("grace_min", "exposures_of") if "exposures" in ab_test.test.tables else ("starts",)
    others = ("bot_clicks", "bot_sessions", "winsorise", "planned_users", "split")
    return (*of_logs[ab_test.test.kind], *start, *others)


def rules_of(rules: OnlineRules) -> list[tuple[str, Any, Any]]:
    """(name, value, default) of each rule."""
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
