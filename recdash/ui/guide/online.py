"""Articles of the guide on A/B tests: the terms on the Online pages."""

from __future__ import annotations

from recdash.online.metrics import METRICS, SERVED_METRICS
from recdash.ui.guide.reading import Article

METRIC_ROWS = "\n".join(
    f"| **{metric.title}** | {metric.meaning} |" for metric in (*METRICS, *SERVED_METRICS)
)

ONLINE: tuple[Article, ...] = (
    Article(
        "online-metrics",
        "Metrics of an A/B test: control, variant and lift",
        f"""
| metric | meaning |
|---|---|
{METRIC_ROWS}

**Control** is the variant that users get without the test, and each other **variant** is compared with it.
The **lift** of a variant is its change in % of control's value: an engagement rate of 0.42 against 0.40 is a
lift of +5 %. Number columns of your own files become metrics too. *Metric definitions* under *Online* shows
those of a test with their formulas.
""",
    ),
    Article(
        "guardrail",
        "Goals, guardrails and the margin",
        """
A metric's role is goal, guardrail or none. A **goal** is a metric that the test should improve: its result is
*better*, *worse* or *inconclusive*. All goals of all variants are one family, corrected together.

A **guardrail** is a metric that must not get worse. Its **margin** is the smallest loss that would matter.
The guardrail holds if the interval rules out a loss beyond the margin:

| the 95 % interval of the lift, margin 2 % | result |
|---|---|
| −1.2 to +0.9 %: rules out a loss of 2 % | holds |
| −3.1 to +0.4 %: a loss of 2 % is possible | inconclusive |
| −4.0 to −2.3 %: the loss exceeds 2 % | broken |

A guardrail with few users is therefore *inconclusive*, not safe: *a drop of 2 % is not ruled out*. One with
very many users may hold despite a significant loss that is too small to matter. For a metric where lower is
better, the signs are reversed.
""",
    ),
    Article(
        "metric-library",
        "The metric library, and the kinds of metrics",
        """
Each column of numbers of an A/B test is a metric: a rate if each user has 0 or 1, else a mean per user. Other
metrics are defined once for all tests, under *Settings: Metric library* or by `recdash metrics`. A new test
that has their columns is also counted by them; stored tests keep theirs. *Add data* offers them.

| kind | meaning | example |
|---|---|---|
| Rate or mean per user | the sum of a column, per user; also capped, or within hours of exposure | orders |
| Ratio | the sum of one column divided by that of another | revenue / orders |
| Retention | share of users who did anything on that day after their exposure | back after a week |
| Quantile | a quantile of a column over the rows that have a value | p95 of load times |

A **quantile** is compared by the share of rows up to a common value, with users as the unit: rows of one user
are not independent. It needs 30 independent rows beyond the quantile in each variant: for the 95th percentile
600 users per variant with one row each, also on a single day and in a segment. There is no always-valid
interval.

**Activation** limits a test to users who reached what it changes, such as its page. The split of these users
is checked again: a variant that changes who reaches the page makes them incomparable.
""",
    ),
    Article(
        "api-tokens",
        "API tokens, for programs",
        """
A program, such as a training job, reads results and stores runs over HTTP: `recdash push`, `recdash.connect`,
or the addresses that `/api/v1/docs` of this dashboard lists. It sends a token, which an admin creates under
*Settings: API tokens* or by `recdash tokens`. A token has the rights of a role until it expires or is
revoked, also if its author loses theirs. The store keeps a hash of it, and when it was last used.
""",
    ),
    Article(
        "srm",
        "Sample ratio mismatch (SRM)",
        """
An A/B test assigns each user to a variant at random, in planned shares. The **SRM** check tests whether the
observed numbers of users fit those shares (χ² test over all variants). With 10,000 users planned half and
half, 5,080 and 4,920 are normal (p = 0.11); 5,200 and 4,800 would occur in one of 16,000 tests.

Below p = 0.001 **no metric is judged**: the missing users may be those who did not like the variant, and no
statistics can correct for that. Usual causes are a failing redirect, broken logging in one variant, bots
that only one variant attracts, and filters after the assignment. If you planned another split, set it in
the rules.

For aggregated data the check uses the column *n*, the number of users; add it for rates too. Trials are not
users and do not show the split.
""",
    ),
    Article(
        "test-health",
        "Test health: counting rules and excluded data",
        """
Checks that the data of a test can be trusted, besides the split (SRM) and the novelty effect:

- **Other tests**: how many users are also in another test of this store on the same days, and whether its
  variants are balanced over those of this test (p of a chi-square test). If they are, it biases no lift.
- **Multiple exposures**: users who saw several variants. They are excluded, since no variant alone can
  explain what they did. Above 1 % the page warns: the assignment may not be stable.
- **Bots**: users with more clicks or sessions per day than the counting rules allow. They are excluded. The
  page warns if one variant has clearly more of them.
- **Exposed, no session**: users who were assigned to a variant and never came. They are included with zeros.
- **Days**: a test should run for full weeks, because weekends differ from other days.

**Counting rules** are the settings of a test that apply to every variant alike, such as the bot filter.
*Excluded data* counts the rows and users that they leave out of each variant.
""",
    ),
    Article(
        "sample-size",
        "Sample size and the minimum detectable effect",
        """
The **minimum detectable effect** (MDE) is the smallest true lift that a test of this size finds in four of
five cases (80 % power, two-sided α = 5 %), at the split and variance observed. Half the effect needs about
four times the users.

*More users to detect +2 %* says how many users are still missing for a lift of this size. Plan the number of
users before the test starts: stopping as soon as a lift is significant finds too many.
""",
    ),
    Article(
        "analysis-plan",
        "The analysis plan",
        """
What is decided before a test has data: the primary metric, guardrails with their margins, the minimum
detectable effect (MDE) and its power, the users and days that follow, the split, how often results are
looked at, and the values before the test by which lifts are adjusted. A choice made after seeing results
finds effects that are not there.

**Users** are those of control and variant together; **days** are full weeks. Both are computed from what the
primary metric is before the test: a share of users, or mean and standard deviation, and the users per day.
These are typed, or read from the control of a stored A/B test or of a file. A table of users without variants
does, too.

The decision on a test follows a plan that was made before its first day. Until the planned users and days are
reached, only the always-valid CI counts; then the usual one does. A plan that was made later is shown, but
decides nothing. Each change of a plan is kept with person, time and reason. Results and reports say what
differs from the plan: another primary metric or margin, an early end, another split, more looks than planned,
and each change that was made when the test had data.

A plan is for the tests whose names begin with the name in it, or for those that are stored after it. Several
uploads of a test are so many looks at it.
""",
    ),
    Article(
        "peeking",
        "Continuous monitoring: the always-valid CI",
        """
A 95 % interval is wrong in one of twenty tests if you check it **once**, on a day fixed in advance. If you
check it every day and stop as soon as it excludes zero, it is wrong far more often: with fourteen checks, in
22 of 100 tests without any effect.

An **always-valid CI** (a confidence sequence; Waudby-Smith and others 2024) holds over all days at once: in
at least 95 of 100 tests it contains the true lift on every day. In return it is wider. So:

- to check once, at the planned end, use the thick interval;
- to monitor continuously and stop early, act only when the thin interval excludes zero.

The always-valid CI is asymptotic and invalid for few users. If it were shown from the first users on, it
would exclude zero at some time in up to 41 of 100 tests without an effect at a split of 90 to 10, and in up
to 90 of 100 at 99 to 1 (docs/calibration-online.md). It is therefore shown from 200 users per variant on,
once the relative standard error of each mean is at most 10 %. Until then a note says how many users are
needed. If a variant has less than half the users of the other, its variance is taken to be at least the
other's.
""",
    ),
    Article(
        "chance-to-win",
        "Chance to win and expected loss",
        """
An option beside *p*, off by default. The **chance to win** is the probability that a variant is better
than the control, given the data and a prior; for a metric of which less is better, that it is lower. The
**expected loss** says what shipping the variant loses on average, where all cases in which it is better
count as 0: a variant with a small expected loss is a safe choice even if it is not significant. The
expected loss of not shipping is what the control forgoes.

The lift has a normal **prior**: flat, by which every lift is as likely as any other, or with mean 0 and
standard deviation 30 %, by which lifts beyond ±60 % are unlikely before the data. The data count by the
lift and its standard error (delta method, after CUPED where that adjusts the lift). This is GrowthBook's
Bayesian engine, and gives its numbers. A lift whose interval is withheld has no chance to win, and nor has
one with too few successes for a normal posterior.

With a flat prior, a chance of 97.5 % is *p* = 0.05 told in another way. It is corrected neither for several
metrics and variants nor for repeated looks, so the findings and the decision do not follow from it.
""",
    ),
    Article(
        "small",
        "Small tests: when an interval is shown",
        """
*p* and the intervals of the lift and of the absolute difference come from one test, so they never disagree.
With skewed values (fewer users than 355 times the squared skewness), that is a **permutation test**: it asks
how often users who are split at random differ as much. It is valid for heavy tails and for uneven splits,
from 10 users per variant on; below, a note says how many are needed. With more users it is Welch's *t*, with
Fieller's interval of the lift.

A rate uses the score test and the score interval of Miettinen and Nurminen; with few successes or few
failures, *p* is Fisher's: 0 of 20 against 5 of 20 is a loss of 30 to 100 %, *p* = 0.047. A lift is relative
to control, so a control of zero has none; then the absolute difference is judged.

A lift on one day or in one segment comes from the same tests, of the users of that day or segment and without
CUPED; with too few users it has no interval, and a note says how many are needed.

Aggregated data, and tests stored by earlier versions, use means and variances only. They need 10 users per
variant and a relative standard error of each mean of at most 30 % (docs/calibration-online.md).
""",
    ),
    Article(
        "cuped",
        "CUPED: adjusting for pre-test behaviour",
        """
Users differ far more from each other than a variant changes them. **CUPED** predicts each user's value from
the user's pre-test behaviour, subtracts the prediction, and compares the rest. Random assignment makes the
variants alike before the test, so the lift stays unbiased and its interval gets narrower. An interval that
is 30 % narrower is worth twice the users.

CUPED needs sessions before the exposure (or before the *first day of the test*). It is used for each metric
with pre-test values if they explain enough of it to make the interval narrower; otherwise the lift is
unadjusted and a note says so. The unadjusted lift is in the tooltip and in the table. Lifts over days and in
segments are not adjusted.
""",
    ),
    Article(
        "winsorising",
        "Outlier capping (winsorising)",
        """
A few users who watch all day can dominate a mean. *Winsorising at 0.99* replaces all user totals above the
99th percentile by that percentile, in all variants alike. Intervals get narrower and means lower: they no
longer describe exactly what users did. Capping is off by default. Like all rules it should be part of the
plan: changing rules after seeing results inflates false positives.
""",
    ),
    Article(
        "novelty-effect",
        "Novelty effect: does a lift wear off?",
        """
People try what is new. A lift that comes from curiosity is large on a user's first days and gone later, and
a test of one week sees little else. *By days since exposure* shows the lift by the time since each user
first saw the variant. It tests whether the lift is smaller late than early for the **same users**, so users
who join late do not distort it. A lift *fades* if less of it is left, above or below zero; otherwise it
*rises* or *falls*. Test health warns only if a gain fades or reverses.
""",
    ),
    Article(
        "interleaving",
        "Interleaving: which of two rankings do users prefer?",
        """
An interleaving test shows the items of two rankings in one list, so that the same user chooses between them.
It needs fewer users than an A/B test of the same pair, but measures no more than clicks: no watch time,
sessions or revenue.

- **Team draft:** in each round a fair coin decides which ranking adds its best item first, and the other
  one follows. A click is a credit for the ranking that added the item; items of both have no team.
- **Balanced:** both rankings are merged from the top. All clicked items are in the first *k* of a ranking,
  and each ranking is credited with the clicks among its own first *k* items.

A request is **won** by the ranking with more credit. The **preference** is the share of credited requests
that the candidate won, where a tie counts half: 50 % is no preference. Requests of one user are not
independent; p and interval therefore come from one test by user: without a preference, exchanging the two
rankings for any user would change nothing. There is no verdict with fewer than 20 users, or if a few users
have most clicks.

**First picks** and **slots** must be even between the rankings, as fair coins draw them. If they are not
(p < 0.0005 in either check), requests are drawn or logged differently for the two, and no preference is
judged.
""",
    ),
)
