"""Share links without user-level data, when each link was last used, and the sign-in sessions that ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("share_link", sa.Column("numbers_only", sa.Boolean))
    link = sa.ForeignKey("share_link.id", ondelete="CASCADE", name="fk_link_use_link_share_link")
    op.create_table(
        "link_use",
        sa.Column("link", sa.Text, link, nullable=False),
        sa.Column("last", TIME, nullable=False),
        sa.Column("n_opened", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("link", name="pk_link_use"),
    )
    op.create_table(
        "ended_session",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("until", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ended_session"),
    )


def downgrade() -> None:
    """Deletes the links without user-level data: the older version would show their readers all data."""
    op.drop_table("ended_session")
    op.drop_table("link_use")
    op.execute("DELETE FROM share_link WHERE numbers_only IS NOT NULL")
    with op.batch_alter_table("share_link") as share_link:
        share_link.drop_column("numbers_only")
