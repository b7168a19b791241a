"""Colours are told apart by everybody, and seen on both backgrounds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from recdash.charts.marks import CONTEXT_GREY, DARK, LIGHT, PALE, RUN_COLOURS, Mark, Palette

# Machado, Oliveira and Fernandes 2009, at full severity, for linear RGB.
EYES = {
    "trichromat": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Ottosson 2020: OKLab, in which equal distances look equal.
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
APART = 0.07
"""In OKLab; 0.02 is just noticeable side by side, black and white are 1 apart."""
PALETTES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


def linear(colour: str) -> np.ndarray:
    """``#0072B2`` → linear red, green, blue in 0..1."""
    shares = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(first: str, other: str) -> float:
    """WCAG's contrast ratio, 1..21."""
    darker, lighter = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (first, other))
    return (lighter + 0.05) / (darker + 0.05)


def distance(one: str, other: str, eyes: str) -> float:
    """How far apart two colours look to these eyes, in OKLab."""
    seen = [np.clip(EYES[eyes] @ linear(colour), 0, 1) for colour in (one, other)]
    first, second = (LAB @ np.cbrt(CONES @ light) for light in seen)
    return float(np.linalg.norm(first - second))


def test_contrast_and_distance_know_black_from_white() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert distance("#000000", "#FFFFFF", "trichromat") == pytest.approx(1, abs=1e-3)


def test_deuteranopes_see_less_between_red_and_green() -> None:
    red, green = "#C00000", "#408000"
    assert distance(red, green, "deuteranopia") < distance(red, green, "trichromat") / 2


@pytest.mark.parametrize("eyes", EYES)
def test_each_pair_of_run_colours_stays_apart(eyes: str) -> None:
    for first, other in combinations(RUN_COLOURS, 2):
        assert distance(first, other, eyes) > APART, (first, other)


@pytest.mark.parametrize("eyes", EYES)
@PALETTES
def test_better_and_worse_stay_apart(palette: Palette, eyes: str) -> None:
    assert distance(palette.better, palette.worse, eyes) > 2 * APART


@PALETTES
def test_runs_are_seen_on_their_background(palette: Palette) -> None:
    """Sky and orange, pale on white, have an edge that is seen."""
    for colour in (*RUN_COLOURS, CONTEXT_GREY):
        run = Mark("a", "a", colour, "circle", "candidate")
        assert max(contrast(run.colour, palette.background), contrast(run.edge, palette.background)) >= 3


def test_what_is_pale_on_white_is_drawn_thicker() -> None:
    pale = {colour for colour in RUN_COLOURS if contrast(colour, LIGHT.background) < 3}
    assert pale == set(PALE)
    hefts = {Mark("a", "a", colour, "circle", "candidate").heft for colour in pale}
    assert min(hefts) > Mark("a", "a", RUN_COLOURS[0], "circle", "candidate").heft


@PALETTES
def test_text_is_read_on_page_and_panel(palette: Palette) -> None:
    for colour in (
        palette.ink,
        palette.muted,
        palette.better,
        palette.worse,
        palette.baseline,
        palette.primary,
    ):
        assert contrast(colour, palette.background) >= 4.5
        assert contrast(colour, palette.panel) >= 4.5


@PALETTES
def test_badges_write_in_the_page_colour_on_better_and_worse(palette: Palette) -> None:
    assert contrast(palette.background, palette.better) >= 4.5
    assert contrast(palette.background, palette.worse) >= 4.5


@PALETTES
def test_a_chips_name_is_read_on_the_runs_tint(palette: Palette) -> None:
    share = 0.26 if palette.dark else 0.14
    paper = np.array([int(palette.background[start : start + 2], 16) for start in (1, 3, 5)])
    for colour in RUN_COLOURS:
        run = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)])
        tint = "#" + "".join(f"{round(part):02X}" for part in share * run + (1 - share) * paper)
        assert contrast(palette.ink, tint) >= 4.5
