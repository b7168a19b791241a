"""Further tables of an experiment: attributes of users, vectors and similarities of items."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("experiment", sa.Column("tables", sa.Text, nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("experiment", "tables")
