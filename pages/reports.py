"""Reports: those that were made, a form to make another, and forms to share, archive and delete them."""

from __future__ import annotations

from recdash.ui.app import links, state
from recdash.ui.reports import builder, listing
from recdash.ui.shell import frame

links.redirect("review", instead_of=("dec", "rev"))  # decisions and reviews were shown here once
# For people who make no report the choices of the frame would change nothing here.
view = frame.show(without_runs=True, parts=frame.PARTS if state.person().may("editor") else ())
listing.show(view)
builder.show(view)
listing.manage(view)
