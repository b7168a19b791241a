"""``recdash verify``: verifies the audit log, all stored data, and numbers against their uploads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recdash.cli.options import form_option, open_workspace
from recdash.cli.terminal import say, say_json
from recdash.formatting.wording import many

if TYPE_CHECKING:
    from recdash.report.reproduce.verify import Verification

MOST_NAMED = 10


@click.command()
@click.option("--all", "everything", is_flag=True, help="Compute all runs and A/B tests again.  [a sample]")
@click.option("--seed", default="", help="Text that decides the sample.  [hash of the last line of the log]")
@click.option("--head", default="", help="Hash of a line of the audit log that you noted before.")
@form_option
@click.pass_context
def verify(context: click.Context, *, everything: bool, seed: str, head: str, form: str) -> None:
    """Verify that stored data is as recdash stored it: each row against the audit log, each file against its
    hash, and runs and A/B tests against their uploads. Exits with 1 if anything differs.

    Lines that were cut off at the end of the log are missed only with --head.
    """
    from recdash.report.reproduce.verify import as_dict
    from recdash.report.reproduce.verify import verify as verified

    result = verified(open_workspace(), everything=everything, seed=seed, noted=head)
    if form == "json":
        say_json(as_dict(result))
    else:
        _say(result)
    context.exit(1 if result.mismatches else 0)


def _say(result: Verification) -> None:
    for mismatch in result.mismatches:
        say(str(mismatch))
    number, hash_ = result.head
    if result.mismatches:
        say(f"{many(len(result.mismatches), 'finding')}.")
    else:
        say(f"All rows are as the audit log says, up to line {number}, and all files have their hash.")
    again, n_all = len(result.recomputed), result.n_all
    say(f"Computed again from their uploads: {again} of {n_all} runs and A/B tests (seed '{result.seed}').")
    for reason in result.not_recomputed[:MOST_NAMED]:
        say(f"Not computed again: {reason}")
    if len(result.not_recomputed) > MOST_NAMED:
        say(f"Not computed again: {len(result.not_recomputed) - MOST_NAMED} more; --format json names all.")
    unsealed = result.audit.unsealed
    if unsealed:
        named = ", ".join(unsealed[:MOST_NAMED]) + (" …" if len(unsealed) > MOST_NAMED else "")
        say(f"Not sealed, because an older recdash stored them: {named}. A change of them is not noticed.")
    if result.audit.plain:
        lines = many(result.audit.plain, "line")
        say(f"The first {lines} of the log are of an older recdash, without the store's key.")
    if number:
        say(f"Last line of the audit log: {number}, hash {hash_}. Note it elsewhere.")
