"""Writes a document as PDF: a Chromium on this machine, without network access, prints its HTML file.

Nothing is installed or downloaded for it. Without a Chromium, an error says what to do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from recdash.errors import InputError, Problem
from recdash.report.document import Document

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
SECONDS = 90
"""How long the browser may take."""
FLAGS = (
    "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
    "--disable-default-apps", "--no-default-browser-check", "--mute-audio",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9", "--no-pdf-header-footer", "--run-all-compositor-stages-before-draw",
)  # fmt: skip


def find_browser() -> str | None:
    """Returns the path of the first Chromium on the search path; None if there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def why_no_pdf() -> str:
    """Returns why no PDF can be made on this machine, and what to do; empty if one can be made."""
    if find_browser():
        return ""
    return (
        "No Chromium was found on the machine where recdash runs. Install one (on Debian: apt install "
        "chromium), or open the HTML report and print it."
    )


def check_browser() -> str:
    """Returns the path of the browser that prints. Raises InputError if there is none."""
    browser = find_browser()
    if browser is None:
        message, _, fix = why_no_pdf().partition(". ")
        raise InputError(Problem("no-browser", "PDF", message, fix))
    return browser


def to_pdf(document: Document) -> bytes:
    """Returns the document as PDF. Raises InputError if there is no Chromium, or printing fails."""
    from recdash.report.formats.html import to_html

    browser = check_browser()
    with tempfile.TemporaryDirectory(prefix="recdash-pdf-") as folder:
        return _printed(browser, Path(folder), to_html(document))


def _printed(browser: str, folder: Path, page: str) -> bytes:
    """Returns the PDF of a page, printed with a new browser profile and without network access.

    Raises InputError if the browser does not print it.
    """
    source, target = folder / "report.html", folder / "report.pdf"
    source.write_text(page, encoding="utf-8")
    options = [f"--user-data-dir={folder / 'profile'}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--no-sandbox")  # Chromium refuses to sandbox a page for root, as in a container
    command = [browser, *FLAGS, *options, f"--print-to-pdf={target}", source.as_uri()]
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments
            command, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _not_printed(browser, str(error)) from error
    if not target.is_file():
        raise _not_printed(browser, done.stderr.decode(errors="replace")[-300:].strip())
    return target.read_bytes()


def _not_printed(browser: str, reason: str) -> InputError:
    fix = "Open the HTML report and print it."
    return InputError(Problem("no-pdf", "PDF", f"{browser} did not print: {reason}", fix))
