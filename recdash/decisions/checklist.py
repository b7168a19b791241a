"""What must hold before a candidate is approved: each item holds, fails, or is not known yet, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from recdash.decisions.snapshot import Difference, Guardrail, Lift, Offline, OfflineOnlineSnapshot, Online
from recdash.formatting import numbers
from recdash.formatting.wording import listed, many
from recdash.metrics.naming import is_percent

ItemState = Literal["holds", "fails", "not known yet"]
HOLDS: ItemState = "holds"
FAILS: ItemState = "fails"
UNKNOWN: ItemState = "not known yet"
MOST_NAMED = 3

NO_OFFLINE = "No offline evidence is attached."
NO_TEST = "No A/B test is attached."
QUESTIONS = {
    "Gain": "Better than the baseline offline; online a goal won and none lost",
    "Guardrails": "None loses more than it may, offline or online",
    "Split of users": "The A/B test put users into variants as planned (SRM)",
    "Slices": "No slice of users is worse off",
    "Agreement": "Offline and online point the same way, or it is explained why not",
}


@dataclass(frozen=True)
class ChecklistItem:
    """One line of the checklist; ``numbers`` are those that its ``reason`` rests on, a line each."""

    name: str
    state: ItemState
    reason: str
    numbers: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        return QUESTIONS.get(self.name, "")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def checklist(offline: Offline | None, online: Sequence[Online]) -> tuple[ChecklistItem, ...]:
    """All items, from the evidence that is attached."""
    return (
        _gain(offline, online),
        _guardrails(offline, online),
        _split(online),
        _slices(offline),
        _agreement(offline, online),
    )


def not_holding(items: Iterable[ChecklistItem]) -> list[ChecklistItem]:
    return [one for one in items if one.state != HOLDS]


def shortcomings(items: Iterable[ChecklistItem]) -> str:
    """``slices fail and agreement is not known yet``; empty where all hold."""
    left = not_holding(items)
    failing = [one.name.lower() for one in left if one.state == FAILS]
    unknown = [one.name.lower() for one in left if one.state == UNKNOWN]
    told = [f"{listed(failing)} {_verb(failing, 'fails', 'fail')}"] if failing else []
    told += [f"{listed(unknown)} {_verb(unknown, 'is', 'are')} not known yet"] if unknown else []
    return "; ".join(told)


def _verb(names: Sequence[str], one: str, more: str) -> str:
    plural = len(names) > 1 or names[0] in {"guardrails", "slices"}
    return more if plural else one


# ── gain ─────────────────────────────────────────────────────────────────────────────────────

_BY_WORD: dict[str, ItemState] = {"better": HOLDS, "worse": FAILS, "tie": FAILS}
_ALSO = {
    "better": "better than {base}",
    "worse": "worse than {base}",
    "tie": "a tie with {base}: no difference that matters",
    "not settled": "not settled against {base}",
}


def _gain(offline: Offline | None, online: Sequence[Online]) -> ChecklistItem:
    if offline is None:
        return ChecklistItem("Gain", UNKNOWN, NO_OFFLINE)
    own = offline.own
    if own is None:
        apart = offline.apart.get(offline.subject.run.name if offline.subject.run else "", "")
        return ChecklistItem("Gain", UNKNOWN, f"There is no difference to the baseline. {apart}".strip())
    state, told = _goals(online)
    word = _BY_WORD.get(own.word, UNKNOWN)
    base = offline.name(own.baseline)
    found = f"Offline {_ALSO.get(own.word, own.word).format(base=base)}"
    lines = (difference_text(own), *(lift_text(one) for test in online for one in test.of_role("goal")))
    return ChecklistItem("Gain", worst([word, state]), f"{found}; {told}", lines)


def _goals(online: Sequence[Online]) -> tuple[ItemState, str]:
    """A goal lost is a failure whatever else was won; of those not settled nothing is asked."""
    if not online:
        return UNKNOWN, "no A/B test is attached."
    goals = [lift for one in online for lift in one.of_role("goal")]
    for word, state, does in (("worse", FAILS, "lost"), ("better", HOLDS, "won")):
        titles = [_small(lift.title) for lift in goals if lift.word == word]
        if titles:
            return state, f"online it {does} {some(titles)}."
    return UNKNOWN, "online no goal is settled." if goals else "the A/B test has no goal."


# ── guardrails ───────────────────────────────────────────────────────────────────────────────


def _guardrails(offline: Offline | None, online: Sequence[Online]) -> ChecklistItem:
    rails = offline.guardrails if offline else ()
    lifts = [lift for one in online for lift in one.of_role("guardrail")]
    lines = (*map(rail_text, rails), *map(lift_text, lifts))
    broken = [_small(one.title) for one in rails if one.broken]
    broken += [_small(one.title) for one in lifts if one.word == "broken"]
    if broken:
        return ChecklistItem(
            "Guardrails", FAILS, f"{_capital(some(broken))} lost more than is allowed.", lines
        )
    open_ = _open_rails(offline, online, lifts)
    if open_:
        return ChecklistItem("Guardrails", UNKNOWN, open_, lines)
    every = listed([many(len(rails), "guardrail") + " offline", f"{len(lifts)} online"])
    return ChecklistItem("Guardrails", HOLDS, f"Within their guard: {every}.", lines)


def _open_rails(offline: Offline | None, online: Sequence[Online], lifts: Sequence[Lift]) -> str:
    """Why the guardrails are not known; empty where they are."""
    if offline is None:
        return NO_OFFLINE
    if not offline.guardrails:
        return "No guardrail could be measured offline."
    held = f"Offline {many(len(offline.guardrails), 'guardrail')} within the guard"
    if not online:
        return f"{held}; {NO_TEST[:1].lower()}{NO_TEST[1:]}"
    unsettled = [_small(one.title) for one in lifts if one.word != HOLDS]
    if unsettled:
        return f"{held}; online {some(unsettled)} {'is' if len(unsettled) == 1 else 'are'} not settled."
    return "" if lifts else f"{held}; the A/B test has no guardrail metric."


# ── the split of users ───────────────────────────────────────────────────────────────────────


def _split(online: Sequence[Online]) -> ChecklistItem:
    name = "Split of users"
    if not online:
        return ChecklistItem(name, UNKNOWN, NO_TEST)
    lines = tuple(split_text(one) for one in online)
    broken = [one.test.name for one in online if one.blocked]
    if broken:
        return ChecklistItem(
            name, FAILS, f"The split of users of {some(broken)} is broken: nothing is judged.", lines
        )
    unknown = [one.test.name for one in online if one.srm_p is None]
    if unknown:
        return ChecklistItem(
            name, UNKNOWN, f"How many users {some(unknown)} had per variant is not known.", lines
        )
    noted = [warning for one in online for warning in one.warnings]
    reason = "As planned." + (f" Noted: {' '.join(noted)}" if noted else "")
    return ChecklistItem(name, HOLDS, reason, lines)


# ── slices ───────────────────────────────────────────────────────────────────────────────────


def _slices(offline: Offline | None) -> ChecklistItem:
    if offline is None:
        return ChecklistItem("Slices", UNKNOWN, NO_OFFLINE)
    slices = offline.slices
    if not slices:
        return ChecklistItem("Slices", UNKNOWN, "There is no slice of 30 users or more to look at.")
    lines = tuple(map(difference_text, slices))
    worse = [one.part for one in slices if one.word == "worse"]
    if worse:
        return ChecklistItem("Slices", FAILS, f"Worse for {some(worse)}.", lines)
    better = sum(one.word == "better" for one in slices)
    return ChecklistItem(
        "Slices", HOLDS, f"None of {many(len(slices), 'slice')} is worse, {better} better.", lines
    )


# ── agreement ────────────────────────────────────────────────────────────────────────────────


def _agreement(offline: Offline | None, online: Sequence[Online]) -> ChecklistItem:
    if not online:
        return ChecklistItem("Agreement", UNKNOWN, NO_TEST if offline else NO_OFFLINE)
    sides = [side for one in online for side in one.sides]
    lines = tuple(side.sentence for side in sides)
    against = [side for side in sides if _contradicts(side)]
    left = [_small(side.title) for side in against if not side.explained]
    if left:
        reason = f"Offline and online contradict each other in {some(left)}, and nothing explains it."
        return ChecklistItem("Agreement", FAILS, reason, lines)
    if against:
        titles = [_small(side.title) for side in against]
        reason = f"They contradict each other in {some(titles)}; explained: {against[0].explained}"
        return ChecklistItem("Agreement", HOLDS, reason, lines)
    same = [_small(side.title) for side in sides if side.quadrant.endswith("both")]
    if same:
        return ChecklistItem("Agreement", HOLDS, f"Both point the same way: {some(same)}.", lines)
    return ChecklistItem("Agreement", UNKNOWN, "Nothing is settled on both sides.", lines)


def _contradicts(side: OfflineOnlineSnapshot) -> bool:
    return "offline" in side.quadrant


# ── words ────────────────────────────────────────────────────────────────────────────────────


def worst(states: Sequence[ItemState]) -> ItemState:
    return next((one for one in (FAILS, UNKNOWN) if one in states), HOLDS)


def some(names: Sequence[str]) -> str:
    """``a, b and c``; ``a, b, c and 2 more``."""
    if len(names) <= MOST_NAMED:
        return listed(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"


def difference_text(one: Difference) -> str:
    """``nDCG@10, new users: +14.9 % (95 % CI +12.7 to +17.2 %), n = 6,040, better``."""
    where = f"{one.title}, {one.part}" if one.part else one.title
    shares = [one.share(amount) for amount in (one.difference, one.low, one.high)]
    if shares[0] is None:
        amount = _interval([one.difference, one.low, one.high])
    else:
        amount = _interval([None if share is None else 100 * share for share in shares], " %")
    return f"{where}: {amount}, n = {numbers.count(one.n)}, {one.word}"


def lift_text(one: Lift) -> str:
    """``Engagement rate: +3.1 % (95 % CI +1.2 to +5.0 %), n = 412 / 398, better``."""
    where = f"{one.title} online"
    if one.lift is None:
        return f"{where}: {one.note or 'cannot be compared'}"
    percents = [None if end is None else 100 * end for end in (one.lift, one.low, one.high)]
    users = f"{numbers.count(one.n)} / {numbers.count(one.control_n)}"
    return f"{where}: {_interval(percents, ' %')}, n = {users}, {one.word or 'not judged'}"


def _interval(found: Sequence[float | None], unit: str = "") -> str:
    """Of a value and the ends of its interval."""
    digits, (value, low, high) = numbers.places(found), found
    told = f"{numbers.signed(value, digits)}{unit}"
    ends = numbers.interval(low, high, digits, unit)
    return told if ends == numbers.NONE else f"{told} (95 % CI {ends})"


def rail_text(one: Guardrail) -> str:
    """``Coverage@10: 23.4 % to 20.8 %, −11.0 % (guard −20 %)``."""
    change = None if one.change is None else 100 * one.change
    amount = f"{numbers.signed(change, numbers.places([change]))} %"
    told = "from 0: no share" if change is None else amount
    values = f"{rail_value(one.metric, one.base_value)} to {rail_value(one.metric, one.value)}"
    return f"{one.title}: {values}, {told} (guard {numbers.MINUS}{100 * one.guard:.3g} %)"


def rail_value(metric: str, value: float) -> str:
    """Coverage in % of the catalogue."""
    return f"{numbers.three(100 * value)} %" if is_percent(metric) else numbers.three(value)


def split_text(one: Online) -> str:
    """``Home page: control 4,012, new 3,988; SRM p = 0.789``."""
    users = ", ".join(f"{name} {numbers.count(n)}" for name, n in one.users.items()) or "users not known"
    p = numbers.p_value(one.srm_p)
    told = "no SRM check" if one.srm_p is None else f"SRM p {p}" if "<" in p else f"SRM p = {p}"
    return f"{one.test.name}: {users}; {told}"


def _small(title: str) -> str:
    """``engagement rate``; what begins like nDCG or SRM stays as it is."""
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
