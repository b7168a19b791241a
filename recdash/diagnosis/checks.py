"""The twelve checks in order; checks of the test's validity come first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recdash.diagnosis import behaviour, exposure, offline, validity
from recdash.diagnosis.answer import CheckAnswer
from recdash.diagnosis.evidence import Evidence


@dataclass(frozen=True)
class Check:
    """One check: its ``name`` in files and programs, its ``title`` in tables, and its ``question`` in full.

    ``cause`` names what the check looks for, as part of a sentence ("most likely because of …"). ``advice``
    says what to do if the answer is *supports*. ``ask`` computes the answer.
    """

    name: str
    title: str
    question: str
    cause: str
    advice: str
    ask: Callable[[Evidence], CheckAnswer]


CHECKS: tuple[Check, ...] = (
    Check(
        "noise", "Noise", "Could chance alone explain the difference between offline and online?", "chance",
        "Run the test longer before you interpret the difference; A/B results says how many more "
        "users it needs.", validity.noise,
    ),
    Check(
        "split", "Split of users", "Were users assigned to variants as planned?", "a broken split of users",
        "Find out where users are lost or change variants, fix it, and run the test again. Do "
        "not decide by this test.", validity.split,
    ),
    Check(
        "popularity", "Popularity", "Does the offline gain come from the most popular items of training?",
        "popular items",
        "Compare the runs on the tail (Segments, popularity of the item), and consider novelty and "
        "coverage in addition to accuracy.", offline.popularity,
    ),
    Check(
        "leakage", "Temporal leakage", "Could candidates learn from the test period?", "temporal leakage",
        "Split at one point in time for all users: training data before it, test set after it. Then "
        "train and score again.", offline.leakage,
    ),
    Check(
        "users", "Users", "Were the users in the A/B test evaluated offline?", "different users",
        "Keep new users in the test set, in the same share as online.",
        offline.users,
    ),
    Check(
        "exposure", "Unexposed items",
        "Could users have interacted with the recommended items before the test?", "unexposed items",
        "Show some of these items at random first, or use an off-policy estimate from logged propensities.",
        exposure.exposure,
    ),
    Check(
        "position", "Position bias", "Is the gain at positions that users saw?", "position bias",
        "Score at k = the number of positions shown, by a metric that weights the top most.",
        exposure.position,
    ),
    Check(
        "served", "Served ≠ evaluated", "Were the evaluated lists the ones served?",
        "lists served that were not evaluated",
        "Score the lists as served, including fallbacks and business rules.", exposure.served,
    ),
    Check(
        "novelty", "Novelty", "Does the effect change with the days since users first saw it?",
        "a novelty effect",
        "Run the test until the lift by days since exposure is stable, and judge by the late part.",
        behaviour.novelty,
    ),
    Check(
        "labels", "Label definition", "Does success offline mean the same as success online?",
        "what counts as relevant offline",
        "Set the relevance threshold of the experiment to the online definition, and choose by that.",
        offline.labels,
    ),
    Check(
        "sessions", "Sessions per user", "Did users come more or less often?",
        "a change in sessions per user",
        "Judge by the number per user, too, and not only by the rate per session.",
        behaviour.sessions,
    ),
    Check(
        "segments", "Segments", "Does the result hold in all segments?", "segments that disagree",
        ("Examine the segments one by one, and repeat the test where they disagree before you decide "
        "for all."),
        behaviour.segments,
    ),
)  # fmt: skip


def ask_all(evidence: Evidence) -> tuple[CheckAnswer, ...]:
    """Returns the answers of all checks, in their order. If the split of users is broken, no check uses a
    lift of the test.
    """
    valid = validity.with_valid_lifts(evidence)
    return tuple(check.ask(valid) for check in CHECKS)
