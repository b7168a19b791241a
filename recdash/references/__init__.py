"""Reference candidates, computed from train, catalogue and truth: every comparison's floor and ceiling."""

from recdash.references.candidates import (
    REFERENCES,
    ReferenceCandidate,
    make_references,
    references_named,
)

__all__ = ["REFERENCES", "ReferenceCandidate", "make_references", "references_named"]
