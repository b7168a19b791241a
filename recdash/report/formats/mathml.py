"""The formulas of metrics as MathML, which browsers draw without a script."""

from __future__ import annotations

from latex2mathml.converter import convert
from markupsafe import Markup

SIGNS = str.maketrans({"<": r"\lt ", ">": r"\gt "})
"""What could begin a tag: in a text of a formula, ``convert`` would leave it as it is."""


def mathml(latex: str) -> Markup:
    """Returns a formula as an element ``math``. Raises ValueError for what is no LaTeX, and for links and
    styles.
    """
    try:
        element = convert(rf"\displaystyle {latex.translate(SIGNS)}")
    except Exception as error:  # its errors have no class in common
        raise ValueError(f"{latex!r} is no formula: {type(error).__name__}") from error
    if any(f" {attribute}=" in element for attribute in ("href", "style", "class", "id")):
        raise ValueError(f"{latex!r} is no formula: it holds a link or a style")
    return Markup(element)  # noqa: S704 - < and > are no tags, and no attribute is the formula's own
