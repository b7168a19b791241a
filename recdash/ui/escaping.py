"""The escaping of ``recdash.escaping``, under the name by which pages know it."""

from recdash.escaping import Html, html, join, markdown, plotly

__all__ = ["Html", "html", "join", "markdown", "plotly"]
