"""Shortens names such that they stay distinct, finds runs that variants are named like, and names scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from recdash.formatting.wording import cut_inside

GAP = "…"
WORD = re.compile(r"[_\s/|-]")
"""Pattern of the characters between the words of a name."""
_PARTS = re.compile(r"([_\s/|.-])")
_WORDS = re.compile(r"[\W_]+")
_KIND = re.compile(r"^(recs?|recommendations?|runs?|lists?|preds?|predictions?)(?=[_. -])")
"""Beginnings of names that only say that a file has recommendations."""
SHORTEST = 12
"""Smallest length for shortened names; a shorter one has no room for the beginning, the difference and the
end.
"""


def shortened(names: Iterable[str], longest: int) -> Mapping[str, str]:
    """Returns {name: the name in at most ``longest`` characters}; different names have different short names.

    A long name keeps its beginning and its end. If several names would then be the same, they also keep the
    part in which they differ; if there is no room for it, they are numbered.
    """
    distinct = list(dict.fromkeys(names))
    longest = max(longest, SHORTEST)
    short = {name: cut_inside(name, longest) for name in distinct}
    short |= {name: _with_difference(name, group, longest) for group in _clashes(short) for name in group}
    for group in _clashes(short):
        taken = set(short.values())
        for name in group:
            if len(name) > longest:
                short[name] = _numbered(name, longest, taken)
                taken.add(short[name])
    return short


def _clashes(short: Mapping[str, str]) -> list[list[str]]:
    """Returns groups of names whose short names are the same."""
    groups: dict[str, list[str]] = {}
    for name, text in short.items():
        groups.setdefault(text, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _with_difference(name: str, group: Sequence[str], longest: int) -> str:
    """Returns the name's beginning, the words in which the names of the group differ, and its end; unchanged
    if it is short enough.
    """
    if len(name) <= longest:
        return name
    first = _common(group)
    last = _common([other[first:][::-1] for other in group])
    before, after = WORD.search(name[:first][::-1]), WORD.search(name[len(name) - last :])
    first -= before.start() if before else first
    last -= after.start() if after else last
    different = name[first : len(name) - last]
    room = longest - 2 * len(GAP)
    middle = different[: room // 2]
    end = (room - len(middle)) // 3
    start = room - len(middle) - end
    head, tail = name[:start], name[len(name) - end :] if end else ""
    return f"{head}{GAP}{middle}{GAP}{tail}"


def _common(texts: Sequence[str]) -> int:
    """Returns the length of the common beginning of all texts."""
    shortest = min(map(len, texts))
    return next((place for place in range(shortest) if len({text[place] for text in texts}) > 1), shortest)


def _numbered(name: str, longest: int, taken: set[str]) -> str:
    """Returns the beginning of the name with the first number that makes it different from all in
    ``taken``.
    """
    texts = (f"{name[: longest - len(str(n)) - 1]}{GAP}{n}" for n in count(1))
    return next(text for text in texts if text not in taken)


def same_names(variants: Sequence[str], runs: Sequence[str]) -> dict[str, str]:
    """Returns {variant: run} for variants with the name of a run, in upper or lower case.

    A beginning or end that all runs share, such as ``recs_``, and a beginning that only says that a file has
    recommendations, do not count. A variant that then means several runs is left out, and so are several
    variants that mean the same run, except one with its whole name. Then a variant means the only run whose
    name has the variant's name as words, or the other way round, such as ``factor`` and ``team_factor``.
    """
    whole: dict[str, str] = {}
    short: dict[str, str] = {}
    inside: dict[str, str] = {}
    for variant in variants:
        own = variant.casefold()
        same = [run for run in runs if run.casefold() == own]
        alike = [run for run, name in _own_names(runs).items() if name and name == _without_kind(own)]
        if same:
            whole[variant] = same[0]
        elif len(alike) == 1:
            short[variant] = alike[0]
        elif not alike and len(within := [run for run in runs if _has_words_of(variant, run)]) == 1:
            inside[variant] = within[0]
    short = {variant: run for variant, run in short.items() if run not in whole.values()}
    inside = {
        variant: run for variant, run in inside.items() if run not in {*whole.values(), *short.values()}
    }
    run_of = _claimed_once(whole) | _claimed_once(short) | _claimed_once(inside)
    return {variant: run_of[variant] for variant in variants if variant in run_of}


def _has_words_of(variant: str, run: str) -> bool:
    """Returns True if all words of one name stand side by side, in the same order, in the other name."""
    words = [[word for word in _WORDS.split(name.casefold()) if word] for name in (variant, run)]
    short, long = sorted(words, key=len)
    starts = range(len(long) - len(short) + 1)
    return bool(short) and any(long[start : start + len(short)] == short for start in starts)


def _claimed_once(run_of: Mapping[str, str]) -> dict[str, str]:
    """Returns the variants that are the only ones of their run."""
    claims = Counter(run_of.values())
    return {variant: run for variant, run in run_of.items() if claims[run] == 1}


def _own_names(runs: Sequence[str]) -> dict[str, str]:
    """Returns {run: what distinguishes its name from the others}, in lower case."""
    parts = {run: _PARTS.split(run.casefold()) for run in runs}
    first, last = _shared(list(parts.values())), _shared([own[::-1] for own in parts.values()])
    return {run: _without_kind("".join(own[first : len(own) - last])) for run, own in parts.items()}


def _shared(names: Sequence[Sequence[str]]) -> int:
    """Returns how many first parts all of several names share, if each has more parts than these."""
    if len(names) < 2:
        return 0
    most = min(map(len, names)) - 1
    return next((n for n in range(most) if len({own[n] for own in names}) > 1), max(most, 0))


def _without_kind(name: str) -> str:
    return _KIND.sub("", name).strip("_-. ")


def name_of_score(row: Mapping[str, Any]) -> str:
    """Returns the metric of a row of scores with its k, such as ``ndcg@10``."""
    return str(row["metric"]) if row["k"] is None else f"{row['metric']}@{row['k']}"
