"""Add data: files sort themselves, one button evaluates and stores them."""

from __future__ import annotations

from recdash.ui.upload import page

page.show()
