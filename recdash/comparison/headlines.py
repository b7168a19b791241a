"""Headlines of pages and reports: pure functions from statistical findings to sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number
from recdash.formatting.records import records
from recdash.formatting.wording import listed, many, named_number, plural

if TYPE_CHECKING:
    import pandas as pd

    from recdash.references.reference_scale import ReferenceStanding

EQUAL = 1e-12
"""Largest gap between two values that counts as rounding error."""
MOST_NAMED = 3
NOTHING_IS_JUDGED = "This is a catalogue-level metric: it has no CI, so differences are not tested."
NOT_SETTLED = ("undecided", "blocked")


def values(scores: pd.DataFrame, metric: str) -> dict[str, float]:
    """Returns {run id: value of ``metric``} in the scoreboard's order, which is best first. Runs without a
    value are left out.
    """
    columns = (scores[name].tolist() for name in ("run_id", "metric", "value"))
    return {
        run_id: float(value)
        for run_id, of, value in zip(*columns, strict=True)
        if of == metric and is_number(value)
    }


def some(names: Sequence[str], noun: str = "runs") -> str:
    """Returns the names joined, such as ``ALS and EASE``; a count such as ``Five runs`` if there are more
    than ``MOST_NAMED``.
    """
    return listed(names) if len(names) <= MOST_NAMED else f"{named_number(len(names))} {noun}"


def first_place(first: Sequence[str], ranked: int, where: str, *, unranked: bool = False) -> str:
    """Returns the leaderboard's headline.

    ``first`` are the names of the runs of rank 1, ``ranked`` is the number of runs that have the metric,
    ``where`` the metric's title. The headline does not mention differences from the baseline: they are
    corrected over another family than ranks.
    """
    if not first:
        return f"No run has {where}"
    if ranked == 1:
        return f"{first[0]} is the only run with {where}"
    if len(first) == 1:
        return f"{first[0]} is first on {where}"
    if len(first) == ranked:
        both = "Both" if ranked == 2 else f"All {named_number(ranked).lower()}"
        return f"{both} {'ranked ' if unranked else ''}runs share first place on {where}"
    return f"{some(first)} share first place on {where}"


def best_value(values_by_name: Mapping[str, float], where: str) -> str:
    """Returns the headline for a catalogue-level metric. ``values_by_name`` is {run name: value}, best
    first.
    """
    best = next(iter(values_by_name.values()), 0.0)
    first = [name for name, value in values_by_name.items() if abs(value - best) <= EQUAL]
    if len(first) < 2:
        return f"{first[0]} has the best {where}" if first else f"No run has {where}"
    return f"{some(first)} have the same {where}, the best"


def only_run(name: str, where: str, scores: pd.DataFrame, standing: str) -> tuple[str, str]:
    """Returns two sentences for an experiment with a single run: its value, such as ``ALS has nDCG@10 0.123
    over 60 users.``, and ``standing`` or a default.

    ``scores`` is the scoreboard of this run; ``standing`` says where it is between floor and ceiling.
    """
    row = next(iter(records(scores)), None)
    value = numbers.three(row["value"]) if row else numbers.NONE
    counted = many(row["n_users"] if row else 0, "user")
    return f"{name} has {where} {value} over {counted}.", standing or "One number alone decides nothing."


def beats(words: Mapping[str, str], base: str) -> str:
    """Returns a headline such as ``Three of four candidates beat Popular``. ``words`` is {candidate's name:
    finding}.
    """
    better = sum(word == "better" for word in words.values())
    if len(words) == 1:
        ((name, word),) = words.items()
        relations = {"better": "beats", "worse": "is worse than", "tie": "is a tie with"}
        return f"{name} {relations.get(word, 'is not significantly different from')} {base}"
    total = named_number(len(words)).lower()
    if better == 0:
        return f"None of {total} candidates beats {base}"
    if better == len(words):
        return f"{'Both' if better == 2 else f'All {total}'} candidates beat {base}"
    return f"{named_number(better)} of {total} candidates {'beats' if better == 1 else 'beat'} {base}"


def no_shared_user(names: Sequence[str], base: str) -> str:
    """Returns ``ALS shares no user with Popular, so there is nothing to compare.``; empty if ``names`` is
    empty.
    """
    if not names:
        return ""
    verb = "shares" if len(names) == 1 else "share"
    return f"{listed(names)} {verb} no user with {base}, so there is nothing to compare."


def standing_sentence(standing: ReferenceStanding | None, best_first: Sequence[str]) -> str:
    """Returns where the best uploaded run is between floor and ceiling, as a sentence; empty if this is
    unknown.
    """
    sentences = (standing.sentence(run_id) for run_id in best_first) if standing else iter(())
    return next((sentence for sentence in sentences if sentence), "")


def agreement(quadrants: Sequence[str], offline: Sequence[tuple[float | None, float | None]] = ()) -> str:
    """Returns the headline of the page that compares offline with online results. ``quadrants`` has one
    quadrant per candidate, such as ``won both``, and ``offline`` its interval of the offline difference.
    """
    if quadrants and set(quadrants) == {"blocked"}:
        return "Offline and online: not judged, the split of users is broken"
    settled = [quadrant for quadrant in quadrants if quadrant not in NOT_SETTLED]
    same = sum(quadrant in {"won both", "lost both"} for quadrant in settled)
    if not settled:
        return _only_offline(offline) or "Offline and online: no significant differences yet"
    total = named_number(len(quadrants)).lower()
    agreed = named_number(same).lower() if same else "none"
    return f"Offline and online agree on {agreed} of {total} {plural(len(quadrants), 'candidate')}"


def _only_offline(offline: Sequence[tuple[float | None, float | None]]) -> str:
    """Returns how many candidates differ significantly offline, where none does online; empty if none."""
    better = sum(low is not None and low > 0 for low, _ in offline)
    worse = sum(high is not None and high < 0 for _, high in offline)
    if not better + worse:
        return ""
    if len(offline) == 1:
        return f"{'Better' if better else 'Worse'} offline, not significant online yet"
    counts = [f"{n} {word}" for n, word in ((better, "better"), (worse, "worse")) if n]
    return f"Offline {listed(counts)} of {len(offline)} candidates, online none significant yet"


def named_places(places: Sequence[str], of: int = 0) -> str:
    """Returns the places of a problem in words, such as ``ALS v3 and EASE`` for ``run 'ALS v3'`` and ``run
    'EASE'``; if there are many, the first ones and how many more. ``Every run`` if they are all ``of`` them.
    """
    names = [re.sub(r"^run '(.+?)'(?=$|, )", r"\1", place) for place in places]
    if of > 1 and list(places) == [f"run '{name}'" for name in names] and len(names) == of:
        return "Every run"
    more = len(names) - MOST_NAMED
    return listed(names if more <= 1 else [*names[:MOST_NAMED], f"{more} more runs"])


def merge_problems(
    problems: Iterable[Problem], join_places: Callable[[Sequence[str]], str] = listed
) -> list[Problem]:
    """Returns the problems without repeats. If several runs share a problem, its place is their places,
    joined by ``join_places``.
    """
    places: dict[Problem, list[str]] = {}
    for problem in problems:
        places.setdefault(replace(problem, place=""), []).append(problem.place)
    return [
        replace(problem, place=join_places(list(dict.fromkeys(named)))) for problem, named in places.items()
    ]
