"""The command line: commands that do in a terminal what the pages do. Results go to standard output, messages
to standard error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from recdash.cli.agreement import agree
from recdash.cli.backup import backup, gc, restore
from recdash.cli.check import check
from recdash.cli.compare import compare
from recdash.cli.decide import decide, decisions
from recdash.cli.demo import demo
from recdash.cli.digest import digest
from recdash.cli.evaluate import evaluate
from recdash.cli.experiments import add, definitions, list_experiments
from recdash.cli.explain import why
from recdash.cli.gate import gate
from recdash.cli.inspect import inspect
from recdash.cli.interleaving import interleave
from recdash.cli.limits import limits
from recdash.cli.manage import archive, delete, note, rename, tag, unarchive
from recdash.cli.mcp import mcp
from recdash.cli.metrics import metrics
from recdash.cli.off_policy import ope
from recdash.cli.online import online
from recdash.cli.own_metrics import use_metric_files
from recdash.cli.plan import plan
from recdash.cli.presets import presets
from recdash.cli.purge import purge
from recdash.cli.push import push
from recdash.cli.report import report, reproduce
from recdash.cli.review import review
from recdash.cli.serve import serve
from recdash.cli.settings import settings
from recdash.cli.share import audit, links, revoke, share, views
from recdash.cli.terminal import say_lines, show_defects_visibly, usage_errors_visible
from recdash.cli.tokens import tokens
from recdash.cli.trackers import export_runs, import_runs
from recdash.cli.verify import verify
from recdash.errors import InputError, RecdashError
from recdash.formatting.sanitize import visible
from recdash.version import __version__

BAD_INPUT = 2


class Commands(click.Group):
    """A command group that prints an expected error and exits with 2. Any other error is a defect and is
    raised.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        show_defects_visibly()
        return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with usage_errors_visible():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with usage_errors_visible():
                return super().invoke(ctx)
        except RecdashError as error:
            if not _was_logged(error):
                say_lines(f"recdash: {_words(error)}", err=True)
            ctx.exit(BAD_INPUT)


def _was_logged(error: RecdashError) -> bool:
    """Returns whether an own metric was asked for that was refused, which its file's reading told."""
    from recdash.metrics import METRICS

    return (
        isinstance(error, InputError)
        and error.problems != ()
        and all(map(METRICS.was_refused_for, error.problems))
    )


def _words(error: RecdashError) -> str:
    if isinstance(error, InputError) and len(error.problems) > 1:
        source = f" in {visible(error.source)}" if error.source else ""
        lines = "\n".join(f"  - {visible(str(problem))}" for problem in error.problems)
        return f"{len(error.problems)} problems{source}:\n{lines}"
    return visible(str(error))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="recdash")
@click.option(
    "--metrics-file",
    "metric_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Python file with own metrics, used besides those of RECDASH_METRICS; repeatable.",
)
@click.pass_context
def main(context: click.Context, metric_files: tuple[Path, ...]) -> None:
    """Choose between recommender systems: score candidates, store runs, compare them."""
    if metric_files:
        use_metric_files(context, metric_files)


for command in (
    evaluate, compare, gate, online, plan, interleave, agree, ope, why, report, reproduce, add,
    list_experiments,
    settings, rename, tag, note, archive, unarchive, delete, definitions, presets, metrics, demo, share,
    links, revoke, views, tokens, audit, check, verify, backup, restore, gc, purge, inspect, limits, decide,
    decisions, review, digest, mcp, push, import_runs, export_runs, serve,
):  # fmt: skip
    main.add_command(command)
