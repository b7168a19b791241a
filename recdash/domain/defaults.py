"""Default baseline, candidates, metric and k of a comparison."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recdash.domain.records import Experiment, Run

MOST_CANDIDATES, FIRST_CANDIDATES = 20, 8
"""Most candidates that charts show side by side, and how many they show if no candidates were chosen."""
DEFAULT_K, DEFAULT_METRIC, DEFAULT_RATING_METRIC = 10, "ndcg", "rmse"
DEFAULT_SPEC = f"{DEFAULT_METRIC}@{DEFAULT_K}"
USUAL_K = (5, 10, 20, 50)
"""The cutoffs that pages offer, and at which the recommendation is computed again to see whether it
changes.
"""
BASELINES = ("popular", "weighted_rating", "content", "random")
"""Reference candidates that can be a baseline, the best known first."""
BASELINE_WORDS = (
    ("production", "prod", "incumbent", "control", "current", "baseline", "live", "legacy", "status quo"),
    ("popular", "popularity", "mostpopular", "mostpop", "toppop", "bestseller", "bestsellers"),
)
"""Words that mark a run's name as the baseline's: first those for the system in production, then those for
recommenders of the most popular items.
"""


def baseline_by_name(names: Sequence[str]) -> str | None:
    """Returns the name that most likely is the baseline's; None if no name suggests it.

    A name with a word for the system in production (production, control, current …) comes before one with a
    word for the most popular items. Only whole words count, in any case. Of several such names the one with
    the fewest words is chosen, so that ``popular`` comes before ``als minus popular``; then the first.
    """
    for words in BASELINE_WORDS:
        named = [name for name in names if _has_a_word(name, words)]
        if named:
            return min(named, key=lambda name: len(_words(name)))
    return None


def is_popular(name: str) -> bool:
    """Returns whether the name says that popular items are recommended and nothing else: ``Most popular``."""
    words, popular = set(_words(name)) - {"most"}, set(BASELINE_WORDS[1])
    return bool(words) and words <= popular


def _has_a_word(name: str, words: Sequence[str]) -> bool:
    spaced = f" {' '.join(_words(name))} "
    return any(f" {word} " in spaced for word in words)


def _words(name: str) -> list[str]:
    """Returns the words of a name in lower case, without digits: ``ALS_prod-v2`` → als, prod, v."""
    return re.findall(r"[^\W\d_]+", name.lower())


def default_baseline(experiment: Experiment, runs: Sequence[Run], served: Collection[str] = ()) -> Run:
    """Returns the baseline of an experiment. The first of these that exists:

    1. the run that a person chose;
    2. the run that was served to the control group of an A/B test (``served``: ids of such runs);
    3. an uploaded run whose name suggests it, see ``baseline_by_name``;
    4. the reference *Most popular*; if there is only one candidate, its best known reference;
    5. the run that was added first.
    """
    own = next((run for run in runs if run.id == experiment.baseline), None)
    control = next((run for run in runs if run.id in served), None)
    if own or control:
        return own or control or runs[0]
    uploads = [run for run in runs if not run.reference and not run.fallback]
    name = baseline_by_name([run.name for run in uploads])
    if name is not None:
        return next(run for run in uploads if run.name == name)
    references = {run.reference: run for run in runs if run.reference}
    known = BASELINES if len(runs) - len(references) == 1 else BASELINES[:1]
    return next((references[name] for name in known if name in references), runs[0])


def default_metric(offered: Sequence[str], wanted: str | None = None) -> str:
    """Returns the wanted metric if it is among those offered, else the usual one, else the first that is
    offered.
    """
    if wanted is not None and wanted in offered:
        return wanted
    return DEFAULT_METRIC if DEFAULT_METRIC in offered or not offered else offered[0]


def default_k(depth: int, wanted: int | None = None) -> int:
    return min(wanted or DEFAULT_K, depth)
