"""Reads tables of Delta Lake and Apache Iceberg."""

from __future__ import annotations

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.sources.address import Address, not_fetched
from recdash.ingest.sources.files import write_data_set
from recdash.ingest.sources.written import Written


def _not_installed(address: Address, library: str, extra: str) -> UploadError:
    fix = f"Install it: pip install 'recdash[{extra}]'."
    return UploadError(Problem("no-library", address.place, f"{library} is not installed", fix))


def fetch_delta(address: Address, written: Written) -> None:
    """Writes the newest version of a Delta table: ``delta:PATH`` or ``delta:s3://…``."""
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ModuleNotFoundError as error:
        raise _not_installed(address, "deltalake", "delta") from error
    try:
        write_data_set(DeltaTable(address.resolved).to_pyarrow_dataset(), written)
    except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
        raise not_fetched(address, error) from None


def fetch_iceberg(address: Address, written: Written) -> None:
    """Writes the newest snapshot of an Iceberg table: ``iceberg:CATALOG.NAMESPACE.TABLE``.

    The catalogue is one that PyIceberg's own configuration names.
    """
    try:
        from pyiceberg import exceptions
        from pyiceberg.catalog import load_catalog
    except ModuleNotFoundError as error:
        raise _not_installed(address, "pyiceberg", "iceberg") from error
    kinds = [kind for kind in vars(exceptions).values() if isinstance(kind, type)]  # they have no base
    errors: tuple[type[Exception], ...] = (OSError, ValueError, pa.ArrowException, *kinds)
    catalogue, _, table = address.resolved.partition(".")
    if not table:
        fix = "Write iceberg:CATALOG.NAMESPACE.TABLE."
        raise UploadError(Problem("bad-address", address.place, "names no table", fix))
    try:
        with load_catalog(catalogue) as opened:
            reader = opened.load_table(table).scan().to_arrow_batch_reader()
            with written.parquet(reader.schema) as add:
                for batch in reader:
                    add(batch)
    except errors as error:
        raise not_fetched(address, error) from None
