"""Tokens of the HTTP API, and when each was last used."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "api_token",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("expires", TIME),
        sa.Column("revoked", TIME),
        sa.Column("checksum", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("id", name="pk_api_token"),
    )
    token = sa.ForeignKey("api_token.id", ondelete="CASCADE", name="fk_token_use_token_api_token")
    op.create_table(
        "token_use",
        sa.Column("token", sa.Text, token, nullable=False),
        sa.Column("last", TIME, nullable=False),
        sa.PrimaryKeyConstraint("token", name="pk_token_use"),
    )


def downgrade() -> None:
    """Deletes the tokens; no client of the API gets in until new ones are made."""
    op.drop_table("token_use")
    op.drop_table("api_token")
