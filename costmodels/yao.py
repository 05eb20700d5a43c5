"""How many pages a set of records touches: Yao's function (Yao 1977) and Cardenas' approximation.

    n   records in the file
    m   pages of the file; less than one page counts as one
    k   records accessed
    p   records per page, n / m

H87, Appendix B, uses them as y(n, m, k); its scan prints only the ratio C(n−p, k) / C(n, k).
Arguments need not be integers: the cost formulas pass averages.
"""

from __future__ import annotations

import sys
from math import expm1, log, log1p

from views.errors import EstimationError

# lnΓ(x) = (x − ½)·ln x − x + ½·ln 2π + Σ coefficient / x^(2i − 1), good to the last bit from x = 16 on.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
_STIRLING_FROM = 16.0


def yao(n: float, m: float, k: float) -> float:
    """Pages touched by k of n records, drawn without replacement, on m pages: m·(1 − C(n−p, k) / C(n, k)).

    Up to one record it is k itself, from n records on every page is touched. For every argument
    y ≤ min(max(m, 1), k), y grows with k, and y(a + b) ≤ y(a) + y(b): as a function of k it is
    concave, because C(n−p, k) / C(n, k) is convex for p ≥ 1.

    >>> round(yao(10_000, 250, 100), 3)
    82.889
    >>> yao(10_000, 250, 10_000), yao(10, 0.25, 3), yao(10_000, 250, 0.5)
    (250.0, 1.0, 0.5)
    """
    pages = _checked_pages(n, m, k)
    p = n / pages
    # With at most one record per page no two records share a page.
    if k <= 1 or k >= n or p <= 1:
        return min(float(k), pages)
    rest = (n - k) - p + 1
    if rest <= 0:  # fewer than p records are left out: no page is
        return pages
    return min(float(k), pages, -pages * expm1(-_log_gamma_square(rest, p, k)))


def cardenas(n: float, m: float, k: float) -> float:
    """Pages touched when each record falls on any page alike (Cardenas 1975): m·(1 − (1 − 1/m)^k).

    Close to `yao` for more than ten records per page, and never above it. It knows no n, so it jumps to m
    at k = n, and there the triangle inequality can fail.

    >>> round(cardenas(10_000, 250, 100), 3)
    82.554
    """
    pages = _checked_pages(n, m, k)
    if k <= 1 or k >= n or pages == 1:
        return min(float(k), pages)
    return min(float(k), pages, -pages * expm1(k * log1p(-1 / pages)))


def _checked_pages(n: float, m: float, k: float) -> float:
    for symbol, value in (("n", n), ("m", m), ("k", k)):
        if not 0 <= value <= sys.float_info.max:  # also false for NaN
            raise EstimationError(f"pages touched: {symbol} = {value} must be a finite number, 0 or more")
    return max(float(m), 1.0)


def _log_gamma_square(a: float, p: float, k: float) -> float:
    """lnΓ(a+p+k) − lnΓ(a+p) − lnΓ(a+k) + lnΓ(a), for a > 0 and p, k ≥ 1: −ln (C(n−p, k) / C(n, k)).

    At n = 10¹² each lnΓ is near 3·10¹³ and their difference can be 10⁻⁹, so subtracting `math.lgamma`
    leaves no digit. Taking the second difference of Stirling's series by hand leaves terms that do not
    cancel; the recurrence Γ(x+1) = x·Γ(x) first lifts a to where the series holds.
    """
    total = 0.0
    while a < _STIRLING_FROM:
        total -= _log_square(a, p, k)
        a += 1
    total += p * log1p(k / (a + p)) + k * log1p(p / (a + k)) + (a - 0.5) * _log_square(a, p, k)
    for i, coefficient in enumerate(_STIRLING):
        power = -(2 * i + 1)
        total += coefficient * ((a + p + k) ** power - (a + p) ** power - (a + k) ** power + a**power)
    return total


def _log_square(a: float, p: float, k: float) -> float:
    """ln(a+p+k) − ln(a+p) − ln(a+k) + ln a, without cancellation for a large or tiny a."""
    shared = (p / (a + p)) * (k / (a + k))
    if shared < 0.5:
        return log1p(-shared)
    return log(a / (a + p)) + log1p(p / (a + k))
