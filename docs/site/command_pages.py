"""Makes a page for each command from what ``recdash COMMAND --help`` says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from docs.site.markdown import table
from recdash.cli import main

FOLDER = "reference/commands"


def command_pages() -> dict[str, str]:
    """Returns the Markdown of the overview and of each command's page by the page's path."""
    commands = {name: main.commands[name] for name in sorted(main.commands)}
    rows = [(f"[`recdash {name}`]({name}.md)", _first_line(command)) for name, command in commands.items()]
    context = click.Context(main, info_name="recdash")
    overview = "\n\n".join([
        "# Commands",
        "Made from the commands themselves: `--help` after any of them prints the same.",
        table(("command", "does"), rows),
        "## Options of all commands",
        "They stand before the command, as in `recdash --metrics-file early.py evaluate`.",
        _options(main, context),
    ])  # fmt: skip
    pages = {f"{FOLDER}/index.md": overview}
    return pages | {
        f"{FOLDER}/{name}.md": "\n\n".join(_sections(command, name, context, "#"))
        for name, command in commands.items()
    }


def _sections(command: click.Command, name: str, parent: click.Context, level: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"{level} {context.command_path}"
    yield _paragraphs(command.help or "")
    yield f"```text\n{usage}\n```"
    yield _options(command, context)
    if isinstance(command, click.Group):
        for sub in sorted(command.commands):
            yield from _sections(command.commands[sub], sub, context, f"{level}#")


def _options(command: click.Command, context: click.Context) -> str:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [(f"`{names}`", _escaped(meaning)) for names, meaning in filter(None, records)]
    return table(("option", "meaning"), rows)


def _first_line(command: click.Command) -> str:
    """Returns the first sentence of a command's help, without its full stop."""
    text = _escaped(" ".join(inspect.cleandoc(command.help or "").partition("\n\n")[0].split()))
    return re.split(r"(?<=[a-z)])\. (?=[A-Z])", text)[0].rstrip(".")


def _paragraphs(text: str) -> str:
    r"""Returns the paragraphs of a help text; one that begins with ``\b`` keeps its lines."""
    paragraphs = inspect.cleandoc(text).replace("\f", "").split("\n\n")
    return "\n\n".join(
        f"```text\n{paragraph.lstrip(chr(8)).strip(chr(10))}\n```"
        if paragraph.startswith("\b")
        else _escaped(paragraph)
        for paragraph in paragraphs
    )


def _escaped(text: str) -> str:
    r"""Returns plain text as Markdown that shows it unchanged."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)
