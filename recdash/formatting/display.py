"""A result as a person sees it who works in Python: a few lines in a terminal, a table in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recdash.formatting.html import Html, html, join
from recdash.formatting.text_table import text_table
from recdash.formatting.wording import many

MOST_ROWS, MOST_ROWS_OF_HTML = 9, 50
"""Rows of a table, without its header, in a terminal and in a notebook."""


@dataclass(frozen=True)
class Display:
    """What is shown of a result.

    ``title`` is the answer. ``rows`` is a table of texts with its header, empty if there is none; its first
    ``texts`` columns are aligned to the left. ``remarks`` follow the table. ``warnings`` say what was dropped
    or decided.
    """

    title: str
    rows: Sequence[Sequence[str]] = ()
    remarks: Sequence[str] = ()
    warnings: Sequence[str] = ()
    texts: int = 1

    def text(self) -> str:
        """Returns at most 15 lines: the title, the first rows, the first two remarks, and the number of
        warnings.
        """
        lines = [self.title]
        if len(self.rows) > 1:
            lines.append(text_table(self.rows[: MOST_ROWS + 1], self.texts))
            lines += _left(self.rows, MOST_ROWS)
        lines += self.remarks[:2]
        if self.warnings:
            lines.append(f"{many(len(self.warnings), 'warning')}: .warnings")
        return "\n".join(lines)

    def html(self) -> str:
        """Returns the title, the table, the remarks and the warnings as HTML without scripts or styles that
        reach beyond it.
        """
        parts = [html("<p><strong>{title}</strong></p>", title=self.title)]
        if len(self.rows) > 1:
            parts.append(self._table())
            parts += [html("<p>{line}</p>", line=line) for line in _left(self.rows, MOST_ROWS_OF_HTML)]
        parts += [html("<p>{line}</p>", line=line) for line in self.remarks]
        if self.warnings:
            items = join([html("<li>{line}</li>", line=line) for line in self.warnings])
            title = many(len(self.warnings), "warning")
            parts.append(
                html(
                    "<details><summary>{title}</summary><ul>{items}</ul></details>", title=title, items=items
                )
            )
        return str(html("<div>{parts}</div>", parts=join(parts)))

    def _table(self) -> Html:
        header, *rows = self.rows
        return html(
            "<table><thead>{header}</thead><tbody>{rows}</tbody></table>",
            header=self._row(header, "th"),
            rows=join([self._row(row, "td") for row in rows[:MOST_ROWS_OF_HTML]]),
        )

    def _row(self, cells: Sequence[str], tag: str) -> Html:
        sides = ["left" if place < self.texts else "right" for place in range(len(cells))]
        shown = [
            html(f'<{tag} style="text-align: {side}">{{cell}}</{tag}>', cell=cell)
            for cell, side in zip(cells, sides, strict=True)
        ]
        return html("<tr>{cells}</tr>", cells=join(shown))


def _left(rows: Sequence[Sequence[str]], shown: int) -> list[str]:
    left = len(rows) - 1 - shown
    return [f"… and {many(left, 'more row')}"] if left > 0 else []
