"""The guide's prose on A/B tests: the words of the page A/B results."""

from __future__ import annotations

from recdash.ui.guide.reading import Article

ONLINE: tuple[Article, ...] = (
    Article(
        "srm",
        "Split of users: sample ratio mismatch (SRM)",
        """
A test sends each user to a variant by chance, in planned shares. **SRM** asks whether the users that
arrived fit those shares, with a χ² test over all variants at once. Of 10,000 users planned half and half,
5,080 and 4,920 are nothing special (p = 0.11); 5,200 and 4,800 would happen once in 16,000 tests.

Below p = 0.001 **nothing is judged**: whoever lost the missing users may have lost those who did not like
the variant, and no statistics can bring them back. Usual causes: a redirect that fails, logging that breaks
in one variant, bots that only one of them attracts, a filter after the assignment. If the split was planned
otherwise, say so among the rules.

Of a table that is added up, the split is checked by its column *n*, the users, for rates too. Trials are not
users, and say nothing of the split.
""",
    ),
    Article(
        "small",
        "Small tests: when there is an interval",
        """
An interval is shown only where its method is valid. The usual one (delta method, Welch's *t*) takes 10 users
of each variant, who differ so little that its value is known to a relative standard error of 30 %; before
that a note says how many users it takes. A rate of users with few successes, or few failures, has the score
interval of Miettinen and Nurminen instead, and Fisher's exact *p*: 0 of 20 against 5 of 20 is a loss of 30 to
100 %, *p* = 0.047. A control of zero has no lift, since a lift is a share of it. Of tests without any effect
each direction is claimed in about 2.5 of 100 at most, for 2 to 200 users and splits to 99 to 1
(docs/calibration-online.md).
""",
    ),
    Article(
        "guardrail",
        "Goals, guardrails and the margin",
        """
A **goal** is what the test is meant to move: it is *better*, *worse* or *not settled*. All goals of all
variants are one family, corrected together.

A **guardrail** must not get worse. It has a **margin**, the smallest loss that would matter, and asks the
question the other way round: is a loss as large as the margin excluded?

| the 95 % interval of the lift, margin 2 % | word |
|---|---|
| −1.2 to +0.9 %: no loss of 2 % is in it | holds |
| −3.1 to +0.4 %: it may be lost, or not | not settled |
| −4.0 to −2.3 %: all of it is beyond | broken |

So a guardrail with few users is *not settled* rather than safe, and one with very many may hold in spite of
a loss that is certain but too small to matter. For a metric of which less is better, the margin lies on the
other side of zero.
""",
    ),
    Article(
        "cuped",
        "CUPED: what users did before",
        """
Users differ far more from each other than a variant moves them. **CUPED** takes from each user's value what
was to be expected from the same user before the test, and compares the rest. Chance keeps the variants alike
in that time, so that the lift stays true while its interval gets narrower: 30 % narrower is worth as
much as twice the users.

It is used where sessions before the exposure (or before the *first day of the test*) were uploaded, for
each metric that can be counted in that time, if the interval gets narrower by it; else the lift is the plain
one, and a note says so. The plain lift is in the hover text and in the table. Lifts over days and in segments
are plain.
""",
    ),
    Article(
        "peeking",
        "Looking every day: the confidence sequence",
        """
A 95 % interval is wrong in one of twenty tests, if it is looked at **once**, on a day that was fixed. Who
looks every day and stops as soon as it excludes zero is wrong far more often: with fourteen looks in 22 of
100 tests in which nothing differs.

A **confidence sequence** (Waudby-Smith and others 2024) holds over all days at once: the true lift is inside
on every day in at least 95 of 100 tests. It pays for that with width. It is asymptotic, and untrue of few
users: shown from the first users on it leaves out zero at some time in up to 41 of 100 tests without an
effect at a split of 90 to 10, in up to 90 of 100 at 99 to 1 (docs/calibration-online.md). So it is shown from
200 users of each variant on, once the value of each is known to a relative standard error of 10 %; before,
a note says how many users that takes. Where a variant has less than half the users of the other, they are
taken to differ at least as much as the other's. So:

- look once, at the planned end: judge by the thick interval;
- look every day, to stop a disaster or an early winner: act only when the thin interval excludes zero.
""",
    ),
    Article(
        "winsorising",
        "Winsorising: cutting the largest totals",
        """
A few users who watch all day can decide a mean. *Winsorising at 0.99* sets the totals of the top hundredth
of the users to the total at which that hundredth begins, in all variants alike. Intervals get narrower, and
every value smaller: it is no longer the mean over what users really did. It is off unless the rules of the
test say otherwise, and belongs, as all rules do, to the plan: who tries cuts until a lift is significant
finds one by chance.
""",
    ),
    Article(
        "novelty",
        "Novelty: does a lift fade?",
        """
People try what is new. A lift that comes from curiosity is large on a user's first days and gone later, and
a test of one week sees little else. *Since the exposure* sets the lift by the days since each user saw the
variant first, and asks whether the **same users** have less of it late than early. The same users, since
otherwise those who came late would only be mixed in. A lift *fades*, above or below zero, where less of it
is left; else it *rises* or *falls*. The test's health warns of a gain only: one that fades, or turns against
the variant.
""",
    ),
)
