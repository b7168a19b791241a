"""The questions a user can ask, for pages, terminal and Python alike: the Workspace over one store.

Numbers are computed first; then one short write stores them, idempotent by content, so that a double
click or a stopped page leaves either nothing or the whole.
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
