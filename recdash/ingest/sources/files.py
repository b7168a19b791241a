"""Copies a file from an object store or the web, and a folder of Parquet files as one table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from recdash.errors import Problem, UploadError
from recdash.ingest.sources.address import Address, not_fetched
from recdash.ingest.sources.parquet_folder import data_set_below
from recdash.ingest.sources.written import Written

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

CHUNK = 1 << 20
SECONDS = 60
"""How long a server may be silent."""
OF_A_PATH = "%/:?#[]@!$&'()*+,;=~"
"""Characters that are left as they are, so that an address which is encoded stays the same."""
HUGGING_FACE = "https://huggingface.co"
HUGGING_FACE_FIX = "Write hf://datasets/OWNER/NAME/FILE, or hf://datasets/OWNER/NAME@REVISION/FILE."


# ── the web ──────────────────────────────────────────────────────────────────────────────────


def fetch_web(address: Address, written: Written) -> None:
    """Writes the file at an address of HTTP(S); a user and a password before the host are sent to it."""
    from base64 import b64encode

    try:
        parts = urlsplit(address.url)
        user, _, host = parts.netloc.rpartition("@")
        url = parts._replace(
            netloc=host, path=quote(parts.path, safe=OF_A_PATH), query=quote(parts.query, safe=OF_A_PATH)
        ).geturl()
        _ = parts.port  # raises an error if it is no number
        basic = b64encode(unquote(user).encode()).decode()
    except ValueError:  # no address, or a character that no encoding has; its words may quote a password
        raise not_fetched(address, "its user, host or port cannot be read") from None
    _download(address, url, {"Authorization": f"Basic {basic}"} if user else {}, written)


def fetch_hugging_face(address: Address, written: Written) -> None:
    """Writes a file of a data set on Hugging Face; ``HF_TOKEN`` opens private ones."""
    kind, _, rest = address.resolved.removeprefix("//").partition("/")
    owner, _, rest = rest.partition("/")
    name, _, path = rest.partition("/")
    if kind != "datasets" or not path:
        raise UploadError(
            Problem("bad-address", address.place, "names no file of a data set", HUGGING_FACE_FIX)
        )
    name, _, revision = name.partition("@")
    server = os.environ.get("HF_ENDPOINT", HUGGING_FACE).rstrip("/")
    url = f"{server}/datasets/{owner}/{name}/resolve/{quote(revision or 'main', safe='')}/{quote(path)}"
    token = os.environ.get("HF_TOKEN")
    _download(address, url, {"Authorization": f"Bearer {token}"} if token else {}, written)


def _download(address: Address, url: str, headers: dict[str, str], written: Written) -> None:
    """Writes the answer to a request. Credentials are not sent on to where a server redirects."""
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    try:
        request = urllib.request.Request(url, headers={"User-Agent": "recdash"})  # noqa: S310 https, http
        for name, value in headers.items():
            request.add_unredirected_header(name, value)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer, written.bytes() as add:  # noqa: S310
            # None for a length that is no number
            expected, received = answer.length, 0
            while chunk := answer.read(CHUNK):
                received += len(chunk)
                add(chunk)
    except urllib.error.HTTPError as refusal:  # an answer, which holds its connection
        with refusal:
            raise not_fetched(address, refusal) from None
    except (OSError, HTTPException, ValueError) as error:
        raise not_fetched(address, error) from None
    if expected is not None and received != expected:
        raise not_fetched(address, f"{received:,} of {expected:,} bytes arrived")


# ── object stores ────────────────────────────────────────────────────────────────────────────


def fetch_object(address: Address, written: Written) -> None:
    """Writes an object of a store that Arrow knows, or the Parquet files below a folder as one table."""
    import pyarrow as pa
    from pyarrow.fs import FileType

    try:
        store, path = _store(address)
        if path.endswith("/") or store.get_file_info(path).type == FileType.Directory:
            write_data_set(data_set_below(address, store, path.rstrip("/")), written)
            return
        with store.open_input_stream(path) as file, written.bytes() as add:
            while chunk := file.read(CHUNK):
                add(chunk)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise not_fetched(address, error) from None


def _store(address: Address) -> tuple[FileSystem, str]:
    """Returns the file system of a store, and the path in it. Credentials come from the environment."""
    from pyarrow.fs import AzureFileSystem, FileSystem

    if address.scheme != "az":
        store, path = FileSystem.from_uri(_patient(address.url) if address.scheme == "gs" else address.url)
        return store, path + ("/" if address.text.endswith("/") else "")
    location = urlsplit(address.url)
    if not location.netloc:
        fix = "Write az://CONTAINER/FILE."
        raise UploadError(Problem("bad-address", address.place, "names no container", fix))
    account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
    if not account:
        fix = "Set AZURE_STORAGE_ACCOUNT_NAME, then try again."
        raise UploadError(Problem("no-variable", address.place, "the storage account is not named", fix))
    key = os.environ.get("AZURE_STORAGE_ACCOUNT_KEY")
    store = AzureFileSystem(account_name=account, account_key=key)
    if key is None:  # without a token, a question about a container ends the process; this one raises OSError
        store.get_file_info(f"{location.netloc}/token")
    return store, f"{location.netloc}{location.path}"


def _patient(url: str) -> str:
    """Returns an address of Google's store with a limit: without one it is asked again for 15 minutes."""
    return f"{url}{'&' if '?' in url else '?'}retry_limit_seconds={SECONDS}"


# ── folders of Parquet files ─────────────────────────────────────────────────────────────────


def fetch_folder(address: Address, written: Written) -> None:
    """Writes the Parquet files below a folder of this disk as one table."""
    import pyarrow as pa
    from pyarrow.fs import LocalFileSystem

    try:
        write_data_set(data_set_below(address, LocalFileSystem(), address.text), written)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise not_fetched(address, error) from None


def write_data_set(data_set: Any, written: Written) -> None:
    """Writes the rows of an Arrow data set, read by one thread, so that their order is that of the files."""
    with written.parquet(data_set.schema) as add:
        for batch in data_set.to_batches(use_threads=False):
            add(batch)
