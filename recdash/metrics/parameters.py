"""Parameters of metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from recdash.errors import InputError, Problem, UnknownName

Kind = Literal["choice", "number", "name", "metrics"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric: its values, the first being the default, and what they mean.

    ``kind`` says what else can be given: nothing (choice), a number above ``above`` and below ``below``, the
    name of something uploaded, or a list of other metrics. A parameter without values has no default: it is
    required.
    """

    name: str
    values: Mapping[str, str]
    kind: Kind = "choice"
    above: float = -math.inf
    below: float = math.inf
    also: Mapping[str, str] = field(default_factory=dict)
    """Further spellings of a value."""

    @property
    def default(self) -> str | None:
        return next(iter(self.values), None)

    def checked(self, value: str, metric: str) -> str:
        """Returns the value in its canonical spelling. Raises InputError with the known values."""
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
        if not self.above < number < self.below:
            bounds = f"between {self.above:g} and {self.below:g}"
            if math.isinf(self.below):
                bounds = f"above {self.above:g}"
            words = ", ".join(word for word in self.values if not word.replace(".", "").isdigit())
            fix = f"Give a number {bounds}{f' or {words}' if words else ''}."
            raise InputError(Problem("bad-number", f"metric {metric}({self.name}=…)", f"'{value}'", fix))
        return repr(number).removesuffix(".0")

    def _name(self, value: str, metric: str) -> str:
        if not value:
            raise InputError(Problem("no-name", f"metric {metric}({self.name}=…)", "nothing", "Give a name."))
        return value
