"""Reference candidates, which set the floor and the ceiling of every comparison.

They are computed from the training data, the catalogue and the test set.
"""

from recdash.references.candidates import (
    REFERENCES,
    TABLES_NEEDED,
    ReferenceCandidate,
    make_references,
    references_named,
)

__all__ = ["REFERENCES", "TABLES_NEEDED", "ReferenceCandidate", "make_references", "references_named"]
