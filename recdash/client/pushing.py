"""Sends files to a dashboard in parts, and stores them there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from recdash.client.connection import Server, error_of, problems_in
from recdash.errors import InputError, Problem

PART_BYTES = 2**23
"""How many bytes one request sends; what it sends is lost with its connection at most."""
LOOK_SECONDS = 0.5
CONFLICT = 409
Progress = Callable[[str], None]


@dataclass(frozen=True)
class FileToPush:
    """A file to send; ``run`` is the name of its candidate, None for that of the file."""

    path: Path
    run: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class SourceToFetch:
    """A table that the server fetches, by the name an admin gave it; ``run``: see ``FileToPush``."""

    name: str
    run: str | None = None
    kind: str | None = None


def push(
    server: Server,
    experiment: str,
    files: Sequence[FileToPush | SourceToFetch],
    options: Mapping[str, Any],
    tell: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns what the dashboard stored of these files in an experiment.

    Files that have arrived before, in part or as a whole, are continued. Raises ServerUnreachable, and
    InputError with the problems of the files; nothing is stored then.
    """
    server = replace(server, tell=tell)
    tell(f"Connecting to {server.address}")
    server.ask("/server")  # a wrong address or token is found before large files are read
    sent = [
        {
            **_content(server, file, tell),
            **({"run": file.run} if file.run else {}),
            **({"kind": file.kind} if file.kind else {}),
        }
        for file in files
    ]
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    body = {"experiment": experiment, "files": sent, **given}
    addition = server.post("/additions", body, key=token_hex(16))
    text = ""
    while addition["state"] == "running":
        server.sleep(LOOK_SECONDS)
        addition = server.ask(f"/additions/{addition['id']}")
        if addition["text"] != text:
            text = addition["text"]
            tell(text)
    if addition["state"] == "refused":
        raise error_of(422, problems_in(json.dumps(addition).encode()))
    stored: dict[str, Any] = addition["result"]
    return stored


def _content(server: Server, file: FileToPush | SourceToFetch, tell: Progress) -> dict[str, str]:
    if isinstance(file, SourceToFetch):
        return {"source": file.name}
    return {"upload": upload(server, file.path, tell), "name": file.path.name}


def upload(server: Server, file: Path, tell: Progress = lambda _: None) -> str:
    """Returns the id of a file after all its bytes have arrived."""
    try:
        size, sha256 = file.stat().st_size, hash_of(file)
        announced = {"name": file.name, "size": size, "sha256": sha256}
        state = server.post("/uploads", announced)
        with file.open("rb") as content:
            while state["received"] < size:
                content.seek(state["received"])
                tell(f"Sending {file.name}: {100 * state['received'] // size} %")
                state = _part(server, state, content.read(PART_BYTES))
    except OSError as error:
        problem = f"it cannot be read ({error.strerror or error})"
        raise InputError(Problem("unreadable", str(file), problem, "Check its name and rights.")) from error
    return str(state["id"])


def _part(server: Server, state: Mapping[str, Any], part: bytes) -> Any:
    """Returns the state of an upload after a part; if the server knows more or less of it, its state."""
    if not part:
        raise InputError(Problem("changed", "file", "it became shorter while it was sent", "Send it again."))
    headers = {"Upload-Offset": str(state["received"]), "Content-Type": "application/octet-stream"}
    path = f"/uploads/{state['id']}"
    answer = server.json_of(server.request("PATCH", path, part, headers, accepted=(CONFLICT,)))
    return answer if "received" in answer else server.ask(path)


def hash_of(file: Path) -> str:
    """Returns the sha256 of a file, which is read in parts."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while part := content.read(2**20):
            digest.update(part)
    return digest.hexdigest()
