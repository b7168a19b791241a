"""The guide's prose on reviews and decisions: the words of the page Reports & decisions."""

from __future__ import annotations

from recdash.ui.guide.reading import Article

DECIDING: tuple[Article, ...] = (
    Article(
        "review",
        "The review of a candidate",
        """
*Proposed* → *offline evidence* → *online evidence* → *approved* or *rejected*.

Whoever trained a candidate proposes it, with its baseline, metric and k. **Offline evidence** is the verdict
with every pair, guardrail and slice; **online evidence** is what an A/B test says in which a variant served
the candidate. Both are kept as they stand when they are attached. Attached once more, the newer one counts
and the older one stays in the history.

*Ship* approves, *Don't ship* rejects; after *Needs A/B* and *Inconclusive* the review goes on.
""",
    ),
    Article(
        "checklist",
        "The checklist of a review",
        """
| item | holds when |
|---|---|
| Gain | better than the baseline offline; online a goal is won and none lost |
| Guardrails | offline none loses more than it may; online every one holds |
| Split of users | no sample ratio mismatch (SRM) in any attached test |
| Slices | the candidate is worse in no slice of users |
| Agreement | offline and online point the same way, or a check explains why not |

Each item **holds**, **fails**, or is **not known yet**: a test that is missing or not settled is no proof
of anything. A candidate can be approved all the same, but then the decision says *approved although* and why.
""",
    ),
    Article(
        "decision",
        "Decisions, and their numbers as they stood",
        """
A decision keeps its author, its reasons, every number that it rests on, what each metric meant, and where the
numbers came from. **Nothing of it is edited**: what no longer holds is superseded by a later decision and
stays where it is, marked.

Runs may be renamed or deleted later and tests counted by other rules; a decision shows the names and numbers
of its own day, and beside them what is different today.
""",
    ),
)
