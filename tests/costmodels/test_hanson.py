"""What H87 reports about its three models, recomputed from its formulas.

Where the paper's prose and its own formulas disagree, the test states what the formulas give, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf, isfinite, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodels import hanson
from costmodels.hanson import Parameters, components, costs
from costmodels.yao import yao
from views.errors import EstimationError

DEFAULTS = Parameters()
MODELS = (1, 2, 3)
QUERY_MODIFICATION = {1: "clustered", 2: "loopjoin", 3: "clustered"}


def at(update_probability: float, **symbols: float) -> Parameters:
    return DEFAULTS.with_symbols({"P": update_probability, **symbols})


def best(model: int, p: Parameters) -> str:
    """The cheapest method; of equal ones, the one that must not be credited with a win: never deferred."""
    cost = costs(model, p)
    return min(cost, key=lambda method: (cost[method], method == "deferred"))


def crossing(model: int, method: str, **symbols: float) -> float:
    """The P at which query modification becomes cheaper than a maintained view; 0 if it always is."""

    def maintained_is_cheaper(update_probability: float) -> bool:
        cost = costs(model, at(update_probability, **symbols))
        return cost[method] < cost[QUERY_MODIFICATION[model]]

    low, high = 0.0, 1 - 1e-9
    if not maintained_is_cheaper(low):
        return 0.0
    assert not maintained_is_cheaper(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if maintained_is_cheaper(middle) else (low, middle)
    return low


def grid() -> Iterator[tuple[float, float]]:
    """f and P over the area of Figures 3–5, 7 and 8."""
    return ((i / 25, j / 50) for i in range(1, 26) for j in range(50))


def region(model: int, method: str, **symbols: float) -> set[tuple[float, float]]:
    return {(f, P) for f, P in grid() if best(model, at(P, f=f, **symbols)) == method}


def test_figure_1_defaults_describe_a_view_of_10000_tuples_of_which_a_query_retrieves_1000() -> None:
    p = DEFAULTS
    assert (p.N, p.S, p.B, p.n, p.k, p.l, p.q) == (100_000, 100, 4_000, 20, 100, 25, 100)
    assert (p.f, p.f_v, p.f_R2, p.C1, p.C2, p.C3) == (0.1, 0.1, 0.1, 1, 30, 1)
    assert (p.b, p.T, p.u, p.P) == (2_500, 40, 25, 0.5)
    assert p.f * p.N == 10_000
    assert p.f * p.f_v * p.N == pytest.approx(1_000)


def test_model_1_terms_at_the_defaults() -> None:
    terms = components(1, DEFAULTS)
    refresh = 30 * (3 + 2) * yao(10_000, 125, 5)
    assert 4.8 < yao(10_000, 125, 5) < 5
    assert terms["deferred"] == pytest.approx(
        {
            "C_AD": 30 * 1.25,  # 25 of 50 tuples touch all of AD's 1.25 pages
            "C_ADread": 30 * 1.25,
            "C_query1": 30 * 12.5 + 30 * 2 + 1_000,
            "C_def_refresh1": refresh,
            "C_screen": 2.5,
        }
    )
    assert terms["immediate"] == pytest.approx(
        {"C_query1": 1_435, "C_imm_refresh1": refresh, "C_screen": 2.5, "C_overhead": 5}
    )
    assert terms["clustered"] == pytest.approx({"C_clustered_scan": 750, "C_test": 1_000})
    assert terms["unclustered"] == pytest.approx(
        {"C_unclustered_scan": 30 * yao(100_000, 2_500, 1_000), "C_test": 1_000}
    )
    assert terms["sequential"] == {"C_sequential_scan": 75_000, "C_test_all": 100_000}


def test_model_2_terms_with_ten_small_updates_per_query() -> None:
    p = DEFAULTS.with_symbols({"k": 1_000, "l": 5, "f_R2": 0.2, "C1": 2, "C3": 7})
    terms = components(2, p)
    deferred_pages = 30 * yao(20_000, 500, 10) + 30 * 5 * yao(10_000, 250, 10)
    immediate_pages = 30 * yao(20_000, 500, 1) + 30 * 5 * yao(10_000, 250, 1)
    query = 30 * 2 + 30 * 25 + 2 * 1_000
    assert terms["deferred"] == pytest.approx(
        {
            "C_AD": 10 * 30 * yao(100, 2.5, 5),
            "C_ADread": 75,
            "C_def_refresh2": deferred_pages + 2 * 2 * 50,
            "C_query2": query,
            "C_screen": 2 * 5,
        }
    )
    assert terms["immediate"] == pytest.approx(
        {
            "C_imm_refresh2": 10 * (immediate_pages + 2 * 2 * 5),
            "C_query2": query,
            "C_overhead": 7 * 10,
            "C_screen": 2 * 5,
        }
    )
    assert terms["loopjoin"] == pytest.approx(
        {
            "C_search": 30 * 3,
            "C_clustered_scan": 750,
            "C_test": 2 * 1_000,
            "C_probe": 30 * yao(20_000, 500, 1_000),
            "C_match": 2 * 1_000,
        }
    )


def test_model_3_terms_at_the_defaults_with_two_updates_per_query() -> None:
    terms = components(3, DEFAULTS.with_symbols({"k": 200, "l": 5}))
    assert terms["deferred"] == pytest.approx(
        {"C_ADread": 15, "C_query3": 30, "C_def_refresh3": 30 * (1 - 0.9**20), "C_screen": 1}
    )
    assert terms["immediate"] == pytest.approx(
        {"C_query3": 30, "C_imm_refresh3": 2 * 30 * (1 - 0.9**10), "C_screen": 1}
    )
    assert terms["clustered"] == pytest.approx({"C_clustered_scan3": 7_500, "C_test3": 10_000})


def test_the_correction_of_total_deferred2_includes_the_cost_of_keeping_ad() -> None:
    p = at(0.7)
    printed = hanson.C_ADread(p) + hanson.C_def_refresh2(p) + hanson.C_query2(p) + hanson.C_screen(p)
    assert hanson.C_AD(p) > 30
    assert hanson.TOTAL_deferred2(p) == pytest.approx(printed + hanson.C_AD(p))


def test_the_correction_of_c_imm_refresh2_includes_the_cpu_cost_of_2l_tuples() -> None:
    p = at(0.75)
    printed = p.k / p.q * (p.C2 * hanson.X5(p) + p.C2 * (3 + hanson.H_vi(p)) * hanson.X6(p))
    assert hanson.C_imm_refresh2(p) == pytest.approx(printed + 3 * 2 * 25)


def test_model_3_query_modification_is_model_1_clustered_reading_the_whole_view() -> None:
    for f_v in (0.01, 0.1, 1):
        assert costs(3, at(0.5, f_v=f_v))["clustered"] == hanson.TOTAL_clustered(at(0.5, f_v=1))


@pytest.mark.parametrize(
    ("tuples", "height"), [(0, 0), (0.5, 0), (1, 0), (1.5, 1), (200, 1), (201, 2), (200**3, 3), (200**3 + 1, 4)]
)
def test_index_height_is_exact_at_powers_of_the_fanout_and_finite_below_one_tuple(tuples: float, height: int) -> None:
    share = tuples / 1e9
    assert hanson.H_vi(DEFAULTS.with_symbols({"N": 1e9, "f": share})) == height


def test_figure_2_without_updates_a_stored_view_costs_1435_and_the_clustered_scan_1750() -> None:
    assert costs(1, at(0)) == pytest.approx(
        {
            "deferred": 1_435,
            "immediate": 1_435,
            "clustered": 1_750,
            "unclustered": 30 * yao(100_000, 2_500, 1_000) + 1_000,
            "sequential": 175_000,
        }
    )


def test_figure_2_at_one_update_in_a_thousand_the_stored_views_cost_1436() -> None:
    cost = costs(1, at(0.001))
    assert (round(cost["deferred"]), round(cost["immediate"]), cost["clustered"]) == (1_436, 1_436, 1_750)


@pytest.mark.parametrize("update_probability", [0.001, 0.1, 0.2, 0.27])
def test_figure_2_both_stored_views_beat_the_clustered_scan_below_28_percent_updates(
    update_probability: float,
) -> None:
    cost = costs(1, at(update_probability))
    assert max(cost["deferred"], cost["immediate"]) < cost["clustered"]


def test_figure_2_immediate_meets_clustered_at_p_297_and_deferred_at_p_279() -> None:
    assert crossing(1, "immediate") == pytest.approx(0.297, abs=0.0005)
    assert crossing(1, "deferred") == pytest.approx(0.279, abs=0.001)


@pytest.mark.parametrize("update_probability", [0.3, 0.4, 0.5, 0.7, 0.9, 0.99])
def test_figure_2_clustered_is_best_above_p_297(update_probability: float) -> None:
    assert best(1, at(update_probability)) == "clustered"


def test_figure_2_immediate_and_deferred_stay_within_2_percent_up_to_p_30() -> None:
    for percent in range(31):
        cost = costs(1, at(percent / 100))
        assert cost["deferred"] == pytest.approx(cost["immediate"], rel=0.02)
    far = costs(1, at(0.9))
    assert far["deferred"] > 1.2 * far["immediate"]


def test_figure_2_sequential_is_off_the_scale() -> None:
    for percent in range(0, 95, 5):
        cost = costs(1, at(percent / 100))
        assert cost["sequential"] > 5 * max(cost[method] for method in cost if method != "sequential")


def test_section_3_3_a_stored_view_is_far_cheaper_than_an_unclustered_path() -> None:
    for percent in range(0, 81, 10):
        cost = costs(1, at(percent / 100))
        assert max(cost["deferred"], cost["immediate"]) < cost["unclustered"] / 4


def test_figure_3_deferred_wins_with_f_v_1_only_at_high_f_and_high_p() -> None:
    """The paper says it never wins there; its formulas say otherwise."""
    wins = region(1, "deferred", f_v=1)
    assert (1.0, 0.7) in wins
    assert min(f for f, _ in wins) > 0.2
    assert min(P for _, P in wins) > 0.5


def test_figure_3_larger_f_improves_deferred_relative_to_immediate() -> None:
    for update_probability in (0.3, 0.5, 0.7, 0.9):
        points = [at(update_probability, f=f, f_v=1) for f in (0.05, 0.1, 0.25, 0.5, 0.75, 1)]
        ratios = [hanson.TOTAL_deferred1(p) / hanson.TOTAL_immediate1(p) for p in points]
        assert all(later < earlier for earlier, later in pairwise(ratios))


def test_figure_4_deferred_never_wins_with_f_v_10_percent() -> None:
    assert region(1, "deferred", f_v=0.1) == set()


def test_figure_4_clustered_is_best_over_a_larger_area_than_in_figure_3() -> None:
    assert region(1, "clustered", f_v=1) < region(1, "clustered", f_v=0.1)


def test_figure_5_doubling_c3_enlarges_the_area_of_deferred_with_f_v_1() -> None:
    assert region(1, "deferred", f_v=1) < region(1, "deferred", f_v=1, C3=2)


def test_figure_5_drawn_with_its_captions_f_v_of_10_percent_has_no_area_of_deferred() -> None:
    assert region(1, "deferred", f_v=0.1, C3=2) == set()


def test_section_3_3_c3_burdens_immediate_alone() -> None:
    before, after = costs(1, at(0.6)), costs(1, at(0.6, C3=2))
    assert after["immediate"] - before["immediate"] == pytest.approx(hanson.C_overhead(at(0.6)))
    assert {method for method in before if before[method] != after[method]} == {"immediate"}


def test_section_3_3_higher_p_favours_query_modification() -> None:
    for model, modified in QUERY_MODIFICATION.items():
        ladder = [costs(model, at(P)) for P in (0, 0.2, 0.4, 0.6, 0.8, 0.95)]
        for method in ("deferred", "immediate"):
            shares = [cost[method] / cost[modified] for cost in ladder]
            assert all(later > earlier for earlier, later in pairwise(shares))


@pytest.mark.parametrize("model", [1, 2])
@pytest.mark.parametrize("method", ["deferred", "immediate"])
def test_sections_3_3_and_3_5_smaller_f_v_favours_query_modification(model: int, method: str) -> None:
    limits = [crossing(model, method, f_v=f_v) for f_v in (1, 0.3, 0.1, 0.03)]
    assert all(later < earlier for earlier, later in pairwise(limits))


@pytest.mark.parametrize("model", [1, 2])
def test_section_3_3_upkeep_does_not_depend_on_f_v(model: int) -> None:
    upkeep = [
        {method: cost - getattr(hanson, f"C_query{model}")(p) for method, cost in costs(model, p).items()}
        for p in (at(0.5, f_v=1), at(0.5, f_v=0.1))
    ]
    for method in ("deferred", "immediate"):
        assert upkeep[0][method] == pytest.approx(upkeep[1][method])
        assert upkeep[0][method] > 700


@pytest.mark.parametrize("f_v", [0.1, 1])
@pytest.mark.parametrize("method", ["deferred", "immediate"])
def test_figure_6_a_join_favours_materialisation_more_than_a_selection(method: str, f_v: float) -> None:
    assert crossing(2, method, f_v=f_v) > crossing(1, method, f_v=f_v) + 0.05


def test_figure_6_at_the_defaults_stored_joins_win_where_stored_selections_lose() -> None:
    assert best(1, DEFAULTS) == "clustered"
    cost = costs(2, DEFAULTS)
    assert max(cost["deferred"], cost["immediate"]) < cost["loopjoin"] / 3


def test_figure_6_query_modification_wins_at_very_high_p() -> None:
    assert best(2, at(0.95)) == "loopjoin"
    assert best(2, at(0.98, f_v=1)) == "loopjoin"


def test_figure_8_loopjoin_is_best_over_a_larger_area_than_in_figure_7() -> None:
    assert region(2, "loopjoin", f_v=1) < region(2, "loopjoin", f_v=0.1)


def test_section_3_5_emp_dept_query_modification_is_best_from_p_between_06_and_08() -> None:
    """The scan prints "P ≥ 0.8"; the formulas cross at a tenth of that."""
    emp_dept = {"f": 1, "f_v": 1 / DEFAULTS.N, "l": 1}
    for method in ("deferred", "immediate"):
        assert 0.06 < crossing(2, method, **emp_dept) < 0.08
    assert best(2, at(0.05, **emp_dept)) == "immediate"
    for update_probability in (0.08, 0.1, 0.5, 0.8, 0.99):
        assert best(2, at(update_probability, **emp_dept)) == "loopjoin"


@pytest.mark.parametrize("transaction_tuples", [1, 10, 25, 50, 99])
def test_figure_9_below_l_100_a_maintained_aggregate_costs_a_small_percentage_of_the_scan(
    transaction_tuples: int,
) -> None:
    cost = costs(3, DEFAULTS.with_symbols({"l": transaction_tuples}))
    assert max(cost["deferred"], cost["immediate"]) < 0.02 * cost["clustered"]


def test_figure_9_the_advantage_shrinks_as_l_grows() -> None:
    ladder = [costs(3, DEFAULTS.with_symbols({"l": size})) for size in (1, 10, 100, 1_000, 10_000)]
    for method in ("deferred", "immediate"):
        assert all(later[method] > earlier[method] for earlier, later in pairwise(ladder))
    assert ladder[-1]["deferred"] > 0.9 * ladder[-1]["clustered"]


def test_figure_10_larger_f_makes_maintained_aggregates_more_attractive() -> None:
    for size in (1, 25, 400):
        limits = [crossing(3, "immediate", f=f, l=size) for f in (0.001, 0.01, 0.1, 1)]
        assert all(later > earlier for earlier, later in pairwise(limits))


def test_figure_10_the_curves_fall_as_l_grows() -> None:
    for f in (0.001, 0.01, 0.1, 1):
        limits = [crossing(3, "immediate", f=f, l=size) for size in (1, 10, 100, 1_000)]
        assert all(later < earlier for earlier, later in pairwise(limits))


def test_section_3_7_aggregates_pay_off_in_more_cases_than_other_views() -> None:
    for method in ("deferred", "immediate"):
        assert crossing(3, method) > max(crossing(1, method), crossing(2, method))


symbols = st.fixed_dictionaries(
    {
        "N": st.floats(1e-3, 1e12),
        "S": st.floats(1, 4_000),
        "n": st.floats(1, 2_000),
        "l": st.floats(0, 1e6),
        "q": st.floats(1e-3, 1e6),
        "P": st.floats(0, 0.9999),
        "f": st.floats(0, 1),
        "f_v": st.floats(0, 1),
        "f_R2": st.floats(0, 10),
    }
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(values=symbols)
def test_every_cost_is_finite_not_negative_and_the_sum_of_its_components(values: dict[str, float]) -> None:
    p = DEFAULTS.with_symbols(values)
    for model in MODELS:
        terms = components(model, p)
        assert all(isfinite(ms) and ms >= 0 for of_method in terms.values() for ms in of_method.values())
        assert costs(model, p) == {method: sum(of_method.values()) for method, of_method in terms.items()}


@pytest.mark.parametrize(
    ("total", "model", "method"),
    [
        (hanson.TOTAL_deferred1, 1, "deferred"),
        (hanson.TOTAL_immediate1, 1, "immediate"),
        (hanson.TOTAL_clustered, 1, "clustered"),
        (hanson.TOTAL_unclustered, 1, "unclustered"),
        (hanson.TOTAL_sequential, 1, "sequential"),
        (hanson.TOTAL_deferred2, 2, "deferred"),
        (hanson.TOTAL_immediate2, 2, "immediate"),
        (hanson.TOTAL_loopjoin, 2, "loopjoin"),
        (hanson.TOTAL_deferred3, 3, "deferred"),
        (hanson.TOTAL_immediate3, 3, "immediate"),
    ],
)
def test_each_total_is_the_cost_of_its_method(total: Callable[[Parameters], float], model: int, method: str) -> None:
    assert total(at(0.7)) == costs(model, at(0.7))[method]


def test_extreme_corners_stay_finite() -> None:
    for extreme in ({"f": 0}, {"f": 1, "f_v": 1}, {"N": 1e-15}, {"N": 1e15}, {"P": 0}, {"l": 0}, {"k": 1e15}):
        for model in MODELS:
            assert all(isfinite(cost) for cost in costs(model, DEFAULTS.with_symbols(extreme)).values())


def test_setting_p_keeps_the_queries() -> None:
    p = DEFAULTS.with_symbols({"q": 40, "P": 0.8})
    assert (p.q, p.k, p.P) == (40, pytest.approx(160), pytest.approx(0.8))
    assert DEFAULTS.with_update_probability(0).k == 0


@pytest.mark.parametrize(
    ("symbol", "value", "message"),
    [
        ("f", 1.5, "f = 1.5 is outside its range, 0 to 1"),
        ("f_v", -0.1, "f_v = -0.1 is outside its range, 0 to 1"),
        ("f_R2", -1, "f_R2 = -1 is outside its range, 0 to 1e+15"),
        ("N", 0, "N = 0 is outside its range, 1e-15 to 1e+15"),
        ("q", 0, "q = 0 is outside its range, 1e-15 to 1e+15"),
        ("B", inf, "B = inf is outside its range, 1e-15 to 1e+15"),
        ("k", nan, "k = nan is outside its range, 0 to 1e+15"),
        ("C2", -30, "C2 = -30 is outside its range, 0 to 1e+15"),
        ("S", 4_001, "S = 4001 is outside its range, 1e-15 to 4000 (B: a tuple fits in a block)"),
        (
            "n",
            4_000,
            "n = 4000 is outside its range, 1e-15 to 2000 (B/2: a block holds two index records or more)",
        ),
        ("P", 1, "P = 1 is outside its range, 0 to below 1 (at 1 no query is left)"),
        ("P", nan, "P = nan is outside its range, 0 to below 1 (at 1 no query is left)"),
        ("l", "many", "l = 'many' is not a number"),
        ("P", None, "P = None is not a number"),
        ("u", 3, "u follows from k, l and q; set those instead"),
        ("f_r2", 0.1, "no symbol 'f_r2' in Figure 1; did you mean f_R2?"),
        ("c3", 2, "no symbol 'c3' in Figure 1; did you mean C3?"),
        ("p", 0.5, "no symbol 'p' in Figure 1; did you mean P?"),
        (
            "rows",
            5,
            "no symbol 'rows' in Figure 1; known are N, S, B, n, k, l, q, f, f_v, f_R2, C1, C2, C3, P",
        ),
    ],
)
def test_a_wrong_symbol_or_value_is_refused_in_one_line(symbol: str, value: float, message: str) -> None:
    with pytest.raises(EstimationError) as refused:
        DEFAULTS.with_symbols({symbol: value})
    assert str(refused.value) == message


def test_p_and_k_cannot_both_be_set() -> None:
    with pytest.raises(EstimationError, match="P and k set each other"):
        DEFAULTS.with_symbols({"P": 0.5, "k": 100})


@pytest.mark.parametrize("model", [0, 4])
def test_there_is_no_other_model(model: int) -> None:
    with pytest.raises(EstimationError, match=f"^model = {model} is not one of the paper's: 1, 2 or 3$"):
        costs(model, DEFAULTS)
