"""Run by Alembic: migrates over the connection it is handed, inside the caller's transaction."""

from __future__ import annotations

from alembic import context

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"],
    target_metadata=attributes["metadata"],
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
