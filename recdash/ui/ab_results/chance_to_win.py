"""Shows the chance to win and the expected loss of each variant, an option beside the p-values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.numbers import percent
from recdash.formatting.tables import Cell, number_columns, text_columns
from recdash.online.analysis.chance_to_win import WinChance, WinChances, chance_text, prior_of
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import ROLES, AbTest
from recdash.ui.ab_results.wording import variant_cell
from recdash.ui.app import links, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.lift_words import estimate

OFF = "off"
CHOICES: Mapping[str, str] = {OFF: "Off", "flat": "Flat prior", "0,0.3": "Prior 0 ± 30 %"}
"""The choices: off, or a prior as ``prior_of`` reads it."""
HINT = (
    "A Bayesian view beside p: how probable it is that a variant is better than the control. The flat prior "
    "takes every lift as equally likely; the other one takes lifts beyond ±60 % as unlikely before the data."
)


def show(view: View, ab_test: AbTest) -> None:
    """Draws the choice of the prior and, unless it is off, the table; nothing without a variant to
    compare.
    """
    if not ab_test.challengers:
        return
    prior = widgets.choice("Chance to win", "bayes", CHOICES, OFF, HINT)
    if prior == OFF:
        return
    analysis = state.workspace().online_analysis
    chances = cached.ask(analysis.chance_to_win, ab_test.test, prior_of(prior))
    explained = links.explained(view, "chance-to-win", "chance to win")
    widgets.section("Chance to win and expected loss", "Beside p, not in place of the finding.", explained)
    columns = [
        *text_columns("Metric", "Variant"),
        *number_columns("Chance to win", "Expected loss\nif shipped", "Expected loss\nif not shipped"),
        *number_columns("Lift,\n95 % credible interval"),
    ]
    widgets.table(columns, list(rows(ab_test, chances)))
    widgets.note([chances.definition])
    frame = chances.table().assign(prior=str(chances.prior))
    widgets.table_behind(frame, "ab-chance-to-win")


def rows(ab_test: AbTest, chances: WinChances) -> Iterator[list[Cell]]:
    """Yields a row per metric and variant: goals first, then guardrails, then others."""
    for role in ROLES:
        for chance in (row for row in chances.rows if row.role == role):
            yield [_metric(chance), variant_cell(ab_test, chance.variant), *_numbers(chance)]


def _metric(chance: WinChance) -> Html:
    lower = "lower is better" if chance.direction == "down" else ""
    return widgets.two_lines(html("<bdi>{title}</bdi>", title=chance.title), lower)


def _numbers(chance: WinChance) -> list[Cell]:
    if chance.chance is None:
        missing = html('<span class="rd-muted" title="{note}">–</span>', note=chance.note)
        return [widgets.two_lines(missing, chance.note), missing, missing, missing]
    lift, interval = estimate(chance.effect, chance.low, chance.high)
    losses = [f"{numbers.three(percent(loss))} %" for loss in (chance.loss, chance.loss_of_control)]
    return [
        chance_text(chance.chance),
        *losses,
        widgets.two_lines(html("<b>{lift}</b>", lift=lift), interval),
    ]
