"""Parameters of metrics and the check of their values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from recdash.errors import InputError, Problem, UnknownName

Kind = Literal["choice", "number", "name", "metrics"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric.

    ``values`` maps each value to its meaning; the first one is the default. A parameter without values has no
    default and is required. ``kind`` says which other values are allowed: none (choice), a number strictly
    between ``above`` and ``below``, the name of something uploaded, or a list of metrics.
    """

    name: str
    values: Mapping[str, str]
    kind: Kind = "choice"
    above: float = -math.inf
    below: float = math.inf
    whole: bool = False
    """True if a number must be whole."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Other accepted spellings of a value → the canonical value."""

    @property
    def default(self) -> str | None:
        return next(iter(self.values), None)

    def checked(self, value: str, metric: str) -> str:
        """Returns the value in its canonical spelling.

        Raises UnknownName, which lists the known values, or InputError for a bad number or an empty name.
        """
        value = self.also.get(value, value)
        if value in self.values:
            return value
        if self.kind == "choice":
            raise UnknownName(f"value of {metric}({self.name}=…)", value, [*self.values, *self.also])
        return self._number(value, metric) if self.kind == "number" else self._name(value, metric)

    def _number(self, value: str, metric: str) -> str:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not self.above < number < self.below or (self.whole and not number.is_integer()):
            bounds = f"between {self.above:g} and {self.below:g}"
            if math.isinf(self.below):
                bounds = f"above {self.above:g}"
            words = ", ".join(word for word in self.values if not word.replace(".", "").isdigit())
            fix = f"Give a {'whole ' if self.whole else ''}number {bounds}{f' or {words}' if words else ''}."
            raise InputError(Problem("bad-number", f"metric {metric}({self.name}=…)", f"'{value}'", fix))
        return repr(number).removesuffix(".0")

    def _name(self, value: str, metric: str) -> str:
        if not value:
            raise InputError(Problem("no-name", f"metric {metric}({self.name}=…)", "nothing", "Give a name."))
        return value
