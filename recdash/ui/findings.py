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
    together,
    values,
)

__all__ = [
    "EQUAL", "MOST_NAMED", "agreement", "beats", "best_value", "first_place", "no_shared_user", "some",
    "stands", "together", "values",
]  # fmt: skip
