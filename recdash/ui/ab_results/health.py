"""Shows whether an A/B test can be trusted: a row of checks, the excluded data, and the counting rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.signs import OPEN
from recdash.formatting.tables import Cell, count, number_columns, text_columns
from recdash.formatting.wording import capital, cut, cut_inside, listed, many, span
from recdash.online import OnlineRules
from recdash.online.agreement.join import SPLIT_BROKEN, SRM_BLOCKS, split_counts
from recdash.online.analysis.health import MISMATCH_BELOW, sample_ratio
from recdash.online.analysis.sample import WEEK, SampleSummary
from recdash.online.rules import USUAL
from recdash.ui.ab_results.definitions import GUIDE
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import links, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.notice_words import of_stored
from recdash.ui.components.online_rules import RULE_TITLES

State = Literal["good", "bad", "open", "unknown"]
SPLIT = "Split (SRM)"
OF_ACTIVATED = "Split of activated users"
LOOKS = {"good": ("✓", "better"), "bad": ("!", "worse"), "open": (OPEN, "muted"), "unknown": ("–", "muted")}
ENTRIES = {SPLIT: "srm", "Novelty effect": "novelty-effect"}
"""The titles of checks whose name is a term → its entry in the guide."""
AGGREGATED = "not available for aggregated data"


@dataclass(frozen=True)
class HealthCheck:
    """One check of an A/B test: its title, its state, the finding in a word, and the number behind it."""

    title: str
    state: State
    word: str
    number: str


def show(view: View, ab_test: AbTest) -> None:
    """Draws an error for a sample ratio mismatch, then all checks, and exclusions and rules in an
    expander.
    """
    warnings = ab_test.results.health.warnings
    others = [warning for warning in warnings if warning.code != SPLIT_BROKEN]
    for problem in (warning for warning in warnings if warning.code == SPLIT_BROKEN):
        st.error(f"**{SRM_BLOCKS}** {markdown(split_counts(problem))}")
    marks = {title: links.explained(view, slug, GUIDE[slug]) for title, slug in ENTRIES.items()}
    st.html(checks_html(checks(ab_test), marks))
    if others:
        widgets.notices(others)
    left_out = [notice for notice in ab_test.test.notices if notice.code == "column-left-out"]
    if left_out:
        widgets.notices(of_stored(left_out))
    if shared := state.workspace().concurrent_tests.of(ab_test.test.id):
        widgets.notices([users.notice() for users in shared])
    with st.expander("Excluded data and counting rules"):
        _exclusions(ab_test)
        _rules(ab_test)
        rest = [notice for notice in ab_test.results.notices if notice not in warnings]
        rest += ab_test.results.value_notices
        if rest:
            widgets.section("Other notices")
            widgets.notices(of_stored(rest))


def checks_html(results: Sequence[HealthCheck], marks: Mapping[str, Html]) -> Html:
    """Returns all checks; ``marks`` has the link to the guide for some of their titles."""
    template = (
        '<div><h2>{title}</h2>{mark}<b class="rd-{tone}">{sign} {word}</b><small>{number}</small></div>'
    )
    cells = []
    for check in results:
        sign, tone = LOOKS[check.state]
        mark = marks.get(check.title, widgets.NO_LINK)
        cells.append(html(template, **vars(check), sign=sign, tone=tone, mark=mark))
    group = '<div class="rd-checks" role="group" aria-label="Health of the test">{cells}</div>'
    return widgets.unbroken_html(html(group, cells=join(cells)))


def checks(ab_test: AbTest) -> list[HealthCheck]:
    """Returns all checks of a test; for aggregated data all but the split are unknown."""
    of_users = {
        "Multiple exposures": _crossed,
        "Bots": _bots,
        "Exposed, no session": _exposure,
        "Days": _days,
        "Novelty effect": _novelty,
    }
    if ab_test.sample is None:
        others = [HealthCheck(title, "unknown", "not known", AGGREGATED) for title in of_users]
    else:
        others = [check(title, ab_test, ab_test.sample) for title, check in of_users.items()]
    return [_split(ab_test), *_of_populations(ab_test), *_activated(ab_test), *others]


# ── one check each ───────────────────────────────────────────────────────────────────────────


def _split(ab_test: AbTest) -> HealthCheck:
    p = ab_test.results.health.srm_p
    if p is None:
        return HealthCheck(SPLIT, "unknown", "not known", ab_test.results.health.unchecked)
    if ab_test.results.health.activated_srm_p is not None and ab_test.sample is not None:
        p = sample_ratio(ab_test.sample.assigned, ab_test.rules.split)[0] or p  # of all assigned users
    of_trials = ", assuming that trials are users" if ab_test.results.health.unchecked else ""
    number = f"{numbers.p_equals(p)}{of_trials}; {expected(ab_test)}"
    return HealthCheck(SPLIT, *_state_of_split(ab_test, p), number)


def _of_populations(ab_test: AbTest) -> Iterator[HealthCheck]:
    """Yields the check of the users of each metric that counts fewer than the largest one."""
    for population in ab_test.results.health.smaller_populations:
        title = f"{SPLIT} of {listed([ab_test.titles.get(name, name) for name in population.metrics])}"
        users = numbers.users(sum(population.users.values()))
        if population.srm_p is not None:
            number = f"{numbers.p_equals(population.srm_p)}; {users}"
            yield HealthCheck(title, *_state_of_split(ab_test, population.srm_p), number)


def _activated(ab_test: AbTest) -> Iterator[HealthCheck]:
    """Yields the check of the activated users' split; nothing if all users count."""
    p = ab_test.results.health.activated_srm_p
    if p is not None:
        yield HealthCheck(OF_ACTIVATED, *_state_of_split(ab_test, p), numbers.p_equals(p))


def _state_of_split(ab_test: AbTest, p: float) -> tuple[State, str]:
    if p < MISMATCH_BELOW:
        return "bad", "mismatch"
    return "good", "as planned" if ab_test.rules.split else "even"


def expected(ab_test: AbTest) -> str:
    """Returns the planned split, control first, such as ``planned 2 : 1`` (at most four shares), or that
    none is given.
    """
    split = ab_test.rules.split
    if not split:
        return "no planned split is given"
    shares = [f"{split[variant]:g}" for variant in ab_test.results.variants if variant in split]
    return f"planned {' : '.join(shares[:4])}{' …' if len(shares) > 4 else ''}"


def _crossed(title: str, ab_test: AbTest, sample: SampleSummary) -> HealthCheck:
    crossed, n_users = sample.crossed, sample.n_units
    if not crossed:
        return HealthCheck(title, "good", "none", f"of {many(n_users, 'user')}")
    is_bad = _is_warned(ab_test, "many-crossovers")
    share = f"{numbers.three(100 * crossed / n_users)} %, excluded"
    return HealthCheck(title, "bad" if is_bad else "good", many(crossed, "user"), share)


def _is_warned(ab_test: AbTest, code: str) -> bool:
    return any(warning.code == code for warning in ab_test.results.health.warnings)


def _bots(title: str, ab_test: AbTest, sample: SampleSummary) -> HealthCheck:
    if ab_test.rules.bot_clicks is None and ab_test.rules.bot_sessions is None:
        return HealthCheck(title, "unknown", "not checked", "the bot filter is off")
    if not sample.has_sessions:
        return HealthCheck(title, "unknown", "not checked", "needs a table of sessions")
    removed = {rule.rule: rule.by_variant for rule in ab_test.results.removed}
    bots = removed.get("bots", {})
    n = sum(bots.values())
    if not n:
        return HealthCheck(title, "good", "none", f"of {many(sum(sample.assigned.values()), 'user')}")
    uneven = _is_warned(ab_test, "bots-uneven")
    word = f"{numbers.count(n)} {'uneven' if uneven else 'excluded'}"
    return HealthCheck(title, "bad" if uneven else "good", word, _shares(bots, sample.assigned))


def _shares(counts: Mapping[str, int], totals: Mapping[str, int]) -> str:
    """Returns the range of a count's shares over the variants, such as ``0.2 to 0.3 % of a variant``."""
    shares = [100 * counts.get(variant, 0) / max(n, 1) for variant, n in totals.items()]
    decimals = numbers.places(shares) - 1 if max(shares) else 0
    low, high = (numbers.fixed(end, max(decimals, 0)) for end in (min(shares), max(shares)))
    return f"{span(low, high)} % of a variant"


def _exposure(title: str, ab_test: AbTest, sample: SampleSummary) -> HealthCheck:
    """Returns the check for exposed users without a session; unknown if no exposures were uploaded."""
    silent = sum(sample.silent.values())
    if silent:
        return HealthCheck(
            title, "good", many(silent, "user"), f"included; {_shares(sample.silent, sample.n)}"
        )
    if "exposures" not in ab_test.test.tables:
        return HealthCheck(title, "unknown", "not known", "needs a table of exposures")
    return HealthCheck(title, "good", "none", f"of {many(sum(sample.n.values()), 'user')}")


def _days(title: str, ab_test: AbTest, sample: SampleSummary) -> HealthCheck:
    if not sample.days:
        return HealthCheck(title, "unknown", "not known", "no timestamps")
    weeks, rest = divmod(sample.days, WEEK)
    dates = f"{sample.dates} (UTC)"
    if _is_warned(ab_test, "uneven-days"):
        return HealthCheck(title, "bad", "split unevenly", dates)
    if not weeks:
        return HealthCheck(title, "bad", f"{many(sample.days, 'day')} only", dates)
    if rest:
        word = f"{many(weeks, 'week')}, {many(rest, 'day')}"
        return HealthCheck(title, "open", word, f"{dates}; some weekdays count more often")
    return HealthCheck(title, "good", many(weeks, "full week"), dates)


def _novelty(title: str, ab_test: AbTest, sample: SampleSummary) -> HealthCheck:
    if sample.days < 2 or not ab_test.challengers:
        why = "there is one variant" if sample.days > 1 else "needs several days"
        return HealthCheck(title, "unknown", "not known", why)
    warnings = [warning for warning in ab_test.results.health.warnings if warning.code == "novelty"]
    if not warnings:
        return HealthCheck(title, "open", "not significant", "all goals together; does not rule one out")
    word = "a gain fades" if len(warnings) == 1 else f"{len(warnings)} gains fade"
    return HealthCheck(title, "bad", word, cut(warnings[0].place.removeprefix("variant ").strip("'"), 40))


# ── excluded data, and the rules ─────────────────────────────────────────────────────────────


def _exclusions(ab_test: AbTest) -> None:
    if ab_test.sample is None:
        st.caption("Users were excluded before the data was aggregated.")
        return
    widgets.section("Excluded data", "By rule and variant.")
    columns = [
        *text_columns("Rule", "Unit"),
        *number_columns(
            *(cut_inside(ab_test.names[variant], 26) for variant in ab_test.results.variants), "Total"
        ),
    ]
    st.html(widgets.table_html(columns, _exclusion_rows(ab_test, ab_test.sample), kind="rd-small"))


def _exclusion_rows(ab_test: AbTest, sample: SampleSummary) -> Iterator[list[Cell]]:
    variants = ab_test.results.variants

    def row(title: str, unit: str, by_variant: Mapping[str, int], total: int) -> list[Cell]:
        counts = (count(by_variant.get(variant, 0)) for variant in variants)
        return [title, unit, *counts, count(total)]

    yield row("Users assigned", "users", sample.assigned, sum(sample.assigned.values()))
    yield ["Multiple exposures, excluded", "users", *("–" for _ in variants), count(sample.crossed)]
    for rule in ab_test.results.removed:
        yield row(capital(rule.what), rule.unit, rule.by_variant, rule.count)
    yield row("Users analysed", "users", sample.n, sum(sample.n.values()))


def _rules(ab_test: AbTest) -> None:
    """Draws the rules that apply to this test, with the default of each rule that differs from it."""
    widgets.section("Counting rules", "The same for every variant.")
    rows = [
        [RULE_TITLES[name], rule_text(value), "" if value == usual else f"default: {rule_text(usual)}"]
        for name, value, usual in rules_of(ab_test.rules)
        if name in applying(ab_test)
    ]
    st.html(widgets.table_html(text_columns("Rule", "Here", ""), rows, kind="rd-small"))


WATCHED = ("watch_min", "videos")
"""Totals to which the rules of watch time apply."""


def applying(ab_test: AbTest) -> tuple[str, ...]:
    """Returns the names of the rules that apply to the test's tables."""
    if ab_test.sample is None:
        return ("split",)
    is_watched = any(metric.numerator in WATCHED for metric in ab_test.metrics.values())
    of_watching = ("threshold_s", "item_cap_s") if is_watched else ()
    of_logs = {"sessions": (), "events": (*of_watching, "zone")}
    is_open = ab_test.sample.has_sessions or ab_test.rules.clock_min is None
    open_for = "grace_min" if is_open else "clock_min"
    start = (open_for, "exposures_of") if "exposures" in ab_test.test.tables else ("starts",)
    others: tuple[str, ...] = ("bot_clicks", "bot_sessions") if ab_test.sample.has_sessions else ()
    others += ("winsorise", "planned_users", "split")
    others += ("activated_by",) if ab_test.rules.activated_by else ()
    return (*of_logs[ab_test.test.kind], *start, *others)


def rules_of(rules: OnlineRules) -> list[tuple[str, Any, Any]]:
    """Returns (name, value, default) for each counting rule."""
    names = [field.name for field in fields(OnlineRules)]
    return [(name, getattr(rules, name), getattr(USUAL, name)) for name in names]


def rule_text(value: Any) -> str:
    if value is None:
        return "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {share:g}" for name, share in value.items()) or "even"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def changes(old: OnlineRules, new: OnlineRules) -> list[str]:
    """Returns a text for each rule that differs, such as ``Planned split: even → control 2, new 1``."""
    before = {name: value for name, value, _ in rules_of(old)}
    return [
        f"{RULE_TITLES[name]}: {rule_text(before[name])} → {rule_text(value)}"
        for name, value, _ in rules_of(new)
        if value != before[name]
    ]
