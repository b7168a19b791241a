"""What the upload page keeps between reruns: the turn of its widgets, previews, outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from recdash.errors import Problem
from recdash.ingest.reader import without_suffixes


@dataclass(frozen=True)
class Outcome:
    """The outcome of one file or form. ``name`` is the user's own text: escape it where it is shown."""

    state: Literal["stored", "already", "refused"]
    what: str
    name: str
    problems: tuple[Problem, ...] = ()
    experiment: str | None = None
    runs: tuple[str, ...] = ()
    is_archived: bool = False
    test: str | None = None
    known: str = ""


@dataclass
class UploadState:
    """Mutable and plain on purpose.

    Streamlit may end a script at any ``st.*`` call or access to its session state. What a write
    achieved is noted here by a plain assignment, so that a second click finds it done.
    """

    turn: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    previews: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def key(self, name: str) -> str:
        """Widget key of this turn; after a save the next turn's empty widgets free the files' memory."""
        return f"upload_{name}_{self.turn}"

    def next_turn(self) -> None:
        self.turn += 1
        self.previews.clear()

    def remembered(self, key: tuple[object, ...], read: Callable[[], Any]) -> Any:
        """The preview for ``key``, read once: a rerun for a click elsewhere must not parse files again."""
        if key not in self.previews:
            self.previews[key] = read()
        return self.previews[key]


def stem(file_name: str) -> str:
    """``als.top20.jsonl.gz`` → ``als.top20``: the name without its endings of known formats."""
    name = file_name.replace("\\", "/").rsplit("/", 1)[-1]
    return without_suffixes(name) or name
