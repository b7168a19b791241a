"""The type of the guide's articles, and the articles on how to read the pages."""

from __future__ import annotations

from dataclasses import dataclass

from recdash.ui.components.corrections import MEANING

BAR = r"\|"
"""How a table writes ``|`` within a cell, also within code."""


@dataclass(frozen=True)
class Article:
    """An article of the guide.

    ``body`` is Markdown from this package, never from a user.

    ``template`` is the kind of table whose template can be downloaded below the article, "" for none.
    """

    slug: str
    title: str
    body: str
    template: str = ""


def table_row(*cells: str) -> str:
    """Returns a row of a Markdown table; a ``|`` within a cell does not end it."""
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


DISAGREE = Article(
    "disagree",
    "Why do two libraries disagree?",
    """
Two libraries rarely print the same number for the same lists and the same test set, even under one name. They
differ in four conventions. These usually matter in this order:

1. **Population.** One library counts a user without recommendations as 0, another excludes the user. If a
   third of the users has no list, that alone raises a score by half, and may change which run leads.
2. **Formula.** Libraries divide by all relevant items, by at most k of them, by the length of the list, or by
   the number of hits. They also define the ideal list and the discount by rank differently.
3. **Relevance.** All test rows count, or only rows with a grade, or only those above a threshold.
4. **Order and ties.** Either rank or score decides, and libraries break ties between equal scores
   differently.

The *Definitions* page, next to this guide, scores one run under every preset. It then changes these
conventions one at a time and shows how much each of them moves the score; *Interaction* is the part that only
several of them together add. `recdash definitions` prints the
same. Each library was run on the same data. That page, the articles below, `recdash presets` and
docs/presets.md say whether a preset gives the library's own numbers. If it does not, `recdash evaluate`
warns and says why.

What to expect of each library:

- **RecTools** fills all k positions of the ideal list in nDCG (`ideal=full`). A user with one relevant item,
  found at rank 1 of 10, gets 0.22 instead of 1. Divided by the best
  achievable value, it equals the usual nDCG.
- **Microsoft Recommenders** keeps only users that both tables share (`users=both`), which favours a model
  without lists for difficult users. Only its nDCG is a mean over all users of the test set: multiply the
  preset's value by `user_coverage` to get it. Its MAP divides by min(m, k).
- **LensKit** discounts by log2 of the rank, and gives rank 1 the discount of rank 2. A single hit at rank 2
  scores 1 (0.63 with the usual discount). It averages over all users with a list; a user who is not in the
  test set counts as 0.
- **RecBole** ignores grades and divides MAP by min(m, k). Its recall and nDCG are the usual ones.
- **trec_eval** ignores the rank column and orders by score; of equal scores, the id that is later in the
  alphabet comes first. It excludes users without a list unless `-c` is set. It stores scores in single
  precision, so scores that differ in the eighth digit are ties there and not here.
- **ranx** agrees with the defaults here if the run was completed with empty lists (`make_comparable`). A
  grade below 1 is not relevant there.
- **CAPRI** puts all m relevant items into the ideal list, whatever k is. It rounds each user's nDCG to four
  decimals and prints coverage in percent. recdash rounds only what it shows, and coverage is a share: the
  values may differ by up to 0.00005, and by a factor of 100.

If a preset does not reproduce a value, the files are more often the cause than the formula: ids that lost
their leading zeros, a filtered test set, truncated lists.
""",
)

READING: tuple[Article, ...] = (
    Article(
        "interval",
        "How to read an interval (95 % CI) and a p-value",
        f"""
A 95 % confidence interval (CI) is the range of true values that fit the data. If the evaluation were repeated
with other users of the same kind, 95 of 100 such intervals would contain the true value.

- Compare two runs by the interval of their **paired difference**. Overlapping intervals of two scores do not
  mean a tie: both runs serve the same users, and pairing removes what those users have in common.
- If the interval excludes zero (filled mark), the difference is significant: *better* or *worse*.
- If the interval includes zero (hollow mark), the result is *inconclusive*. That does not prove equality;
  there may be too few users.
- **p** is the probability of a difference at least this large if there were none in truth. *Corrected*
  says that it allows for all differences tested together. **n** is the number of users compared.
- If the whole interval lies inside the **margin** (grey band, by default 1 % of the baseline's value), the
  result is a *tie*: the difference is too small to matter.

**Corrections.** {MEANING[0]} So differences that
are shown together are tested together, as a **family**: all candidates against the baseline, or all pairs
if candidates are compared with each other. {MEANING[1]}
{MEANING[2]} Each interval is drawn at its corrected
level, so it excludes zero exactly if the corrected p is at most 0.05. That is why intervals grow when more
runs are shown.

**Methods.** The usual interval is that of a paired t-test over users. It finds too much if few users differ:
at a hit rate of 1 % among 100 users, two more hits look significant. The same happens if many users gain a
little, few lose a lot, and those few are missing from the sample. In such cases another method is used; the
tooltip of the interval names it:

| what differs | method |
|---|---|
| yes or no, such as a hit: fewer than 100 users | McNemar's exact test, Clopper–Pearson interval |
| a bounded number, such as nDCG: Σd² below 400 times the largest possible d² | Gaffke's test |
| a bounded number: many small gains, few large losses, or vice versa | skewness-corrected t-test |
| an unbounded number, such as RMSE: under 30 users, or one user dominates Σd² | none: no finding |

Σd² is the sum of squared differences of the users. The skewness correction is that of Hall (1992). Gaffke's
test of a bounded mean assumes one more user with the worst possible value, so it needs slightly more users
than a t-test. It is exact if all wins and losses have one size. No case is known where it finds too much,
but there is no proof for all distributions. Two runs without any differing user are a tie only if there are
enough users to say so. Simulations counted how often verdicts are wrong: docs/calibration.md.

`recdash compare --format json` adds a bootstrap interval, a permutation test, Wilcoxon's signed-rank test and
the plain t-test. With thousands of users they agree.
""",
    ),
    Article(
        "rank-shared",
        "Shared ranks",
        """
A run's rank is one more than the number of runs that are significantly better. All pairs are compared, with
the chosen correction (Holm by default). “=1” means that several runs share the rank: their order may be
chance. The range next to it (1–2) is the 95 % rank range (bootstrap, 1,000 resamples).

So ranks are not counted on as in sport: with 1, =2 and =2, the next run has rank 3 if only two runs are
significantly better than it, and 4 if three are. A number may be left out, and a run can beat the baseline
and still share its rank: the differences to the baseline are fewer than all pairs, and so are corrected less.
""",
    ),
    Article(
        "pareto",
        "Trade-offs and the Pareto front",
        """
A chart of two metrics shows what a gain in one costs in the other. A run is **dominated** if another run is
better by one metric and not worse by the other. The runs that no other dominates form the **Pareto front**:
choose among them by which metric matters more to you.

If both metrics have a value per user, significant paired differences decide which run dominates which.
Catalogue-level metrics such as coverage have no value per user; there the values alone decide.
""",
    ),
    Article(
        "segments",
        "Segments",
        """
A segment is a group of users or items: known and new users, rare items, or any column of your tables. Each
candidate is compared with the baseline within each segment, over the users of the segment. All segments are
one family, corrected together.

Segments below the minimum size are not judged. A total can be better while a segment is worse, and a total
can even differ from all of its segments (Simpson's paradox); the page warns of both.
""",
    ),
    Article(
        "holm",
        "Holm correction: when many differences are tested",
        f"""
{MEANING[0]} So differences that are shown together are tested together. {MEANING[1]} Their p-values get
larger and their intervals wider: the more candidates, the more. *Holm-corrected* beside an interval says that
this was done. A difference can be significant alone and not after the correction; the corrected one decides.
Some pages offer another method: {MEANING[2]}
""",
    ),
    Article(
        "users-gain",
        "Users who gain and lose, and the sign test",
        """
A user **gains** if the candidate's list scores higher for this user than the baseline's by the primary
metric, and **loses** if it scores lower. For many users both lists find the same, so they are unchanged.

The **sign test** asks whether more users gain than lose, or whether that could be chance: each user who gains
or loses is like one toss of a coin. At p ≤ 0.05, chance is an unlikely reason. The test counts users only; it
ignores how much each of them gains. So it can disagree with the mean difference, for example if few users
gain much and many lose a little.
""",
    ),
    Article(
        "users-items",
        "Users and items: who gains, and which items are hit",
        """
**Users** shows how each user's score changes from the baseline to a candidate. The same mean may come from
many small gains or from a few large ones. The page shows how many users gain, stay the same or lose, how
much of the total gain comes from few users, and the users with the largest change.

**Items** shows which items of the test set are hit and how often each run recommends them. A hit that only
one run has is a unique hit (*Hits of this run only*, *Items only this run hits*). Items that no run
recommends point at a gap in all candidates.

**Shared items** at k is the share of the first k items that two lists have in common, whatever their order.
**RBO** (rank-biased overlap) compares whole lists, and the first positions count most: 1 says that the lists
are the same, 0 that they share no item.
""",
    ),
    Article(
        "shown-by",
        "Attribute shares: what is recommended",
        """
The *Catalogue* page compares what a run recommends with what the catalogue offers, by year, genre, author
or any other attribute. A mark to the right of the grey tick means over-representation: the run shows more
of this value than the catalogue contains. That is neither good nor bad by itself.

- An item with several values (`Crime|Drama`) counts for each, so shares may add up to more than 100 %.
- Up to 25 different numbers are shown one by one. More are grouped into bands of a round width, such as
  decades; if one such band would hold most of the catalogue, into bands of about equal size.
- `(none)` stands for items without a value and for recommended items that are not in the catalogue. Empty
  cells and words such as `nan`, `null` and `None` are read as no value, here and in segments and diversity.
  Rename a genre whose name really is None.
- *Values of …* counts single values, not bands: it is `coverage_by(attribute=…)` times their number.
- Titles are no attributes, nor are text columns in which fewer than half of the items share a value.
""",
    ),
    Article(
        "offline-online",
        "Offline vs online",
        """
An offline score replays the past: it can only reward items that users found by other means. The chart shows
the offline difference and the online lift of the same candidate, each with its interval. *Won offline, lost
online* appears only if both intervals exclude zero; otherwise the pair is *undecided*.

**Agreement** looks at all pairs of runs that a test served, including control's. It counts the pairs that
are significant both offline and online: in the same order, or in opposite orders. **Kendall's τ** is 1 if
the order of all runs is the same offline and online, and −1 if it is reversed. Its p is the share of all
possible orders that agree or disagree as much. With few runs it cannot be small: full agreement of three
runs has p = 0.333, of four 0.083, of five 0.017, of six 0.003.

*Which metric had the order right* compares many metrics at once, and one of many is right by chance. Of
twenty useless metrics, the best has the order of three runs right in 97 of 100 cases, of four in 57, of six
in 3. So no metric is named below six runs; from six on, the p is that of the best of all metrics.

The **track record** plots the offline difference of every stored test, in % of control's value, against its
lift. It counts how often the metric predicted the winner among tests with significant results on both sides.
From ten tests on, a line through zero shows the lift that an offline difference of 1 % has meant, with a band
for the true lift of a new test. Variants of one test share control and weeks, so the interval of the line
counts tests, not points (cluster-robust).
""",
    ),
    Article(
        "why",
        "Why offline and online disagree",
        """
Twelve checks test known causes, each against the data of this A/B test: chance, a broken split, popularity,
temporal leakage, users and items that were not evaluated, position bias, served lists that differ from the
evaluated ones, novelty, label definition, sessions per user, and segments.

- **Possible cause**: the data support this cause. Open the check for its numbers and what to do.
- **Not the cause**: the data show that this is not the cause.
- **Inconclusive**: the data are missing or do not decide. Open the check to see which are missing.

A possible cause is not proved: several causes may act together.
""",
    ),
    Article(
        "off-policy",
        "Off-policy estimates",
        """
An off-policy estimate says what another policy would have achieved, from the log of the current one. The log
must contain the probability of each item shown (propensity). A row's **weight** is the probability under the
target policy divided by the logged probability: rows that the target would show more often count more.

- **IPS** is the mean of weight × reward. **SNIPS** divides by the sum of the weights instead of the rows.
- **Clipped IPS** caps the weights, by default at the square root of the number of rows.
- **Doubly robust** adds a reward model and corrects it by its weighted errors. It is unbiased even if the
  model is wrong, and has less variance than IPS if the model is good. The model here is the mean reward of
  an item at a position, shrunk towards the overall mean as by 100 rows. No row is predicted by a model
  trained on it.
- The **direct method** is the reward model's prediction alone. Its bias is unknown, so it has no interval.
- **Switch-DR** is doubly robust, but relies on the model alone for rows whose weight is above a threshold:
  the one at which squared error and largest possible bias are least, unless one is given.

The lists of a **stored run** can be the target, if the log names users. The **deterministic** policy shows at
each position the item at that rank, and the first item in a log without positions. **Softmax** draws each
slot's item from the first k, with probabilities in proportion to exp(score ÷ temperature). Rows of users
without a list are left out. Rows with an item that the target never shows there have weight 0; the estimate
rests on the others.

If the log has positions and a column of slates (slate_id or request_id), the reward **per slate** is
estimated, too. **Independent** (IIPS) lets a reward depend on the item in its position, **reward
interaction** (RIPS) on the items above it, too, and **standard** IPS on all items of the slate. The more it
may depend on, the fewer slates count. Propensities are those of an item given the items above it, or of
positions drawn independently.

If the log names users, errors are by user: the rows of one user are alike. The intervals hold for few and
unequal users and for rare clicks.

There is **no verdict** if few rows decide or the probabilities do not fit the log:

- the effective sample size (Σw)² / Σw² is below 200;
- fewer than 50 clicks are on items that the target shows;
- the users are worth fewer than 50 after weighting;
- the mean weight is more than three standard errors from 1;
- an item was shown that had a probability below 0.0001.

Without a column of users, each row counts as an independent slot. If slots of one page influence each other,
the intervals are too narrow.
""",
    ),
)
