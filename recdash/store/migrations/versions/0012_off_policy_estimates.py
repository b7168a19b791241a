"""Off-policy estimates that are kept with an experiment."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TABLE = "off_policy_estimate"


def upgrade() -> None:
    home = sa.ForeignKey(
        "experiment.id", ondelete="CASCADE", name="fk_off_policy_estimate_experiment_experiment"
    )
    op.create_table(
        TABLE,
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("experiment", sa.Text, home, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("run", sa.Text),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("checksum", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("id", name="pk_off_policy_estimate"),
    )
    op.create_index("ix_off_policy_estimate_experiment", TABLE, ["experiment"])


def downgrade() -> None:
    """Deletes the estimates; everything else stays."""
    op.drop_table(TABLE)
