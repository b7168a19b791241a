"""Further questions about an A/B test in a terminal: chance to win, segments, days, power, large values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from recdash.errors import InputError, Problem
from recdash.formatting.sanitize import visible
from recdash.formatting.spreadsheet import safe_cell
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.formatting.result_table import ResultTable
    from recdash.online.analysis.analysed_test import AnalysedTest
    from recdash.online.analysis.further_questions import FurtherQuestions

FORMS = ("text", "json", "csv")
QUESTIONS = ("bayesian", "prior", "segments", "days", "power", "large_values", "online_metric")
"""The names of the options, which are possible for a stored test, too."""
TIME_SCALES = ("cumulative", "daily", "since")
IN_SHARES = "shares (0.05 = 5 %)"
NOTHING = "None: no column divides the users into segments."
ALL = ""
"""The value of an option that is given without one: all attributes, or no lift to detect."""
SHOWN: Mapping[str, tuple[str, ...]] = {
    "segments": (
        "metric", "attribute", "segment", "variant", "n_control", "n_variant", "lift", "corrected_low",
        "corrected_high", "p_bh", "note",
    ),
    "days": (
        "metric", "date", "day", "variant", "n", "lift", "low", "high", "sequence_low", "sequence_high",
        "note",
    ),
    "chance_to_win": (
        "metric", "variant", "chance", "loss", "loss_of_control", "effect", "low", "high", "note",
    ),
    "large_values": (
        "metric", "variant", "needed_users", "top_user", "lift", "cap", "capped", "capped_low", "capped_high",
        "trimmed", "trimmed_low", "trimmed_high",
    ),
}  # fmt: skip
"""The columns of each table as text; JSON and CSV have all."""
SHARES = frozenset(
    {
        "lift", "low", "high", "corrected_low", "corrected_high", "sequence_low", "sequence_high", "chance",
        "loss", "loss_of_control", "effect", "detectable", "top_user", "capped", "capped_low", "capped_high",
        "trimmed", "trimmed_low", "trimmed_high", "preference",
    }
)  # fmt: skip
"""The columns that text shows in %."""
LEFT = {"segments": 4, "days": 2}
"""The number of columns of text in each table; 2 in the others."""


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the options of further questions; it gets them as ``questions``."""

    @wraps(command)
    def with_questions(
        *,
        bayesian: bool,
        prior: str | None,
        segments: str | None,
        days: str | None,
        power: str | None,
        large_values: bool,
        online_metric: str | None,
        **options: Any,
    ) -> Any:
        from recdash.online.analysis.further_questions import FurtherQuestions

        is_bayesian = bayesian or prior is not None
        asked = FurtherQuestions(
            (prior or "flat") if is_bayesian else None, segments, days, power, large_values, online_metric
        )
        if online_metric is not None and not asked.names:
            fix = "Add --segments, --days, --power or --large-values; the results have all metrics."
            raise InputError(Problem("no-question", "--online-metric", "given alone", fix))
        return command(questions=asked, **options)

    for option in reversed(_OPTIONS):
        with_questions = option(with_questions)
    return with_questions


_OPTIONS = (
    click.option(
        "--bayesian",
        is_flag=True,
        help="Add the chance to win and the expected loss of each variant (a Bayesian view beside p).",
    ),
    click.option(
        "--prior",
        help="Prior of the lift for --bayesian: flat (the default), or MEAN,SD, such as 0,0.3.",
    ),
    click.option(
        "--segments",
        is_flag=False,
        flag_value=ALL,
        help="Add the lifts by segment of users: of one attribute, such as country, or of all.",
    ),
    click.option(
        "--days",
        is_flag=False,
        flag_value="cumulative",
        type=click.Choice(TIME_SCALES),
        help="Add the lifts by day: cumulative, daily, or by days since exposure.",
    ),
    click.option(
        "--power",
        is_flag=False,
        flag_value=ALL,
        help="Add the minimum detectable effects; with an effect such as 2% also the users that it needs.",
    ),
    click.option(
        "--large-values",
        is_flag=True,
        help="Add what a few users with large values carry, and the lifts with a cap and without them.",
    ),
    click.option(
        "--online-metric",
        help="The metric of --segments, --days, --power and --large-values (default: all).",
    ),
)


# ── output ───────────────────────────────────────────────────────────────────────────────────


def csv_of(questions: FurtherQuestions, results: AnalysedTest) -> str:
    """Returns the one table that is asked for, by default the results. Raises InputError for several."""
    chances, tables = questions.chances(results), questions.tables(results)
    if len(tables) > 1:
        fix = "Ask for one of them, or use --format json."
        named = ", ".join(f"--{name.replace('_', '-')}" for name in tables)
        raise InputError(Problem("many-tables", "--format csv", f"one table, but {named} are given", fix))
    for table in tables.values():
        return _csv(table.table())
    frame = results.table(all_columns=True)
    if chances is not None:
        columns = ["metric", "variant", "chance", "loss", "loss_of_control"]
        renamed = {
            "chance": "chance_to_win",
            "loss": "expected_loss",
            "loss_of_control": "expected_loss_of_control",
        }
        frame = frame.merge(chances.table()[columns].rename(columns=renamed), how="left", on=columns[:2])
    return _csv(frame)


def _csv(frame: Any) -> str:
    safe = frame.map(lambda value: safe_cell(visible(value)) if isinstance(value, str) else value)
    return str(safe.to_csv(index=False, lineterminator="\n")).rstrip("\n")


def lines_of(questions: FurtherQuestions, results: AnalysedTest) -> Iterator[str]:
    """Yields the lines of what is asked for, each table with its note."""
    tables = questions.tables(results)
    if (chances := questions.chances(results)) is not None:
        tables = {"chance_to_win": chances.results(), **tables}
    for name, table in tables.items():
        yield ""
        yield f"{table.title}."
        shown = SHOWN.get(name, table.columns)
        yield lines_of_table(table, shown, LEFT.get(name, 2)) if len(table) else NOTHING
        yield table.note.replace(IN_SHARES, "in %")


def lines_of_table(table: ResultTable, shown: Sequence[str], texts: int) -> str:
    """Returns the ``shown`` columns that have values as a text table with shares in %, of which the first
    ``texts`` are text.
    """
    return text_table(_in_percent(table, [name for name in shown if _has_values(table, name)]), texts)


def _in_percent(table: ResultTable, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns header and rows as texts, with shares in %."""
    named = {name: f"{name} %" if name in SHARES else name for name in columns}
    rows = [
        {
            named[name]: 100 * row[name] if name in SHARES and row.get(name) is not None else row.get(name)
            for name in columns
        }
        for row in table.rows
    ]
    return replace(table, columns=tuple(named.values()), rows=tuple(rows)).texts()


def _has_values(table: ResultTable, column: str) -> bool:
    return any(row.get(column) not in (None, "") for row in table.rows)
