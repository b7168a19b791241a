"""The formulas of metrics as MathML, which browsers draw without a script; of LaTeX just what they use."""

from __future__ import annotations

import re
from collections.abc import Mapping

from markupsafe import Markup, escape

TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\d+|\s+|.", re.DOTALL)
OPERATORS: Mapping[str, str] = {
    r"\le": "≤", r"\in": "∈", r"\cap": "∩", r"\cdot": "·", r"\{": "{", r"\}": "}", "-": "−",
}  # fmt: skip
LARGE: Mapping[str, str] = {r"\sum": "∑", r"\prod": "∏", r"\bigcup": "⋃"}
NAMED = {r"\min": "min", r"\max": "max", r"\log": "log"}
ABOVE = {r"\hat": "^", r"\bar": "¯", r"\overline": "¯"}
SPACES = {r"\,": "0.17em", r"\ ": "0.25em", r"\quad": "1em"}
TEXTS = (r"\mathrm", r"\text")
SCRIPTS = {"_": "sub", "^": "sup"}
LIMITS = {"sub": "munder", "sup": "mover", "subsup": "munderover"}


def mathml(latex: str) -> Markup:
    """A formula as an element ``math``. Raises ValueError for what the metrics' formulas do not use."""
    body = _Formula(TOKEN.findall(latex)).row("")
    return Markup('<math display="inline"><mstyle displaystyle="true">{body}</mstyle></math>').format(
        body=Markup(body)  # noqa: S704 - made below, of escaped parts
    )


class _Formula:
    """Tokens read from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.index = tokens, 0

    def next(self) -> str:
        """The next sign that is no blank; "" at the end."""
        while self.index < len(self.tokens) and self.tokens[self.index].isspace():
            self.index += 1
        self.index += 1
        return self.tokens[self.index - 1] if self.index <= len(self.tokens) else ""

    def row(self, until: str) -> str:
        parts = []
        while (sign := self.next()) != until:
            if not sign:
                raise ValueError("a formula ends inside of a group")
            parts.append(self.with_scripts(sign))
        return f"<mrow>{''.join(parts)}</mrow>"

    def with_scripts(self, sign: str) -> str:
        base, scripts = self.atom(sign), {}
        while (mark := self.next()) in SCRIPTS:
            scripts[SCRIPTS[mark]] = self.atom(self.next())
        self.index -= 1
        if not scripts:
            return base
        kind = "subsup" if len(scripts) > 1 else next(iter(scripts))
        tag = LIMITS[kind] if sign in LARGE else f"m{kind}"
        return f"<{tag}>{base}{''.join(scripts[name] for name in ('sub', 'sup') if name in scripts)}</{tag}>"

    def atom(self, sign: str) -> str:
        if sign == "{":
            return self.row("}")
        if sign == r"\frac":
            return f"<mfrac>{self.atom(self.next())}{self.atom(self.next())}</mfrac>"
        if sign == r"\sqrt":
            return f"<msqrt>{self.atom(self.next())}</msqrt>"
        if sign in ABOVE:
            return f'<mover accent="true">{self.atom(self.next())}<mo>{ABOVE[sign]}</mo></mover>'
        if sign in TEXTS:
            return f"<mtext>{escape(self.text())}</mtext>"
        return _leaf(sign)

    def text(self) -> str:
        """The text in the braces, as it is written."""
        self.next()
        end = self.tokens.index("}", self.index)
        text, self.index = "".join(self.tokens[self.index : end]), end + 1
        return text.replace(r"\ ", " ").replace(" ", "\u00a0")


def _leaf(sign: str) -> str:
    if sign in SPACES:
        return f'<mspace width="{SPACES[sign]}"/>'
    if sign in LARGE:
        return f'<mo largeop="true" movablelimits="false">{LARGE[sign]}</mo>'
    if sign.isdigit():
        return f"<mn>{sign}</mn>"
    if sign.isalpha() or sign in NAMED:
        return f"<mi>{NAMED.get(sign, sign)}</mi>"
    if sign.startswith("\\") and sign not in OPERATORS:
        raise ValueError(f"{sign} is not known in a formula")
    stretch = ' stretchy="false"' if sign in "()[]|" else ""
    return f"<mo{stretch}>{escape(OPERATORS.get(sign, sign))}</mo>"
