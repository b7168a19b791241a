"""recdash as it is called from a terminal: what a call is, and its answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from click.testing import Result

Recdash = Callable[..., Result]
Fill = Callable[[Callable[[], Any]], None]


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def as_json(run: Recdash, *arguments: str) -> Any:
    return answer(run(*arguments, "--format", "json"))
