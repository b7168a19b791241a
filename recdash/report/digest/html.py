"""A digest as HTML for e-mail: tables and inline styles, light and dark, without scripts or requests."""

from __future__ import annotations

from recdash.charts.marks import DARK, LIGHT
from recdash.comparison.badges import Badge
from recdash.formatting.html import Html, html, join
from recdash.report.digest.digest import Digest, DigestEntry

MOST_BYTES = 95_000
"""The maximum size of the HTML; e-mail programs cut what is longer than 100 kB."""
SIZES = ((20, 150), (20, 60), (10, 40), (5, 10), (1, 1))
"""Pairs of (number of experiments with a card, number of experiments listed), of which the first that fits is
used.
"""
FONT = "font-family:-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
WIDTH = 640
# E-mail programs without @media show the light colours, so each text has its light background set, too.
_DARK = (
    "@media (prefers-color-scheme:dark){{"
    ".rd-page{{background:{0.background}!important;color:{0.ink}!important}}"
    ".rd-box{{background:{0.panel}!important;border-color:{0.border}!important;color:{0.ink}!important}}"
    ".rd-ink{{color:{0.ink}!important}}.rd-muted{{color:{0.muted}!important}}}}"
)


def as_html(digest: Digest) -> str:
    """Returns the digest as HTML of at most ``MOST_BYTES``.

    If there are too many experiments, some are listed without details, or only counted.
    """
    pages = (_page(digest, full, most) for full, most in SIZES)
    return next((page for page in pages if len(page.encode()) <= MOST_BYTES), _page(digest, 0, 0))


def _page(digest: Digest, full: int, most: int) -> Html:
    rows = [_row(_card(entry, digest)) for entry in digest.entries[:full]]
    if len(digest.entries) > full:
        rows.append(_row(_others(digest, full, most)))
    if digest.audit_line:
        style = Html(f"{_muted(12)};overflow-wrap:anywhere")
        template = '<p class="rd-muted" style="{style}">{line}</p>'
        rows.append(_row(html(template, style=style, line=digest.audit_line)))
    template = (
        '<h1 class="rd-ink" style="margin:0;font-size:22px;line-height:1.3;color:{ink}">{title}</h1>'
        '<p class="rd-muted" style="{muted}">{summary}</p>'
    )
    head = html(template, ink=LIGHT.ink, title=digest.title, muted=_muted(), summary=digest.summary)
    return html(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        '<meta name="supported-color-schemes" content="light dark">'
        "<title>{title}</title><style>:root{{color-scheme:light dark}}{dark}</style></head>"
        '<body class="rd-page" style="margin:0;padding:0;background:{background};color:{ink}">'
        '<table role="presentation" class="rd-page" width="100%" cellpadding="0" cellspacing="0" '
        'style="background:{background};color:{ink};{font}"><tr><td align="center" style="padding:24px 12px">'
        '<table role="presentation" width="{width}" cellpadding="0" cellspacing="0" '
        'style="width:100%;max-width:{width}px;text-align:left">{head}{rows}</table>'
        "</td></tr></table></body></html>\n",
        title=digest.title,
        dark=Html(_DARK.format(DARK)),
        background=LIGHT.background,
        ink=LIGHT.ink,
        font=Html(FONT),
        width=WIDTH,
        head=_row(head),
        rows=join(rows),
    )


def _others(digest: Digest, full: int, most: int) -> Html:
    """Returns a line for each experiment without a card, and how many more there are."""
    template = '<p class="rd-muted" style="{muted}">{name}: {headline}</p>'
    lines = [
        html(template, muted=_muted(), name=_name(entry, digest), headline=entry.headline)
        for entry in digest.entries[full:most]
    ]
    if (more := len(digest.entries) - most) > 0:
        lines.append(html('<p style="{style}">and {n} more</p>', style=_muted(), n=more))
    return join(lines)


def _row(content: Html) -> Html:
    return html('<tr><td style="padding:0 0 14px">{content}</td></tr>', content=content)


def _muted(size: int = 14) -> Html:
    return Html(f"margin:4px 0 0;font-size:{size}px;line-height:1.5;color:{LIGHT.muted}")


def _card(entry: DigestEntry, digest: Digest) -> Html:
    return html(
        '<table role="presentation" class="rd-box" width="100%" cellpadding="0" cellspacing="0" '
        'style="background:{panel};border:1px solid {border};border-radius:6px;color:{ink}">'
        '<tr><td style="padding:16px 18px;overflow-wrap:anywhere;word-break:break-word">'
        '<p class="rd-muted" style="{muted}">{name}<br>{question}</p>'
        '<h2 class="rd-ink" style="margin:8px 0 0;font-size:18px;line-height:1.3;color:{ink}">'
        "{badge}{headline}</h2>{words}{decided}{changes}"
        "</td></tr></table>",
        panel=LIGHT.panel,
        border=LIGHT.border,
        ink=LIGHT.ink,
        muted=_muted(),
        name=_name(entry, digest),
        question=entry.question,
        badge=_badge(entry.badge) if entry.badge else "",
        headline=entry.headline,
        words=join([_paragraph(line) for line in entry.words]),
        decided=join([_paragraph(line, bold=True) for line in entry.decided]),
        changes=_changes(entry, digest),
    )


def _name(entry: DigestEntry, digest: Digest) -> Html:
    style = Html(f"color:{LIGHT.ink};font-weight:bold;font-size:15px")
    if not digest.link:
        return html('<span class="rd-ink" style="{style}">{name}</span>', style=style, name=entry.name)
    template = '<a class="rd-ink" href="{link}" style="{style}">{name}</a>'
    return html(template, link=f"{digest.link}{entry.path}", style=style, name=entry.name)


def _badge(badge: Badge) -> Html:
    """Returns the verdict's badge, white on a colour, which is also readable if an e-mail program inverts the
    page.
    """
    colour = {"better": LIGHT.better, "worse": LIGHT.worse}.get(badge.tone, LIGHT.baseline)
    template = (
        '<span style="background:{colour};color:#FFFFFF;border-radius:4px;padding:2px 8px;font-size:13px;'
        'font-weight:bold;margin-right:8px">{sign} {name}</span>'
    )
    return html(template, colour=colour, sign=badge.sign, name=badge.name)


def _paragraph(text: str, *, bold: bool = False) -> Html:
    template = (
        '<p class="rd-ink" style="margin:8px 0 0;font-size:15px;line-height:1.5;color:{ink};'
        'font-weight:{weight}">{text}</p>'
    )
    return html(template, ink=LIGHT.ink, weight="bold" if bold else "normal", text=text)


def _changes(entry: DigestEntry, digest: Digest) -> Html:
    template = '<p class="rd-muted" style="{muted}">Nothing changed {period}.</p>'
    if entry.changed:
        template = '<p class="rd-muted" style="{muted}">Changed {period}:{lines}</p>'
    lines = join([html("<br>{line}", line=line) for line in entry.changed])
    return html(template, muted=_muted(13), period=digest.period, lines=lines)
