"""Other libraries, one file each: what to install, and how its users would ask for the six metrics.

A peer's module names the first of its ``REQUIREMENTS`` as itself, says in ``NOTE`` what it leaves out, and
has ``evaluate(lists, truth, cutoffs)``: paths of Parquet files in, {"ndcg@10": …} out. It imports its
library inside that function, because only the peer's own environment has it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

Scores = dict[str, float]


class Peer(Protocol):
    TITLE: str
    REQUIREMENTS: Sequence[str]
    NOTE: str

    def evaluate(self, lists: Path, truth: Path, cutoffs: Sequence[int]) -> Scores: ...


def peer_names() -> list[str]:
    return [one.name for one in pkgutil.iter_modules(__path__) if one.name != "__main__"]


def peer(name: str) -> Peer:
    """Raises ModuleNotFoundError for a name that no file here has."""
    return cast("Peer", import_module(f"{__name__}.{name}"))
