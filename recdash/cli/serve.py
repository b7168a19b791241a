"""``recdash serve``: starts the dashboard."""

from __future__ import annotations

import os
import sys

import click


@click.command()
@click.option("--host", help="Address to listen on (default: RECDASH_HOST, else 127.0.0.1).")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port to listen on (default: RECDASH_PORT, else 8501)."
)
def serve(host: str | None, port: int | None) -> None:
    """Start the dashboard and print its address."""
    from recdash.settings import settings
    from recdash.web.dashboard_files import dashboard_folder
    from recdash.web.startup_checks import (
        refuse_open_access,
        refuse_unnamed_viewers,
        refuse_unusable_sources,
    )

    address = host or settings().host
    refuse_open_access(address, settings())
    refuse_unnamed_viewers(settings())
    refuse_unusable_sources(settings())
    app = dashboard_folder() / "app.py"
    where = ["--server.address", address, "--server.port", str(port or settings().port)]
    command = [sys.executable, "-m", "streamlit", "run", str(app), *where]
    os.environ.setdefault("MALLOC_ARENA_MAX", "1")  # app.py says why, and would be too late for some threads
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter, no shell wanted
