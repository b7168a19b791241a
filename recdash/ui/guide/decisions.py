"""Guide articles on reviews and decisions: the terms of the page Reports & decisions."""

from __future__ import annotations

from recdash.ui.guide.reading import Article

DECIDING: tuple[Article, ...] = (
    Article(
        "review",
        "The review of a candidate",
        """
*Proposed* → *offline evidence* → *online evidence* → *approved* or *rejected*.

The candidate's author proposes it, with its baseline, metric and k. **Offline evidence** is the verdict with
every pair, guardrail and slice; **online evidence** is the result of an A/B test in which a variant served
the candidate. Both are recorded as they are when attached. If evidence is attached again, the newer one
counts and the older one stays in the history.

*Ship* approves, *Don't ship* rejects; after *Needs A/B* and *Inconclusive* the review stays open.
""",
    ),
    Article(
        "checklist",
        "The checklist of a review",
        """
| item | holds when |
|---|---|
| Gain | better than the baseline offline; online at least one goal won and none lost |
| Guardrails | offline none is broken; online all hold |
| Split of users | no sample ratio mismatch (SRM) in any attached test |
| Slices | the candidate is worse in no slice of users |
| Agreement | offline and online agree, or a check explains the difference |

Each item **holds**, **fails**, or is **not known yet**: a missing or inconclusive test
proves nothing. A candidate can still be approved, but then the decision says *approved although* and why.
""",
    ),
    Article(
        "decision",
        "Decisions and their recorded numbers",
        """
A decision records its author, its reasons, every number behind it, the definition of each metric, and where
the numbers came from. **Decisions are immutable**: a later decision supersedes one that no longer holds,
which stays in the list, marked.

Runs may be renamed or deleted later and tests counted by other rules; a decision shows the names and numbers
at its time, and what has changed since.
""",
    ),
)
