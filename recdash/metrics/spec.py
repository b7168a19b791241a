"""The grammar of metric specs, ``name(parameter=value, …)@k``, for the command line, Python, URLs and pages.

A value can be a list of specs, as in ``f1(of=map,mar(form=hits))``. A value without a name belongs to the
metric's first parameter, as in ``coverage_by(genre)``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recdash.domain.arguments import check_type, texts_of
from recdash.errors import InputError, Problem

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_\-]*")
MOST_BRACKETS = 20
_FIX = "Write name(parameter=value)@k, for example ndcg(gain=exp)@10."


@dataclass(frozen=True)
class Spec:
    """A parsed metric spec: the metric's name, its parameters as text, and the cutoff (None for all)."""

    name: str
    parameters: tuple[tuple[str, str], ...] = field(default=())
    k: int | None = None

    @property
    def label(self) -> str:
        """Returns the spec without its cutoff, such as ``ndcg(gain=exp)``."""
        inside = ",".join(f"{name}={value}" if name else value for name, value in self.parameters)
        return f"{self.name}({inside})" if inside else self.name

    def __str__(self) -> str:
        return self.label if self.k is None else f"{self.label}@{self.k}"


def parse(text: str) -> Spec:
    """Returns the spec that the text describes; names may be written in any case, as in ``NDCG@10``.

    Raises InputError if it is not of the form name(parameter=value, …)@k.
    """
    check_type("metric", text, str, _FIX)
    if text.count("(") > MOST_BRACKETS:
        raise _unreadable(f"{text[:40]}…", f"more than {MOST_BRACKETS} brackets")
    head, k = _cutoff(text.strip(), text)
    name, bracket, inside = head.partition("(")
    if bracket and not inside.endswith(")"):
        raise _unreadable(text, "a bracket is not closed")
    if not NAME.fullmatch(name.strip()):
        raise _unreadable(text, f"'{name.strip()}' is not a metric's name")
    return Spec(name.strip().lower(), tuple(_parameters(inside[:-1], text)) if bracket else (), k)


def parse_list(text: str | Sequence[str]) -> list[Spec]:
    """Returns the specs in a text such as ``"ndcg@10,f1(of=map,mar)@5"``, or in several such texts."""
    return [parse(part) for specs in texts_of("metrics", text, "ndcg@10") for part in split(specs)]


def check_k(k: Any, depth: int | None = None) -> None:
    """Raises InputError for a cutoff that is not a positive whole number or exceeds ``depth``.

    ``depth`` is the number of positions to which lists were read; None leaves the second check out.
    """
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        text = "a cutoff is a whole number from 1"
        raise InputError(Problem("bad-cutoff", f"k = {k}", text, "Choose a k such as 10."))
    if depth is not None and k > depth:
        raise InputError(Problem("beyond-depth", f"k = {k}", f"the depth is {depth}", "Choose a smaller k."))


def split(text: str) -> list[str]:
    """Returns the non-empty parts between the commas that are outside brackets."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]


def _cutoff(text: str, whole: str) -> tuple[str, int | None]:
    head, sign, tail = text.rpartition("@")
    if not sign or ")" in tail:
        return text, None
    tail = tail.strip()
    if not re.fullmatch(r"[1-9][0-9]{0,8}", tail):
        raise _unreadable(whole, f"'{tail}' where a cutoff belongs (a whole number from 1)")
    return head.rstrip(), int(tail)


def _parameters(inside: str, whole: str) -> list[tuple[str, str]]:
    """Returns the text inside the brackets as (name, value) pairs.

    ``of=map,mar(form=hits), average=means`` gives two pairs: a part without '=' continues the value before
    it. If the first part has no '=', its name is empty. Raises InputError if a name occurs twice.
    """
    pairs: list[tuple[str, str]] = []
    for part in split(inside):
        name, equals, value = part.partition("=")
        if equals and "(" not in name:
            pairs.append((name.strip().lower(), value.strip()))
        elif pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]},{part}")
        else:
            pairs.append(("", part))
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _unreadable(whole, f"'{twice[0]}' given twice")
    return pairs


def _unreadable(text: str, text_: str) -> InputError:
    return InputError(Problem("bad-metric-spec", f"metric '{text}'", text_, _FIX))
