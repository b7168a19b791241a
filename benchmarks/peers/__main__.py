"""One evaluation by one peer, as a whole process: ``python -m benchmarks.peers NAME LISTS TRUTH CUTOFFS``.

CUTOFFS is ``10``, or ``1-100`` for each of them. What it found at 10 goes to standard output as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.peers import peer


def main(name: str, lists: str, truth: str, cutoffs: str) -> None:
    first, _, last = cutoffs.partition("-")
    wanted = range(int(first), int(last or first) + 1)
    scores = peer(name).evaluate(Path(lists), Path(truth), wanted)
    print(json.dumps({name: float(value) for name, value in scores.items() if name.endswith("@10")}))


if __name__ == "__main__":
    main(*sys.argv[1:])
