"""``recdash demo``: loads a simulated film service, or writes files of a simulated A/B test with known
effects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import open_workspace
from recdash.cli.output_file import writing
from recdash.cli.terminal import say
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

USERS, SEED = 20_000, 2610
LOST, CROSSED, BOTS = 0.08, 0.02, 0.01
LIFT_HELP = (
    "True lift of a metric, as METRIC=SHARE (0.03 is +3 %). Repeatable; default: 3 % more engaged sessions."
)


@click.command()
@click.option("--remove", is_flag=True, help="Remove the demo instead.")
@click.option("--online", type=Path, help="Write a simulated A/B test to this folder instead.")
@click.option("--users", type=click.IntRange(1), help=f"Number of users (default: {USERS}).")
@click.option("--seed", type=click.IntRange(1), help="Random seed; the same seed writes the same files.")
@click.option("--lift", "lifts", multiple=True, help=LIFT_HELP)
@click.option(
    "--novelty",
    type=float,
    help="Additional lift of the engagement rate that wears off (novelty effect), such as 0.2.",
)
@click.option("--srm", is_flag=True, help=f"Drop {LOST:.0%} of one variant's users (sample ratio mismatch).")
@click.option(
    "--crossover",
    is_flag=True,
    help=f"Let {CROSSED:.0%} of the users see both variants (multiple exposures).",
)
@click.option("--bots", is_flag=True, help=f"Make {BOTS:.0%} of one variant's users bots.")
@click.option("--format", type=click.Choice(["csv", "parquet"]), help="File format (default: csv).")
def demo(*, remove: bool, online: Path | None, **test: Any) -> None:
    """Load the demo: a simulated film service with a baseline, four candidates and an A/B test."""
    if online is not None:
        _write_test(online, test)
    elif any(test.values()):
        options = ", ".join(
            f"--{'lift' if name == 'lifts' else name}" for name, value in test.items() if value
        )
        raise InputError(Problem("no-folder", options, "this option needs --online", "Add --online FOLDER."))
    elif remove:
        open_workspace().demo.remove()
        say("The demo is removed.")
    else:
        made = open_workspace().demo.load(progress=lambda part, text: say(f"{part:4.0%} {text}", err=True))
        say(f"Loaded '{made.name}'. View it with: recdash serve")


def _write_test(folder: Path, test: Mapping[str, Any]) -> None:
    from recdash.demo.ab_tests import simulate

    if folder.exists() and not folder.is_dir():
        raise InputError(
            Problem(
                "no-folder",
                str(folder),
                "this is a file",
                "Name a folder; it is created if it does not exist.",
            )
        )
    ending, lifts = test["format"] or "csv", _lifts(test["lifts"])
    arms = {"arms": {"control": {}, "new": lifts}} if lifts else {}
    made = simulate(
        test["users"] or USERS,
        test["seed"] or SEED,
        events=True,
        novelty=test["novelty"] or 0.0,
        srm=LOST * test["srm"],
        crossover=CROSSED * test["crossover"],
        bots=BOTS * test["bots"],
        **arms,
    )
    with writing("--online", folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in made.tables().items():
            _write(table, folder / f"{name}.{ending}")
            say(f"{folder / name}.{ending}: {table.num_rows:,} rows")
        (folder / "known.json").write_text(json.dumps(made.known.as_dict(), indent=2) + "\n")
    for variant, effects in made.known.lifts.items():
        text = ", ".join(
            f"{metric} {100 * lift:+.3g} %".replace("-", "−") for metric, lift in effects.items()
        )
        say(f"True lifts of '{variant}' (also in {folder / 'known.json'}): {text}")
    logs = " ".join(f"--{name} {folder / name}.{ending}" for name in ("exposures", "events", "served"))
    say(f"To analyse the sessions: recdash online --sessions {folder / 'sessions'}.{ending}")
    say(f"To analyse the logs:     recdash online {logs}")


def _lifts(texts: Sequence[str]) -> dict[str, float]:
    """Returns {metric: lift} from texts such as ``engagement_rate=0.03``. Raises InputError for any other
    text.
    """
    parts = [text.partition("=") for text in texts]
    try:
        return {metric.strip(): float(share) for metric, _, share in parts}
    except ValueError:
        problem = f"not METRIC=SHARE: {', '.join(texts)}"
        fix = "Write it like engagement_rate=0.03."
        raise InputError(Problem("bad-lift", "--lift", problem, fix)) from None


def _write(table: pa.Table, file: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    if file.suffix == ".csv":
        pyarrow.csv.write_csv(table, file)
    else:
        pyarrow.parquet.write_table(table, file)
