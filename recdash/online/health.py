"""Whether a test can be believed: the split, users seen in two variants, which variant is the control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recdash.errors import Problem, UnknownName

MISMATCH_BELOW = 0.001
CROSSED_SHARE, CROSSED_USERS = 0.01, 10
CONTROL_NAMES = ("control", "baseline", "a", "holdout", "base", "default", "current", "production", "off")
CONTROL_WORDS = ("control", "baseline", "holdout")


@dataclass(frozen=True)
class Health:
    """``srm_p`` of an even split over all variants, None where it cannot be had; ``crossover`` users.

    ``blocked``: the split is so unlikely that no verdict should be drawn from the test.
    """

    srm_p: float | None
    crossover: int

    @property
    def blocked(self) -> bool:
        return self.srm_p is not None and self.srm_p < MISMATCH_BELOW


def control_among(variants: Sequence[str], control: str | None) -> tuple[str, tuple[Problem, ...]]:
    """The control that was named, or the one that its name gives away, or the first with a notice."""
    if control is None:
        named = _named_like_a_control(variants)
        return (named, ()) if named else (variants[0], (_guessed(variants[0]),))
    if control not in variants:
        raise UnknownName("variant", control, variants)
    return control, ()


def _named_like_a_control(variants: Sequence[str]) -> str | None:
    """A variant with one of the usual names, else one whose name says it among other words."""
    by_name = {variant.strip().casefold(): variant for variant in reversed(variants)}
    whole = [by_name[name] for name in CONTROL_NAMES if name in by_name]
    partly = [by_name[name] for name in sorted(by_name) if any(word in name for word in CONTROL_WORDS)]
    return next(iter(whole + partly), None)


def _guessed(variant: str) -> Problem:
    found = f"No variant is named like a control, so '{variant}', the first by name, is taken for it"
    return Problem("guessed-control", "column 'variant'", found, "Choose the control if it is another.")


def single(variants: Sequence[str]) -> tuple[Problem, ...]:
    """The notice that there is nothing to compare with."""
    if len(variants) > 1:
        return ()
    found = f"'{variants[0]}' is the only variant"
    return (
        Problem("single-variant", "column 'variant'", found, "Its values are shown, but there is no lift."),
    )


def sample_ratio(users: Mapping[str, int]) -> tuple[float | None, tuple[Problem, ...]]:
    """How likely an even split gives these users per variant (p of χ², None below two variants), and
    the notice that blocks a verdict below .001.
    """
    from scipy.stats import chisquare

    if len(users) < 2:
        return None, ()
    p = float(chisquare(list(users.values())).pvalue)
    return p, (_mismatch(users, p),) if p < MISMATCH_BELOW else ()


def _mismatch(users: Mapping[str, int], p: float) -> Problem:
    counts = ", ".join(f"{variant} {count:,}" for variant, count in users.items())
    chance = "less than once in a million tests" if p < 1e-6 else f"with p = {p:.6f}"
    return Problem(
        code="sample-ratio-mismatch",
        place="users per variant",
        found=f"{counts}: an even split gives this {chance}",
        fix="Draw no verdict before it is known why users are missing, unless the split was planned so.",
    )


def crossovers(crossed: int, n_units: int) -> tuple[Problem, ...]:
    """What to say of users seen in several variants; ``n_units`` counts them too."""
    if not crossed:
        return ()
    found = f"{crossed:,} of {n_units:,} users were seen in more than one variant and are left out"
    if crossed >= CROSSED_USERS and crossed >= CROSSED_SHARE * n_units:
        fix = "From 1 % on this can bias the result: find out how users change the variant."
        return (Problem("many-crossovers", "column 'variant'", found, fix, crossed),)
    return (Problem("crossovers", "column 'variant'", found, "So few do not matter.", crossed),)
