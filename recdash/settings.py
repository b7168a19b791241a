"""Settings from the environment: every name starts with ``RECDASH_``.

``RECDASH_DATABASE_URL`` and ``RECDASH_ARTIFACTS`` say where things are kept, ``RECDASH_HOST`` and
``RECDASH_PORT`` where the dashboard listens, ``RECDASH_ALLOWED_HOSTS`` under which further names, and
``RECDASH_MAX_*`` what an upload in the browser may be.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from recdash.errors import InputError, Problem

PREFIX = "RECDASH_"
DATA_FOLDER = "recdash-data"
GIB = 2**30


class Settings(BaseSettings):
    """What the environment says, checked; a value that cannot be used is refused with its name."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True)

    database_url: str = Field(
        default_factory=lambda: f"sqlite:///{Path.cwd() / DATA_FOLDER / 'recdash.db'}",
        description="sqlite:///FILE or postgresql://user@host/name",
    )
    artifacts: Path | None = Field(
        default=None, description="Folder of the uploaded tables; default: beside the database file."
    )
    host: str = Field(default="127.0.0.1", description="Address the dashboard listens on.")
    port: int = Field(default=8501, ge=1, le=65535, description="Port the dashboard listens on.")
    allowed_hosts: str = Field(
        default="", description="Further host names the dashboard answers to, comma separated; * for any."
    )
    max_upload_bytes: int = Field(default=GIB, ge=1, description="Bytes of one uploaded file.")
    max_inflated_bytes: int = Field(default=4 * GIB, ge=1, description="Bytes of a file once unpacked.")
    max_compression_ratio: int = Field(default=200, ge=1, description="Unpacked ÷ packed bytes.")
    max_rows: int = Field(default=50_000_000, ge=1, description="Rows of one table.")
    max_columns: int = Field(default=200, ge=1, description="Columns of one table.")
    max_value_chars: int = Field(default=10_000, ge=1, description="Characters of one value.")

    def hosts(self) -> frozenset[str]:
        """The names in ``allowed_hosts``, in lower case."""
        return frozenset(name.strip().lower() for name in self.allowed_hosts.split(",") if name.strip())

    def limits(self) -> dict[str, int]:
        """The upload limits by their name without ``max_``, as keywords of ``ingest.Limits``."""
        values = self.model_dump()
        return {name.removeprefix("max_"): values[name] for name in values if name.startswith("max_")}


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read once (``settings.cache_clear()`` reads them again).

    Raises ``InputError`` with every variable that cannot be used.
    """
    try:
        return Settings()
    except ValidationError as error:
        raise InputError(
            _problem(detail["loc"], detail["input"], detail["msg"]) for detail in error.errors()
        ) from None


def _problem(where: tuple[int | str, ...], found: object, wanted: str) -> Problem:
    name = PREFIX + str(where[0]).removeprefix(PREFIX.lower()).upper()
    return Problem("bad-setting", f"environment variable {name}", f"'{found}' cannot be used", f"{wanted}.")
