"""The formulas of metrics as MathML, which browsers draw without a script."""

from __future__ import annotations

from latex2mathml.converter import convert
from markupsafe import Markup

SIGNS = str.maketrans({"<": r"\lt ", ">": r"\gt "})
"""Replacements for < and >, which ``convert`` would leave unescaped in the text of a formula."""


def mathml(latex: str) -> Markup:
    """Returns a formula as an element ``math``.

    Raises ValueError for invalid LaTeX, and for a formula with links or styles.
    """
    try:
        element = convert(rf"\displaystyle {latex.translate(SIGNS)}")
    except Exception as error:  # the errors of convert have no common class
        raise ValueError(f"{latex!r} is no formula: {type(error).__name__}") from error
    if any(f" {attribute}=" in element for attribute in ("href", "style", "class", "id")):
        raise ValueError(f"{latex!r} is no formula: it holds a link or a style")
    return Markup(element)  # noqa: S704 - < and > cannot be tags, and the formula sets no attribute
