"""Reads the Parquet files below a folder as one table, as Spark and other writers leave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.parts import in_order, kind_of
from recdash.ingest.schemas import common_type, repeated_name
from recdash.ingest.sources.address import Address, not_fetched

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset
    from pyarrow.fs import FileSystem

PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
READERS = 16
"""Footers that are read at a time: each takes a round trip to an object store."""
Types = Mapping[pa.DataType, str]
"""The types of a column → the first file of each."""


def data_set_below(address: Address, store: FileSystem, folder: str) -> Dataset:
    """Returns the Parquet files below a folder, in the order of the numbers in their names.

    Its subfolders ``name=value`` give columns of text. Hidden files are left out, as Spark does. Raises
    ``UploadError`` for a folder that is no plain table, and for columns that differ.
    """
    import pyarrow.dataset as ds
    from pyarrow.fs import FileSelector

    below = [file.path for file in store.get_file_info(FileSelector(folder, recursive=True)) if file.is_file]
    steps_of = {path: path.removeprefix(folder).strip("/").split("/") for path in in_order(below)}
    _refuse_lakes(address, {step for steps in steps_of.values() for step in steps})
    shown = {path: steps for path, steps in steps_of.items() if not any(map(_is_hidden, steps))}
    files = [path for path in shown if path.endswith(PARQUET)]
    if not files:
        raise not_fetched(address, "no Parquet file below it")
    if texts := [path for path in shown if path.endswith(TEXT)]:
        finding = f"has '{'/'.join(shown[texts[0]])}' beside Parquet files"
        raise UploadError(Problem("mixed-folder", address.place, finding, "Write all files as Parquet."))
    names = dict.fromkeys(
        step.partition("=")[0] for path in files for step in shown[path][:-1] if "=" in step
    )
    # as text, since a number would lose the zeros that it begins with
    of_folders = pa.schema([(name, pa.string()) for name in names])
    data_set = ds.dataset(
        files,
        filesystem=store,
        format="parquet",
        schema=of_folders,
        partitioning=ds.partitioning(of_folders, flavor="hive"),
        partition_base_dir=folder,
    )
    types = _types(data_set, names)
    columns = [pa.field(name, _common(address, name, own, shown)) for name, own in types.items()]
    return data_set.replace_schema(pa.schema([*columns, *of_folders]))


def _is_hidden(step: str) -> bool:
    """Returns whether Spark leaves out what is called so: ``_SUCCESS``, ``.part-0.crc``, ``_temporary``."""
    return step.startswith(".") or (step.startswith("_") and "=" not in step)


def _refuse_lakes(address: Address, steps: set[str]) -> None:
    """Raises ``UploadError`` for the folder of a table some of whose files are no longer part of it."""
    if "_delta_log" in steps:
        fix = "Write delta: before its path to read its newest version."
        raise UploadError(Problem("lake-folder", address.place, "is a table of Delta Lake", fix))
    if any(step.endswith(".metadata.json") for step in steps):
        fix = "Write iceberg:CATALOG.NAMESPACE.TABLE to read its newest snapshot."
        raise UploadError(Problem("lake-folder", address.place, "is a table of Iceberg", fix))


def _types(data_set: Any, of_folders: Mapping[str, Any]) -> dict[str, dict[pa.DataType, str]]:
    """Returns the types of each column of the files with rows; of the first file if none has any."""
    fragments = list(data_set.get_fragments())
    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(lambda fragment: fragment.ensure_complete_metadata(), fragments))
    types: dict[str, dict[pa.DataType, str]] = {}
    for fragment in [own for own in fragments if own.metadata.num_rows] or fragments[:1]:
        if (twice := repeated_name(fragment.physical_schema.names)) is not None:
            raise ValueError(f"several columns called '{twice}'")
        for field in fragment.physical_schema:
            if field.name not in of_folders:
                types.setdefault(field.name, {}).setdefault(field.type, fragment.path)
    return types


def _common(address: Address, name: str, types: Types, steps: Mapping[str, Sequence[str]]) -> pa.DataType:
    """Returns the type that a column has in all files; text if its types have nothing in common.

    Raises ``UploadError`` if some files have texts and others numbers: 7 may be 007 or another id.
    """
    if len(types) == 1:
        return next(iter(types))
    kinds = {kind: "/".join(steps[path]) for own, path in types.items() if (kind := kind_of(own))}
    if len(kinds) > 1:
        numbers, texts = kinds["numbers"], kinds["texts"]
        finding = f"column '{name}' has numbers in '{numbers}', and texts in '{texts}'"
        fix = "Write this column as texts in all files."
        raise UploadError(Problem("mixed-types", address.place, finding, fix))
    return common_type(own.value_type if pa.types.is_dictionary(own) else own for own in types)
