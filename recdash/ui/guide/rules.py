"""Guide articles on the rules by which metrics count."""

from __future__ import annotations

from recdash.ui.guide.reading import Article

RULES: tuple[Article, ...] = (
    Article(
        "population",
        "Population: which users count",
        """
The population changes scores more than most formulas do, so every score comes with its population counts.

- **`users=truth`** (default): every user with at least one relevant item counts. A user without a
  list scores 0.
- **`users=both`**: only users with a list *and* a relevant item count.
- **`users=judged`** and **`users=judged_both`** are the same for users with any row in the truth: one
  without a relevant item counts as 0, as in ranx (`judged`) and trec_eval (`judged_both`).
- **`users=run`**: every user with a list counts, also one who is not in the truth, as 0. Comparisons
  leave those users out, since every candidate has 0 there.
- Under the first two a user without relevant items never counts: there is nothing to find.

**Catalogue-level metrics** (coverage, novelty, diversity, personalization, Gini …) have their own
parameter: by default they count all lists of the run, `coverage(users=truth)` only the lists of users
with a relevant item (`users=both` is the same: both have a list). In a slice of users they count the lists
of its users. Numbers stored before this choice existed are labelled `users=truth`.

With one perfect user and one without a list, recall is 0.5 under `truth` and 1.0 under `both`. A candidate
that only recommends to users it knows well looks better under `both`; the pages say if the rule changes the
leader.

The **population counts** of a run: *counted* users, those *without list*, *without relevant item*, users of
the run that are *not in the truth*, *short lists*, *duplicates* and *ties*.

They are shown with how many of a run's **items and users** the truth, the catalogue and train know, one by
one, and how many of the truth's the run knows. A run is not scored if the truth, or all of them together,
know hardly any of its ids or far more in another spelling (`movie_12` for `12`), nor if a part of the truth
is spelled otherwise: the message names the cause and its repair. If the ids are correct, confirm with
`--accept-unknown-ids`, `accept_unknown_ids=True` or the box in the details of a file on the page Add data.

If a catalogue or train table knows less than a tenth of the recommended positions, the metrics that use it
are missing, and a notice names a spelling that would match. Five positions or fewer that are all unknown are
scored with a notice.
""",
    ),
    Article(
        "order",
        "Order of a list",
        """
- With a rank column the rank decides; without one the score does, highest first.
- In a TREC run file the score decides, as in trec_eval, which ignores the rank column.
- With neither, the order of the rows in the file is the order of the list.
- Scores are kept in double precision: rounding them would create ties.
""",
    ),
    Article(
        "ties",
        "Ties",
        """
Two items with the same score have no defined order. `ties=file` (default) keeps the order of
the file; `ties=item_desc` is trec_eval's rule: score, then item id descending as text. The population
counts say how many rows and users are tied, since a tie that crosses the cutoff can move a metric without
any change of the candidate.
""",
    ),
    Article(
        "duplicates",
        "Duplicates",
        """
When a list names the same item twice, the better rank counts, the later row is dropped and the gap
is closed. The population counts include every dropped row. An item is therefore never rewarded twice,
and nDCG never exceeds 1.

`duplicates=keep` counts a repeated item again at each of its positions, as a hit and as an exposure, as
libraries do that do not check. Then recall, precision over a short list and nDCG may exceed 1, one more row
can raise a metric, and ties have no band.
""",
    ),
    Article(
        "short-lists",
        "Lists shorter than k",
        """
Missing positions count as misses: precision@10 of a list with 4 items divides by 10.
`precision(over=list)` divides by the length of the list instead. On *Metric vs k* a line stops
where more than half of the run's lists have ended.
""",
    ),
    Article(
        "replicates",
        "Folds and seeds",
        """
A candidate that was trained several times has several values. Upload all of them: as one file with a
column `fold` or `seed` (also `split`, `repeat`, `replicate`), as several files under Upload, as
`--run ALS=1.csv --run ALS=2.csv`, or in Python as `{"ALS": {"1": …, "2": …}}`. They become **one**
candidate with replicates. Every replicate is scored against the one truth of the experiment.

- **Seeds** recommend to the same users again. Each is scored as a separate run, by the population rule: with
  `users=truth` a user without a list in it is a miss there. A user's value of the candidate is the mean
  over the seeds in which the user counts, the candidate's value the mean of those over the users. Metrics
  without a value per user, such as coverage, are means over the seeds.
- **Folds** divide the users: each user has a list in one fold only. The candidate has the lists of all
  folds and is scored like a run that was uploaded at once; a user without a list in any fold follows the
  population rule, once. A fold's own value is over the users that it has lists for.

Users with lists in one replicate only make folds, users with lists in nearly all make seeds, and a notice
says which was detected. In between you must choose: *These files are* under Upload, `--replicates`, or
`replicates="seeds"`. Folds with different test rows *of the same users* each have their own truth:
create an experiment for each.

**Does a difference hold across them?** A difference can be significant over the users and still reverse with
the next seed. So it is tested over the replicates as well, at 95 %, all candidates as one family (Holm).
Whatever the verdict says, *ship*, *keep* or *tie*, must hold over users and over replicates:

| candidates | test |
|---|---|
| seeds with the same labels | t-test, paired over the labels |
| seeds with other labels | Welch's t-test |
| seeds against a run uploaded once | t-test; the run is assumed to vary as much as the seeds |
| folds of the same users | corrected resampled t-test |
| folds and a run uploaded once | the same over the folds' users; the run is taken to vary as much |

The training sets of folds overlap, so that their values are closer than those of independent trainings. The
corrected test (Nadeau and Bengio 2003) takes (1/n + 1/(n − 1))·s² in place of s²/n. Replicates that do not
differ at all do not show the effect of another training run. A verdict about candidates that were trained
once says so: another training run may give another difference. With two replicates points and their mean are
drawn, from three on a box as well.
""",
    ),
    Article(
        "references",
        "Reference candidates: floor and ceiling",
        """
A value alone means little. *Add reference candidates* (under Runs), `--reference popular,oracle` or
`evaluate(…, references=…)` computes candidates from the experiment's own tables:

| name | what it is | needs |
|---|---|---|
| `popular` | the items that most users of train have | train |
| `weighted_rating` | the items with the highest v/(v+m) · R + m/(v+m) · C | train with ratings |
| `random` | items drawn with equal chance from the catalogue, without one from train | either |
| `content` | the items most like the sum of the user's own (cosine of TF-IDF) | train, catalogue |
| `oracle` | the user's relevant items, best first, then nothing | – |

In `weighted_rating` an item has v ratings with the mean R; C is the mean of all ratings, m the 0.9
quantile of v. `content` reads the words of all text columns of the catalogue, and each number as a word.

All but the oracle leave out what the user has in train already, as recommender libraries do. `content`
has no list for users without history; the others serve every user of the truth. The same tables give the
same lists: between equals the id decides, and `random` has a fixed seed.

**Where a candidate stands**: (value − random) ÷ (oracle − random), and how many times the value of
*Most popular* it has. Both need means over the same users. The oracle is the ceiling of the accuracy
metrics: 1 for nDCG, below 1 for precision@k where users have fewer than k relevant items. Judged and
serendipity need more than relevance, so that a candidate can exceed it; there is no such scale for them.

References are grey, are not ranked and never lead; chosen as baseline, one is what the others are
compared with.
""",
    ),
    Article(
        "undefined",
        "When a number is missing",
        """
Nothing undefined is shown as 0. A metric that lacks its input (no catalogue, no train, no rating
predictions) is absent, and the reason stands in its place.
""",
    ),
    Article(
        "specs",
        "How a metric is written",
        """
`name(parameter=value, …)@k`, the same in links, on the command line and in Python: `ndcg@10`,
`ndcg(gain=exp)@10`, `map(norm=min)@10`, `precision(over=list)@5`. Without `@k` it is the whole
curve. A **preset** sets every parameter, the ties and the population at once, to reproduce the
numbers of a known tool.
""",
    ),
)
