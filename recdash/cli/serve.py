"""``recdash serve``: starts the dashboard."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from recdash.errors import InputError, Problem


@click.command()
@click.option("--host", help="Address to listen on (default: RECDASH_HOST, else 127.0.0.1).")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port to listen on (default: RECDASH_PORT, else 8501)."
)
def serve(host: str | None, port: int | None) -> None:
    """Start the dashboard and print its address."""
    from recdash.settings import settings
    from recdash.web.startup_checks import refuse_open_access, refuse_unnamed_viewers

    app = Path(__file__).resolve().parents[2] / "app.py"
    if not app.is_file():
        raise InputError(
            Problem(
                "no-app",
                str(app),
                "no app.py in this folder",
                "Run recdash serve from a checkout of the project.",
            )
        )
    address = host or settings().host
    refuse_open_access(address, settings())
    refuse_unnamed_viewers(settings())
    where = ["--server.address", address, "--server.port", str(port or settings().port)]
    command = [sys.executable, "-m", "streamlit", "run", str(app), *where]
    os.chdir(_folder_of_config(app))
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")  # app.py says why, and would be too late for some threads
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter, no shell wanted


def _folder_of_config(app: Path) -> Path:
    """Returns the folder that has .streamlit/config.toml, in which the server starts. The environment's paths
    to the data are made absolute first.
    """
    from recdash.settings import settings
    from recdash.store import absolute_url

    os.environ["RECDASH_DATABASE_URL"] = absolute_url(settings().database_url)
    if settings().artifacts is not None:
        os.environ["RECDASH_ARTIFACTS"] = str(Path(settings().artifacts or "").resolve())
    return app.parent
