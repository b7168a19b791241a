"""The twelve checks, in the order in which they are asked: what can be believed comes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recdash.diagnosis import behaviour, exposure, offline, validity
from recdash.diagnosis.answer import CheckAnswer
from recdash.diagnosis.evidence import Evidence


@dataclass(frozen=True)
class Check:
    """``name`` for programs, ``title`` in a table, ``question`` in full; ``advice``: what to do where the
    answer is *supports*.
    """

    name: str
    title: str
    question: str
    advice: str
    ask: Callable[[Evidence], CheckAnswer]


CHECKS: tuple[Check, ...] = (
    Check(
        "noise", "Noise", "Could chance alone have made the two sides differ?",
        "Run the test longer before you read anything into the difference; A/B results say how many more "
        "users it takes.", validity.noise,
    ),
    Check(
        "split", "Split of users", "Were the users divided fairly?",
        "Find out where users are lost or change the variant, fix that and run the test again. Draw no "
        "verdict from this one.", validity.split,
    ),
    Check(
        "popularity", "Popularity", "Does the offline gain sit in items that everybody knows?",
        "Compare the runs on the tail (Segments, popularity of the item), and judge by novelty and coverage "
        "beside accuracy.", offline.popularity,
    ),
    Check(
        "leakage", "Leakage in time", "Could candidates learn from the time that they were tested on?",
        "Split by one point in time for all users: train before it, truth after it; then train and score "
        "again.", offline.leakage,
    ),
    Check(
        "users", "Users", "Were the users who were served those who were evaluated?",
        "Evaluate on users as they come: keep new users in the truth, in the share they have online.",
        offline.users,
    ),
    Check(
        "exposure", "Never met before", "Could anybody have reacted offline to what it recommends?",
        "Show a little of it at random first, or use an off-policy estimate from logged propensities.",
        exposure.exposure,
    ),
    Check(
        "position", "Places", "Is the gain in places that people really had?",
        "Score at k = the places that are shown, by a metric that weighs the first of them most.",
        exposure.position,
    ),
    Check(
        "served", "Evaluated and served", "Was what people were served what was evaluated?",
        "Score the lists as they were served, fallbacks and business rules included.", exposure.served,
    ),
    Check(
        "novelty", "Novelty", "Does the effect change with the days since users first saw it?",
        "Run the test until the lift by days since exposure is level, and judge by the late part.",
        behaviour.novelty,
    ),
    Check(
        "labels", "What counts", "Does offline count as success what online counts as one?",
        "Set the relevance threshold of the experiment to what counts online, and choose by that.",
        offline.labels,
    ),
    Check(
        "sessions", "Sessions per user", "Did users come more or less often?",
        "Judge by a number per user, such as videos watched, beside the rate per session.",
        behaviour.sessions,
    ),
    Check(
        "segments", "Segments", "Is the result that of everybody?",
        "Look at the segments one by one, and repeat the test where they disagree before you decide for all.",
        behaviour.segments,
    ),
)  # fmt: skip


def ask_all(evidence: Evidence) -> tuple[CheckAnswer, ...]:
    """The answers of all checks, in their order."""
    return tuple(check.ask(evidence) for check in CHECKS)
