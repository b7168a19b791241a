"""Guide articles on A/B tests: the terms of the page A/B results."""

from __future__ import annotations

from recdash.ui.guide.reading import Article

ONLINE: tuple[Article, ...] = (
    Article(
        "srm",
        "Split of users: sample ratio mismatch (SRM)",
        """
A test assigns each user to a variant at random, in planned shares. The **SRM** check tests whether the actual
numbers of users fit those shares, with a χ² test over all variants at once. Of 10,000 users planned half and
half, 5,080 and 4,920 are normal (p = 0.11); 5,200 and 4,800 would happen once in 16,000 tests.

Below p = 0.001 **no metric is judged**: the missing users may be those who did not like the variant, and no
statistics can correct for that. Usual causes: a redirect that fails, logging that breaks in one variant, bots
that only one of them attracts, a filter after the assignment. If the split was planned otherwise, set it in
the rules.

For aggregated data, the split is checked by the column *n*, the users, for rates too. Trials are not users,
and do not show the split.
""",
    ),
    Article(
        "small",
        "Small tests: when there is an interval",
        """
An interval is shown only where its method is valid. The usual one (delta method, Welch's *t*) needs 10 users
of each variant and a relative standard error of its value of at most 30 %; before that a note says how many
users are needed. A rate of users with few successes, or few failures, has the score interval of Miettinen and
Nurminen instead, and Fisher's exact *p*: 0 of 20 against 5 of 20 is a loss of 30 to 100 %, *p* = 0.047. A
control of zero has no lift, since a lift is relative to it. In tests without any effect each direction is
found in at most about 2.5 of 100, for 2 to 200 users and splits to 99 to 1 (docs/calibration-online.md).
""",
    ),
    Article(
        "guardrail",
        "Goals, guardrails and the margin",
        """
A **goal** is what the test should improve: it is *better*, *worse* or *inconclusive*. All goals of all
variants are one family, corrected together.

A **guardrail** must not get worse. It has a **margin**, the smallest loss that would matter, and the question
is reversed: is a loss as large as the margin excluded?

| the 95 % interval of the lift, margin 2 % | word |
|---|---|
| −1.2 to +0.9 %: a loss of 2 % is excluded | holds |
| −3.1 to +0.4 %: a loss of 2 % is possible | inconclusive |
| −4.0 to −2.3 %: the loss exceeds 2 % | broken |

So a guardrail with few users is *inconclusive* rather than safe, and one with very many users may hold
despite a significant loss that is too small to matter. For a metric of which less is better, the margin is on
the other side of zero.
""",
    ),
    Article(
        "cuped",
        "CUPED: adjusting for pre-test behaviour",
        """
Users differ far more from each other than a variant changes them. **CUPED** subtracts from each user's value
what the user's pre-test behaviour predicts, and compares the rest. Random assignment makes the variants alike
before the test, so that the lift stays unbiased while its interval gets narrower: 30 % narrower is worth as
much as twice the users.

It is used if sessions before the exposure (or before the *first day of the test*) were uploaded, for each
metric with pre-test values, if it makes the interval narrower; otherwise the lift is unadjusted, and a note
says so. The unadjusted lift is in the tooltip and in the table. Lifts over days and in segments are
unadjusted.
""",
    ),
    Article(
        "peeking",
        "Continuous monitoring: the always-valid interval",
        """
A 95 % interval is wrong in one of twenty tests if it is checked **once**, on a day fixed in advance. Checking
it every day and stopping as soon as it excludes zero is wrong far more often: with fourteen checks, in 22 of
100 tests without a difference.

An **always-valid interval** (a confidence sequence; Waudby-Smith and others 2024) holds over all days at
once: the true lift is inside on every day in at least 95 of 100 tests. It is wider in return. It is
asymptotic, and invalid for few users: shown from the first users on it excludes zero at some time in up to 41
of 100 tests without an effect at a split of 90 to 10, in up to 90 of 100 at 99 to 1
(docs/calibration-online.md). So it is shown from 200 users of each variant on, once the relative standard
error of each value is at most 10 %; before, a note says how many users are needed. If a variant has less than
half the users of the other, its variance is assumed to be at least the other's. So:

- to check once, at the planned end: use the thick interval;
- to monitor continuously and stop early: act only when the thin interval excludes zero.
""",
    ),
    Article(
        "winsorising",
        "Outlier capping (winsorising)",
        """
A few users who watch all day can dominate a mean. *Winsorising at 0.99* sets the totals of the top hundredth
of the users to the total at which that hundredth begins, in all variants alike. Intervals get narrower and
values smaller: they are no longer means of what users actually did. Capping is off by default and, like all
rules, should be part of the plan: changing rules after seeing results inflates false positives.
""",
    ),
    Article(
        "novelty",
        "Novelty effect: does a lift wear off?",
        """
People try what is new. A lift that comes from curiosity is large on a user's first days and gone later, and a
test of one week sees little else. *Since the exposure* shows the lift by days since each user first saw the
variant, and tests whether it is smaller late than early for the **same users**, so that users who came late
do not distort it. A lift *fades*, above or below zero, if less of it is left; otherwise it *rises* or
*falls*. The test's health warns only of a gain that fades or reverses.
""",
    ),
)
