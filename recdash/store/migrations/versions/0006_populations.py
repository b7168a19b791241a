"""Numbers of what was shown say whose lists they count.

Until here a catalogue metric counted only lists of users with a relevant item. Its name alone now stands
for all lists of the run, so that the stored numbers get the name of what they are: ``coverage`` becomes
``coverage(users=truth)``.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

METRICS = (
    "coverage", "coverage_by", "novelty", "diversity", "personalization", "gini", "entropy", "popularity",
    "tail_share",
)  # fmt: skip
USERS = "users=truth"


def upgrade() -> None:
    for metric in _stored():
        name, bracket, rest = metric.partition("(")
        if name in METRICS and USERS not in rest:
            _rename(metric, f"{metric[:-1]},{USERS})" if bracket else f"{name}({USERS})")


def downgrade() -> None:
    """What counts all lists has no name before this."""
    for metric in _stored():
        name = metric.partition("(")[0]
        if name in METRICS and USERS not in metric:
            op.execute(sa.text("DELETE FROM curve WHERE metric = :metric").bindparams(metric=metric))
        elif name in METRICS:
            _rename(metric, metric.replace(f"({USERS})", "").replace(f",{USERS})", ")"))


def _stored() -> list[str]:
    return list(op.get_bind().execute(sa.text("SELECT DISTINCT metric FROM curve")).scalars())


def _rename(old: str, new: str) -> None:
    op.execute(sa.text("UPDATE curve SET metric = :new WHERE metric = :old").bindparams(new=new, old=old))
