"""The theme's palette and the style sheet of everything that is drawn as HTML."""

from __future__ import annotations

import streamlit as st

from recdash.charts.marks import DARK, LIGHT, Mark, Palette
from recdash.ui.escaping import Html, html

_CLIPS = {
    "cross": "polygon(33% 0,67% 0,67% 33%,100% 33%,100% 67%,67% 67%,67% 100%,33% 100%,33% 67%,0 67%,0 33%,33% 33%)",
    "x": "polygon(20% 0,50% 30%,80% 0,100% 20%,70% 50%,100% 80%,80% 100%,50% 70%,20% 100%,0 80%,30% 50%,0 20%)",
    "hexagon": "polygon(50% 0,93% 25%,93% 75%,50% 100%,7% 75%,7% 25%)",
    "pentagon": "polygon(50% 0,100% 38%,82% 100%,18% 100%,0 38%)",
    "star": "polygon(50% 0,61% 35%,98% 35%,68% 57%,79% 91%,50% 70%,21% 91%,32% 57%,2% 35%,39% 35%)",
    "octagon": "polygon(30% 0,70% 0,100% 30%,100% 70%,70% 100%,30% 100%,0 70%,0 30%)",
    "hourglass": "polygon(0 0,100% 0,55% 50%,100% 100%,0 100%,45% 50%)",
    "diamond": "polygon(50% 0,100% 50%,50% 100%,0 50%)",
}


def palette() -> Palette:
    """The palette of the theme that this browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def glyph(mark: Mark) -> Html:
    """A run's mark in HTML: two dashes for the baseline, else its shape in its colour."""
    if mark.role == "baseline":
        return html('<span class="rd-dash" aria-hidden="true"></span>')
    kind = html('<span class="rd-glyph rd-{shape}" style="background:{colour}" aria-hidden="true"></span>',
                shape=mark.shape, colour=mark.colour)  # fmt: skip
    return kind


def chip(mark: Mark) -> Html:
    """A run's name with its mark, tinted with its colour."""
    name = html("<bdi>{name}</bdi>", name=mark.name)
    if mark.role == "baseline":
        return html('<span class="rd-chip rd-chip-base">{glyph}{name}</span>', glyph=glyph(mark), name=name)
    return html('<span class="rd-chip" style="--run:{colour}" title="{title}">{glyph}{name}</span>',
                colour=mark.colour, glyph=glyph(mark), name=name, title=mark.name)  # fmt: skip


def style_sheet(colours: Palette) -> str:
    """The <style> of the app; values are ours alone, no user text enters it."""
    tint = 26 if colours.dark else 14
    clips = "".join(f".rd-{name}{{clip-path:{path}}}" for name, path in _CLIPS.items())
    variables = (
        f"--ink:{colours.ink};--muted:{colours.muted};--faint:{colours.faint};--line:{colours.border};"
        f"--panel:{colours.panel};--bg:{colours.background};--better:{colours.better};--same:{colours.same};"
        f"--worse:{colours.worse};--base:{colours.baseline};--primary:{colours.primary};--tint:{tint}%;"
    )
    return f"<style>:root{{{variables}}}{clips}{_RULES}</style>"


_RULES = """
.stMainBlockContainer{max-width:1200px;padding:26px 44px 64px}
[data-testid=stHeader]{height:0;min-height:0;background:transparent}
[data-testid=stSidebarHeader]{height:56px;padding:0;align-items:center}
[data-testid=stSidebarHeader]::before{content:"recdash";font-size:19px;font-weight:700;color:var(--ink);flex:1}
[data-testid=stSidebarNav]{padding-top:0}
[data-testid=stSidebarNavSeparator]{display:none}
[data-testid=stBaseButton-primary]{color:var(--bg)}
.stButtonGroup button{min-height:38px}
.stHtml ul{margin:0;padding:0;list-style:none}
.stHtml li{margin:0}
.rd-glyph{display:inline-block;width:13px;height:13px;flex:none;vertical-align:-1.5px}
.rd-circle{border-radius:50%}
.rd-square{transform:scale(.9)}
.rd-dash{display:inline-block;width:17px;height:2px;flex:none;vertical-align:4px;
 background:linear-gradient(90deg,var(--base) 0 42%,transparent 42% 58%,var(--base) 58%)}
.rd-frame-row{display:flex;flex-wrap:wrap;gap:8px;align-items:center;color:var(--muted);font-size:13.5px;min-height:38px}
.rd-frame-row>span:not(.rd-chip){margin-right:2px}
.rd-frame-row>.rd-next{margin-left:14px}
.rd-chip{display:inline-flex;align-items:center;gap:8px;border-radius:16px;padding:4px 13px;font-weight:600;max-width:320px;
 color:var(--ink);border:1px solid color-mix(in srgb,var(--run) 55%,var(--bg));
 background:color-mix(in srgb,var(--run) var(--tint),var(--bg))}
.rd-chip bdi{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.rd-chip-base{border:1px dashed var(--base);background:transparent}
.rd-rule{border:0;border-top:1px solid var(--line);margin:0}
.rd-title h1{font-size:26px;font-weight:650;line-height:1.25;padding:0;margin:0;color:var(--ink);overflow-wrap:anywhere}
.rd-title h2{font-size:17px;font-weight:650;line-height:1.3;padding:0;margin:0;color:var(--ink);overflow-wrap:anywhere}
.rd-title p{font-size:13.5px;color:var(--muted);margin:4px 0 0}
.rd-better{color:var(--better)}.rd-worse{color:var(--worse)}.rd-same{color:var(--muted)}
.rd-muted{color:var(--muted)}
.rd-lead{font-size:16.5px;line-height:1.55;margin:8px 0 0;max-width:640px}
.rd-card{display:grid;grid-template-columns:minmax(0,1fr) 300px;gap:48px;padding:6px 10px 4px}
.rd-card h1{font-size:26px;font-weight:650;line-height:1.25;padding:0;margin:6px 0 0;overflow-wrap:anywhere}
.rd-badges{display:flex;gap:6px;flex-wrap:wrap}
.rd-badge{border-radius:4px;padding:2px 9px;font-size:13px;font-weight:600;border:1px solid var(--line);color:var(--muted)}
.rd-badge-better{background:var(--better);border-color:var(--better);color:var(--bg)}
.rd-badge-worse{background:var(--worse);border-color:var(--worse);color:var(--bg)}
.rd-badge-same{background:var(--panel);color:var(--ink)}
.rd-split{font-size:14px}
.rd-split h3{font-size:12.5px;font-weight:650;color:var(--muted);margin:10px 0 8px;padding:0}
.rd-bar{display:flex;gap:2px;height:13px;margin-bottom:8px}
.rd-bar span{display:block;min-width:1px}
.rd-split li{display:flex;justify-content:space-between;padding:4px 0!important;font-size:14px}
.rd-cells{display:flex;flex-wrap:wrap;border-top:1px solid var(--line);padding:14px 10px 4px;margin-top:12px}
.rd-cells h3{flex:1 0 100%;font-size:12.5px;font-weight:650;color:var(--muted);margin:0 0 10px;padding:0}
.rd-cells div{flex:1 1 200px;padding:0 16px;border-left:1px solid var(--line);font-size:13.5px;color:var(--muted)}
.rd-cells div:nth-of-type(1){padding-left:0;border-left:0}
.rd-cells b{display:block;color:var(--ink);font-weight:650}
.rd-tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:16px}
.rd-tile{border:1px solid var(--line);border-radius:6px;padding:14px 18px 12px;font-size:13.5px}
.rd-tile h3{font-size:12.5px;font-weight:600;color:var(--muted);margin:0;padding:0}
.rd-tile .rd-value{font-size:30px;font-weight:600;line-height:1.35;font-variant-numeric:tabular-nums}
.rd-tile small{display:block;font-size:13px;color:var(--muted);margin-top:2px}
.rd-strip{position:relative;height:20px;margin-top:8px}
.rd-strip span{position:absolute;display:block}
.rd-strip .rd-track{left:0;right:0;top:9px;height:2px;background:var(--line)}
.rd-strip .rd-zero{top:2px;width:2px;height:16px;margin-left:-1px;background:var(--ink)}
.rd-strip .rd-ci{top:8px;height:4px;border-radius:2px;background:var(--run)}
.rd-strip .rd-dot{top:4.5px;width:11px;height:11px;margin-left:-5.5px;border-radius:50%;background:var(--run);border:2px solid var(--run)}
.rd-strip .rd-hollow{background:var(--bg)}
.rd-list{font-size:14px}
.rd-list li{display:grid;grid-template-columns:20px 1fr;gap:6px;padding:9px 0!important;border-bottom:1px solid var(--line)}
.rd-list li:first-child{border-top:1px solid var(--line)}
.rd-scroll{overflow-x:auto}
.rd-table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums;color:var(--ink)}
.rd-table th,.rd-table td{border:0;padding:0 8px;text-align:left;vertical-align:middle}
.rd-table th{font-size:13px;font-weight:600;color:var(--muted);border-bottom:1.5px solid var(--ink);vertical-align:bottom;padding-bottom:7px;line-height:1.25;white-space:pre-line}
.rd-table td{height:44px;border-bottom:1px solid var(--line)}
.rd-table .rd-num{text-align:right;white-space:nowrap}
.rd-table td b,.rd-table .rd-strong{font-weight:650}
.rd-table tr.rd-band td{background:var(--panel)}
.rd-table .rd-run{display:inline-flex;align-items:center;gap:8px;font-weight:600}
.rd-board{table-layout:auto}
.rd-board th{height:60px}
.rd-board td{height:54px;box-sizing:border-box;padding:0 9px;white-space:nowrap}
.rd-board th{padding-left:9px;padding-right:9px}
.rd-board bdi{display:block;max-width:210px;overflow:hidden;text-overflow:ellipsis}
.rd-board-head{height:60px;border-bottom:1.5px solid var(--ink);font-size:13px;font-weight:650;color:var(--muted);display:flex;align-items:flex-end;padding:0 0 7px 16px}
.rd-note{color:var(--muted)}.rd-note p{font-size:13.5px;line-height:1.45;margin:0 0 6px}
.rd-run bdi{max-width:210px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.rd-run{max-width:100%}
.rd-empty{padding:48px 0 8px;max-width:640px}
.rd-empty h1{font-size:26px;font-weight:650;padding:0;margin:0 0 8px}
.rd-empty p{color:var(--muted);font-size:15px;margin:0 0 8px}
.st-key-leaderboard-body{gap:0}
.st-key-leaderboard-body .stHorizontalBlock{gap:0}
@media (max-width:900px){.rd-card{grid-template-columns:1fr}.stMainBlockContainer{padding:20px 16px}}
@media print{[data-testid=stSidebar],.st-key-frame-actions{display:none}}
"""
