"""Settings from environment variables, whose names start with ``RECDASH_``.

``RECDASH_DATABASE_URL`` and ``RECDASH_ARTIFACTS`` set where data is stored; ``RECDASH_METRICS`` the files of
own metrics; ``RECDASH_SOURCES`` the tables that pages may fetch; ``RECDASH_HOST`` and ``RECDASH_PORT`` where
the dashboard listens; ``RECDASH_ALLOWED_HOSTS`` its other host names; ``RECDASH_AUTH`` and the settings below
it who may read and change data; and ``RECDASH_MAX_*`` the limits of uploads in the browser.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from recdash.errors import InputError, Problem

PREFIX = "RECDASH_"
DATA_FOLDER = "recdash-data"
GIB = 2**30
LEAST_SECRET, LEAST_VARIETY = 32, 10
FoundArtifacts = Literal["ask", "leave", "adopt"]
"""What a new database does with files of another database in its folder.

ask: stop with a message; leave: ignore them; adopt: take them over.
"""
OF_ALL_FILES = {"max_held_bytes_per_person", "max_held_bytes"}
"""Limits of all uploaded files together; the other limits are of one file."""
Auth = Literal["local", "key", "proxy", "oidc"]
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d+)?|https?://\[[0-9a-f:]+\](:\d+)?", re.IGNORECASE)


class Settings(BaseSettings):
    """The settings from the environment, validated; an error names each unusable one."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True)

    database_url: str = Field(
        default_factory=lambda: f"sqlite:///{Path.cwd() / DATA_FOLDER / 'recdash.db'}",
        description="sqlite:///FILE or postgresql://user@host/name",
    )
    artifacts: Path | None = Field(
        default=None, description="Folder of the uploaded tables; default: beside the database file."
    )
    found_artifacts: FoundArtifacts = Field(
        default="ask",
        description="What a new database does with files of another one in its folder: ask (stop with a "
        "message), leave them alone, or adopt them into its own folder. With leave, a store whose files are "
        "lost goes on with a new key of the audit log.",
    )
    metrics: str = Field(
        default="",
        description="Python files with own metrics, comma-separated; their code runs with the rights of "
        "recdash.",
    )
    sources: Path | None = Field(
        default=None,
        description="TOML file that names the tables elsewhere which pages and the HTTP API may fetch.",
    )
    host: str = Field(default="127.0.0.1", description="Address the dashboard listens on.")
    port: int = Field(default=8501, ge=1, le=65535, description="Port the dashboard listens on.")
    allowed_hosts: str = Field(
        default="", description="Further host names of the dashboard, comma-separated; * for any."
    )
    https: bool = Field(
        default=False,
        description="Whether visitors reach the dashboard by HTTPS, as behind a TLS proxy: cookies are "
        "Secure, and browsers use HTTPS only.",
    )
    auth: Auth = Field(
        default="local",
        description="Who can sign in: local (this machine only), key (anyone with the key printed at the "
        "start), "
        "proxy (a proxy authenticates users), oidc (an OpenID provider does).",
    )
    admins: str = Field(default="", description="Admins: names, *@example.org or *, comma-separated.")
    editors: str = Field(default="", description="Editors, in the same form.")
    viewers: str = Field(
        default="",
        description="Viewers, in the same form; required with proxy and oidc. * admits everyone with an "
        "account "
        "at the provider.",
    )
    user: str = Field(default="", max_length=200, description="Author name recorded with local or key.")
    proxy_user_header: str = Field(
        default="X-Forwarded-User", description="Header with the user's name, set by the proxy."
    )
    proxy_secret: SecretStr | None = Field(
        default=None,
        validate_default=True,
        description="Secret that the proxy must send in X-Recdash-Proxy-Secret.",
    )
    trusted_proxies: str = Field(
        default="127.0.0.1, ::1", description="Addresses or networks of the proxy, comma-separated."
    )
    secret: SecretStr | None = Field(
        default=None,
        description="Key that signs share links; default: created at the first start and kept beside the "
        "data.",
    )
    embed_from: str = Field(
        default="",
        description="Sites that may show the dashboard's pages in a frame, such as https://wiki.example.org.",
    )
    sockets_per_person: int = Field(default=50, ge=1, description="Pages one person may have open.")
    sockets_per_address: int = Field(
        default=200,
        ge=1,
        description="Pages that may be open from one address without a verified name.",
    )
    api_requests_per_minute: int = Field(
        default=600, ge=1, description="Requests one token or person may send to the HTTP API per minute."
    )
    upload_budget_bytes: int = Field(
        default=8 * GIB, ge=1, description="Bytes one person may upload per hour."
    )
    max_upload_bytes: int = Field(default=GIB, ge=1, description="Bytes of one uploaded file.")
    max_held_bytes_per_person: int = Field(
        default=4 * GIB, ge=1, description="Bytes of one person's files that are uploaded and not yet stored."
    )
    max_held_bytes: int = Field(
        default=16 * GIB, ge=1, description="Bytes of all files that are uploaded and not yet stored."
    )
    max_inflated_bytes: int = Field(
        default=4 * GIB, ge=1, description="Bytes of one file after decompression."
    )
    max_compression_ratio: int = Field(
        default=200, ge=1, description="Compression ratio: decompressed ÷ compressed bytes."
    )
    max_rows: int = Field(default=50_000_000, ge=1, description="Rows of one table.")
    max_columns: int = Field(default=200, ge=1, description="Columns of one table.")
    max_value_chars: int = Field(default=10_000, ge=1, description="Characters of one value.")
    max_read_memory_bytes: int = Field(
        default=4 * GIB, ge=2**28, description="Bytes of memory for reading one file."
    )
    max_read_seconds: int = Field(default=600, ge=1, description="Seconds for reading one file.")

    @field_validator("secret", "proxy_secret")
    @classmethod
    def _strong(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            refuse_weak(value.get_secret_value())
        return value

    @field_validator("proxy_secret")
    @classmethod
    def _proxy_shares_a_secret(cls, value: SecretStr | None, others: ValidationInfo) -> SecretStr | None:
        if value is None and others.data.get("auth") == "proxy":
            raise ValueError(f"RECDASH_AUTH=proxy needs a secret that only the proxy knows: {_HOW}")
        return value

    @field_validator("proxy_user_header")
    @classmethod
    def _is_a_header(cls, value: str) -> str:
        if not _HEADER.fullmatch(value) or value.lower().startswith("x-recdash-"):
            raise ValueError(
                "Name a header such as X-Forwarded-User; those that begin with X-Recdash are reserved"
            )
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: str) -> str:
        for name in listed(value):
            ip_network(name)
        return value

    @field_validator("embed_from")
    @classmethod
    def _are_origins(cls, value: str) -> str:
        if bad := [name for name in listed(value) if not _ORIGIN.fullmatch(name)]:
            raise ValueError(f"'{bad[0]}' is not a site; write https://wiki.example.org, without a path")
        return value

    def hosts(self) -> frozenset[str]:
        """Returns the names in ``allowed_hosts``, in lower case."""
        return frozenset(name.lower() for name in listed(self.allowed_hosts))

    def networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Returns the networks in ``trusted_proxies``; an address is a network of one."""
        return tuple(ip_network(name) for name in listed(self.trusted_proxies))

    def embedders(self) -> tuple[str, ...]:
        return tuple(name.lower() for name in listed(self.embed_from))

    def metric_files(self) -> tuple[Path, ...]:
        """Returns the files in ``metrics``, in their order."""
        return tuple(Path(name).expanduser() for name in listed(self.metrics))

    def limit_rows(self) -> list[dict[str, Any]]:
        """Returns a row per limit of uploads: its setting, what it counts, the value, and the default."""
        fields = {name: field for name, field in type(self).model_fields.items() if name.startswith("max_")}
        return [
            {
                "setting": f"{PREFIX}{name.upper()}",
                "counts": (field.description or "").rstrip("."),
                "limit": getattr(self, name),
                "default": field.default,
            }
            for name, field in fields.items()
        ]

    def limits(self) -> dict[str, int]:
        """Returns the limits of a file as keyword arguments of ``ingest.Limits``, named without ``max_``."""
        values = self.model_dump(exclude=OF_ALL_FILES)
        return {name.removeprefix("max_"): values[name] for name in values if name.startswith("max_")}


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Returns the settings of this process, which are read once.

    ``settings.cache_clear()`` makes the next call read them again. Raises ``InputError`` that names every
    variable that cannot be used.
    """
    try:
        return Settings()
    except ValidationError as error:
        raise InputError(
            _problem(detail["loc"], detail["input"], detail["msg"]) for detail in error.errors()
        ) from None


def listed(text: str) -> tuple[str, ...]:
    """Returns the values between the commas, stripped and without empty ones."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


_HOW = "create one with python -c 'import secrets; print(secrets.token_urlsafe(32))'"


def refuse_weak(secret: str) -> None:
    """Raises ValueError, which does not quote the secret, if the secret is easy to guess."""
    if len(secret) < LEAST_SECRET or len(set(secret)) < LEAST_VARIETY:
        raise ValueError(
            f"Use at least {LEAST_SECRET} hard-to-guess characters, {LEAST_VARIETY} of them different: {_HOW}"
        )


def _problem(where: tuple[int | str, ...], value: object, wanted: str) -> Problem:
    """Returns the problem of a setting. It never quotes the value of a secret, not even of an invalid one."""
    field = str(where[0]).lower().removeprefix(PREFIX.lower())
    is_secret = field.endswith("secret")
    finding = f"'{value}' cannot be used" if not is_secret else "not set" if value is None else "too weak"
    fix = wanted.removeprefix("Value error, ")
    return Problem("bad-setting", f"environment variable {PREFIX}{field.upper()}", finding, f"{fix}.")
