"""The grammar of metric specs: ``name(parameter=value, …)@k``, the same in CLI, Python, URL and page.

A value can be a list of specs: ``f1(of=map,mar(form=hits))``. A bare value belongs to the metric's first
parameter: ``coverage_by(genre)``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recdash.errors import InputError, Problem

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_\-]*")
MOST_BRACKETS = 20
_FIX = "Write name(parameter=value)@k, for example ndcg(gain=exp)@10."


@dataclass(frozen=True)
class Spec:
    """A metric as requested: its name, the parameters as text, and the cutoff (None = all)."""

    name: str
    parameters: tuple[tuple[str, str], ...] = field(default=())
    k: int | None = None

    @property
    def label(self) -> str:
        """Returns the spec without its cutoff: ``ndcg(gain=exp)``."""
        inside = ",".join(f"{name}={value}" if name else value for name, value in self.parameters)
        return f"{self.name}({inside})" if inside else self.name

    def __str__(self) -> str:
        return self.label if self.k is None else f"{self.label}@{self.k}"


def parse(text: str) -> Spec:
    """Returns one parsed spec. Raises InputError unless it has the form name(parameter=value, …)@k."""
    if text.count("(") > MOST_BRACKETS:
        raise _unreadable(f"{text[:40]}…", f"more than {MOST_BRACKETS} brackets")
    head, k = _cutoff(text.strip(), text)
    name, bracket, inside = head.partition("(")
    if bracket and not inside.endswith(")"):
        raise _unreadable(text, "a bracket is not closed")
    if not _NAME.fullmatch(name.strip()):
        raise _unreadable(text, f"'{name.strip()}' is not a metric's name")
    return Spec(name.strip(), tuple(_parameters(inside[:-1], text)) if bracket else (), k)


def parse_list(text: str | Sequence[str]) -> list[Spec]:
    """Returns the specs of ``"ndcg@10,f1(of=map,mar)@5"`` or a sequence of such texts."""
    texts = [text] if isinstance(text, str) else text
    return [parse(part) for specs in texts for part in split(specs)]


def check_k(k: Any, depth: int | None = None) -> None:
    """Raises InputError for a cutoff that is no whole number from 1, or deeper than lists were read."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        text = "a cutoff is a whole number from 1"
        raise InputError(Problem("bad-cutoff", f"k = {k}", text, "Choose a k such as 10."))
    if depth is not None and k > depth:
        raise InputError(Problem("beyond-depth", f"k = {k}", f"the depth is {depth}", "Choose a smaller k."))


def split(text: str) -> list[str]:
    """Returns the parts between commas that are not inside brackets."""
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
    if not re.fullmatch(r"[1-9][0-9]{0,8}", tail):
        raise _unreadable(whole, f"'{tail}' where a cutoff belongs (a whole number from 1)")
    return head, int(tail)


def _parameters(inside: str, whole: str) -> list[tuple[str, str]]:
    """Returns ``of=map,mar(form=hits), average=means`` as pairs; a part without '=' continues a list value.

    The first part can be a value without a name.
    """
    pairs: list[tuple[str, str]] = []
    for part in split(inside):
        name, equals, value = part.partition("=")
        if equals and "(" not in name:
            pairs.append((name.strip(), value.strip()))
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
