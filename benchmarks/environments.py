"""An environment for each peer, so that no peer's pins touch another's or ours."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS_TO_INSTALL = 900


@dataclass(frozen=True)
class Environment:
    """``python`` runs the peer; ``reason`` says why it did not install."""

    python: Path
    version: str = ""
    reason: str = ""


def environment_for(peer: str, requirements: Sequence[str], folder: Path) -> Environment:
    """Make the peer's environment, or find it as it was made before. The first requirement is the peer."""
    home, wanted = folder / peer, json.dumps(list(requirements))
    mark = home / "requirements.json"
    python = home / "bin" / "python"
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(home, ignore_errors=True)
        reason = _install(home, python, requirements)
        if reason:
            return Environment(python, reason=reason)
        mark.write_text(wanted)
    return Environment(python, _version(python, requirements[0]))


def _install(home: Path, python: Path, requirements: Sequence[str]) -> str:
    """Why it failed; nothing if it did not."""
    venv = [sys.executable, "-m", "venv", str(home)]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    for command in (venv, pip):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS_TO_INSTALL, check=False
            )
        except subprocess.TimeoutExpired:
            return f"not installed within {SECONDS_TO_INSTALL} s"
        if done.returncode != 0:
            return _last_words(done.stderr or done.stdout)
    return ""


def _last_words(output: str) -> str:
    """The line that says most: pip's last error, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no reason given"])[-1].removeprefix("ERROR: ")[:200]


def _version(python: Path, requirement: str) -> str:
    name = requirement.partition("=")[0].rstrip("<>~! ")
    code = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
