"""Run every library and record the results: ``python -m benchmarks.presets`` (or ``make presets``).

``--only NAME,…`` runs some of them and keeps the results of the others; ``--report`` runs none.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT
from benchmarks.presets import compare, library_names, report
from recdash.metrics import agreement

DATA = ROOT / "recdash" / "metrics" / "agreement.json"
PAGE = ROOT / "docs" / "presets.md"
ENVIRONMENTS = ROOT / "benchmarks" / ".cache" / "environments"


def main() -> int:
    arguments = _arguments()
    known: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))["presets"] if DATA.exists() else {}
    broken: list[str] = []
    for name in [] if arguments.report else arguments.only:
        print(name, flush=True)
        known[name] = compare.record(name, arguments.environments)
        broken += compare.broken_promises(name, known[name])
    DATA.write_text(
        json.dumps({"presets": known}, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8"
    )
    agreement.recorded_agreement.cache_clear()
    agreement.preset_agreement.cache_clear()
    PAGE.write_text(report.page(agreement.recorded_agreement()), "utf-8")
    print("\n".join(broken) or "every library bears out what is said of it", file=sys.stderr)
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.presets", description=__doc__)
    parser.add_argument("--only", type=lambda text: text.split(","), default=library_names())
    parser.add_argument("--report", action="store_true", help="ask none, write the page again")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="folder of the environments")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
