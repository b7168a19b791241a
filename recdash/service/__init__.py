"""The service layer: ``Workspace`` answers every question about one store, for pages, command line and
Python.

A method first computes all numbers, and then stores them in one short write. If the write is repeated (as by
a double click), it changes nothing; if the page is stopped before it, nothing is stored.
"""

from recdash.evaluation.candidates import PreparedRun
from recdash.service.access.sharing import LinkDead, SharedLink
from recdash.service.catalog.experiments import Setup
from recdash.service.catalog.runs import AddedRun, FallbackOffer, ReferenceChoice
from recdash.service.diagnosis.case import Explanation
from recdash.service.validation import Progress
from recdash.service.workspace import Workspace

__all__ = [
    "AddedRun", "Explanation", "FallbackOffer", "LinkDead", "PreparedRun", "Progress", "ReferenceChoice",
    "Setup", "SharedLink", "Workspace",
]  # fmt: skip
