"""Reports: those that were made, a form to make another, and forms to share, archive and delete them."""

from __future__ import annotations

from recdash.ui.app import links
from recdash.ui.reports import builder, listing
from recdash.ui.shell import frame

links.redirect("review", instead_of=("dec", "rev"))  # decisions and reviews were shown here once
view = frame.show(without_runs=True)
listing.show(view)
builder.show(view)
listing.manage(view)
