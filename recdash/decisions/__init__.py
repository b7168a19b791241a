"""The reviews and decisions of an experiment with their evidence, derived from its journal."""

from recdash.decisions.checklist import ChecklistItem, ItemState, checklist, not_holding, shortcomings
from recdash.decisions.review import (
    CLOSING,
    LABELS,
    OUTCOMES,
    STATES,
    Decision,
    Review,
    State,
    decisions,
    last_decision,
    reviews,
)
from recdash.decisions.snapshot import Named, Offline, Online, Subject

__all__ = [
    "CLOSING",
    "LABELS",
    "OUTCOMES",
    "STATES",
    "ChecklistItem",
    "Decision",
    "ItemState",
    "Named",
    "Offline",
    "Online",
    "Review",
    "State",
    "Subject",
    "checklist",
    "decisions",
    "last_decision",
    "not_holding",
    "reviews",
    "shortcomings",
]
