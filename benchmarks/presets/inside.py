"""What one library says of one world: ``python -m benchmarks.presets.inside NAME FOLDER K,K,…`` → JSON.

Run by the library's own interpreter.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from benchmarks.presets import library
from benchmarks.presets.tables import read


def main(name: str, folder: str, cutoffs: str) -> None:
    """Print {spec@k: mean or {user: value}}."""
    warnings.simplefilter("ignore")
    tables = read(Path(folder))
    answers: dict[str, Any] = {}
    for k in map(int, cutoffs.split(",")):
        answers |= {f"{spec}@{k}": plain(value) for spec, value in library(name).values(tables, k).items()}
    print(json.dumps(answers))


def plain(value: Any) -> Any:
    """Numbers and keys of NumPy or PyTorch as JSON has them."""
    if hasattr(value, "items"):
        return {str(user): float(number) for user, number in value.items()}
    return float(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
