"""Reference candidates computed from train, catalogue and truth: the floor and ceiling of every
comparison.
"""

from recdash.references.candidates import (
    REFERENCES,
    ReferenceCandidate,
    make_references,
    references_named,
)

__all__ = ["REFERENCES", "ReferenceCandidate", "make_references", "references_named"]
