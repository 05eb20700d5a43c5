"""What the colours of the reports promise: contrast on both pages, and that nobody takes one method for another."""

from __future__ import annotations

from itertools import combinations

import pytest

from reports.palette import (
    DARK_PAGE,
    DEFERRED,
    IMMEDIATE,
    LIGHT_PAGE,
    METHODS,
    QUERY_MODIFICATION,
    RECOMPUTE,
    STEPS,
    Style,
    contrast,
    ink,
    style,
)

FILLS = (QUERY_MODIFICATION, IMMEDIATE, DEFERRED, RECOMPUTE)
Matrix = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
# Machado, Oliveira and Fernandes 2009: what is seen of linear RGB without one kind of cones.
VISION: dict[str, Matrix] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(colour: str) -> tuple[float, ...]:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4) for part in parts)


def lab(colour: str, vision: Matrix) -> tuple[float, float, float]:
    """CIELAB of a colour as it is seen, where a distance of 2.3 is just noticed."""
    seen = [sum(a * b for a, b in zip(row, linear(colour), strict=True)) for row in vision]
    red, green, blue = (min(1.0, max(0.0, part)) for part in seen)
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(one: str, other: str, vision: Matrix) -> float:
    pairs = zip(lab(one, vision), lab(other, vision), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


@pytest.mark.parametrize("vision", VISION)
def test_the_colours_of_methods_are_told_apart_with_any_colour_vision(vision: str) -> None:
    distances = [distance(one, other, VISION[vision]) for one, other in combinations(FILLS, 2)]
    assert min(distances) > 15


def test_red_and_green_of_one_lightness_would_not_be() -> None:
    assert distance("#C05000", "#6B8000", VISION["normal"]) > 40
    assert distance("#C05000", "#6B8000", VISION["deuteranopia"]) < 15


@pytest.mark.parametrize("page", [LIGHT_PAGE, DARK_PAGE])
def test_every_line_has_a_contrast_of_3_to_1_on_its_page(page: str) -> None:
    assert min(contrast(each.colour, page) for each in (*METHODS.values(), *STEPS)) >= 3


def test_labels_have_a_contrast_of_4_5_to_1_on_the_areas() -> None:
    assert min(contrast(ink(colour), colour) for colour in FILLS) >= 4.5


def test_contrast_is_that_of_wcag_and_does_not_ask_which_colour_comes_first() -> None:
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.005)
    assert contrast("#FFFFFF", "#777777") == contrast("#777777", "#FFFFFF")
    assert contrast("#777777", "#777777") == 1


@pytest.mark.parametrize(
    "together",
    [("clustered", "unclustered", "sequential", "immediate", "deferred"), ("loopjoin", "immediate", "deferred")],
)
def test_the_methods_of_one_picture_differ_in_colour_or_dash(together: tuple[str, ...]) -> None:
    assert len({style(method) for method in together}) == len(together)


def test_immediate_and_deferred_differ_in_dash_too_because_their_lines_run_together() -> None:
    assert style("immediate").dash != style("deferred").dash


def test_values_of_a_parameter_are_never_taken_for_a_method() -> None:
    steps = [style(f"f = {i}", i) for i in range(4)]
    assert len(set(steps)) == 4
    assert {each.colour for each in steps}.isdisjoint(each.colour for each in METHODS.values())
    assert style("f = 5", 4) == steps[0]


def test_a_strategy_has_one_style_however_its_name_is_written() -> None:
    assert style("query_modification") == style("query modification") == Style(QUERY_MODIFICATION)
