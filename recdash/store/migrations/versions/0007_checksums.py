"""The store has an id, and every row a checksum of what is stored in it.

The checksums of rows that are there already are made of what they hold today. A row that cannot be read
keeps an empty one, which no row has: it counts as damaged.
"""

from __future__ import annotations

import hashlib
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLES = ("experiment", "run", "curve", "online_test", "entry", "report", "share_link", "saved_view")
TIMES = ("created", "archived", "expires", "revoked")
KEYS = {"curve": ("run", "metric")}


def upgrade() -> None:
    key = sa.PrimaryKeyConstraint("id", name="pk_store")
    stores = op.create_table("store", sa.Column("id", sa.Text, nullable=False), key)
    op.bulk_insert(stores, [{"id": uuid.uuid4().hex}])
    for table in TABLES:
        op.add_column(table, sa.Column("checksum", sa.Text, nullable=False, server_default=""))
        _fill(table)


def downgrade() -> None:
    for table in TABLES:
        op.drop_column(table, "checksum")
    op.drop_table("store")


def _fill(table: str) -> None:
    key = KEYS.get(table, ("id",))
    connection = op.get_bind()
    chosen = " AND ".join(f"{name} = :key_{name}" for name in key)
    write = sa.text(f"UPDATE {table} SET checksum = :made WHERE {chosen}")  # noqa: S608 - names are ours
    every = connection.execute(sa.text(f"SELECT * FROM {table}")).mappings().all()  # noqa: S608
    for row in [{str(name): value for name, value in one.items()} for one in every]:
        with suppress(ValueError, TypeError):  # a time that is none, text that is not Unicode
            made = _checksum(row) if table not in KEYS else _key_checksum(row, key) + _checksum(row)
            connection.execute(write, {"made": made, **{f"key_{name}": row[name] for name in key}})


def _checksum(row: dict[str, Any]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(row):
        if row[name] is not None and name != "checksum":
            kind, value = _bytes_of(name, row[name])
            digest.update(b"%b %b %d\n%b" % (name.encode(), kind, len(value), value))
    return digest.hexdigest()


def _key_checksum(row: dict[str, Any], key: tuple[str, ...]) -> str:
    text = "\n".join(row[name] for name in key).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=4).hexdigest()


def _bytes_of(name: str, value: Any) -> tuple[bytes, bytes]:
    if name in TIMES:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        return b"time", moment.isoformat().encode()
    if isinstance(value, str):
        return b"text", value.encode("utf-8", "surrogateescape")
    if isinstance(value, int):
        return b"int", b"%d" % value
    return b"bytes", bytes(value)
