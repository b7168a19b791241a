"""Further questions about an A/B test: chance to win, segments, days, power, large values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    from recdash.formatting.result_table import ResultTable
    from recdash.online.analysis.analysed_test import AnalysedTest
    from recdash.online.analysis.chance_to_win import WinChances


@dataclass(frozen=True)
class FurtherQuestions:
    """What is asked about a test besides its results; None for what is not asked.

    ``prior`` is the text of the prior for the chance to win. ``segments`` is an attribute; ``days`` a time
    scale; ``power`` a lift to detect, such as ``2%`` or ``0.02``. An empty text asks for all attributes, and
    for no lift. ``metric`` limits the tables to one metric.
    """

    prior: str | None = None
    segments: str | None = None
    days: str | None = None
    power: str | None = None
    large_values: bool = False
    metric: str | None = None

    @property
    def names(self) -> list[str]:
        """Returns the names of the tables that are asked for."""
        given = {"segments": self.segments, "days": self.days, "power": self.power}
        names = [name for name, value in given.items() if value is not None]
        return [*names, "large_values"] if self.large_values else names

    def chances(self, results: AnalysedTest) -> WinChances | None:
        """Returns the chances to win; None if they are not asked for."""
        from recdash.online.analysis.chance_to_win import prior_of

        return None if self.prior is None else results.chance_to_win(prior_of(self.prior))

    def tables(self, results: AnalysedTest) -> dict[str, ResultTable]:
        """Returns {name: table} of what is asked for."""
        made: dict[str, ResultTable] = {}
        if self.segments is not None:
            attribute = None if self.segments in ("", "all") else self.segments
            made["segments"] = results.segments(attribute, self.metric)
        if self.days is not None:
            made["days"] = results.days(self.metric, self.days)  # type: ignore[arg-type]
        if self.power is not None:
            made["power"] = results.power(_effect(self.power), self.metric)
        if self.large_values:
            made["large_values"] = results.large_values(self.metric)
        return made

    def added_to(self, facts: Mapping[str, Any], results: AnalysedTest) -> dict[str, Any]:
        """Returns the facts of the results as JSON-ready values, with what is asked for."""
        added: dict[str, Any] = {}
        if (chances := self.chances(results)) is not None:
            prior = {"mean": chances.prior.mean, "std_dev": chances.prior.std_dev, "text": str(chances.prior)}
            added = {"prior": prior, "results": _with_chances(facts["results"], chances)}
        return {
            **facts,
            **added,
            **{name: table.records() for name, table in self.tables(results).items()},
        }


def _with_chances(results: list[dict[str, Any]], chances: WinChances) -> list[dict[str, Any]]:
    """Returns the rows of the results with their chances to win."""
    rows = []
    for row in results:
        chance = chances.of(row["metric"], row["variant"])
        added = {
            "chance_to_win": chance.chance,
            "expected_loss": chance.loss,
            "expected_loss_of_control": chance.loss_of_control,
            "posterior_low": chance.low,
            "posterior_high": chance.high,
            "chance_note": chance.note,
        }
        rows.append({**row, **added})
    return rows


def _effect(text: str) -> float | None:
    """Returns the effect that a text such as ``2%`` or ``0.02`` gives, as a share; None for an empty text."""
    if not text:
        return None
    number, percent, rest = text.strip().partition("%")
    try:
        effect = float(number) / (100 if percent else 1)
    except ValueError:
        effect = 0.0
    if rest or not 0 < abs(effect) <= 10:
        raise InputError(Problem("bad-effect", "power", f"'{text}'", "Write the lift to detect: 2% or 0.02."))
    return effect
