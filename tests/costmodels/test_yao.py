"""Yao's function against exact counting, against sampling, and its laws on any argument."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from math import comb, exp, inf, isfinite, lgamma, log, nan

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from costmodels.yao import _log_square, cardenas, yao
from views.errors import EstimationError

same_every_run = settings(derandomize=True, max_examples=400, deadline=None)

records = st.one_of(st.floats(0, 1e3), st.floats(0, 1e12), st.integers(0, 10**12))
pages = st.one_of(st.floats(0, 50), st.floats(0, 1e10), st.integers(0, 10**10))
accessed = st.one_of(st.floats(0, 2), st.floats(0, 1e3), st.floats(0, 2e12), st.integers(0, 10**12))


def exact_pages(n: int, m: int, k: int) -> Fraction:
    """m·(1 − C(n−p, k) / C(n, k)) as a fraction; C(n−p, k) / C(n, k) = C(n−k, p) / C(n, p)."""
    p = n // m
    fewer, more = sorted((p, k))
    ratio_above, ratio_below = 1, 1
    for i in range(fewer):
        ratio_above *= n - more - i
        ratio_below *= n - i
    return Fraction(m * (ratio_below - ratio_above), ratio_below)


def relative_error(n: int, m: int, k: int) -> Fraction:
    expected = exact_pages(n, m, k)
    return abs(Fraction(yao(n, m, k)) - expected) / expected


def test_yao_is_the_mean_over_every_possible_selection() -> None:
    n, m = 12, 4
    for k in range(n + 1):
        touched = [len({record % m for record in chosen}) for chosen in combinations(range(n), k)]
        assert yao(n, m, k) == pytest.approx(sum(touched) / len(touched), rel=1e-14)


def test_yao_equals_the_binomials_for_every_small_file() -> None:
    for p in (1, 2, 3, 7, 20):
        for m in (1, 2, 5, 11, 23):
            n = p * m
            for k in range(n + 1):
                binomials = m * (1 - Fraction(comb(n - p, k), comb(n, k)))
                assert exact_pages(n, m, k) == binomials
                assert k == 0 or relative_error(n, m, k) < 2e-15


@pytest.mark.parametrize("p", [2, 3, 40, 100, 400])
@pytest.mark.parametrize("n_about", [10**6, 10**9, 10**12])
def test_yao_keeps_fourteen_digits_up_to_a_trillion_records(p: int, n_about: int) -> None:
    m = n_about // p
    n = m * p
    for k in (2, 3, 10, 1_000, n // 10**5, n // 100, n // 3, n - 2 * p, n - p, n - p + 1):
        assert relative_error(n, m, k) < 1e-14


def test_yao_keeps_its_digits_with_few_large_pages() -> None:
    n = 10**12
    for m in (2, 10, 1_000):
        for k in (2, 5, 50, 400):
            assert relative_error(n, m, k) < 1e-14


@pytest.mark.parametrize(
    ("n", "m", "k"), [(50.5, 12.25, 7.75), (9.9, 2.2, 3.3), (100.0, 7.0, 85.9), (333.3, 4.4, 1.01)]
)
def test_yao_between_integers_is_the_gamma_function_form(n: float, m: float, k: float) -> None:
    p = n / m
    log_ratio = lgamma(n - p + 1) + lgamma(n - k + 1) - lgamma(n - p - k + 1) - lgamma(n + 1)
    assert yao(n, m, k) == pytest.approx(m * (1 - exp(log_ratio)), rel=1e-11)


def test_the_logarithms_do_not_cancel_when_almost_no_record_is_left_out() -> None:
    assert _log_square(1e-20, 40, 91) == pytest.approx(log(1e-20 * 131 / (40 * 91)), rel=1e-14)


@pytest.mark.parametrize(("n", "m", "k"), [(200, 20, 15), (1_000, 10, 12), (120, 60, 40)])
def test_yao_predicts_a_simulation(n: int, m: int, k: int) -> None:
    generator = random.Random(f"{n}/{m}/{k}")
    trials = 4_000
    touched = [len({record % m for record in generator.sample(range(n), k)}) for _ in range(trials)]
    mean = sum(touched) / trials
    standard_error = (sum((x - mean) ** 2 for x in touched) / trials / trials) ** 0.5
    assert abs(yao(n, m, k) - mean) < 4 * standard_error
    assert standard_error < 0.01 * mean


@pytest.mark.parametrize("pages_touched", [yao, cardenas])
def test_the_ends_of_the_range(pages_touched: Callable[[float, float, float], float]) -> None:
    assert pages_touched(1_000, 25, 0) == 0
    assert pages_touched(1_000, 25, 1_000) == 25
    assert pages_touched(1_000, 25, 1e9) == 25
    assert pages_touched(1_000, 25, 0.3) == 0.3
    assert pages_touched(1_000, 25, 1) == 1
    assert pages_touched(30, 0.75, 12) == 1
    assert pages_touched(30, 0.75, 0.2) == 0.2
    assert pages_touched(0, 0, 25) == 1
    assert pages_touched(0, 0, 0) == 0


def test_no_two_records_share_a_page_that_holds_only_one() -> None:
    assert yao(10, 10, 4) == 4
    assert yao(10, 30, 4.5) == 4.5


def test_every_page_is_touched_once_fewer_than_a_page_of_records_is_left_out() -> None:
    assert yao(100, 10, 91) == 10
    assert yao(100, 10, 90) < 10


@same_every_run
@given(n=records, m=pages, k=accessed)
def test_pages_touched_are_bounded_by_the_pages_and_by_the_records(n: float, m: float, k: float) -> None:
    for pages_touched in (yao, cardenas):
        y = pages_touched(n, m, k)
        assert isfinite(y)
        assert 0 <= y <= min(max(m, 1), k)
    if k >= n:
        assert yao(n, m, k) == cardenas(n, m, k) == min(max(m, 1), k)


@same_every_run
@given(n=records, m=pages, k=accessed, more=accessed)
def test_more_records_never_touch_fewer_pages(n: float, m: float, k: float, more: float) -> None:
    for pages_touched in (yao, cardenas):
        assert pages_touched(n, m, k) <= pages_touched(n, m, k + more) * (1 + 1e-14)


@same_every_run
@given(n=records, m=pages, a=accessed, b=accessed)
@example(n=100, m=10, a=0.5, b=0.5)
@example(n=100, m=10, a=45.5, b=45.5)
def test_triangle_inequality_of_yao(n: float, m: float, a: float, b: float) -> None:
    """§4: one refresh of a + b changes touches no more pages than two refreshes."""
    assert yao(n, m, a + b) <= (yao(n, m, a) + yao(n, m, b)) * (1 + 1e-14)


def test_triangle_inequality_is_strict_once_pages_are_shared() -> None:
    assert yao(10_000, 250, 200) < 0.9 * (2 * yao(10_000, 250, 100))


@same_every_run
@given(m=st.integers(1, 10**6), p=st.floats(10.5, 1e4), share=st.floats(0, 0.999))
def test_appendix_b_cardenas_is_very_close_for_more_than_ten_records_per_page(m: int, p: float, share: float) -> None:
    n = m * p
    k = share * n
    assert cardenas(n, m, k) <= yao(n, m, k) * (1 + 1e-12)
    assert cardenas(n, m, k) == pytest.approx(yao(n, m, k), rel=0.04)


def test_appendix_b_cardenas_is_not_close_for_two_records_per_page() -> None:
    assert cardenas(2_000, 1_000, 1_000) < 0.9 * yao(2_000, 1_000, 1_000)


@pytest.mark.parametrize("pages_touched", [yao, cardenas])
@pytest.mark.parametrize("wrong", [-1, -1e-300, nan, inf, -inf, 10**400])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_arguments_that_count_nothing_are_refused(
    pages_touched: Callable[[float, float, float], float], wrong: float, position: int
) -> None:
    arguments: list[float] = [100, 10, 5]
    arguments[position] = wrong
    with pytest.raises(EstimationError, match=rf"^pages touched: {'nmk'[position]} = \S+ must be") as refused:
        pages_touched(*arguments)
    assert "\n" not in str(refused.value)
