"""Puts numbers, lists, days and statistical findings into words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from recdash.formatting import numbers

CORRECTIONS = {"holm": "Holm", "holm in order": "Holm", "bh": "Benjamini–Hochberg"}
"""{method of correction for multiple tests: its name}; ``off`` is not included."""
MOST_PRINTED = 12
"""The most lines that ``print`` shows of a result."""
_NUMBER_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def finding(low: float, high: float, *, lower_is_better: bool = False) -> str:
    """Returns *better* or *worse* if the interval excludes zero, else the stored word for inconclusive."""
    if not numbers.excludes_zero(low, high):
        return "not settled"
    return "better" if (low > 0) != lower_is_better else "worse"


def shown(word: str) -> str:
    """Returns the finding as shown to people; only the stored word for ``inconclusive`` differs."""
    return "inconclusive" if word == "not settled" else word


def adjusted(plain: float | None, within: str = "{}") -> str:
    """Returns that CUPED adjusted a lift, with the unadjusted lift ``plain``, a share, ``within`` a text such
    as ``" ({})"``; empty for None.
    """
    if plain is None:
        return ""
    return within.format(f"CUPED-adjusted, {numbers.change(100 * plain, ' %')} unadjusted")


def tone(word: str) -> str:
    """Returns the CSS class for the colour of a finding."""
    return _TONES.get(word, "same")


_TONES = {
    "better": "better",
    "worse": "worse",
    "exceeds its guardrail": "worse",
}


def unavailable(noun: str, wanted: str, showing: str = "another") -> str:
    """Returns a text for a link to something that does not exist, such as ``Metric "foo" isn't available
    here; showing nDCG``, without a full stop.

    ``showing`` is what is shown instead; empty if nothing is.
    """
    instead = f"; showing {showing}" if showing else ""
    return f'{capital(noun)} "{wanted}" isn\'t available here{instead}'


def named_number(n: int) -> str:
    return _NUMBER_WORDS[n] if n < len(_NUMBER_WORDS) else numbers.count(n)


def plural(n: float, noun: str) -> str:
    """Returns the noun for a number: ``user`` for one, ``users`` for any other."""
    return noun if n == 1 else f"{noun}s"


def many(n: float, noun: str) -> str:
    """Returns a count with its noun: ``1 user``, ``6,263 users``; ``no user`` for 0."""
    return f"{numbers.count(n)} {plural(n, noun)}" if n else f"no {noun}"


def users(counts: Iterable[float]) -> str:
    """Returns numbers of users as a range: ``60 users``, or ``40 to 80 users`` if they differ; ``no user``
    for none.
    """
    known = sorted(set(counts)) or [0]
    first = f"{numbers.count(known[0])} to " if len(known) > 1 else ""
    return f"{first}{many(known[-1], 'user')}"


def span(low: str, high: str) -> str:
    """Returns a range such as ``5 to 7``; ``5`` if both ends are equal."""
    return low if low == high else f"{low} to {high}"


def count_range(counts: Iterable[int]) -> str:
    """Returns the counts as a range: ``6,040``, or ``5,100 to 6,040`` if they differ; ``–`` if there are
    none.
    """
    known = sorted(set(counts))
    return span(numbers.count(known[0]), numbers.count(known[-1])) if known else numbers.NONE


def day(when: date) -> str:
    """Returns a date such as ``9 Oct 2026``."""
    return f"{when.day} {when:%b %Y}"


def moment(when: datetime) -> str:
    """Returns a time such as ``9 Oct 2026, 14:05 UTC``."""
    return f"{day(when)}, {when:%H:%M} UTC"


def long_day(when: datetime) -> str:
    """Returns a date such as ``9 October 2026``."""
    return f"{when.day} {when:%B %Y}"


def listed(names: Sequence[str], most: int | None = None, *, joint: str = "and") -> str:
    """Returns the names joined, such as ``a, b and c``; of more than ``most`` the first ones and how many
    more there are: ``a, b, c and 2 more``. ``joint`` is the word before the last.
    """
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return f" {joint} ".join([*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]])


def first_lines(lines: Sequence[str]) -> list[str]:
    """Returns the first ``MOST_PRINTED`` lines, and one that says how many more there are."""
    left = len(lines) - MOST_PRINTED
    return list(lines) if left <= 0 else [*lines[:MOST_PRINTED], f"… and {many(left, 'more line')}"]


def cut(text: str, longest: int) -> str:
    """Returns the first ``longest`` characters of a text, the last of which is an ellipsis if it was longer;
    not escaped.
    """
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def cut_inside(text: str, longest: int) -> str:
    """Returns a text in at most ``longest`` characters: a longer one loses its middle, because names often
    differ only at their end.
    """
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def lowered(title: str) -> str:
    """Returns a title for use in a sentence: ``engagement rate`` for ``Engagement rate``; a title such as CTR
    stays as it is.
    """
    return title if title[1:2].isupper() else small(title)


def small(text: str) -> str:
    """Returns the text with its first letter in lower case."""
    return f"{text[:1].lower()}{text[1:]}"


def possessive(name: str) -> str:
    """Returns the possessive form of a name, such as ``Popular's``."""
    return f"{name}'s"


def capital(text: str) -> str:
    """Returns the text with its first letter in upper case."""
    return f"{text[:1].upper()}{text[1:]}"


def nested(value: Any) -> str:
    """Returns a nested value on one line: ``a: 1 · b: 2`` for a mapping, ``x, y`` for a list; ``–`` for
    None.
    """
    if isinstance(value, Mapping):
        return " · ".join(f"{name}: {nested(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(nested, value))
    return numbers.NONE if value is None else str(value)


def loss_of(margin: float | None, *, rises: bool) -> str:
    """Returns a loss in words, such as ``a drop of 2 %``; ``rises`` is whether a higher value is a loss."""
    loss = "rise" if rises else "drop"
    return f"a {loss} of {100 * margin:g} %" if margin else f"a {loss}"
