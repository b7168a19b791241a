"""Tables elsewhere that an admin has named in the settings, for people who may add data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from recdash.errors import NotFound, UploadError
from recdash.ingest.sources.address import Address, not_fetched
from recdash.ingest.sources.fetch import fetched
from recdash.ingest.sources.named import named_sources
from recdash.service.context import ServiceContext
from recdash.settings import settings


class NamedSources:
    """The tables that the file in ``RECDASH_SOURCES`` names, for editors to fetch."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def names(self) -> list[str]:
        """Returns the names, in the order of the file. Raises Forbidden unless the person is an editor."""
        self._context.must_be_editor()
        return list(named_sources(settings().sources))

    def check(self, name: str) -> None:
        """Raises NotFound for an unknown name, and Forbidden unless the person is an editor."""
        self._address(name)

    def fetch(self, name: str, folder: Path) -> Path:
        """Returns the file in ``folder`` that the table was written to, called by its name.

        Raises Forbidden unless the person is an editor, NotFound for an unknown name, and UploadError if the
        table cannot be read or is too large.
        """
        address = self._address(name)
        try:
            path = _fetched(address, folder)
        except UploadError as error:  # whose places say where the table is
            problems = [replace(problem, place=f"source '{name}'") for problem in error.problems]
            raise UploadError(problems) from error
        return path.rename(path.with_name(name + path.suffix))

    def _address(self, name: str) -> Address:
        self._context.must_be_editor()
        address = named_sources(settings().sources).get(name)
        if address is None:
            raise NotFound(f"There is no source '{name}'. An admin names sources in RECDASH_SOURCES.")
        return address


def _fetched(address: Address, folder: Path) -> Path:
    try:
        return fetched(address, folder)
    except OSError as error:
        raise not_fetched(address, error) from error
