"""Reads what people write in a plan: shares, margins of guardrails, and the split of users."""

from __future__ import annotations

from recdash.errors import InputError, Problem

SHARE = "Write a share: 2% or 0.02."
MARGIN = "Write METRIC=MARGIN, such as sessions_per_user=2%."
SPLIT = "Write a share for each variant, the control first: control=2,new=1."


def share_of(place: str, text: str) -> float:
    """Returns the share that a text gives: 0.02 for ``2%`` and for ``0.02``. Raises InputError for others."""
    number, is_percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        return float(number) / (100 if is_percent else 1)
    except ValueError:
        raise InputError(Problem("bad-share", place, f"'{text}'", SHARE)) from None


def guardrail_of(place: str, text: str) -> tuple[str, float]:
    """Returns metric and margin that a text such as ``sessions_per_user=2%`` gives. Raises InputError for
    others.
    """
    name, equals, margin = text.partition("=")
    if not equals or not name.strip():
        raise InputError(Problem("bad-guardrail", place, f"'{text.strip()}'", MARGIN))
    return name.strip(), share_of(place, margin)


def guardrails_of(place: str, text: str) -> dict[str, float]:
    """Returns the margins that a text with commas gives; empty for an empty text."""
    return dict(guardrail_of(place, part) for part in text.split(",") if part.strip())


def split_of(place: str, text: str) -> dict[str, float]:
    """Returns the shares that a text such as ``control=2,new=1`` gives; empty for an empty text. Raises
    InputError for others, and for a variant that is named twice.
    """
    shares: dict[str, float] = {}
    for part in (part for part in text.split(",") if part.strip()):
        name, equals, share = part.rpartition("=")
        try:
            value = float(share)
        except ValueError:
            value = 0.0
        if not equals or not name.strip() or value <= 0 or name.strip() in shares:
            raise InputError(Problem("bad-split", place, f"'{text}'", SPLIT))
        shares[name.strip()] = value
    return shares


def names_of(text: str) -> tuple[str, ...]:
    """Returns the names that a text with commas lists."""
    return tuple(part.strip() for part in text.split(",") if part.strip())
