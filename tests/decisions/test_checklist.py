"""The checklist of an approval: which numbers hold, fail, or leave an item open, and in which words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from recdash.decisions import (
    ChecklistItem,
    Named,
    Offline,
    Online,
    Subject,
    checklist,
    not_holding,
    shortcomings,
)
from recdash.decisions.changes_since import Changed, offline_changes, online_changes
from recdash.decisions.checklist import asks_for_guardrail
from recdash.decisions.snapshot import (
    OFFLINE,
    ONLINE,
    Difference,
    Guardrail,
    Lift,
    Novelty,
    OfflineOnlineSnapshot,
    Variant,
)

SUBJECT = Subject(Named("als", "ALS"), Named("pop", "Popular"), "ndcg", 10)


def difference(word: str, part: str = "", **other: Any) -> Difference:
    """0.22 against 0.20: +0.02 is +10 % of the baseline's value; the interval +5 to +15 %."""
    values = {
        "base_value": 0.20, "value": 0.22, "difference": 0.02, "low": 0.01, "high": 0.03, "p": 0.01,
        "p_corrected": 0.02, "n": 1000, "wins": 500, "ties": 200, "losses": 300, "margin": 0.002,
    } | other  # fmt: skip
    return Difference("pop", "als", "ndcg", "nDCG@10", word=word, part=part, **values)


def rail(change: float | None = -0.1, broken: bool = False) -> Guardrail:
    return Guardrail("coverage", "Coverage@10", 0.5, 0.45, change, 0.2, broken)


HELD = (rail(),)


def offline(own: str | None = "better", rails: Any = HELD, slices: Any = ("better", "tie")) -> Offline:
    pairs = (difference(own),) if own else ()
    parts = tuple(difference(word, f"slice {at}") for at, word in enumerate(slices, start=1))
    return Offline(SUBJECT, "ship", "Ship ALS", (), "", pairs, (), tuple(rails), parts)


WITHOUT = replace(offline(rails=()), has_guardrails=False)
"""By rules without guardrails."""


def lift(word: str, role: str = "goal", title: str = "Watch time", **other: Any) -> Lift:
    values = {
        "unit": "min", "direction": "up", "margin": 0.02, "control_value": 10.0, "value": 11.0,
        "control_n": 400, "n": 410, "numerator": 4510.0, "denominator": 410.0, "lift": 0.1, "low": 0.05,
        "high": 0.15, "p": 0.01, "p_corrected": 0.02,
    } | other  # fmt: skip
    return Lift(title.lower(), title, role=role, word=word, **values)


def online(
    *lifts: Lift,
    sides: tuple[OfflineOnlineSnapshot, ...] = (),
    p: float | None = 0.4,
    warnings: tuple[str, ...] = (),
) -> Online:
    return Online(
        SUBJECT, Named("t", "home page"), "new", "old", {"old": 400, "new": 410},
        p, p is not None and p < 0.001, 0,
        warnings, lifts or (lift("better"), lift("holds", "guardrail", "Sessions per user")), sides,
    )  # fmt: skip


def side(quadrant: str, explained: str = "") -> OfflineOnlineSnapshot:
    return OfflineOnlineSnapshot("watch time", "Watch time", quadrant, f"ALS {quadrant}.", explained)


def item(name: str, *evidence: Any) -> ChecklistItem:
    first = evidence[0] if evidence and isinstance(evidence[0], Offline) else None
    items = checklist(first, [one for one in evidence if isinstance(one, Online)])
    return next(one for one in items if one.name == name)


WITHIN = "Within the guardrail: 1 guardrail offline and 1 online."
BROKEN = "Sample ratio mismatch: the split of users of home page is broken, so its metrics are not judged."
NO_TEST = "No A/B test is attached."
NO_OFFLINE = "No offline evidence is attached."
NO_SLICE = "No segment of users has 30 users or more. Segments of items are not checked."


@pytest.mark.parametrize(
    ("evidence", "state", "reason"),
    [
        ((), "not known yet", NO_OFFLINE),
        ((offline(None),), "not known yet", "There is no difference from the baseline."),
        (
            (offline(),),
            "not known yet",
            "Offline better than Popular; online unknown: no A/B test is attached.",
        ),
        ((offline(), online()), "holds", "Offline better than Popular; online it won watch time."),
        ((offline("worse"), online()), "fails", "Offline worse than Popular; online it won watch time."),
        (
            (offline("tie"), online()),
            "fails",
            "Offline a tie with Popular: no difference that matters; online it won watch time.",
        ),
        (
            (offline("not settled"), online()),
            "not known yet",
            "Offline not significantly different from Popular; online it won watch time.",
        ),
        (
            (offline(), online(lift("better"), lift("worse", title="Plays"))),
            "fails",
            "Offline better than Popular; online it lost plays.",
        ),
        (
            (offline(), online(lift("not settled"))),
            "not known yet",
            "Offline better than Popular; online no goal is significant.",
        ),
        (
            (offline(), online(lift("better"), lift("not settled", title="Plays"))),
            "holds",
            "Offline better than Popular; online it won watch time.",
        ),
        (
            (offline(), online(lift("holds", "guardrail"))),
            "not known yet",
            "Offline better than Popular; the A/B test has no goal.",
        ),
    ],
)
def test_gain(evidence: tuple[Any, ...], state: str, reason: str) -> None:
    result = item("Gain", *evidence)
    assert (result.state, result.reason) == (state, reason)


@pytest.mark.parametrize(
    ("evidence", "state", "reason"),
    [
        ((), "not known yet", NO_OFFLINE),
        ((offline(rails=()),), "not known yet", "No guardrail could be measured offline."),
        (
            (offline(),),
            "not known yet",
            "Offline within 1 guardrail; no A/B test is attached.",
        ),
        ((offline(), online()), "holds", WITHIN),
        (
            (offline(rails=(rail(-0.3, True),)), online()),
            "fails",
            "Coverage@10 lost more than the guardrail allows.",
        ),
        (
            (
                offline(rails=(rail(-0.3, True),)),
                online(lift("not settled", "guardrail", "Sessions per user")),
            ),
            "fails",
            "Coverage@10 lost more than the guardrail allows; online sessions per user is inconclusive.",
        ),
        (
            (offline(), online(lift("broken", "guardrail", "Sessions per user"))),
            "fails",
            "Sessions per user lost more than the guardrail allows.",
        ),
        (
            (offline(), online(lift("not settled", "guardrail", "Sessions per user"))),
            "not known yet",
            "Offline within 1 guardrail; online sessions per user is inconclusive.",
        ),
        (
            (offline(), online(lift("better"))),
            "not known yet",
            "Offline within 1 guardrail; the A/B test has no guardrail metric.",
        ),
        ((offline(rails=(rail(None),)), online()), "holds", WITHIN),
        ((WITHOUT,), "not known yet", "Offline no guardrail is set; no A/B test is attached."),
        ((WITHOUT, online(lift("better"))), "holds", "The experiment's rules have no guardrails."),
        ((WITHOUT, online()), "holds", "Within the guardrail: no guardrail offline and 1 online."),
    ],
)
def test_guardrails(evidence: tuple[Any, ...], state: str, reason: str) -> None:
    result = item("Guardrails", *evidence)
    assert (result.state, result.reason) == (state, reason)


def test_only_a_test_without_a_guardrail_metric_asks_for_one() -> None:
    broken = offline(rails=(rail(-0.3, True),))
    assert asks_for_guardrail(item("Guardrails", offline(), online(lift("better"))))
    assert not asks_for_guardrail(item("Guardrails", broken, online(lift("better"))))
    assert not asks_for_guardrail(item("Guardrails", offline(rails=()), online(lift("better"))))
    assert not asks_for_guardrail(item("Guardrails", offline()))
    items = {one.name: one for one in checklist(None, [online(lift("better"))], "variant")}
    assert [name for name, one in items.items() if asks_for_guardrail(one)] == ["Online guardrails"]


@pytest.mark.parametrize(
    ("evidence", "state", "reason"),
    [
        ((offline(),), "not known yet", NO_TEST),
        ((online(),), "holds", "No sample ratio mismatch."),
        (
            (online(warnings=("Bots are uneven.",)),),
            "holds",
            "No sample ratio mismatch. Noted: Bots are uneven.",
        ),
        ((online(p=0.0001),), "fails", BROKEN),
        ((online(p=None),), "not known yet", "The number of users per variant of home page is unknown."),
        ((online(), online(p=0.0001)), "fails", BROKEN),
    ],
)
def test_split_of_users(evidence: tuple[Any, ...], state: str, reason: str) -> None:
    result = item("Split of users", *evidence)
    assert (result.state, result.reason) == (state, reason)


@pytest.mark.parametrize(
    ("evidence", "state", "reason"),
    [
        ((), "not known yet", NO_OFFLINE),
        ((offline(slices=()),), "not known yet", NO_SLICE),
        ((offline(),), "holds", "None of 2 segments of users is worse, 1 better."),
        (
            (offline(slices=("better", "not settled")),),
            "holds",
            "None of 2 segments of users is worse, 1 better.",
        ),
        ((offline(slices=("better", "worse")),), "fails", "Worse for slice 2."),
        (
            (offline(slices=("worse",) * 5),),
            "fails",
            "Worse for slice 1, slice 2, slice 3 and 2 more.",
        ),
    ],
)
def test_slices(evidence: tuple[Any, ...], state: str, reason: str) -> None:
    result = item("Slices", *evidence)
    assert (result.state, result.reason) == (state, reason)


WON, LOST, OPEN = side("won both"), side("won offline, lost online"), side("undecided")
WHY = "Most likely: it shows old films."


@pytest.mark.parametrize(
    ("evidence", "state", "reason"),
    [
        ((), "not known yet", NO_OFFLINE),
        ((offline(),), "not known yet", NO_TEST),
        ((offline(), online(sides=(WON, OPEN))), "holds", "Offline and online agree on watch time."),
        (
            (offline(), online(sides=(side("lost both"),))),
            "holds",
            "Offline and online agree on watch time.",
        ),
        (
            (offline(), online(sides=(OPEN,))),
            "not known yet",
            "No metric is significant both offline and online.",
        ),
        (
            (offline(), online(sides=(side("blocked"),))),
            "not known yet",
            "No metric is significant both offline and online.",
        ),
        (
            (offline(), online(sides=(WON, LOST))),
            "fails",
            "Offline and online contradict each other in watch time without an explanation.",
        ),
        (
            (offline(), online(sides=(side("won offline, lost online", WHY),))),
            "holds",
            f"They contradict each other in watch time; explained: {WHY}",
        ),
    ],
)
def test_agreement(evidence: tuple[Any, ...], state: str, reason: str) -> None:
    result = item("Agreement", *evidence)
    assert (result.state, result.reason) == (state, reason)


def test_each_item_shows_the_numbers_that_it_rests_on() -> None:
    evidence = offline(slices=("tie",)), online(sides=(WON,))
    numbers = {one.name: one.numbers for one in checklist(evidence[0], [evidence[1]])}
    assert numbers == {
        "Gain": (
            "nDCG@10: +10.0 % (95 % CI +5.0 to +15.0 %), n = 1,000, better",
            "Watch time online: +10.0 % (95 % CI +5.0 to +15.0 %), n = 410 / 400, better",
        ),
        "Guardrails": (
            "Coverage@10: 50.0 % to 45.0 %, −10.0 % (guard −20 %)",
            "Sessions per user online: +10.0 % (95 % CI +5.0 to +15.0 %), n = 410 / 400, holds",
        ),
        "Split of users": ("home page: old 400, new 410; SRM p = 0.400",),
        "Slices": ("nDCG@10, slice 1: +10.0 % (95 % CI +5.0 to +15.0 %), n = 1,000, tie",),
        "Agreement": ("ALS won both.",),
    }


def test_from_a_baseline_of_zero_a_difference_is_told_in_units_of_the_metric() -> None:
    result = Offline(SUBJECT, "ship", "", (), "", (difference("better", base_value=0.0),))
    assert item("Gain", result).numbers == (
        "nDCG@10: +0.0200 (95 % CI +0.0100 to +0.0300), n = 1,000, better",
    )


def test_a_lift_that_cannot_be_had_says_why() -> None:
    without = lift("", lift=None, low=None, high=None, note="all users are equal")
    assert item("Gain", offline(), online(without)).numbers[1] == "Watch time online: all users are equal"


@pytest.mark.parametrize(
    ("states", "told"),
    [
        (("holds", "holds"), ""),
        (("fails", "holds"), "gain over the baseline fails"),
        (("not known yet", "holds"), "gain over the baseline is not known yet"),
        (("holds", "fails"), "segments of users fail"),
        (("holds", "not known yet"), "segments of users are not known yet"),
        (("fails", "not known yet"), "gain over the baseline fails; segments of users are not known yet"),
    ],
)
def test_what_does_not_hold_is_named(states: tuple[Any, Any], told: str) -> None:
    items = (ChecklistItem("Gain", states[0], ""), ChecklistItem("Slices", states[1], ""))
    assert shortcomings(items) == told
    assert len(not_holding(items)) == sum(state != "holds" for state in states)


# ── written down and read again; then and now ────────────────────────────────────────────────


def test_numbers_come_back_from_json_as_they_were() -> None:
    then, tested = offline(), online(sides=(LOST,))
    assert OFFLINE.validate_python(json.loads(json.dumps(then.as_dict()))) == then
    assert ONLINE.validate_python([json.loads(json.dumps(tested.as_dict()))]) == (tested,)


def test_what_a_later_version_wrote_beside_them_does_not_matter() -> None:
    facts = offline().as_dict()
    facts["pairs"][0]["colour"] = "blue"
    assert OFFLINE.validate_python(facts) == offline()


def test_the_same_numbers_have_not_changed() -> None:
    assert offline_changes(offline(), offline()) == []
    assert online_changes(online(), online()) == []


def test_a_number_that_was_summed_in_another_order_has_not_changed() -> None:
    """It differs by 2.4e-7 of its value; a change of 1e-5 is told."""
    then, changed = offline(), []
    for factor in (1 + 2.4e-7, 1 + 1e-5):
        now = replace(then, pairs=(difference("better", difference=0.02 * factor),))
        changed.append(offline_changes(then, now))
    assert [len(changes) for changes in changed] == [0, 1]


def test_an_interval_at_another_level_has_not_changed() -> None:
    """An older release may have given it another level; the words for then and now would be the same."""
    now = replace(offline(), pairs=(difference("better", low=0.001, high=0.039),))
    assert offline_changes(offline(), now) == []


def test_changed_numbers_are_told_then_and_now() -> None:
    now = Offline(
        SUBJECT, "tie", "ALS and Popular are a tie", (), "",
        (difference("tie", value=0.201, difference=0.001),), (), (rail(),),
    )  # fmt: skip
    assert offline_changes(offline(slices=()), now) == [
        Changed("Recommendation", "Ship ALS", "ALS and Popular are a tie"),
        Changed("ALS: nDCG@10", "0.220 (+0.0200, n = 1,000, better)", "0.201 (+0.00100, n = 1,000, tie)"),
    ]


def test_a_test_that_is_counted_otherwise_is_told() -> None:
    now = online(lift("not settled", value=10.1, lift=0.01), p=0.0001)
    assert online_changes(online(), now) == [
        Changed("Split of users", "even, no planned split is given", "broken"),
        Changed("Watch time", "11.0 (+10.0 %, better)", "10.1 (+1.00 %, inconclusive)"),
        Changed("Sessions per user", "11.0 (+10.0 %, holds)", "no longer counted"),
    ]


# ── a variant without a run ──────────────────────────────────────────────────────────────────

VARIANT = Subject(None, None, "ndcg", 10, variant=Variant(Named("t", "home page"), "new"))
STEADY = Novelty("Watch time", 0.11, 0.09, 0.4)


def of_test(
    *lifts: Lift, planned: int | None = 800, novelty: Novelty | None = STEADY, **other: Any
) -> Online:
    rules = {"planned_users": planned} if planned else {}
    return replace(online(*lifts, **other), subject=VARIANT, rules=rules, novelty=novelty)


def test_the_planned_size_also_counts_users_whom_the_metric_leaves_out() -> None:
    """The metric has 400 + 410 of the 500 + 510 users of both; the third variant's users do not count."""
    users = {"control": 500, "new": 510, "other": 900}
    test = replace(of_test(lift("better"), planned=1_000), users=users, control="control", variant="new")
    assert of_variant(SIZE, test) == ("holds", "1,010 users; 1,000 were planned.")


def of_variant(name: str, *evidence: Online) -> tuple[str, str]:
    found = next(one for one in checklist(None, evidence, "variant") if one.name == name)
    return found.state, found.reason


def test_the_checklist_of_a_variant_asks_only_for_the_test() -> None:
    names = ["Lift", "Online guardrails", "Split of users", "Sample size", "Novelty effect"]
    items = checklist(None, [of_test()], "variant")
    assert [(one.name, one.state) for one in items] == [(name, "holds") for name in names]
    assert all(one.question for one in items)
    assert {one.reason for one in checklist(None, [], "variant")} == {NO_TEST}
    assert shortcomings(checklist(None, [of_test(lift("better"))], "variant")) == (
        "guardrails of the A/B test are not known yet"
    )


CHANGE = "Watch time online: +10.0 % (95 % CI +5.0 to +15.0 %), n = 410 / 400"
SIZE = "Sample size"
EARLY = "810 of 2,000 planned users"
FADED = "Novelty effect: the lift in watch time fades for the same users: +9 % at first, +1 % later"


@pytest.mark.parametrize(
    ("name", "evidence", "state", "reason"),
    [
        ("Lift", of_test(), "holds", f"{CHANGE}, better."),
        ("Lift", of_test(lift("not settled")), "not known yet", f"{CHANGE}, inconclusive."),
        (
            "Lift",
            of_test(lift("better"), lift("worse", title="Plays")),
            "fails",
            f"{CHANGE}, better. It lost plays.",
        ),
        ("Lift", of_test(lift("holds", "guardrail")), "not known yet", "The A/B test has no goal."),
        (
            "Online guardrails",
            of_test(lift("broken", "guardrail", "Visits")),
            "fails",
            "Visits lost more than the guardrail allows.",
        ),
        (
            "Online guardrails",
            of_test(lift("not settled", "guardrail", "Visits")),
            "not known yet",
            "Online visits is inconclusive.",
        ),
        ("Split of users", of_test(p=1e-5), "fails", BROKEN),
        (SIZE, of_test(), "holds", "810 users; 800 were planned."),
        (SIZE, of_test(planned=2000), "fails", f"{EARLY}: 1,190 are missing."),
        (
            SIZE,
            of_test(lift("better", is_always_valid=True), planned=2000),
            "holds",
            f"{EARLY}, but the result in watch time holds however often you look.",
        ),
        (
            SIZE,
            of_test(planned=None),
            "not known yet",
            "No size was planned, so it is unknown whether the test was stopped early.",
        ),
        (
            "Novelty effect",
            of_test(),
            "holds",
            "The gain does not fade significantly: watch time +11.0 % at first, +9.0 % later.",
        ),
        ("Novelty effect", of_test(novelty=replace(STEADY, warning=FADED)), "fails", f"{FADED}."),
        (
            "Novelty effect",
            of_test(novelty=Novelty("Watch time", 0.2, 0.02, 0.002)),
            "not known yet",
            "The gain may fade: watch time +20.0 % at first, +2.0 % later.",
        ),
        (
            "Novelty effect",
            of_test(lift("better", direction="down"), novelty=Novelty("Watch time", -0.2, -0.02, 0.002)),
            "not known yet",
            "The gain may fade: watch time −20.0 % at first, −2.0 % later.",
        ),
        (
            "Novelty effect",
            of_test(novelty=Novelty("Watch time", 0.02, 0.09, 0.004)),
            "holds",
            "The gain does not fade: watch time +2.00 % at first, +9.00 % later.",
        ),
        (
            "Novelty effect",
            of_test(novelty=Novelty("Watch time", -0.02, -0.09, 0.004)),
            "not known yet",
            "There is no gain that could fade: watch time −2.00 % at first, −9.00 % later.",
        ),
        (
            "Novelty effect",
            of_test(novelty=Novelty(note="it takes data of several days")),
            "not known yet",
            "No novelty effect could be measured: it takes data of several days.",
        ),
    ],
)
def test_each_check_of_a_variant_says_what_it_found(
    name: str, evidence: Online, state: str, reason: str
) -> None:
    assert of_variant(name, evidence) == (state, reason)


def test_the_novelty_effect_is_read_as_it_was_written() -> None:
    assert ONLINE.validate_python((of_test().as_dict(),)) == (of_test(),)
    assert "novelty" not in online().as_dict()
