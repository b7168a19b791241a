"""A result as rows of named numbers, which becomes a data frame, CSV or text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.wording import first_lines

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class ResultTable:
    """The rows of a result, {column: value} each, with its columns in order. ``note`` says how to read
    them.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    note: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def records(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts with all columns in order."""
        return [{name: row.get(name) for name in self.columns} for row in self.rows]

    def table(self) -> pd.DataFrame:
        """Returns the rows as a data frame."""
        import pandas as pd

        return pd.DataFrame(self.records(), columns=list(self.columns))

    def texts(self, columns: Sequence[str] | None = None) -> list[tuple[str, ...]]:
        """Returns the header and the rows as texts, with three significant digits and – for a missing
        value.
        """
        shown = tuple(columns or self.columns)
        return [shown, *(tuple(_text(row.get(name)) for name in shown) for row in self.rows)]

    def __repr__(self) -> str:
        """Returns a line for each row, at most as many as ``first_lines`` shows."""
        lines = [", ".join(f"{name} {_text(row.get(name))}" for name in self.columns) for row in self.rows]
        return "\n".join([f"{self.title}:", *first_lines(lines), *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        """Returns the table as HTML, for notebooks."""
        return Display(self.title, self.texts(), [*filter(None, [self.note])]).html()


def frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Returns rows as a data frame with these columns, also without a row."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(columns))


def of_values(title: str, kind: type[Any], values: Iterable[Any], note: str = "") -> ResultTable:
    """Returns the table of values of a dataclass: a column for each of its fields."""
    names = tuple(field.name for field in fields(kind))
    return ResultTable(title, names, tuple(map(asdict, values)), note)


def _text(value: object) -> str:
    if value is None:
        return numbers.NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return numbers.three(value) if isinstance(value, float) else str(value)
