"""Prints text with control characters escaped, so that no text can move the cursor or hide in a line."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import click

from recdash.formatting.sanitize import visible, visible_lines


def say(line: str, *, err: bool = False) -> None:
    """Prints one line, with ``err`` on standard error; control and invisible characters are escaped."""
    click.echo(visible(line), err=err)


def say_lines(text: str, *, err: bool = False) -> None:
    """Prints several lines and escapes them like ``say``, except for line ends. The text must be made here,
    with its parts escaped already.
    """
    click.echo(visible_lines(text), err=err)


def say_json(facts: object) -> None:
    """Prints plain values as indented JSON."""
    say_lines(json.dumps(facts, ensure_ascii=False, indent=2))


@contextmanager
def usage_errors_visible() -> Iterator[None]:
    """Escapes control characters in usage errors that are raised inside, because these repeat what was
    typed.
    """
    try:
        yield
    except click.ClickException as error:
        message = error.format_message()
        safe = visible_lines(message)
        if safe == message:
            raise
        if isinstance(error, click.UsageError):
            raise click.UsageError(safe, error.ctx) from None
        raise click.ClickException(safe) from None


def show_defects_visibly() -> None:
    """Makes Python escape control characters in tracebacks, because an unexpected error may quote a file."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
        else:
            say_lines("".join(traceback.format_exception(kind, error, trace)).rstrip(), err=True)

    sys.excepthook = show
