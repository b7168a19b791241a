"""The metrics that all A/B tests of a store have in common."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "library_metric",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_library_metric"),
    )


def downgrade() -> None:
    """Deletes the library; tests keep the metrics that they were counted with."""
    op.drop_table("library_metric")
