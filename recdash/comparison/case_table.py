"""The table of all candidates and the case for each, with p before and after the correction side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite, nan

from recdash.comparison import relative
from recdash.comparison.candidate_case import CandidateCase, Case, control_of, correction_note
from recdash.comparison.evidence import is_examined
from recdash.comparison.recommendation import Recommendation
from recdash.comparison.wording import level, plain
from recdash.domain.results import OnlineLift
from recdash.formatting import numbers
from recdash.formatting.tables import (
    PERCENT,
    Cell,
    Column,
    RunName,
    Table,
    Tone,
    Word,
    muted,
    number_columns,
    p_value,
    text_columns,
    with_intervals,
)
from recdash.formatting.wording import CORRECTIONS, capital, lowered

LONGEST_HEAD = 24
"""A column's heading calls a baseline with a longer name the baseline."""
NOT_CHECKED = muted("Not checked")
OTHERS_NOT_CHECKED = "other losses not checked"
WHO_IS_CHECKED = (
    "Losses in other metrics and in segments are checked of candidates that are better or won an A/B test, "
    "and of the best one."
)
TONES: dict[Case, Tone] = {"proven": "better", "sound": "better", "lost online": "worse", "worse": "worse"}


def case_table(
    recommendation: Recommendation,
    order: Sequence[str] = (),
    shorten: Callable[[str], str] = str,
    *,
    only: str = "",
) -> Table:
    """Returns a table with one row per candidate, best offline first, or in the ``order`` of run ids.
    ``shorten`` shortens the names of runs in a text. ``only`` is for what alone the recommendation holds.
    """
    query = recommendation.evidence.comparison.query
    cases = sorted(recommendation.cases, key=lambda case: order.index(case.pair.candidate) if order else 0)
    base, rule = recommendation.evidence.base, CORRECTIONS.get(query.terms.correction)
    corrected_by = f", {rule}" if rule else ""
    shares = [_shares(case) for case in cases]  # the decimals are those of what is written in %
    changes, bounds = with_intervals(
        [row[0] for row in shares], [row[1] for row in shares], unit=PERCENT, off_zero=True
    )
    decimals = numbers.places(
        100 * lift.change
        for case in cases
        for lift in (*case.evidence.lifts, *case.lifts_elsewhere)
        if lift.is_goal
    )
    has_lifts = any(case.was_tested or case.was_tested_elsewhere for case in cases)
    rows: list[tuple[Cell, ...]] = []
    for case, change, interval in zip(cases, changes, bounds, strict=True):
        corrected = [p_value(case.pair.judged.p)] if rule else []
        lift = [_lift(case, decimals)] if has_lifts else []
        p = p_value(case.pair.paired.p)
        its_only = only if case.name == recommendation.name else ""
        but = _but(_examined(recommendation, case), shorten, its_only, _is_checked(recommendation, case))
        cells: tuple[Cell, Cell] = change, interval
        if not relative.is_in_percent(case.pair):
            ends = muted(numbers.NONE) if case.pair.is_identical else relative.bounds(case.pair, query.metric)
            cells = relative.change(case.pair), ends
        rows.append((RunName(case.pair.candidate), _word(case), *cells, p, *corrected, *lift, but))
    columns: list[Column] = [
        *text_columns("Candidate", "Case"),
        *number_columns(
            f"{query.where} vs {base if len(base) <= LONGEST_HEAD else 'baseline'}",
            f"{level(recommendation.evidence)}{corrected_by}",
            "p",
        ),
        *number_columns(*([f"p, {rule}"] if rule else [])),
        *text_columns(*(["A/B test"] if has_lifts else []), "But"),
    ]
    all_checked = all(_is_checked(recommendation, case) for case in cases)
    notes = [_note(cases), "" if all_checked else WHO_IS_CHECKED]
    return Table("", tuple(columns), tuple(rows), shorten(" ".join(filter(None, notes))))


def _word(case: CandidateCase) -> Word:
    return Word(
        "", capital(case.pair.words) if case.pair.is_identical else case.words, TONES.get(case.case, "plain")
    )


def _shares(case: CandidateCase) -> tuple[float, tuple[float, float]]:
    """Returns the difference and the ends of its corrected interval, all in % of the baseline's value; NaN if
    they are not written in %.
    """
    pair = case.pair
    if not relative.is_in_percent(pair):
        return nan, (nan, nan)
    ends = relative.percent_interval(pair, case.evidence.comparison.query.metric)
    return pair.percent(pair.paired.mean), ends


def _lift(case: CandidateCase, decimals: int) -> Cell:
    """Returns a cell such as ``Watch time −12 %, engagement rate +6.8 %``: all significant lifts of the
    candidate, else its first goal, greyed out. Without a test against the baseline, these are lifts against
    other runs, with their names. Without a lift it says that the test is invalid, that the candidate was
    the control of a test, or that there was none.
    """
    telling = case.evidence.telling_online
    texts = [_lift_text(lift, decimals) for lift in telling]
    if not telling and not case.evidence.invalid_tests:
        telling = case.telling_elsewhere
        texts = [f"{_lift_text(lift, decimals)} vs {control_of(lift)}" for lift in telling]
    if not telling:
        return muted(_without_lift(case))
    text = capital(", ".join(texts))
    return text if telling[0].is_lost or telling[0].is_won else muted(text)


def _without_lift(case: CandidateCase) -> str:
    if case.evidence.invalid_tests:
        return "invalid: sample ratio mismatch"
    if case.invalid_elsewhere:
        return f"invalid vs {control_of(case.invalid_elsewhere[0])}: sample ratio mismatch"
    return f"control of {case.as_control[0].test}" if case.as_control else "not tested"


def _lift_text(lift: OnlineLift, decimals: int) -> str:
    return f"{lowered(lift.title)} {numbers.signed(100 * lift.change, decimals)} %"


def _examined(recommendation: Recommendation, case: CandidateCase) -> CandidateCase:
    """Returns the case with what was examined of the candidate in question: its losses in other metrics and
    segments count whatever its own difference is.
    """
    return replace(case, evidence=recommendation.evidence) if _is_in_question(recommendation, case) else case


def _is_checked(recommendation: Recommendation, case: CandidateCase) -> bool:
    """Returns whether losses in other metrics and segments were looked for."""
    return _is_in_question(recommendation, case) or is_examined(case.evidence)


def _is_in_question(recommendation: Recommendation, case: CandidateCase) -> bool:
    leader = recommendation.evidence.leader
    return leader is not None and leader.candidate == case.pair.candidate


def _but(case: CandidateCase, shorten: Callable[[str], str], only: str, is_checked: bool) -> Cell:
    """Returns a cell with the risks of the candidate, the most serious first; ``only``, for what alone it is
    recommended, and a note on the correction go before them. ``–`` if there are none.
    ``is_checked``: losses in other metrics and segments were looked for.
    """
    risks = [*filter(None, (only, correction_note(case))), *(plain(risk) for risk in case.risks)]
    if not risks:
        return muted(numbers.NONE) if is_checked else NOT_CHECKED
    return capital(shorten("; ".join(risks if is_checked else [*risks, OTHERS_NOT_CHECKED])))


def _note(cases: Sequence[CandidateCase]) -> str:
    """Returns the table's note: which candidates are no longer significant after the correction, and for
    which no test is valid.
    """
    decided = [case.name for case in cases if case.decided_by_correction]
    unknown = [case.name for case in cases if not isfinite(case.pair.paired.p)]
    notes = []
    if decided:
        notes.append(f"Significant alone, not after the correction: {', '.join(decided)}.")
    if unknown:
        notes.append(f"No valid test: {', '.join(unknown)}.")
    return " ".join(notes)
