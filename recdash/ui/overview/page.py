"""The page Decision: the recommendation or decision, reasons, risks, what would change it, and the
evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.forest import shows_margin
from recdash.charts.marks import short_names
from recdash.comparison import headlines
from recdash.comparison.case_table import case_table
from recdash.comparison.cells import metric_values
from recdash.comparison.wording import differences_note, level, n_tested, short_interval, tiles_note
from recdash.domain.results import WHOLE
from recdash.evaluation.relevance import notices_of
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.records import records
from recdash.formatting.tables import RunName, number_columns, text_columns
from recdash.formatting.wording import count_range, listed, many, named_number, small
from recdash.ingest.actions import without_formats
from recdash.metrics.naming import metric_at
from recdash.ui.app import cached, links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import (
    comparability_banner,
    decision_links,
    online_tests,
    reference_offer,
    replicate_spread,
    verdict_card,
    widgets,
)
from recdash.ui.components import tiles as cards
from recdash.ui.components.notice_words import of_stored
from recdash.ui.components.tiles import Tile
from recdash.ui.components.widgets import empty, notices_html
from recdash.ui.overview import forest

if TYPE_CHECKING:
    import pandas as pd

    from recdash.comparison.evidence import SliceDifference
    from recdash.comparison.off_rules import OffRules
    from recdash.comparison.pairs import Pair
    from recdash.comparison.recommendation import Recommendation

TILES = 4
MOST_NOTES = 6
LONGEST_BESIDE_TRACK = 28
"""The most characters of a name for which a row of the forest has room."""
ALL_ITEMS = 1 - 1e-9
"""The mean share of common items from which all lists have the same."""
FINDING_PRIORITY = ("worse", "not settled", "tie", "better")
"""Findings in the order in which a slice deserves a tile: one that loses comes first."""


def one_run(view: View) -> None:
    """Draws the page of a single run, which cannot be compared: its value, and what to do next."""
    score = cached.scoreboard(view, view.verdict_query.shown, (view.metric,), view.k)
    words = headlines.only_run(view.shown[0].name, view.query.where, score, _standing(view))
    empty("Add a second run to compare", " ".join(words))
    comparability_banner.banner(view, view.verdict_query.shown)
    if len(view.runs) > 1:
        st.caption("Choose the baseline and the candidates in the row above.")
    else:
        links.page_button("Upload a run", "upload")
    reference_offer.offer(workspace(), view.experiment)


def _standing(view: View) -> str:
    """Returns a sentence on where the best of the shown runs is between the reference candidates."""
    known = headlines.values(
        cached.scoreboard(view, view.verdict_query.shown, (view.metric,), view.k), view.metric
    )
    own = [run_id for run_id in known if not view.is_reference(run_id)]
    return headlines.standing_sentence(cached.standing(view, view.verdict_query.shown), own)


# ── the recommendation ───────────────────────────────────────────────────────────────────────


def show(view: View) -> None:
    """Draws the page Decision below the frame."""
    if len(view.verdict_query.shown) == 1:
        one_run(view)
        return
    today = cached.verdict(view)
    beside = cached.off_rules(view, today) if today else None
    if today is None:
        no_verdict(view)
        comparability_banner.banner(view, view.verdict_query.shown)
    else:
        show_recommendation(view, today, beside)
    st.space("small")
    if today is not None and today.cases:
        show_cases(view, today, beside)
        st.space("small")
    plot, notices = st.columns([2.1, 1], gap="large")
    with plot:
        if today is None:
            show_values(view)
        else:
            show_forest(view, today)
    with notices:
        widgets.section("Data and comparability")
        st.html(notes(view))
        if today is not None and today.evidence.leader is not None:
            widgets.note([population(view, today.evidence.leader.candidate)])
    if today is not None and today.cases:
        show_numbers(view, today)


def show_recommendation(view: View, today: Recommendation, beside: OffRules | None) -> None:
    """Draws the card with a button for the next step; what would change the recommendation follows in a
    fragment. ``beside`` is the other recommendation by the rules of the experiment, if there is one.
    """
    standing = cached.decision_standing(view.experiment.id)
    with st.container(border=True, key="headline", gap=None):
        shown = beside.limited() if beside else today
        st.html(verdict_card.card(view, shown, standing, beside, _why_equal(view, today)))
        decision_links.offer_to_decide(view, today, standing, off_rules=beside is not None)
        comparability_banner.banner(view, view.verdict_query.shown)
        if today.cases:
            what_would_change(view, today)
    state.show_below_title()


@st.fragment(parallel=True)
@widgets.show_errors
def what_would_change(view: View, today: Recommendation) -> None:
    """Shows what would change the recommendation, whether users without a list decide which run is first, and
    what is left to check.
    """
    what_ifs = cached.changes(view, today)
    st.html(verdict_card.changes(view, what_ifs))
    effect = cached.population_effect(view, view.verdict_query.shown)
    if effect and effect.changes:
        sentence = view.with_short_names(effect.sentence)
        st.html(html('<p class="rd-aside">{effect}</p>', effect=sentence))
    st.html(verdict_card.left_to_check(view, today, what_ifs, online_tests.tests(view)))


def no_verdict(view: View) -> None:
    """Draws the headline for a metric without a value per user: which run is best, and why nothing is
    tested.
    """
    scores = cached.scoreboard(view, view.verdict_query.shown, (view.metric,), view.k)
    known = {view.name(run): value for run, value in headlines.values(scores, view.metric).items()}
    widgets.title(
        headlines.best_value(known, metric_at(view.metric, view.k)),
        f"{headlines.NOTHING_IS_JUDGED} Choose another primary metric for a verdict.",
    )


def show_values(view: View) -> None:
    """Draws the values of the runs, if there are no paired differences, and why a run has none."""
    scores = cached.scoreboard(view, view.verdict_query.shown, (view.metric,), view.k)
    known, where = headlines.values(scores, view.metric), metric_at(view.metric, view.k)
    users = count_range(int(n) for n in scores["n_users"])
    widgets.section(where, f"Values over each run's own users, n = {users}")
    rows = zip(map(RunName, known), metric_values(view.metric, known.values()), strict=True)
    widgets.table([*text_columns("Run"), *number_columns(where)], rows, view.marks)
    reasons = cached.absences(view.verdict_query.shown, view.metric, view.scope)
    widgets.note(f"{view.name(run)}: {why}" for run, why in reasons.items())


# ── the evidence ─────────────────────────────────────────────────────────────────────────────


def show_cases(view: View, today: Recommendation, beside: OffRules | None) -> None:
    """Draws a table of the case for every candidate, with uncorrected and corrected p-values."""
    only = beside.only if beside else ""
    table = case_table(today, order_of_values(view), view.with_short_names, only=only)
    widgets.section("Evidence on every candidate", table.note)
    label = "The case for every candidate"
    st.html(
        widgets.stacked_table_html(
            table.columns, table.rows, view.marks, kind="rd-words rd-cases", label=label
        )
    )


def order_of_values(view: View) -> list[str]:
    """Returns the ids of the compared runs, the highest value first, as on Ranking."""
    scores = cached.scoreboard(view, view.verdict_query.shown, (view.metric,), view.k)
    ranked: list[str] = scores["run_id"].tolist()
    return [*ranked, *(run for run in view.verdict_query.shown if run not in ranked)]


def show_numbers(view: View, today: Recommendation) -> None:
    """Draws the key numbers of the candidate in question, and sentences about them."""
    evidence, drawn = today.evidence, tiles(today)
    if evidence.leader is None or not drawn:
        return
    note = view.with_short_names(tiles_note(evidence))
    widgets.section(f"{view.short(evidence.leader.candidate)} in numbers", note)
    st.html(cards.tiles_html(drawn, view.marks[evidence.leader.candidate]))
    lines = [verdict_card.paragraph(view, [sentence], "rd-quiet") for sentence in today.offline.sentences]
    standing = _standing(view)
    with st.expander("All findings in words"):
        st.html(join([*lines, widgets.small_paragraphs([standing] if standing else [])]))


def tiles(verdict: Recommendation) -> list[Tile]:
    """Returns tiles for the primary metric, other accuracy metrics, one guardrail and one slice, as far as
    there are any.
    """
    evidence, k = verdict.evidence, verdict.evidence.comparison.query.k
    if evidence.leader is None:
        return []

    def tile(title: str, metric: str, pair: Pair, n_family: int) -> Tile:
        return cards.of_pair(title, metric, pair, short_interval(evidence, metric, pair, n_family))

    primary = evidence.comparison.query.metric
    by_weight = sorted(evidence.guardrails, key=lambda rail: (not rail.is_broken, not rail.may_be_broken))
    rails = [cards.of_rail(metric_at(rail.metric, k), rail, level(evidence)) for rail in by_weight[:1]]
    part = telling_part(evidence.slices)
    where = metric_at(primary, k)
    parts = []
    if part:  # the title without its brackets, such as ``users new to the service``
        title = part.title.partition(" (")[0]
        parts = [tile(f"{where}, {small(title)}", primary, part.pair, len(evidence.slices))]
    n_metrics = len(evidence.metrics)
    others = [tile(metric_at(metric, k), metric, pair, n_metrics) for metric, pair in evidence.metrics]
    room = TILES - 1 - len(rails) - len(parts)
    first = tile(where, primary, evidence.leader, n_tested(evidence.comparison.against))
    return [first, *others[:room], *rails, *parts]


def telling_part(parts: Sequence[SliceDifference]) -> SliceDifference | None:
    """Returns the slice that says most against the leader, the largest of several; None without slices."""
    if not parts:
        return None
    return min(parts, key=lambda part: (FINDING_PRIORITY.index(part.pair.judged.word), -part.pair.paired.n))


# ── the forest ───────────────────────────────────────────────────────────────────────────────


def show_forest(view: View, verdict: Recommendation) -> None:
    """Draws every candidate's difference from the baseline as a forest of intervals."""
    rows, comparison = differences(view, verdict), verdict.evidence.comparison
    if rows.empty:
        show_values(view)
        return
    title = headlines.beats(dict(zip(rows["run"], rows["word"], strict=True)), verdict.evidence.base)
    note = view.with_short_names(note_of_forest(view, verdict, rows))
    widgets.section(view.with_short_names(title), note)
    label = f"Paired difference in {metric_at(view.metric, view.k)}"
    st.html(forest.forest_html(rows, view.marks, short_names(view.marks, LONGEST_BESIDE_TRACK), label))
    if comparison.apart:
        reasons = " ".join(f"{reason}." for reason in comparison.apart.values())
        st.html(html('<p class="rd-muted">{reasons}</p>', reasons=reasons))
    widgets.table_behind(rows.drop(columns=["run_id", "words"]), "paired-differences")


def differences(view: View, verdict: Recommendation) -> pd.DataFrame:
    """Returns the differences from the baseline as a frame with one row per candidate.

    They have the order of Ranking. Columns: run_id, run,
    mean_diff, ci_low and ci_high (corrected), p, p_corrected, word, margin, n_users, words (the finding as
    shown), wins, ties, losses.
    """
    import pandas as pd

    rows, comparison = [], verdict.evidence.comparison
    order = order_of_values(view)
    for pair in sorted(comparison.against, key=lambda pair: order.index(pair.candidate)):
        paired, judged = pair.paired, pair.judged
        low, high = pair.interval
        row = {"run_id": pair.candidate, "run": view.name(pair.candidate), "mean_diff": paired.mean}
        row |= {"ci_low": low, "ci_high": high, "p": paired.p}
        row |= {"p_corrected": judged.p, "word": judged.word, "margin": judged.margin, "n_users": paired.n}
        row |= {"words": pair.words}
        rows.append(row | {"wins": paired.wins, "ties": paired.ties, "losses": paired.losses})
    return pd.DataFrame(rows)


def note_of_forest(view: View, verdict: Recommendation, rows: pd.DataFrame) -> str:
    left = [run for run in view.own_ids if run not in view.verdict_query.shown]
    names = view.short(left[0]) if len(left) == 1 else f"{len(left)} runs"
    others = f" Not compared here: {names}. Choose candidates in the row above." if left else ""
    note = differences_note(
        verdict.evidence.comparison,
        has_band=shows_margin(rows),
        has_hollow=forest.has_hollow(rows),
    )
    return f"{note}{others}{_same_lists(view, verdict)}"


def _same_lists(view: View, verdict: Recommendation) -> str:
    """Returns which candidates equal the baseline for every user because they recommend the same items;
    empty if none does, or if not all lists were compared.
    """
    names = [view.short(run_id) for run_id in _with_same_lists(view, verdict)]
    if not names:
        return ""
    recommend, base = "recommends" if len(names) == 1 else "recommend", view.short(view.shown[0].id)
    return f" {listed(names)} {recommend} these users the same {view.k} items as {base}."


def _with_same_lists(view: View, verdict: Recommendation) -> list[str]:
    """Returns the ids of the candidates that recommend all compared users the same items as the baseline."""
    comparison = verdict.evidence.comparison
    equal = {pair.candidate: pair.paired.n for pair in comparison.against if pair.is_identical}
    if not equal:
        return []
    return [
        row["run_id"]
        for row in records(cached.list_overlap(view, comparison.query.baseline))
        if row["overlap"] > ALL_ITEMS and row["n_users"] == row["n_both"] == equal.get(row["run_id"])
    ]


def _why_equal(view: View, verdict: Recommendation) -> str:
    """Returns why the candidate in question equals the baseline for every user: both recommend them the same
    items, it recommends none, or both find nothing. Empty if it does not, or if the lists do not tell.
    """
    leader = verdict.evidence.leader
    if leader is None or not leader.is_identical:
        return ""
    if leader.candidate in _with_same_lists(view, verdict):
        return f"the same {view.k} items as {view.short(leader.baseline)} for these users"
    case = verdict.case_of(leader.candidate)
    if case and case.equality.startswith("it has"):
        return case.equality.removeprefix("it has ")
    return "" if leader.value else "0 for every user with both"


# ── notices about the data ───────────────────────────────────────────────────────────────────


def population(view: View, run_id: str) -> str:
    """Returns how the users of the test set become those with recommendations from a run, such as ``6,263
    users in the test set, 4,556 with an item of relevance 8 or more, 2,871 of these with recommendations from
    ease.`` For a part of the experiment it returns only what counts as relevant.
    """
    usual = view.experiment.settings.get("relevance_threshold")
    if view.scope != WHOLE:
        return _other_relevance(view, usual)
    counts = next(run for run in view.runs if run.id == run_id).ledger
    known = [counts.get(name) for name in ("truth_users", "without_relevant", "without_list")]
    if None in known:
        return ""
    n_users, without_relevant, without_list = (count or 0 for count in known)
    relevant = n_users - without_relevant
    steps = [f"{many(n_users, 'user')} in the test set"]
    if without_relevant:
        item = "a relevant item" if usual is None else f"an item of relevance {usual:g} or more"
        steps.append(f"{numbers.count(relevant)} with {item}")
    if without_list:
        served = numbers.count(relevant - without_list)
        steps.append(f"{served} of these with recommendations from {view.short(run_id)}")
    is_graded = usual is None and view.experiment.settings.get("graded")
    return f"{', '.join(steps)}.{' Any relevance above 0 counts.' if is_graded else ''}"


def _other_relevance(view: View, usual: float | None) -> str:
    """Returns which relevance counts in a view with another threshold, and which does by default; empty for
    the default.
    """
    if view.scope.threshold is None:
        return ""
    default = "any relevance above 0" if usual is None else f"relevance of {usual:g} or more"
    return f"Here relevance of {view.scope.threshold:g} or more counts; by default, {default}."


def _nothing(view: View) -> str:
    """Returns the sentence for no notices; it does not contradict a warning on comparability in the banner
    above.
    """
    if workspace().scores.comparability(list(view.verdict_query.shown), alike=True):
        return "Nothing beside the warning above was noticed"
    n = len(view.verdict_query.shown)
    runs = "both runs" if n == 2 else f"all {named_number(n).lower()} runs"
    return f"Same test set and definitions for {runs}"


def notes(view: View) -> Html:
    """Returns the notices about the shown runs, their experiment and their A/B tests, or a sentence that
    there are none.

    Notices on how files were read are left out; the pages Add data and Runs show them.
    """
    ids = set(view.verdict_query.shown)
    of_runs = of_stored(
        without_formats(notice for run in view.runs if run.id in ids for notice in run.notices)
    )
    broken, others = online_tests.notices_of_tests(view)
    notices = [
        *broken,
        *online_tests.disagreements(view),
        *online_tests.interleaved(view),
        *without_formats(others),
        *of_stored(without_formats(notices_of(view.experiment.settings))),
        *replicate_spread.notices(view),
        *headlines.merge_problems(of_runs, partial(headlines.named_places, of=len(ids))),
    ]
    list_html = notices_html(notices[:MOST_NOTES], nothing=_nothing(view))
    more = len(notices) - MOST_NOTES
    rest = html('<p class="rd-muted">and {more} more, listed on the Runs page</p>', more=more)
    return join([list_html, rest]) if more > 0 else list_html
