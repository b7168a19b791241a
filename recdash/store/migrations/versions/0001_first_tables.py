"""First tables: artifacts, experiments, runs, their curves, online tests."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "artifact",
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("n_bytes", sa.BigInteger, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_artifact"),
    )
    op.create_table(
        "experiment",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("truth", sa.Text, nullable=False),
        sa.Column("train", sa.Text),
        sa.Column("catalogue", sa.Text),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("baseline", sa.Text),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("archived", sa.DateTime(timezone=True)),
        sa.Column("demo", sa.Boolean, nullable=False),
        sa.Column("next_slot", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_experiment"),
        sa.UniqueConstraint("name", name="uq_experiment_name"),
        sa.ForeignKeyConstraint(["truth"], ["artifact.sha256"], name="fk_experiment_truth_artifact"),
        sa.ForeignKeyConstraint(["train"], ["artifact.sha256"], name="fk_experiment_train_artifact"),
        sa.ForeignKeyConstraint(["catalogue"], ["artifact.sha256"], name="fk_experiment_catalogue_artifact"),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("experiment", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("slot", sa.Integer, nullable=False),
        sa.Column("upload", sa.Text),
        sa.Column("hits", sa.Text, nullable=False),
        sa.Column("ledger", sa.Text, nullable=False),
        sa.Column("notices", sa.Text, nullable=False),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("params", sa.Text, nullable=False),
        sa.Column("absent", sa.Text, nullable=False),
        sa.Column("provenance", sa.Text, nullable=False),
        sa.Column("archived", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
        sa.UniqueConstraint("experiment", "name", name="uq_run_experiment_name"),
        sa.UniqueConstraint("experiment", "slot", name="uq_run_experiment_slot"),
        sa.ForeignKeyConstraint(
            ["experiment"], ["experiment.id"], name="fk_run_experiment_experiment", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["upload"], ["artifact.sha256"], name="fk_run_upload_artifact"),
    )
    op.create_index("ix_run_experiment_upload", "run", ["experiment", "upload"])
    op.create_table(
        "curve",
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer),
        sa.Column("k", sa.LargeBinary),
        sa.Column("value", sa.LargeBinary, nullable=False),
        sa.Column("std_error", sa.LargeBinary, nullable=False),
        sa.Column("n_users", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("run", "metric", name="pk_curve"),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_curve_run_run", ondelete="CASCADE"),
        sa.CheckConstraint("(depth IS NULL) <> (k IS NULL)", name="ck_curve_cutoffs"),
    )
    op.create_table(
        "online_test",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("experiment", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("upload", sa.Text, nullable=False),
        sa.Column("control", sa.Text, nullable=False),
        sa.Column("links", sa.Text, nullable=False),
        sa.Column("results", sa.Text, nullable=False),
        sa.Column("notices", sa.Text, nullable=False),
        sa.Column("archived", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_online_test"),
        sa.UniqueConstraint("experiment", "name", name="uq_online_test_experiment_name"),
        sa.ForeignKeyConstraint(
            ["experiment"], ["experiment.id"], name="fk_online_test_experiment_experiment", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["upload"], ["artifact.sha256"], name="fk_online_test_upload_artifact"),
    )


def downgrade() -> None:
    for table in ("online_test", "curve", "run", "experiment", "artifact"):
        op.drop_table(table)
