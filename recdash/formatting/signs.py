"""The sign of each finding, the same on every page and in every report."""

from __future__ import annotations

from collections.abc import Mapping

from recdash.formatting import numbers

OPEN = "?"
"""The sign of what is inconclusive; ``=`` says that there is no difference, or none that matters."""
EQUAL = "="
SIGNS: Mapping[str, str] = {
    "better": "▲",
    "worse": "▼",
    "broken": "▼",
    "holds": "✓",
    "tie": EQUAL,
    "equal for every user": EQUAL,
    "not settled": OPEN,
    "inconclusive": OPEN,
}
"""{finding: its sign}; findings are given as they are stored or as they are shown."""


def sign_of(finding: str) -> str:
    """Returns the sign of a finding; ``–`` for what is not judged."""
    return SIGNS.get(finding, numbers.NONE)


def sign_of_change(change: float | None) -> str:
    """Returns ▲ for a number above 0, ▼ for one below, = for 0, and – for a missing one."""
    if not numbers.is_number(change):
        return numbers.NONE
    return "▲" if change > 0 else "▼" if change < 0 else EQUAL


def former_sign(finding: str) -> str:
    """Returns the sign of a finding in reports that had no other one for what is inconclusive than =."""
    sign = sign_of(finding)
    return EQUAL if sign == OPEN else sign
