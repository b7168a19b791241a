"""The command line: commands that do in a terminal what the pages do. Results go to standard output, messages
to standard error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from recdash.cli.late_commands import LateCommands
from recdash.cli.own_metrics import use_metric_files
from recdash.cli.terminal import say_lines, show_defects_visibly, usage_errors_visible
from recdash.errors import InputError, RecdashError
from recdash.formatting.sanitize import visible
from recdash.version import __version__

BAD_INPUT = 2

COMMANDS = {
    "add": "recdash.cli.experiments:add",
    "agree": "recdash.cli.agreement:agree",
    "archive": "recdash.cli.manage:archive",
    "audit": "recdash.cli.share:audit",
    "backup": "recdash.cli.backup:backup",
    "check": "recdash.cli.check:check",
    "compare": "recdash.cli.compare:compare",
    "decide": "recdash.cli.decide:decide",
    "decisions": "recdash.cli.decide:decisions",
    "definitions": "recdash.cli.experiments:definitions",
    "delete": "recdash.cli.manage:delete",
    "demo": "recdash.cli.demo:demo",
    "digest": "recdash.cli.digest:digest",
    "evaluate": "recdash.cli.evaluate:evaluate",
    "export": "recdash.cli.trackers:export_runs",
    "gate": "recdash.cli.gate:gate",
    "gc": "recdash.cli.backup:gc",
    "import": "recdash.cli.trackers:import_runs",
    "inspect": "recdash.cli.inspect:inspect",
    "interleave": "recdash.cli.interleaving:interleave",
    "limits": "recdash.cli.limits:limits",
    "links": "recdash.cli.share:links",
    "list": "recdash.cli.experiments:list_experiments",
    "mcp": "recdash.cli.mcp:mcp",
    "metrics": "recdash.cli.metrics:metrics",
    "note": "recdash.cli.manage:note",
    "online": "recdash.cli.online:online",
    "ope": "recdash.cli.off_policy:ope",
    "plan": "recdash.cli.plan:plan",
    "presets": "recdash.cli.presets:presets",
    "purge": "recdash.cli.purge:purge",
    "push": "recdash.cli.push:push",
    "rename": "recdash.cli.manage:rename",
    "report": "recdash.cli.report:report",
    "reproduce": "recdash.cli.report:reproduce",
    "restore": "recdash.cli.backup:restore",
    "review": "recdash.cli.review:review",
    "revoke": "recdash.cli.share:revoke",
    "serve": "recdash.cli.serve:serve",
    "settings": "recdash.cli.settings:settings",
    "share": "recdash.cli.share:share",
    "tag": "recdash.cli.manage:tag",
    "tokens": "recdash.cli.tokens:tokens",
    "unarchive": "recdash.cli.manage:unarchive",
    "verify": "recdash.cli.verify:verify",
    "views": "recdash.cli.share:views",
    "why": "recdash.cli.explain:why",
}
"""Name of a command → its module and function."""


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


@click.group(
    cls=Commands,
    commands=LateCommands(COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
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
