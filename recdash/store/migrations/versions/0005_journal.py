"""The journal of an experiment, reports, share links, saved views, and the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _of_an_experiment(
        "entry",
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("about", sa.Text),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_index("ix_entry_experiment_created", "entry", ["experiment", "created"])
    _of_an_experiment(
        "report",
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("narrative", sa.Text, nullable=False),
        sa.Column("blocks", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("document", sa.Text, sa.ForeignKey("artifact.sha256", name="fk_report_document_artifact")),
        sa.Column("archived", TIME),
    )
    op.create_index("ix_report_experiment", "report", ["experiment"])
    report = sa.ForeignKey("report.id", ondelete="CASCADE", name="fk_share_link_report_report")
    _of_an_experiment(
        "share_link",
        sa.Column("expires", TIME, nullable=False),
        sa.Column("report", sa.Text, report),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("revoked", TIME),
    )
    op.create_index("ix_share_link_experiment", "share_link", ["experiment"])
    _of_an_experiment(
        "saved_view",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("page", sa.Text, nullable=False),
        sa.Column("params", sa.Text, nullable=False),
        sa.UniqueConstraint("name", name="uq_saved_view_name"),
    )
    op.create_index("ix_saved_view_experiment", "saved_view", ["experiment"])
    op.create_table(
        "deed",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_deed"),
    )


def _of_an_experiment(table: str, *more: sa.schema.SchemaItem) -> None:
    """A table whose rows belong to an experiment, and go with it."""
    home = sa.ForeignKey("experiment.id", ondelete="CASCADE", name=f"fk_{table}_experiment_experiment")
    op.create_table(
        table,
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("experiment", sa.Text, home, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        *more,
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
    )


def downgrade() -> None:
    for table in ("deed", "saved_view", "share_link", "report", "entry"):
        op.drop_table(table)
