"""Tells the address of a table that is elsewhere, or in a folder of folders, from the path of a file."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from recdash.errors import Problem, UploadError
from recdash.ingest.library_errors import reason

SCHEMES = ("sql", "https", "http", "s3", "gs", "az", "hf", "delta", "iceberg")
SAME_SCHEME = {"s3a": "s3"}
"""Other programs' names of a scheme: Hadoop and Spark write ``s3a://``."""
FOLDER = "folder"
"""Scheme of a folder on this disk whose subfolders have names such as ``day=2026-11-01``."""
ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+]*):(?P<rest>.*)", re.DOTALL)
VARIABLE = re.compile(r"\$\{(\w{1,100})\}")
CREDENTIALS = re.compile(r"//[^/?#\s@]{1,1000}@")
"""User and password as they are written, with the names of variables."""
RESERVED = re.compile(r"[@/?#\[\]\s]")
QUERY = re.compile(r"(?P<url>\S+)\s+(?P<query>\S.*)", re.DOTALL)
SOURCE_TABLE = re.compile(r"\bfrom\s+([\w.\"]{1,200})", re.IGNORECASE)
USER = re.compile(r"//(?:[^/@:\s]{0,200}:(?!\d{0,5}/)[^?\s]{0,1000}|[^/?\s]{0,200})@")
"""User and password before a host, also those that are not encoded: keys of S3 have slashes. The lengths keep
a long text of many slashes quick.
"""


@dataclass(frozen=True)
class Address:
    """The address of a table: its scheme (one of ``SCHEMES``), and the text after it as it was written.

    The text may name variables of the environment, ``${NAME}``, so that no password is written down.
    """

    scheme: str
    text: str

    @property
    def resolved(self) -> str:
        """Returns the text with the values of the environment's variables; the path of a folder as it is.

        Raises ``UploadError`` for a variable that is not set.
        """
        if self.scheme == FOLDER:
            return self.text
        missing = [name for name in VARIABLE.findall(self.text) if name not in os.environ]
        if missing:
            finding = f"the variable {missing[0]} is not set"
            raise UploadError(
                Problem("no-variable", self.place, finding, f"Set {missing[0]}, then try again.")
            )
        credentials = CREDENTIALS.search(self.text)
        begin, end = credentials.span() if credentials else (0, 0)

        def value(variable: re.Match[str]) -> str:
            own = os.environ[variable[1]]
            return _encoded(own) if begin <= variable.start() < end else own

        return VARIABLE.sub(value, self.text)

    @property
    def url(self) -> str:
        """Returns the whole address with the values of variables."""
        return f"{self.scheme}:{self.resolved}"

    @property
    def place(self) -> str:
        """Returns the address as messages show it: without user, password, key and query string."""
        if self.scheme == "sql":
            return f"query '{self.name}'"
        if self.scheme == FOLDER:
            return self.text
        return f"{self.scheme}:{_without_credentials(self.text).partition('?')[0]}"

    def without_secrets(self, words: str) -> str:
        """Returns words of a library about this address, as messages show them: without user, password and
        query string, and with the names of variables for their values.
        """
        if self.scheme != FOLDER:
            for name in VARIABLE.findall(self.text):
                if value := os.environ.get(name):
                    words = words.replace(value, f"${{{name}}}").replace(_encoded(value), f"${{{name}}}")
        if self.scheme not in ("sql", FOLDER) and (query := self.text.partition("?")[2]):
            words = words.replace(query, "…")
        return USER.sub("//", words)

    @property
    def name(self) -> str:
        """Returns what the table is called: the last part of a path, or the table that a query reads."""
        if self.scheme == "sql":
            table = SOURCE_TABLE.search(self.text)
            return table[1].replace('"', "").rpartition(".")[2] if table else "query"
        if self.scheme == "iceberg":
            return self.text.rpartition(".")[2]
        path = self.text.partition("?")[0].partition("#")[0].rstrip("/")
        return PurePosixPath(path).name or self.scheme


def _without_credentials(text: str) -> str:
    """Returns an address without user and password. What precedes a further ``@`` may be a password that is
    not encoded, and is left out, too.
    """
    shown = USER.sub("//", text)
    return f"//…{shown.rpartition('@')[2]}" if "@" in shown else shown


def _encoded(value: str) -> str:
    """Returns the value of a variable as it is written before the host of a URL; a value without reserved
    characters as it is, since it may be encoded already.
    """
    return quote(value, safe=":") if RESERVED.search(value) else value


def not_fetched(address: Address, error: Exception | str) -> UploadError:
    """Returns the error for a table that its place does not give, with the words of a library."""
    words = error if isinstance(error, str) else reason(error)
    fix = "Check the address, and that the credentials in the environment may read it."
    finding = f"cannot be read ({address.without_secrets(words)})"
    return UploadError(Problem("not-fetched", address.place, finding, fix))


def address_in(source: object) -> Address | None:
    """Returns the address that a text is, or that of a partitioned folder; None for all other sources."""
    if not isinstance(source, str | Path):
        return None
    matched = ADDRESS.fullmatch(source) if isinstance(source, str) else None
    if matched is not None:
        scheme = SAME_SCHEME.get(matched["scheme"].lower(), matched["scheme"].lower())
        if scheme in SCHEMES:
            return Address(scheme, matched["rest"])
    with suppress(OSError, ValueError):  # a name that no file can have
        if Path(source).is_dir() and any(
            "=" in child.name and child.is_dir() for child in Path(source).iterdir()
        ):
            return Address(FOLDER, str(Path(source).absolute()))
    return None


def parts_of_query(address: Address) -> tuple[str, str]:
    """Returns the connection URL and the query of an address of SQL.

    Raises ``UploadError`` without a query.
    """
    parts = QUERY.fullmatch(address.resolved.strip())
    if parts is None:
        fix = "Write sql:URL QUERY, such as 'sql:postgresql://host/shop SELECT user_id, item_id FROM lists'."
        raise UploadError(Problem("bad-address", "sql", "has no connection and query", fix))
    return parts["url"], parts["query"]
