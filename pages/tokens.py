"""API tokens: with which programs use the HTTP API."""

from __future__ import annotations

from recdash.ui.tokens import page

page.show()
