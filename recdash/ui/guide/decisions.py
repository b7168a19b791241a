"""Articles of the guide on deciding: the recommendation, decision rules, the verdict, reviews and
decisions.
"""

from __future__ import annotations

from recdash.ui.guide.reading import Article

RECOMMENDATION = Article(
    "recommendation",
    "How the recommendation is made",
    """
The recommendation compares every candidate with the baseline over all evidence in the experiment, and
names one action:

| recommendation | means |
|---|---|
| **Ship** X | X won its A/B test; or X is better offline without a risk, and no candidate was tested |
| **Run an A/B test** of X | X is better offline, but a test must confirm it |
| **Not enough data** | X is ahead offline, but the difference is not significant |
| **Keep** the baseline | no candidate has a gain to test, or the gain was lost online |
| **Cannot be compared** | the runs were scored on different test sets, users, thresholds or versions |

**The evidence.** Each candidate is judged against the baseline by:

1. **The primary metric** at the k of the decision rules: *better*, *worse*, a *tie* within the margin, or
   *inconclusive*. The test is corrected over all candidates (Holm).
2. **Folds or seeds**, if a candidate or the baseline has several: a difference must hold over users and over
   training runs.
3. **Other accuracy metrics and user segments**: is the candidate significantly worse in any of them? Segments
   with fewer than 30 users are left out.
4. **Guardrails**: does the gain cost more coverage, novelty, diversity or personalization than allowed, or
   raise Gini more?
5. **A/B tests** in which control served the baseline and a variant served the candidate.

**Online evidence outweighs offline evidence**, because a test measures what users did. So the first of these
rules that applies decides:

1. A candidate that won a goal of its A/B test, and lost no goal and broke no guardrail there, is **shipped**.
   If several won, the one with the largest lift in the first goal they share is named. What speaks against it
   offline, such as a broken guardrail, is shown as a risk.
2. If no candidate was tested, the best one that is better offline without any risk is **shipped**. The risk
   then reads *no A/B test has confirmed it yet*.
3. A candidate that is better offline is **tested** if it has no valid A/B result yet, if its test shows no
   significant lift and still lacks planned users, or if a risk speaks against it. If the second-best is not
   significantly behind, both are named.
4. If candidates are ahead without a significant difference, the answer is **not enough data**, with the
   number of users that would probably be enough.
5. Otherwise the baseline is **kept**, also if the best candidate's test reached its planned sample size
   without a significant lift: running it on until it is significant would find an effect by chance. A
   candidate that lost a goal or broke a guardrail in its A/B test is never shipped. If it also won a goal,
   the text says what it would be a trade-off between.

An A/B test whose control served another run than the baseline decides between that run and the variant: the
one that won is shipped or tested before the other. A candidate that lost such a test is not tested again
because it is better offline. If its control is not better than the baseline, the baseline is kept.
If the baseline was the variant, the test counts for the run of its control, the other way round: 25 % more
is 20 % less. If the variant won and lost, that test decides nothing for control.

A test that has a planned sample size and has not reached it counts only if its always-valid interval excludes
zero. A test with a sample ratio mismatch (SRM) has no valid result: *run the A/B test again*. No weaker
candidate takes the place of the one whose test was broken, unless it won a valid test. If you look at one
segment only, A/B tests are left out.

*What would change it* asks the same question at other k, by another metric or definition, with the other
population rule or relevance threshold, without guardrails, and in the segment that disagrees most.

If an experiment has A/B tests but no test set, the newest test decides: *Ship*, *Roll back*, *Keep running*,
*Inconclusive* or *Check the split*. Without a planned sample size, a gain that continuous monitoring does not
confirm is *Ship if this size was planned*. Without a goal, or with a broken split (SRM), nothing is decided.

An **approved decision** stands above the recommendation, which then says whether the evidence still agrees.
""",
)

RULES_OF_DECISION = Article(
    "decision-rules",
    "Baseline and decision rules",
    """
Each experiment has its own decision rules, under *Settings*. Pages, reports and the command line
(`recdash settings`) use the same ones. The pages can be opened with another baseline, metric or k without
changing the rules.

| rule | means | default |
|---|---|---|
| Baseline | the run that each candidate is compared with: best what users get today | see below |
| Primary metric | the metric that decides offline | nDCG, or RMSE for rating predictions |
| k | the cutoff at which it decides | 10, or the depth of the lists |
| Margin | smaller differences do not matter: `1%` of the baseline's value, or `0.002` of the metric | 1 % |
| Guardrails | how much of the baseline's value a gain may cost | *Usual*: 20 % |
| Owner | the person who answers for the decision | – |
| Two people | who proposes a candidate does not decide its review, and *Ship* needs a review | off |

**Baseline.** If you choose none, it is the run that an A/B test's control served; else a run whose name says
*production*, *control*, *current* or *popular*; else the reference *Most popular*; else the run added first.

**Margin.** A difference whose whole interval lies within the margin is a *tie*.

**Guardrails** limit coverage, novelty, diversity and personalization, which may not fall too far, and Gini,
which may not rise too far. Each has its own share; an empty box means no guardrail. The presets set all five:

| preset | each metric may lose |
|---|---|
| Strict | 10 % |
| Usual | 20 % |
| None | any amount |

A guardrail is broken if the change in these lists exceeds its share. Settings shows beside each guardrail by
how much it changes today, and what each preset would recommend.

Goals and guardrails of an **A/B test** are set in the test itself, under *Online*. The relevance threshold
and the depth of the lists are fixed when the experiment is created, since every score depends on them.
""",
)

VERDICT = Article(
    "verdict",
    "The offline verdict",
    """
The offline verdict is one part of the evidence for a recommendation. It says what the offline numbers alone
say about one candidate, by the metric and k at the top of the page.

| verdict | means |
|---|---|
| Ship | the candidate is better, and nothing speaks against it; if all are worse, keep the baseline |
| Tie | the difference lies within the margin |
| Trade-off | the candidate is better, but worse by another metric or in a segment, or it breaks a guardrail |
| Not enough evidence | the interval includes zero and exceeds the margin, or folds or seeds disagree |
| Not comparable | another test set, other users, another threshold or definition, or no user in common |

**Guardrails.** A guardrail is broken if the change in these lists exceeds its share. Its 95 % interval shows
how much the change would vary with other users of the same kind (jackknife over users, from 10 lists on). If
the interval and the lists disagree about the guardrail, the verdict says so.

**Predicted ratings** are compared by RMSE, MAE or R², over the rows that both candidates predict. The rows of
a user are not independent, so users are compared. Lower RMSE and MAE are better.

**“About 1,900 more users”** is the number of users that would give a significant result with 80 %
probability, if the difference is as large as measured. It assumes that another training run would not change
the difference.
""",
)

DECIDING: tuple[Article, ...] = (
    RECOMMENDATION,
    RULES_OF_DECISION,
    VERDICT,
    Article(
        "review",
        "The review of a candidate",
        """
*Proposed* → *offline evidence* → *online evidence* → *approved* or *rejected*.

A review starts when its author proposes a candidate, with a baseline, a metric and k. Evidence is then
attached to it:

- **Offline evidence** is the verdict with every pair, guardrail and segment.
- **Online evidence** is the result of an A/B test in which a variant served the candidate.

Where no run is stored, a **variant of an A/B test** is proposed in place of the control. Its evidence is the
result of that test, so it goes from *proposed* to *online evidence*.

Evidence is stored as it is when attached. If you attach it again, the newer evidence counts, and the older
stays in the history.

The decision *Ship* approves the candidate, *Don't ship* rejects it. After *Needs A/B* and *Inconclusive* the
review stays open.
""",
    ),
    Article(
        "checklist",
        "The checklist of a review",
        """
| item | passes if |
|---|---|
| Gain over the baseline | better than the baseline offline; online, a goal won and none lost |
| Guardrails | no guardrail is broken offline, and all hold online |
| Split of users in the A/B test | no attached A/B test has a sample ratio mismatch (SRM) |
| Segments of users | the candidate is worse in no segment of users |
| Agreement of offline and online | offline and online agree, or a check explains the difference |

A variant without a run has the checklist of its A/B test:

| item | passes if |
|---|---|
| Lift over the control | a goal is won and none is lost |
| Guardrails of the A/B test | all hold |
| Split of users in the A/B test | the test has no sample ratio mismatch (SRM) |
| Sample size | the planned size is reached, or the always-valid interval confirms all significant goals |
| Novelty effect | no gain fades with the days since exposure |

Each item **holds**, **fails**, or is **not known yet**. Without a test, or with an inconclusive test, an item
is not known yet. You can approve a candidate whose checklist has failures; the decision then says *approved
although*, with your reason.

If Settings ask for **two people**, the person who proposed a candidate cannot decide its review, only
withdraw the proposal (*Reject*), and *Ship* without a review is refused. Names are verified only if people
sign in. Only an admin changes the setting; the audit log then says who did.
""",
    ),
    Article(
        "decision",
        "Decisions and their recorded numbers",
        """
A decision records its author, its reasons, every number behind it, the definition of each metric, and where
the numbers came from. **A decision cannot be edited.** To change one, make a new decision: it replaces the
old one, which stays in the list and is marked *replaced*.

If the run or the A/B test of a decision was deleted, the decision that replaces it has no numbers, and is any
but *Ship*. A variant that was linked to a run is decided as that run.

Runs may be renamed or deleted later, and A/B tests may be analysed by other rules. A decision keeps the names
and numbers of its time, and shows what has changed since.

Every change adds a line to the **audit log**. `recdash verify` compares all stored rows with the log, all
files with their hashes, and a sample of numbers with the uploads. It names each row that was changed, added
or removed outside recdash.
""",
    ),
    Article(
        "reports",
        "Reports: live or snapshot",
        """
A report begins with the decision, or with the recommendation if there is none yet. Then come the reasons, the
risks and one chart. Tables, definitions and provenance follow in the appendix.

- A **snapshot** keeps the numbers of the day on which it was made.
- A **live** report shows the numbers of the day on which it is opened.

You can download a report as a file that opens without recdash, or share it by a read-only link.
`recdash reproduce` recomputes the numbers of a snapshot from the uploaded files, and says whether they match.
After `recdash purge --user` has deleted data of a user, an older report can still be read, but not confirmed.
The command says when the data were deleted, and which numbers differ without the user.

*Reproduce this report* shows the hash of the audit log's last line. `recdash verify --head` with this hash
says whether lines were cut off the log since then.
""",
    ),
)
