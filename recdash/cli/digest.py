"""``recdash digest``: writes a summary of experiments for a chat or an email."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import click

from recdash.cli.fast_start import start_light
from recdash.cli.options import dashboard_address, open_workspace
from recdash.cli.output_file import writing
from recdash.cli.terminal import say, say_lines
from recdash.errors import InputError, Problem

FORMS = ("md", "html", "text", "json")
_UNITS = {"h": 1, "d": 24, "w": 7 * 24}
_ENDINGS = {".md": "md", ".html": "html", ".htm": "html", ".txt": "text", ".json": "json"}
MOST_HOURS = 24 * 3660


@click.command()
@click.option("--experiment", "names", multiple=True, help="Name of an experiment; repeatable.  [all]")
@click.option("--since", default="7d", show_default=True, help="Period of the changes to list: 24h, 7d, 2w.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="Format: md for a chat, html for an email.  [md, or by the suffix of -o]",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write.")
@click.option(
    "--link",
    default="",
    callback=dashboard_address,
    help="Address of the dashboard, for links to the experiments.",
)
def digest(names: Sequence[str], since: str, form: str | None, output: Path | None, link: str) -> None:
    """Summarise each experiment: which candidate to ship, what was decided and what changed.

    Without --experiment the digest covers all experiments that are not archived, and the demo only if there
    is no other.
    """
    start_light()
    from recdash.report.digest import html
    from recdash.report.digest import text as digest_texts
    from recdash.report.digest.digest import Digests

    forms = {
        "md": digest_texts.as_markdown,
        "html": html.as_html,
        "text": digest_texts.as_text,
        "json": digest_texts.as_json,
    }
    wanted = form or _ENDINGS.get(output.suffix.lower() if output else "", "md")
    overview = Digests(open_workspace()).digest(names, since=period(since), link=link)
    text = forms[wanted](overview)
    if output is None:
        say_lines(text)
    else:
        with writing("--output", output):
            output.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
        say(f"Wrote {output}", err=True)


def period(text: str) -> timedelta:
    """Returns the period that a text such as ``24h``, ``7d`` or ``2w`` describes. Raises InputError for other
    texts, for 0, and for more than ten years.
    """
    match = re.fullmatch(r"(\d{1,6})([hdw])", text.strip())
    hours = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < hours <= MOST_HOURS:
        fix = "Write 24h, 7d or 2w for hours, days or weeks; at most ten years."
        raise InputError(Problem("bad-period", "--since", f"'{text}'", fix))
    return timedelta(hours=hours)
