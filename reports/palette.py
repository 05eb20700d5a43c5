"""One colour and one dash for each method, the same in every report.

The colours are Okabe and Ito's (2008), which people with any form of colour blindness can tell apart, and which keep a
contrast of 3 to 1 on white and on the dark page. The paper's names of query modification share its colour; the dash
tells apart what can stand in one picture.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How a method is drawn."""

    colour: str
    dash: str = "solid"


QUERY_MODIFICATION = "#0072B2"
IMMEDIATE = "#D55E00"
DEFERRED = "#009E73"
RECOMPUTE = "#CC79A7"

METHODS = {
    "query modification": Style(QUERY_MODIFICATION),
    "clustered": Style(QUERY_MODIFICATION),
    "unclustered": Style(QUERY_MODIFICATION, "dot"),
    "sequential": Style(QUERY_MODIFICATION, "dashdot"),
    "loopjoin": Style(QUERY_MODIFICATION),
    "immediate": Style(IMMEDIATE),
    "deferred": Style(DEFERRED, "dash"),
    "recompute": Style(RECOMPUTE),
    "full refresh": Style(RECOMPUTE, "longdash"),
}
WAYS = ("query modification", "immediate", "deferred", "full refresh")
"""The ways to keep a view that reports tell apart, in this order everywhere."""

# What is no method but a value of a parameter: no hue, so that it is never taken for a method.
STEPS = (Style("#8A8A8A", "dot"), Style("#8A8A8A", "dashdot"), Style("#8A8A8A", "dash"), Style("#8A8A8A"))

# What a cost is made of: greys, so that a component is never taken for a strategy; the patterns tell neighbours apart.
COMPONENTS = (
    ("#46505A", ""),
    ("#6E7983", "/"),
    ("#949EA8", ""),
    ("#6E7983", "."),
    ("#B9C1C9", ""),
    ("#949EA8", "x"),
    ("#46505A", "/"),
)

LIGHT_PAGE, DARK_PAGE = "#FFFFFF", "#14171A"


def style(name: str, position: int = 0) -> Style:
    """The style of a method, or of the n-th value of a parameter.

    >>> style("clustered").colour == style("query_modification").colour
    True
    >>> style("f = 0.1", 2).dash
    'dash'
    """
    return METHODS.get(name.replace("_", " "), STEPS[position % len(STEPS)])


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2.2).

    >>> round(contrast("#000000", "#FFFFFF"))
    21
    """
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def ink(colour: str) -> str:
    """Black or white, whichever reads better on a colour.

    >>> ink("#0072B2"), ink("#009E73")
    ('#FFFFFF', '#000000')
    """
    return max(("#FFFFFF", "#000000"), key=lambda text: contrast(text, colour))


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
