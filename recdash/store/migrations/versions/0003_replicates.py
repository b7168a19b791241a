"""Replicates: a candidate's folds or training seeds, kept as runs of their own below it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

CANDIDATES = sa.text("replicate_of IS NULL")


def upgrade() -> None:
    with op.batch_alter_table("run") as table:
        table.add_column(sa.Column("replicate_of", sa.Text))
        table.create_foreign_key(
            "fk_run_replicate_of_run", "run", ["replicate_of"], ["id"], ondelete="CASCADE"
        )
        table.drop_constraint("uq_run_experiment_name", type_="unique")
    op.create_index(
        "uq_run_experiment_name",
        "run",
        ["experiment", "name"],
        unique=True,
        sqlite_where=CANDIDATES,
        postgresql_where=CANDIDATES,
    )
    op.create_index("uq_run_replicate_name", "run", ["replicate_of", "name"], unique=True)


def downgrade() -> None:
    op.execute("DELETE FROM run WHERE replicate_of IS NOT NULL")
    op.drop_index("uq_run_replicate_name", "run")
    op.drop_index("uq_run_experiment_name", "run")
    with op.batch_alter_table("run") as table:
        table.drop_constraint("fk_run_replicate_of_run", type_="foreignkey")
        table.drop_column("replicate_of")
        table.create_unique_constraint("uq_run_experiment_name", ["experiment", "name"])
