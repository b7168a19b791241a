"""``recdash --metrics-file``: own metrics of a file, for one command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

VARIABLE = "RECDASH_METRICS"


def use_metric_files(context: click.Context, files: Sequence[Path]) -> None:
    """Adds the files to ``RECDASH_METRICS`` until the command ends.

    The environment is changed because ``recdash serve`` becomes another program, which reads it.
    """
    before = os.environ.get(VARIABLE)

    def change(value: str | None) -> None:
        from recdash.metrics import METRICS
        from recdash.settings import settings

        if value is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = value
        settings.cache_clear()
        METRICS.forget_own()

    named = [*filter(None, [before]), *(str(file.resolve()) for file in files)]
    change(",".join(named))
    context.call_on_close(lambda: change(before))
