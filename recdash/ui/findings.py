"""The sentences of ``recdash.findings``, under the name by which pages know them."""

from recdash.findings import (
    EQUAL,
    MOST_NAMED,
    agreement,
    beats,
    best_value,
    first_place,
    no_shared_user,
    some,
    stands,
    values,
)

__all__ = [
    "EQUAL", "MOST_NAMED", "agreement", "beats", "best_value", "first_place", "no_shared_user", "some",
    "stands", "values",
]  # fmt: skip
