"""An experiment needs no test set: one with an A/B test alone has no truth."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

BELOW = ("online_test", "entry", "report", "share_link", "saved_view")
WITHOUT = "SELECT id FROM experiment WHERE truth IS NULL"


def upgrade() -> None:
    with op.batch_alter_table("experiment") as experiment:
        experiment.alter_column("truth", existing_type=sa.Text, nullable=True)


def downgrade() -> None:
    """Deletes experiments without a test set: the older schema cannot hold them."""
    for table in BELOW:
        op.execute(f"DELETE FROM {table} WHERE experiment IN ({WITHOUT})")  # noqa: S608 - names are ours
    op.execute("DELETE FROM experiment WHERE truth IS NULL")
    with op.batch_alter_table("experiment") as experiment:
        experiment.alter_column("truth", existing_type=sa.Text, nullable=False)
