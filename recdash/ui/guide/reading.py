"""The guide's own prose: what an article is, and how to read what is shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Article:
    """One entry of the guide; ``body`` is Markdown of our own, never a user's.

    ``template``: the kind of table whose file to start from can be downloaded below it.
    """

    slug: str
    title: str
    body: str
    template: str = ""

    def mentions(self, words: str) -> bool:
        """True when every one of ``words`` occurs in the title or the body, in any case."""
        text = f"{self.title} {self.body}".casefold()
        return all(word in text for word in words.casefold().split())


DISAGREE = Article(
    "disagree",
    "Why do two libraries disagree?",
    """
Give two libraries the same lists and the same truth, and they rarely print the same number, even under
one name. They differ in four conventions, in the order in which they usually
matter.

1. **Population.** One library counts a user without recommendations as 0, another excludes the user. If a
   third of the users has no list, that alone raises a score by half, and may change which run leads.
2. **The formula.** What a sum is divided by: all relevant items, at most k of them, the length of the list,
   the hits found. Which list is ideal. How much a rank counts.
3. **Relevance.** Every test row; only those with a grade; only those from a threshold on.
4. **Order and ties.** Whether the rank or the score decides, and which of two equal scores comes first.

*Definitions*, under Compare, scores one run under every preset and changes these conventions one at a time:
the table shows how much each of them changes the value of this run. `recdash definitions` prints the same.
Each library was run on the same data: that page, the articles below, `recdash presets` and docs/presets.md
say whether a preset gives the same numbers. If not, `recdash evaluate` warns and says why.

What to expect of each:

- **RecTools** fills all k places of the ideal list in nDCG (`ideal=full`). A user with one relevant item,
  found at rank 1 of 10, gets 0.22 instead of 1; divided by what is achievable, it is the usual nDCG again.
- **Microsoft Recommenders** first keeps the users that both tables share (`users=both`). A model that stays
  silent for difficult users gains from it. Its nDCG alone is a mean over all users of the truth; multiply the
  preset's by `user_coverage`. Its MAP divides by min(m, k).
- **LensKit** discounts by log2 of the rank, and rank 1 as if it were rank 2: a hit at rank 2 alone is worth
  a full 1 (0.63 by the usual discount). Its averages are over all users with a list; one who is not in the
  truth counts as 0.
- **RecBole** treats every held-out row alike and divides MAP by min(m, k). Its recall and nDCG are the usual.
- **trec_eval** ignores the rank column: the score decides, and of equal scores the id that comes later in
  the alphabet comes first. It leaves out users without a list unless told otherwise (`-c`), and keeps
  scores in single precision, so that scores which differ in the eighth digit are tied there and not here.
- **ranx** agrees with the defaults here once the run was completed with empty lists (`make_comparable`);
  a grade below 1 is not relevant to it.
- **CAPRI** lets all m relevant items into the ideal list, whatever k. It rounds each user's nDCG to four
  decimals and prints coverage in percent; here nothing is rounded before it is shown, and coverage is a
  share, so that the two may differ by up to 0.00005, and by a factor of 100.

A value that a preset does not reproduce is more often a matter of the files than of the formula: ids that
lost their leading zeros, a truth that was filtered, lists that were cut.
""",
)

READING: tuple[Article, ...] = (
    Article(
        "interval",
        "How to read an interval",
        """
The 95 % interval is the range of true values that fit the data. Were the evaluation repeated with
other users of the same kind, 95 of 100 such intervals would hold the true value.

- Compare two runs by the interval of their **paired difference**, not by looking whether two
  intervals overlap: both runs serve the same users, and pairing removes what those users have in
  common.
- The interval excludes zero (filled mark): *better* or *worse*.
- The interval includes zero (hollow mark): *inconclusive*. That is no proof of equality; there may be
  too few users.
- The whole interval lies inside the **margin** (grey band, 1 % of the baseline's value unless you choose
  another): *tie*. The difference is too small to matter.

Among twenty differences, one is “significant” by chance. So differences shown together are judged together as
a **family**: the candidates against the baseline; and, if candidates are compared with each other, all those
pairs. *Holm* keeps the chance of a single false finding in the family at 5 %; *BH* (Benjamini and Hochberg)
lets at most 5 % of the findings be false. Each interval is drawn at the level at which the correction tests
it: it excludes zero exactly where the corrected p is at most 0.05. That is why intervals grow when more runs
are shown.

The interval is that of a paired t-test over users, where that holds. It has too many false positives if few
users differ: with hit rates of 1 % among 100 users, two hits more look like a finding. So it does where many
gain a little and few lose a lot, if such a loss happens not to be among these users. There another method
takes its place, and the verdict names it where you point at the interval:

| what differs | method |
|---|---|
| yes or no, such as a hit: fewer than 100 users | McNemar's exact test, intervals of Clopper and Pearson |
| a number with a largest value, such as nDCG: Σd² below 400 such squares | Gaffke's test of a bounded mean |
| such a number: many gain a little, few lose a lot, or the reverse | t-test, skewness removed (Hall 1992) |
| a number without one, such as RMSE: fewer than 30 users, or one is most of Σd² | none: no finding |

Σd² adds up the squares of the users' differences. Gaffke's test adds a user with the worst value that could
be, so it needs some more users than a t-test would: few more among thousands. It is exact for wins and losses
of one size, and no case is known where it claims too much; a proof for all distributions is not known either.
Two runs in which no user differs are a tie only where there are enough users to say so. How often verdicts
are wrong was counted in simulations: docs/calibration.md.

`recdash compare --format json` puts a bootstrap interval (users drawn again), a permutation test (labels of a
pair swapped), Wilcoxon's signed-rank test and the plain t-test beside it. With thousands of users they agree.
""",
    ),
    Article(
        "verdict",
        "The verdict",
        """
The verdict compares the candidates with the baseline on the metric and k of the frame. Its leader is the
best candidate among those that are better than the baseline; without any, the best of all.

| state | means |
|---|---|
| Ship | the leader is better, and nothing below speaks against it; where all are worse: keep the baseline |
| Tie | the leader's difference lies within the margin |
| Trade-off | the leader is better, but loses on another metric or in a slice, or breaks a guardrail |
| Not enough evidence | the interval includes zero and leaves the margin, or folds or seeds do not agree |
| Not comparable | other truth, users, threshold or definitions; or no user in common |

A **guardrail** is a catalogue metric that may not fall by more than a share of the baseline's value:
coverage, novelty, diversity, personalization; Gini may not rise by more. The share is 20 % unless the
experiment's decision rules (Settings) say otherwise. A guardrail is broken if the change in these lists
exceeds that. Its 95 % interval says how far the change would move with other users like these (jackknife
over users, both runs losing the same user; from 10 lists on): the verdict says so where the interval holds
less than the guard, and where a guardrail that holds may be broken.

Predicted ratings are compared by RMSE, MAE or R² over the rows that both candidates predict; users are the
unit, since rows of one user are not independent. Of RMSE and MAE less is better.

“About 1,900 more users” is how many users of the same kind would give an answer with a probability of 80 %,
if the difference is as large as measured and another training run would not change it. *What would change
this* repeats the decision at other k, by another metric or definition, with the other population rule, and in
the slice that disagrees most.
""",
    ),
    Article(
        "rank-shared",
        "Shared ranks",
        """
A run's rank is one more than the number of runs that are significantly better, after the correction that is
chosen (Holm's unless you change it) over all pairs. “=1” means that several share the rank: their order may
be chance. The range next to it (1–2) is the 95 % rank range (bootstrap, 1,000 resamples), including its rank.
""",
    ),
    Article(
        "shown-by",
        "What is shown, by attribute",
        """
The *Catalogue* page compares the top k of all lists of a run with the items of the catalogue: which share has
this year, this genre, this author? A mark right of the grey tick means that the run shows more of it than the
catalogue has; that is neither good nor bad by itself.

- An item with several values (`Crime|Drama`) counts in each, so that shares may add up to more than 100 %.
- Numbers are shown one by one; more than 25 of them in bands of a round width, such as decades, or, where
  one such band would hold most of the catalogue, in bands of about equal weight.
- `(none)`: items without a value, and shown items that are not in the catalogue. An empty cell has no value,
  nor have the words that libraries write for one, such as `nan`, `null` and `None`: here and in slices and
  diversity alike. A genre whose name is really None cannot be
  distinguished: rename it.
- *Values of …* counts single values, not bands: it is `coverage_by(attribute=…)` times their number.
- Left out as attributes: titles, and text columns in which fewer than half of the items share a value.
""",
    ),
    Article(
        "offline-online",
        "Offline against online",
        """
Offline scores replay the past: a candidate can only be rewarded for items that users found by other
means. The scatter sets the offline difference against the online lift of the same candidate, each
with its interval. *Won offline, lost online* appears only if both intervals exclude zero; otherwise the
pair is *undecided*.

**Agreement** takes all pairs of the runs that a test served, including the control's, and counts those that
are significant both offline and online: in the same order, or in the opposite one. **Kendall's τ** is 1 where
the order of all runs is the same on both sides, −1 where it is the opposite. Its p is the share of all orders
that agree or disagree as much. With few runs it cannot be small: three in full agreement have p = 0.333, four
0.083, five 0.017, six 0.003.

*Which metric had the order right* compares many metrics at once, and one of many is right by chance: of
twenty useless ones the best has the whole order of three runs right in 97 of 100 cases, that of four in 57,
that of six in 3. So below six runs none is named, and from six on the p is that of the best of all.

The **track record** sets the offline difference of every stored test, in % of its control's value, against
the lift. It counts how often the metric predicted the winner, if both results are
significant by the intervals of their own pages. From ten tests on a
line through zero says what a difference of 1 % has meant, and a band where the true lift of a new
test will be. Variants of one test share its control and its weeks, so the line's interval is that of so
many tests, not of so many points (cluster-robust).
""",
    ),
    Article(
        "off-policy",
        "Off-policy estimates",
        """
A log with the probability of each item shown allows estimates for another policy. A row's
**weight** is the target's probability of its item divided by that probability: a row counts
as often as the target would have shown it more than the log's policy did.

- **IPS** is the mean of weight × reward; **SNIPS** divides by the sum of the weights instead of the rows.
- **Clipped IPS** caps weights, by default at the square root of the number of rows.
- **Doubly robust** takes a model's prediction for the target, and corrects it by the weighted errors of the
  model. It is unbiased whatever the model, and has less variance than IPS if the model is good. The model
  here is the mean reward of an item at a position, shrunk towards the overall mean as by 100 rows; no row is
  predicted by a model trained on it.

There is **no verdict** where the effective rows (Σw)² / Σw² are fewer than 200, where fewer than 20 clicks
are on what the target shows, where the mean weight is more than three standard errors from 1, or where
something was shown that had a chance below 0.0001: then a few rows decide, or the probabilities are not
those of the log. Each row counts as a slot of its own; slots of one page that sway each other make the
intervals too narrow.
""",
    ),
)
