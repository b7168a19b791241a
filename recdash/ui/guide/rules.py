"""Articles of the guide on the rules by which metrics are computed."""

from __future__ import annotations

from recdash.ui.guide.reading import Article

RULES: tuple[Article, ...] = (
    Article(
        "population",
        "Population: which users count",
        """
The population changes scores more than most formulas do, so every score comes with its population counts.

| rule | which users count |
|---|---|
| `users=truth` (default) | every user with a relevant item; a user without recommendations scores 0 |
| `users=both` | users with recommendations *and* a relevant item |
| `users=judged` | every user in the test set; one without a relevant item scores 0, as in ranx |
| `users=judged_both` | the same, with recommendations only, as in trec_eval |
| `users=run` | every user with recommendations; one who is not in the test set scores 0 |

With one perfect user and one without a list, recall is 0.5 under `truth` and 1.0 under `both`. A candidate
that serves only users it knows well looks better under `both`. The pages say if the rule changes the leader.
Comparisons leave out users who are not in the test set, since every candidate scores 0 there.

**Catalogue-level metrics** (coverage, novelty, diversity, personalization, Gini …) have their own parameter
`users`. By default they count all lists of a run; `coverage(users=truth)` counts only the lists of users with
a relevant item. In a user segment they count the lists of its users. Scores stored before this parameter
existed are labelled `users=truth`.

The **population counts** of a run are: users *counted*, *without list* and *without relevant item*; users
*not in the test set*; *short lists*, *duplicates* and *ties*. *Items known* and *Users
known* say which share of those in the run's lists the test set, the catalogue and the training data have.

**Unknown ids.** A run is not scored if the other tables know hardly any of its ids, or know far more in
another spelling (`movie_12` for `12`). The message names the cause and how to fix it. If the ids are correct,
confirm with `--accept-unknown-ids`, with `accept_unknown_ids=True`, or with the box in the details of a file
under *Add data*.

If catalogue or training data know less than a tenth of the recommended positions, the metrics that use them
are not computed, and a notice names a spelling that would match. Runs of five positions or fewer are scored
with a notice.
""",
    ),
    Article(
        "relevance",
        "Relevance and relevant items: “relevance of 4 or more”",
        """
A test set may say how much each user liked each item: by stars, a rating or another grade. This number is the
**relevance** of the row, whatever its column is called.

- *Only relevance of 4 or more* means that a row counts as relevant if the user's own rating is at least 4. A
  recommended item that the user rated 3 is then no hit.
- *Any relevance above 0* means that every rated item counts.

The threshold is chosen when the experiment is created, because every score depends on it. *What would change
it* tries another one. Metrics with grades, such as nDCG, also weight each hit by its relevance: see *Gain*.
""",
    ),
    Article(
        "gain",
        "Gain: linear, exponential or binary",
        """
The gain says how much a hit counts in nDCG and DCG, by the relevance of the item.

| gain | a hit with relevance 5 counts | relevance 4 | relevance 1 |
|---|---|---|---|
| **Linear gain** (`gain=linear`, default): the relevance itself | 5 | 4 | 1 |
| **Exponential gain** (`gain=exp`): 2 to the power of the relevance, minus 1 | 31 | 15 | 1 |
| **Binary gain** (`gain=binary`): 1 for every relevant item | 1 | 1 | 1 |

With exponential gain, the items that users like best decide almost alone. If all rows have the same
relevance, the three are equal.
""",
    ),
    Article(
        "order",
        "Order of a list",
        """
- If there is a rank column, rank decides; otherwise score does, highest first.
- In a TREC run file score decides, as in trec_eval, which ignores the rank column.
- If there is neither, the order of the rows in the file is the order of the list.
- Scores are kept in double precision, since rounding would create ties.
""",
    ),
    Article(
        "ties",
        "Ties",
        """
Two items with equal scores have no defined order. `ties=file` (default) keeps the order of the file.
`ties=item_desc` is the rule of trec_eval: by item id as text, descending. A tie at the cutoff can change a
metric although the candidate is the same, so the population counts show how many rows and users have ties.
""",
    ),
    Article(
        "duplicates",
        "Duplicates",
        """
If a list contains an item twice, the better rank counts. The later row is dropped and the gap is closed, so
an item is never rewarded twice and nDCG never exceeds 1. The population counts include every dropped row.

`duplicates=keep` counts a repeated item at each of its positions, as libraries do that do not check. Then
recall, precision and nDCG may exceed 1, an added row can raise a metric, and no tie range is computed.
""",
    ),
    Article(
        "short-lists",
        "Lists shorter than k",
        """
Missing positions count as misses: precision@10 of a list with 4 items divides by 10. `precision(over=list)`
divides by the length of the list instead. Under *By k*, a line stops where more than half of the run's lists
have ended.
""",
    ),
    Article(
        "replicates",
        "Folds and seeds",
        """
A candidate that was trained several times has several scores. Upload all of them, in one of these ways:

- one file with a column `fold` or `seed` (also `split`, `repeat`, `replicate`);
- several files under *Add data*, all with the same candidate name;
- `--run ALS=1.csv --run ALS=2.csv` on the command line;
- `{"ALS": {"1": …, "2": …}}` in Python.

They become **one** candidate with replicates. All replicates are scored against the test set of the
experiment.

- **Seeds** recommend to the same users several times. Each replicate is scored as a separate run, with the
  population rule of the experiment. A user's score is the mean over the seeds in which the user counts. The
  candidate's score is that over users. Catalogue-level metrics are means over the seeds.
- **Folds** divide the users: each user has a list in one fold only. The candidate has the lists of all folds
  and is scored like one run. A fold's own score covers the users it has lists for.

recdash detects which it is: folds if users have a list in one replicate only, seeds if they have one in
nearly all. A notice says which was detected. In between, you must choose: *These files are* under *Add
data*, `--replicates`, or `replicates="seeds"`. If folds have different test rows *of the same users*,
create an experiment for each fold.

**Does a difference hold across them?** A difference can be significant over users and still reverse with the
next seed. So it is also tested over the replicates, at 95 %, with all candidates as one family (Holm). A
finding counts only if it holds over users and over replicates:

| candidates | test |
|---|---|
| seeds with the same labels | paired t-test over the labels |
| seeds with different labels | Welch's t-test |
| seeds against a run uploaded once | t-test; assumes that the run varies as much as the seeds |
| folds of the same users | corrected resampled t-test |
| folds against a run uploaded once | the same over the folds' users, with the same assumption |

Training sets of folds overlap, so their scores vary less than those of independent trainings. The corrected
test (Nadeau and Bengio 2003) therefore uses (1/n + 1/(n − 1))·s² instead of s²/n. Replicates without any
difference do not show the effect of another training run. If candidates were trained once, the verdict says
that another training run may give another difference. Charts show two replicates as points with their mean,
and three or more with a box as well.
""",
    ),
    Article(
        "references",
        "Reference candidates: floor and ceiling",
        """
A score alone means little. *Add reference candidates* (under Runs), `--reference popular,oracle` or
`evaluate(…, references=…)` computes candidates from the experiment's own tables:

| name | what it recommends | needs |
|---|---|---|
| `popular` | the items that most users of the training data have | training data |
| `weighted_rating` | the items with the highest v/(v+m) · R + m/(v+m) · C | training data with ratings |
| `random` | random items of the catalogue, or of the training data without one | either of them |
| `content` | the items most similar to the user's own (cosine of TF-IDF) | training data, catalogue |
| `oracle` | the user's relevant items, best first, and nothing else | – |

In `weighted_rating` an item has v ratings with the mean R; C is the mean of all ratings, and m the 0.9
quantile of v. `content` reads the words of all text columns of the catalogue, and each number as a word.

All but the oracle leave out what the user has in the training data, as recommender libraries do. `content`
has no list for users without history; the others serve every user of the test set. The same tables always
give the same lists: ties are broken by id, and `random` has a fixed seed.

**Position between floor and ceiling**: (score − random) ÷ (oracle − random), and the score as a multiple of
*Most popular*. Both need means over the same users. The oracle is the ceiling of the accuracy metrics: 1 for
nDCG, below 1 for precision@k if users have fewer than k relevant items. Judged and serendipity depend on more
than relevance, so a candidate can exceed the oracle; they have no such scale.

References are grey. They are not ranked and never lead, but one can be the baseline.
""",
    ),
    Article(
        "undefined",
        "When a number is missing",
        """
An undefined number is never shown as 0. If a metric lacks its input (catalogue, training data, rating
predictions), it is left out and the reason is shown instead.
""",
    ),
    Article(
        "specs",
        "How a metric is written",
        """
`name(parameter=value, …)@k`, the same in links, on the command line and in Python: `ndcg@10`,
`ndcg(gain=exp)@10`, `map(norm=min)@10`, `precision(over=list)@5`. Without `@k` you get the whole curve. A
**preset** sets every parameter, the tie rule and the population at once, to reproduce the numbers of a known
library.
""",
    ),
)
