"""Formats numbers for display: three significant digits, a true minus, and "–" for a missing number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeGuard

NONE = "–"
MINUS = "−"
MOST_DECIMALS = 6


def is_number(value: object) -> TypeGuard[float]:
    """Returns whether the value is a finite number."""
    return isinstance(value, int | float) and math.isfinite(value)


def none_if_nan(value: float | None) -> float | None:
    """Returns a plain float for JSON; None for NaN and None."""
    return None if value is None or math.isnan(value) else float(value)


def excludes_zero(low: float | None, high: float | None) -> bool:
    """Returns whether both ends of an interval are known, and above or below zero."""
    return is_number(low) and is_number(high) and (low > 0 or high < 0)


def places(values: Iterable[float | None]) -> int:
    """Returns the number of decimals (0..6) with which the largest of ``values`` has three significant
    digits; 3 if there are none.
    """
    sizes = [abs(float(value)) for value in values if value is not None and math.isfinite(value) and value]
    if not sizes:
        return 3
    largest = float(f"{max(sizes):.2e}")  # as displayed: 9.9996 becomes 10.0
    return min(MOST_DECIMALS, max(0, 2 - math.floor(math.log10(largest))))


def fixed(value: float | None, decimals: int) -> str:
    """Returns a number with these decimals and a true minus: ``−0.0031`` for -0.0031 and 4; ``–`` for a
    number that is missing or not finite.
    """
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", MINUS)


def three(value: float | None) -> str:
    """Returns a number with three significant digits; ``–`` for a missing one."""
    return fixed(value, places([value]))


def signed(value: float | None, decimals: int) -> str:
    """Returns a number with a sign: ``+0.0278`` for 0.0278 and 4. A number that is rounded to zero has no
    sign.
    """
    text = fixed(value, decimals)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.,") else text


def change(value: float | None, unit: str = "") -> str:
    """Returns a number with a sign, three significant digits and its unit, such as ``+12.7 %``; ``–`` for a
    missing one.
    """
    text = signed(value, places([value]))
    return text if text == NONE else f"{text}{unit}"


def interval(low: float | None, high: float | None, decimals: int, unit: str = "") -> str:
    """Returns an interval such as ``+0.0236 to +0.0320``; ``–`` if an end is missing."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return NONE
    return f"{signed(low, decimals)} to {signed(high, decimals)}{unit}"


def estimate(value: float | None, low: float | None, high: float | None, unit: str = "") -> tuple[str, str]:
    """Returns an estimate and its interval as texts, such as ``+6.8 %`` and ``+3.5 to +10.2 %``.

    Both have as many decimals as the largest of the three numbers needs for three significant digits, also
    where only one of them is shown: so a lift is the same text wherever it stands.
    """
    decimals = places([value, low, high])
    amount = signed(value, decimals)
    return (amount if amount == NONE else f"{amount}{unit}"), interval(low, high, decimals, unit)


def of_100(count_: int, n: int) -> str:
    """Returns ``count_`` of ``n`` in %, without the sign, as a whole number. Shares below 1 and above 99 have
    a decimal, or are ``<0.1`` and ``>99.9``: 0 and 100 are exact.
    """
    share = 100 * count_ / n
    if 0 < share < 1 or 99 < share < 100:
        return fixed(share, 1) if 0.05 <= share < 99.95 else ("<0.1" if share < 1 else ">99.9")
    return fixed(share, 0)


def whole_shares(counts: Sequence[int]) -> list[int]:
    """Returns the shares of counts in % as whole numbers that add up to 100: the largest count, of equal ones
    the first, takes what rounding leaves.
    """
    shares = [round(100 * count_ / sum(counts)) for count_ in counts]
    shares[counts.index(max(counts))] += 100 - sum(shares)
    return shares


def shares_of_100(counts: Sequence[int]) -> list[str]:
    """Returns the shares of counts in % as texts: see ``of_100``. Whole numbers add up to 100."""
    shares = [of_100(count_, sum(counts)) for count_ in counts]
    return [*map(str, whole_shares(counts))] if all(text.isdecimal() for text in shares) else shares


def share(part: int, whole: int) -> str:
    """Returns a share such as ``97 % (972 of 1,000)``; 100 % and 0 % only if exact, ``–`` if ``whole`` is
    0.
    """
    return f"{of_100(part, whole) if whole else NONE} % ({part:,} of {whole:,})"


def p_value(value: float | None) -> str:
    """Returns a p-value such as ``0.0312``; ``<0.001`` below that, ``–`` for a missing one."""
    if value is None or not math.isfinite(value):
        return NONE
    return "<0.001" if value < 0.001 else fixed(value, 3)


def p_equals(value: float) -> str:
    """Returns a p-value within a sentence, such as ``p = 0.031`` or ``p < 0.001``."""
    return "p < 0.001" if value < 0.001 else f"p = {p_value(value)}"


def count(value: float | None) -> str:
    return fixed(value, 0)


def counted(n: int, noun: str) -> str:
    """Returns a count with its noun: ``0 items``, ``1 item``, ``1,200 items``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def users(n: int) -> str:
    return counted(n, "user")


def percent(share: float | None) -> float:
    """Returns a share multiplied by 100; NaN for None."""
    return math.nan if share is None else 100 * share


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Returns about ``wanted`` round values between ``low`` and ``high``, which are 1, 2 or 5 times a power
    of ten apart.
    """
    span = high - low
    if not math.isfinite(span) or span <= 0:
        return [low] if math.isfinite(low) else []
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= 0.75 * raw)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def tick_decimals(values: Sequence[float]) -> int:
    """Returns the fewest decimals with which all ticks are written exactly; at most 6."""
    for decimals in range(MOST_DECIMALS):
        if all(math.isclose(round(value, decimals), value, abs_tol=1e-9) for value in values):
            return decimals
    return MOST_DECIMALS


def rounded(count: int) -> int:
    """Returns an estimated count, rounded up to two significant digits: 1,900 for 1,812."""
    unit: int = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // unit) * unit
