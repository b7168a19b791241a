"""Files and tables of every usual form → checked values: see :mod:`recdash.ingest.uploads`."""

from recdash.ingest.limits import Limits
from recdash.ingest.uploads import Preview, preview, read_passing, read_recommendations, read_upload

__all__ = ["Limits", "Preview", "preview", "read_passing", "read_recommendations", "read_upload"]
