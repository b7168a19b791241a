"""The checklist for approving a candidate: whether each item holds, fails or is not known yet, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from recdash.comparison.cells import from_to
from recdash.decisions.snapshot import Difference, Guardrail, Lift, Novelty, Offline, Online, SubjectKind
from recdash.formatting import numbers
from recdash.formatting.signs import OPEN
from recdash.formatting.tables import Tone
from recdash.formatting.wording import capital, listed, lowered, many, shown, small
from recdash.online.analysis.judgement import SIGNIFICANCE_LEVEL

ItemState = Literal["holds", "fails", "not known yet"]
HOLDS: ItemState = "holds"
FAILS: ItemState = "fails"
UNKNOWN: ItemState = "not known yet"
ITEM_SIGNS: Mapping[ItemState, tuple[str, Tone]] = {
    HOLDS: ("✓", "better"),
    FAILS: ("!", "worse"),
    UNKNOWN: (OPEN, "muted"),
}
"""State → its sign, and the tone in which pages and reports show it."""
MOST_NAMED = 3

NO_OFFLINE = "No offline evidence is attached."
NO_TEST = "No A/B test is attached."
RAIL_METRIC = "guardrail metric"
NO_RAIL_ONLINE = f"the A/B test has no {RAIL_METRIC}."
NO_SLICE = "No segment of users has 30 users or more. Segments of items are not checked."
TITLES = {
    "Gain": "Gain over the baseline",
    "Split of users": "Split of users in the A/B test",
    "Slices": "Segments of users",
    "Agreement": "Agreement of offline and online",
    "Lift": "Lift over the control",
    "Online guardrails": "Guardrails of the A/B test",
}
"""Names that people see instead of stored ones that say too little alone."""
QUESTIONS = {
    "Gain": "Better than the baseline offline; online at least one goal won and none lost",
    "Guardrails": "No guardrail is broken, offline or online",
    "Split of users": "The A/B test put users into variants as planned (SRM)",
    "Slices": "No segment of users is worse off; segments of items are not counted",
    "Agreement": "Offline and online agree, or the difference is explained",
    "Lift": "At least one goal of the A/B test won and none lost",
    "Online guardrails": "No guardrail of the A/B test is broken, and none is inconclusive",
    "Sample size": "The planned sample size is reached, or the gain also holds under continuous monitoring",
    "Novelty effect": "The gain does not fade with the days since users first saw the variant",
}


@dataclass(frozen=True)
class ChecklistItem:
    """One item of the checklist; ``numbers`` are the lines of numbers behind its ``reason``."""

    name: str
    state: ItemState
    reason: str
    numbers: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Returns the name that people see. The stored name, which is also in the JSON, does not change."""
        return TITLES.get(self.name, self.name)

    @property
    def question(self) -> str:
        return QUESTIONS.get(self.name, "")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


CHECKLIST = TypeAdapter(tuple[ChecklistItem, ...])


class Evidence(NamedTuple):
    """The evidence that the checks judge; that of a variant is from one A/B test at most."""

    offline: Offline | None
    online: Sequence[Online]

    def of_role(self, role: str) -> list[Lift]:
        """Returns the lifts of all attached A/B tests in metrics of this role."""
        return [lift for test in self.online for lift in test.of_role(role)]


def checklist(
    offline: Offline | None, online: Sequence[Online], kind: SubjectKind = "run"
) -> tuple[ChecklistItem, ...]:
    """Returns all items of the checklist for a subject of this kind, judged by the attached evidence."""
    evidence = Evidence(offline, online)
    return tuple(check(evidence) for check in CHECKS[kind])


def not_holding(items: Iterable[ChecklistItem]) -> list[ChecklistItem]:
    return [item for item in items if item.state != HOLDS]


def shortcomings(items: Sequence[ChecklistItem]) -> str:
    """Returns the items that do not hold, such as ``segments of users fail; guardrails are not known
    yet``; empty if all hold.
    """
    texts = []
    for state, singular, plural in (
        (FAILS, "fails", "fail"),
        (UNKNOWN, "is not known yet", "are not known yet"),
    ):
        names = [lowered(item.title) for item in items if item.state == state]
        if names:
            is_plural = len(names) > 1 or names[0].startswith(("guardrails", "segments"))
            texts.append(f"{listed(names)} {plural if is_plural else singular}")
    return "; ".join(texts)


# ── gain ─────────────────────────────────────────────────────────────────────────────────────

_BY_WORD: dict[str, ItemState] = {"better": HOLDS, "worse": FAILS, "tie": FAILS}
_ALSO = {
    "better": "better than {base}",
    "worse": "worse than {base}",
    "tie": "a tie with {base}: no difference that matters",
    "not settled": "not significantly different from {base}",
}


def _gain(evidence: Evidence) -> ChecklistItem:
    offline = evidence.offline
    if offline is None:
        return ChecklistItem("Gain", UNKNOWN, NO_OFFLINE)
    own = offline.own
    if own is None:
        apart = offline.apart.get(offline.subject.run.name if offline.subject.run else "", "")
        return ChecklistItem("Gain", UNKNOWN, f"There is no difference from the baseline. {apart}".strip())
    online_state, online_text = _online_goals(evidence)
    offline_state = _BY_WORD.get(own.word, UNKNOWN)
    offline_text = _ALSO.get(own.word, own.word).format(base=offline.name(own.baseline))
    lines = (difference_text(own), *map(lift_text, evidence.of_role("goal")))
    state = worst([offline_state, online_state])
    return ChecklistItem("Gain", state, f"Offline {offline_text}; {online_text}", lines)


def _online_goals(evidence: Evidence) -> tuple[ItemState, str]:
    """Returns state and text of the online goals, as the end of a sentence on the offline result."""
    goals = evidence.of_role("goal")
    if not evidence.online:
        return UNKNOWN, "online unknown: no A/B test is attached."
    if not goals:
        return UNKNOWN, "the A/B test has no goal."
    state, text = _goals(goals)
    return state, f"online {text}"


def _goals(goals: Sequence[Lift]) -> tuple[ItemState, str]:
    """Returns state and text of goals. They fail if one is lost, whatever was won; inconclusive goals do not
    count.
    """
    for word, state, does in (("worse", FAILS, "lost"), ("better", HOLDS, "won")):
        titles = [lowered(lift.title) for lift in goals if lift.word == word]
        if titles:
            return state, f"it {does} {some(titles)}."
    return UNKNOWN, "no goal is significant."


def _lift(evidence: Evidence) -> ChecklistItem:
    """Returns the item on the goals of a variant; its reason begins with the first goal."""
    goals = evidence.of_role("goal")
    if not goals:
        return ChecklistItem("Lift", UNKNOWN, _lacks(evidence, "goal"))
    state, text = _goals(goals)
    first = f"{lift_text(goals[0])}."
    reason = first if len(goals) == 1 else f"{first} {capital(text)}"
    return ChecklistItem("Lift", state, reason, tuple(map(lift_text, goals)))


def _lacks(evidence: Evidence, what: str) -> str:
    """Returns why there is nothing to judge: no such metric, or no A/B test."""
    return f"The A/B test has no {what}." if evidence.online else NO_TEST


def asks_for_guardrail(item: ChecklistItem) -> bool:
    """Returns whether the item is not known because no metric of the A/B test is a guardrail."""
    return item.state == UNKNOWN and item.reason.casefold().endswith(NO_RAIL_ONLINE.casefold())


# ── guardrails ───────────────────────────────────────────────────────────────────────────────


def _guardrails(evidence: Evidence) -> ChecklistItem:
    offline, online = evidence
    rails, lifts = offline.guardrails if offline else (), evidence.of_role("guardrail")
    within = "The experiment's rules have no guardrails."
    if rails or lifts:
        every = listed([many(len(rails), "guardrail") + " offline", f"{len(lifts)} online"])
        within = f"Within the guardrail: {every}."
    return _rails_item("Guardrails", rails, lifts, _why_rails_unknown(offline, online, lifts), within)


def _online_guardrails(evidence: Evidence) -> ChecklistItem:
    name, lifts = "Online guardrails", evidence.of_role("guardrail")
    if not lifts:
        return ChecklistItem(name, UNKNOWN, _lacks(evidence, RAIL_METRIC))
    inconclusive = _inconclusive(lifts)
    unknown = f"{capital(inconclusive)}." if inconclusive else ""
    return _rails_item(name, (), lifts, unknown, f"Within the guardrail: {some(_titles(lifts))}.")


def _rails_item(
    name: str, rails: Sequence[Guardrail], lifts: Sequence[Lift], unknown: str, within: str
) -> ChecklistItem:
    """Returns the item on guardrails. ``unknown`` says why it is not known whether they hold, empty if it is
    known; ``within`` that they hold.
    """
    lines = (*map(rail_text, rails), *map(lift_text, lifts))
    if broken := _broken(rails, lifts):
        return ChecklistItem(name, FAILS, broken, lines)
    return ChecklistItem(name, UNKNOWN if unknown else HOLDS, unknown or within, lines)


def _titles(lifts: Sequence[Lift]) -> list[str]:
    return [lowered(lift.title) for lift in lifts]


def _broken(rails: Sequence[Guardrail], lifts: Sequence[Lift]) -> str:
    """Returns a sentence on the guardrails that are broken, and on those of A/B tests that may be; empty if
    none is broken.
    """
    broken = [lowered(rail.title) for rail in rails if rail.broken]
    broken += _titles([lift for lift in lifts if lift.word == "broken"])
    if not broken:
        return ""
    reason = f"{capital(some(broken))} lost more than the guardrail allows"
    also = _inconclusive([lift for lift in lifts if lift.word != "broken"])
    return f"{'; '.join(filter(None, (reason, also)))}."


def _inconclusive(lifts: Sequence[Lift]) -> str:
    """Returns the guardrails of A/B tests that may be broken, such as ``online sessions per user is
    inconclusive``; empty if all hold.
    """
    names = _titles([lift for lift in lifts if lift.word != HOLDS])
    return f"online {some(names)} {'is' if len(names) == 1 else 'are'} inconclusive" if names else ""


def _why_rails_unknown(offline: Offline | None, online: Sequence[Online], lifts: Sequence[Lift]) -> str:
    """Returns why it is not known whether the guardrails hold; empty if it is known."""
    if offline is None:
        return NO_OFFLINE
    if not offline.guardrails and offline.has_guardrails:
        return "No guardrail could be measured offline."
    within = f"Offline within {many(len(offline.guardrails), 'guardrail')}"
    held = within if offline.guardrails else "Offline no guardrail is set"
    if not online:
        return f"{held}; {small(NO_TEST)}"
    if inconclusive := _inconclusive(lifts):
        return f"{held}; {inconclusive}."
    is_settled = bool(lifts) or not offline.has_guardrails
    return "" if is_settled else f"{held}; {NO_RAIL_ONLINE}"


# ── the split of users ───────────────────────────────────────────────────────────────────────


def _split(evidence: Evidence) -> ChecklistItem:
    name, online = "Split of users", evidence.online
    if not online:
        return ChecklistItem(name, UNKNOWN, NO_TEST)
    lines = tuple(map(split_text, online))
    broken = [test.test.name for test in online if test.blocked]
    if broken:
        reason = (
            f"Sample ratio mismatch: the split of users of {some(broken)} is broken, so its metrics are "
            "not judged."
        )
        return ChecklistItem(name, FAILS, reason, lines)
    unknown = [test.test.name for test in online if test.srm_p is None]
    if unknown:
        reason = f"The number of users per variant of {some(unknown)} is unknown."
        return ChecklistItem(name, UNKNOWN, reason, lines)
    warnings = [warning for test in online for warning in test.warnings]
    reason = "No sample ratio mismatch." + (f" Noted: {' '.join(warnings)}" if warnings else "")
    return ChecklistItem(name, HOLDS, reason, lines)


# ── sample size and novelty effect ───────────────────────────────────────────────────────────


def _sample_size(evidence: Evidence) -> ChecklistItem:
    """Returns the item on the planned sample size. An earlier end does no harm if the always-valid interval
    confirms all that is significant.
    """
    name, goals = "Sample size", evidence.of_role("goal")
    if not goals:
        return ChecklistItem(name, UNKNOWN, _lacks(evidence, "goal"))
    test = evidence.online[0]
    n, planned = test.size_of(goals[0]), test.rules.get("planned_users")
    if planned and n >= planned:
        reason = f"{numbers.users(n)}; {numbers.count(planned)} were planned."
        return ChecklistItem(name, HOLDS, reason)
    size = (
        f"{numbers.count(n)} of {numbers.count(planned)} planned users" if planned else "No size was planned"
    )
    significant = [lift for lift in goals if lift.word in _BY_WORD]
    if significant and all(lift.is_always_valid for lift in significant):
        titles = some(_titles(significant))
        return ChecklistItem(name, HOLDS, f"{size}, but the result in {titles} holds however often you look.")
    if planned:
        return ChecklistItem(name, FAILS, f"{size}: {numbers.count(planned - n)} are missing.")
    return ChecklistItem(name, UNKNOWN, f"{size}, so it is unknown whether the test was stopped early.")


def _novelty(evidence: Evidence) -> ChecklistItem:
    """Returns the item on the novelty effect. It holds only for a gain whose change is not significant by
    itself either: the warning is corrected over all metrics and variants.
    """
    name = "Novelty effect"
    if not evidence.online:
        return ChecklistItem(name, UNKNOWN, NO_TEST)
    novelty = evidence.online[0].novelty or Novelty(note="it was not recorded")
    if novelty.warning:
        return ChecklistItem(name, FAILS, f"{novelty.warning.rstrip('.')}.")
    if novelty.p is None or novelty.early_lift is None or novelty.late_lift is None:
        return ChecklistItem(name, UNKNOWN, f"No novelty effect could be measured: {novelty.note}.")
    percents = [100 * novelty.early_lift, 100 * novelty.late_lift]
    early, late = (f"{numbers.signed(lift, numbers.places(percents))} %" for lift in percents)
    lifts = f"{lowered(novelty.title)} {early} at first, {late} later"
    lines = (f"Change over the days since exposure: {numbers.p_equals(novelty.p)}",)
    is_down = any(
        lift.title == novelty.title and lift.direction == "down" for lift in evidence.online[0].lifts
    )
    gains = [-percent if is_down else percent for percent in percents]
    state, finding = _fading(gains[0], gains[1], p=novelty.p)
    return ChecklistItem(name, state, f"{finding}: {lifts}.", lines)


def _fading(early: float, late: float, p: float) -> tuple[ItemState, str]:
    if max(early, late) <= 0:
        return UNKNOWN, "There is no gain that could fade"
    if late >= early:
        return HOLDS, "The gain does not fade"
    if p <= SIGNIFICANCE_LEVEL:
        return UNKNOWN, "The gain may fade"
    return HOLDS, "The gain does not fade significantly"


# ── segments ─────────────────────────────────────────────────────────────────────────────────


def _slices(evidence: Evidence) -> ChecklistItem:
    offline = evidence.offline
    if offline is None:
        return ChecklistItem("Slices", UNKNOWN, NO_OFFLINE)
    slices = offline.slices
    if not slices:
        return ChecklistItem("Slices", UNKNOWN, NO_SLICE)
    lines = tuple(map(difference_text, slices))
    worse = [difference.part for difference in slices if difference.word == "worse"]
    if worse:
        return ChecklistItem("Slices", FAILS, f"Worse for {some(worse)}.", lines)
    better = sum(difference.word == "better" for difference in slices)
    reason = f"None of {many(len(slices), 'segment')} of users is worse, {better} better."
    return ChecklistItem("Slices", HOLDS, reason, lines)


# ── agreement ────────────────────────────────────────────────────────────────────────────────


def _agreement(evidence: Evidence) -> ChecklistItem:
    offline, online = evidence
    if not online:
        return ChecklistItem("Agreement", UNKNOWN, NO_TEST if offline else NO_OFFLINE)
    sides = [side for test in online for side in test.sides]
    lines = tuple(side.sentence for side in sides)
    against = [side for side in sides if "offline" in side.quadrant]  # better on one side, worse on the other
    unexplained = [lowered(side.title) for side in against if not side.explained]
    if unexplained:
        reason = f"Offline and online contradict each other in {some(unexplained)} without an explanation."
        return ChecklistItem("Agreement", FAILS, reason, lines)
    if against:
        titles = [lowered(side.title) for side in against]
        reason = f"They contradict each other in {some(titles)}; explained: {against[0].explained}"
        return ChecklistItem("Agreement", HOLDS, reason, lines)
    same = [lowered(side.title) for side in sides if side.quadrant.endswith("both")]
    if same:
        return ChecklistItem("Agreement", HOLDS, f"Offline and online agree on {some(same)}.", lines)
    return ChecklistItem("Agreement", UNKNOWN, "No metric is significant both offline and online.", lines)


CHECKS: Mapping[SubjectKind, tuple[Callable[[Evidence], ChecklistItem], ...]] = {
    "run": (_gain, _guardrails, _split, _slices, _agreement),
    "variant": (_lift, _online_guardrails, _split, _sample_size, _novelty),
}
"""The checks of the checklist for each kind of subject, in the order of the items."""


# ── words ────────────────────────────────────────────────────────────────────────────────────


def worst(states: Sequence[ItemState]) -> ItemState:
    return next((state for state in (FAILS, UNKNOWN) if state in states), HOLDS)


def some(names: Sequence[str]) -> str:
    """Returns the names joined: ``a, b and c``, or ``a, b, c and 2 more`` if there are more than
    ``MOST_NAMED``.
    """
    return listed(names, MOST_NAMED)


def difference_text(pair: Difference) -> str:
    """Returns a difference such as ``nDCG@10, new users: +14.9 % (95 % CI +12.7 to +17.2 %), n = 6,040,
    better``.
    """
    where = f"{pair.title}, {pair.part}" if pair.part else pair.title
    amounts = [pair.difference, pair.low, pair.high]
    shares = [pair.share(amount) for amount in amounts]
    text = _interval(amounts) if shares[0] is None else _percent_interval(shares)
    return f"{where}: {text}, n = {numbers.count(pair.n)}, {shown(pair.word)}"


def lift_text(lift: Lift) -> str:
    """Returns a lift such as ``Engagement rate online: +3.1 % (95 % CI +1.2 to +5.0 %), n = 412 / 398,
    better``.
    """
    if lift.lift is None:
        return f"{lift.title} online: {lift.note or 'cannot be compared'}"
    change = _percent_interval([lift.lift, lift.low, lift.high])
    users = f"{numbers.count(lift.n)} / {numbers.count(lift.control_n)}"
    return f"{lift.title} online: {change}, n = {users}, {shown(lift.word) or 'not judged'}"


def _percent_interval(shares: Sequence[float | None]) -> str:
    return _interval([None if share is None else 100 * share for share in shares], " %")


def _interval(amounts: Sequence[float | None], unit: str = "") -> str:
    """Returns a value with its interval, such as ``+14.9 % (95 % CI +12.7 to +17.2 %)``. ``amounts`` are the
    value and both ends; without ends, only the value.
    """
    digits, (value, low, high) = numbers.places(amounts), amounts
    text = f"{numbers.signed(value, digits)}{unit}"
    ends = numbers.interval(low, high, digits, unit)
    return text if ends == numbers.NONE else f"{text} (95 % CI {ends})"


def rail_text(rail: Guardrail) -> str:
    """Returns a guardrail's change, such as ``Coverage@10: 23.4 % to 20.8 %, −11.0 % (guard −20 %)``."""
    change = "from 0: no share"
    if rail.change is not None:
        change = f"{numbers.signed(100 * rail.change, numbers.places([100 * rail.change]))} %"
    return f"{rail.title}: {rail_values(rail)}, {change} (guard {numbers.MINUS}{100 * rail.guard:.3g} %)"


def rail_values(rail: Guardrail) -> str:
    """Returns a guardrail's values of baseline and candidate, such as ``23.4 % to 20.8 %``."""
    return from_to(rail.metric, rail.base_value, rail.value)


def split_text(test: Online) -> str:
    """Returns the numbers of users by variant, such as ``Home page: control 4,012, new 3,988; SRM p =
    0.789``.
    """
    users = (
        ", ".join(f"{name} {numbers.count(n)}" for name, n in test.users.items()) or "unknown number of users"
    )
    srm = "no SRM check" if test.srm_p is None else f"SRM {numbers.p_equals(test.srm_p)}"
    return f"{test.test.name}: {users}; {srm}"
