"""Shortens names in the middle so that the names of a set stay distinct."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from recdash.formatting.wording import cut_inside

GAP = "…"
WORD = re.compile(r"[_\s/|-]")
"""What ends a word of a name."""
SHORTEST = 12
"""Below this length a name has no room for its beginning, what is special about it, and its end."""


def shortened(names: Iterable[str], longest: int) -> Mapping[str, str]:
    """Returns {name: the name in at most ``longest`` characters}; equal short names only for equal names.

    A long name keeps its beginning and its end. Names that would then read the same also keep what is
    different between them; where there is no room for that, a number distinguishes them.
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
    """Returns the names that read the same, group by group."""
    groups: dict[str, list[str]] = {}
    for name, text in short.items():
        groups.setdefault(text, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _with_difference(name: str, group: Sequence[str], longest: int) -> str:
    """Beginning, the words at which the names of the group differ, and the end."""
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
    """Returns how many characters all texts begin with."""
    shortest = min(map(len, texts))
    return next((place for place in range(shortest) if len({text[place] for text in texts}) > 1), shortest)


def _numbered(name: str, longest: int, taken: set[str]) -> str:
    """Returns the beginning of a name and the first number with which it reads like no other."""
    texts = (f"{name[: longest - len(str(n)) - 1]}{GAP}{n}" for n in count(1))
    return next(text for text in texts if text not in taken)
