"""Online logs: the tables beside an online test's own, how they were counted, metrics of one's own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

COLUMNS = {"tables": "{}", "rules": "{}", "metrics": "[]", "removed": "[]"}


def upgrade() -> None:
    for name, empty in COLUMNS.items():
        op.add_column("online_test", sa.Column(name, sa.Text, nullable=False, server_default=empty))


def downgrade() -> None:
    for name in COLUMNS:
        op.drop_column("online_test", name)
