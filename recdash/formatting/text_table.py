"""Tables as aligned text, for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.formatting.sanitize import visible


def text_table(rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Returns the rows as a text table: the first ``texts`` columns are aligned to the left, all others to
    the right.

    Control characters are escaped, so that no text can move the cursor or end a line.
    """
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    left = [True] * texts + [False] * (len(widths) - texts)
    return "\n".join(
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    )
