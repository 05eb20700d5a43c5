"""The data of Figures 2 to 10 of H87, computed again from the formulas, and what their titles and notes claim."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from itertools import pairwise

import pytest

from costmodels import hanson
from costmodels.figures import FIGURES, Lines, Regions, figure
from costmodels.hanson import Parameters, costs
from views.errors import EstimationError

DEFAULTS = Parameters()
CENTRES = [(i + 0.5) / 100 for i in range(100)]
# Figure: model, what differs from the defaults, and its methods; of equal costs the first wins.
REGIONS: dict[int, tuple[int, dict[str, float], tuple[str, ...]]] = {
    3: (1, {"f_v": 1}, ("clustered", "immediate", "deferred")),
    4: (1, {"f_v": 0.1}, ("clustered", "immediate", "deferred")),
    5: (1, {"f_v": 1, "C3": 2}, ("clustered", "immediate", "deferred")),
    7: (2, {"f_v": 1}, ("loopjoin", "immediate", "deferred")),
    8: (2, {"f_v": 0.1}, ("loopjoin", "immediate", "deferred")),
}
Price = Callable[[Parameters], Mapping[str, float]]


def at(P: float, **symbols: float) -> Parameters:  # noqa: N803
    return DEFAULTS.with_symbols({"P": P, **symbols})


def lines(number: int) -> Lines:
    found = figure(number)
    assert isinstance(found, Lines)
    return found


def regions(number: int) -> Regions:
    found = figure(number)
    assert isinstance(found, Regions)
    return found


def of_model(model: int) -> Price:
    return lambda p: costs(model, p)


def join_as_printed(p: Parameters) -> Mapping[str, float]:
    """The formulas of §3.4 letter by letter: no C_AD in deferred, no C1·2l in immediate."""
    query_and_screen = hanson.C_query2(p) + hanson.C_screen(p)
    refresh = p.k / p.q * p.C2 * (hanson.X5(p) + (3 + hanson.H_vi(p)) * hanson.X6(p))
    return {
        "deferred": hanson.C_ADread(p) + hanson.C_def_refresh2(p) + query_and_screen,
        "immediate": refresh + hanson.C_overhead(p) + query_and_screen,
        "loopjoin": hanson.TOTAL_loopjoin(p),
    }


def cheapest(price: Price, methods: tuple[str, ...], changed: Mapping[str, float]) -> list[list[str]]:
    """The cheapest method at the centre of every cell of f × P, each of them looked at."""
    rows = []
    for f in CENTRES:
        base = DEFAULTS.with_symbols({**changed, "f": f})
        prices = [price(base.with_update_probability(P)) for P in CENTRES]
        rows.append([min(methods, key=cost.__getitem__) for cost in prices])
    return rows


def area(rows: list[list[str]], method: str) -> set[tuple[int, int]]:
    return {(i, j) for i, row in enumerate(rows) for j, winner in enumerate(row) if winner == method}


def area_of(number: int, method: str) -> set[tuple[int, int]]:
    return area([list(row) for row in regions(number).winners], method)


def percent(cells: set[tuple[int, int]]) -> str:
    return f"{len(cells) / 100:.0f} %"


def meeting(price: Price, one: str, other: str, **symbols: float) -> float:
    """The P above which `one` costs more than `other`."""
    low, high = 0.0, 0.99
    for _ in range(50):
        middle = (low + high) / 2
        cost = price(at(middle, **symbols))
        low, high = (middle, high) if cost[one] <= cost[other] else (low, middle)
    assert 0 < low < 0.99
    return low


def crossing(found: Lines, one: str, other: str) -> float:
    (x,) = [each.x for each in found.crossings if each.between == (one, other)]
    return x


@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_has_its_number_a_finding_and_a_table_whose_rows_fill_its_columns(number: int) -> None:
    found = figure(number)
    assert found.number == number
    assert re.search(r"\d", found.title), "a title states a number that was found"
    kind = {1: "A selection (Model 1)", 2: "A join (Model 2)", 3: "An aggregate (Model 3)"}[model_of(number)]
    assert found.subject.startswith(kind)
    rows = list(found.rows())
    assert {len(row) for row in rows} == {len(found.columns)}
    assert len(set(rows)) == len(rows) >= 40
    assert all(math.isfinite(cell) for row in rows for cell in row if not isinstance(cell, str))


def model_of(number: int) -> int:
    return 1 if number <= 5 else 2 if number <= 8 else 3


@pytest.mark.parametrize("number", [0, 1, 11])
def test_other_numbers_are_refused_with_those_that_exist(number: int) -> None:
    with pytest.raises(EstimationError, match=f"^Hanson 1987 has no figure {number} of costs; ask for 2 to 10$"):
        figure(number)


def test_a_figure_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        figure(2).title = "another"  # type: ignore[misc]


@pytest.mark.parametrize(("number", "model"), [(2, 1), (6, 2)])
def test_figures_2_and_6_are_the_model_s_costs_at_every_percent_of_p(number: int, model: int) -> None:
    found = lines(number)
    assert found.x == tuple(percent / 100 for percent in range(100))
    assert found.columns == ("P", *found.series)
    for P, *values in found.rows():  # noqa: N806
        cost = costs(model, at(P))
        assert values == pytest.approx([cost[method] for method in found.series])


def test_figure_2_has_the_four_methods_of_the_paper_and_leaves_out_the_sequential_scan() -> None:
    assert set(lines(2).series) == {"clustered", "unclustered", "immediate", "deferred"}
    assert "sequential scan, 175,000 ms" in lines(2).note
    assert costs(1, at(0))["sequential"] == 175_000


def test_figure_2_the_stored_views_meet_the_clustered_scan_at_p_297_and_278() -> None:
    found, price = lines(2), of_model(1)
    assert crossing(found, "immediate", "clustered") == pytest.approx(meeting(price, "immediate", "clustered"))
    assert crossing(found, "deferred", "clustered") == pytest.approx(meeting(price, "deferred", "clustered"))
    assert f"{meeting(price, 'immediate', 'clustered'):.3f}" == "0.297"
    assert f"{meeting(price, 'deferred', 'clustered'):.3f}" == "0.278"
    assert found.title.endswith("up to P = 0.297, dearer above")
    assert "Deferred meets the scan at P = 0.278" in found.note


def test_figure_2_contradicts_the_paper_s_clustered_scan_equal_or_superior_throughout() -> None:
    cost = costs(1, at(0))
    assert cost["immediate"] < cost["clustered"]
    assert f"costs {cost['immediate']:,.0f} ms against {cost['clustered']:,.0f}" in lines(2).note


def test_figure_2_the_stored_views_meet_the_unclustered_scan_only_at_p_97_and_96() -> None:
    found, price = lines(2), of_model(1)
    for method, printed in (("immediate", "0.97"), ("deferred", "0.96")):
        limit = meeting(price, method, "unclustered")
        assert crossing(found, method, "unclustered") == pytest.approx(limit)
        assert f"{limit:.2f}" == printed
    assert "only at P = 0.97 and 0.96" in found.note


def test_figure_2_immediate_and_deferred_are_within_2_percent_up_to_p_34() -> None:
    assert "within 2 % up to P = 0.34" in lines(2).note
    apart = {P: costs(1, at(P))["deferred"] / costs(1, at(P))["immediate"] for P in (0.1, 0.2, 0.3, 0.335, 0.345)}
    assert [ratio <= 1.02 for ratio in apart.values()] == [True, True, True, True, False]


@pytest.mark.parametrize("number", [2, 6, 9])
def test_every_place_where_a_maintained_view_and_query_modification_cost_the_same_is_marked(number: int) -> None:
    found = lines(number)
    marked = set()
    for one in ("immediate", "deferred"):
        for other in set(found.series) - {"immediate", "deferred"}:
            above = [a > b for a, b in zip(found.series[one], found.series[other], strict=True)]
            for i, (before, after) in enumerate(pairwise(above)):
                if before != after:
                    marked.add((one, other))
                    assert found.x[i] <= crossing(found, one, other) <= found.x[i + 1]
    assert {each.between for each in found.crossings} == marked
    for each in found.crossings:
        key = "l" if number == 9 else "P"
        cost = costs(model_of(number), DEFAULTS.with_symbols({key: each.x}))
        assert [cost[method] for method in each.between] == pytest.approx([each.y, each.y], rel=1e-6)


@pytest.mark.parametrize("number", REGIONS)
def test_region_figures_name_the_cheapest_method_in_every_cell(number: int) -> None:
    model, changed, methods = REGIONS[number]
    found = regions(number)
    assert found.f_values == found.p_values == tuple(CENTRES)
    assert found.methods == methods
    assert [list(row) for row in found.winners] == cheapest(of_model(model), methods, changed)


@pytest.mark.parametrize("number", REGIONS)
def test_the_rows_of_a_region_figure_cover_every_p_once_and_name_its_winner(number: int) -> None:
    found = regions(number)
    by_f: dict[float, list[tuple[float, float, str]]] = {f: [] for f in found.f_values}
    for f, start, end, method in found.rows():
        by_f[f].append((start, end, method))
    for ranges, winners in zip(by_f.values(), found.winners, strict=True):
        assert (ranges[0][0], ranges[-1][1]) == (0, 1)
        assert all(one[1] == other[0] and one[2] != other[2] for one, other in pairwise(ranges))
        assert [next(m for start, end, m in ranges if start < P < end) for P in found.p_values] == list(winners)


@pytest.mark.parametrize("number", REGIONS)
def test_shares_are_the_parts_of_the_area_and_add_up_to_one(number: int) -> None:
    found = regions(number)
    assert [found.share(m) for m in found.methods] == [len(area_of(number, m)) / 10_000 for m in found.methods]
    assert sum(found.share(method) for method in found.methods) == pytest.approx(1)


@pytest.mark.parametrize("number", REGIONS)
def test_with_more_updates_immediate_gives_way_to_deferred_and_both_to_query_modification(number: int) -> None:
    found = regions(number)
    order = [found.methods[1], found.methods[2], found.methods[0]]
    for row in found.winners:
        places = [order.index(winner) for winner in row]
        assert places == sorted(places)


def test_figure_3_immediate_is_best_on_most_of_the_area_and_the_clustered_scan_at_high_p() -> None:
    found = regions(3)
    assert found.title == (
        f"Queries of the whole view make immediate cheapest on {percent(area_of(3, 'immediate'))} of the area,"
        f" the clustered scan on {percent(area_of(3, 'clustered'))}"
    )
    assert min(j for _, j in area_of(3, "clustered")) >= 77


def test_figure_3_contradicts_the_paper_deferred_wins_at_high_f_and_high_p() -> None:
    found, deferred = regions(3), area_of(3, "deferred")
    assert costs(1, at(0.7, f=1, f_v=1))["deferred"] == min(costs(1, at(0.7, f=1, f_v=1)).values())
    f, P = min(i for i, _ in deferred) / 100, min(j for _, j in deferred) / 100  # noqa: N806
    assert (f, P) == (0.38, 0.54)
    assert "The paper says that deferred is never the cheapest here" in found.note
    assert f"on {percent(deferred)} of the area, above f = {f} and P = {P}" in found.note


def test_figure_3_its_step_is_the_view_s_index_growing_by_a_level() -> None:
    assert "The step at f = 0.40 is the view's index" in regions(3).note
    assert [hanson.H_vi(at(0.5, f=f)) for f in (0.4, 0.4001)] == [2, 3]
    # A further level makes the writes of both maintained views dearer: the scan wins from a lower P on.
    first = [row.index("clustered") for row in regions(3).winners]
    assert first[40] < first[39]


def test_figure_4_clustered_is_best_over_all_of_its_area_in_figure_3_and_more() -> None:
    found = regions(4)
    assert area_of(3, "clustered") < area_of(4, "clustered")
    assert found.title.endswith(f"on {percent(area_of(4, 'clustered'))} of the area")
    assert f"than in Figure 3, where it is {percent(area_of(3, 'clustered'))}" in found.note


def test_figure_4_deferred_wins_nowhere() -> None:
    assert area_of(4, "deferred") == set()
    assert "Deferred is the cheapest nowhere" in regions(4).note


def test_figure_5_a_larger_c3_enlarges_the_area_of_deferred_at_the_expense_of_immediate() -> None:
    assert area_of(3, "deferred") < area_of(5, "deferred")
    assert area_of(5, "immediate") < area_of(3, "immediate")
    assert regions(5).title == (
        f"Twice the overhead C3 enlarges the area of deferred from {percent(area_of(3, 'deferred'))}"
        f" to {percent(area_of(5, 'deferred'))}"
    )


def test_figure_5_is_drawn_with_the_text_s_f_v_because_with_the_caption_s_deferred_wins_nowhere() -> None:
    caption = cheapest(of_model(1), REGIONS[5][2], {"f_v": 0.1, "C3": 2})
    assert area(caption, "deferred") == set()
    assert "f_v = 1, l = 25, C3 = 2" in regions(5).subject
    assert "Its caption has 0.1, with which deferred would be the cheapest nowhere" in regions(5).note


def test_figure_6_the_stored_joins_meet_the_nested_loop_join_at_p_899_and_877() -> None:
    found, price = lines(6), of_model(2)
    limits = {method: meeting(price, method, "loopjoin") for method in ("immediate", "deferred")}
    assert {method: crossing(found, method, "loopjoin") for method in limits} == pytest.approx(limits)
    assert [f"{limit:.3f}" for limit in limits.values()] == ["0.899", "0.877"]
    assert found.title.endswith("up to P = 0.899")
    assert "Deferred meets the nested-loop join at P = 0.877" in found.note


def test_figure_6_its_note_says_what_the_caption_s_f_v_and_the_printed_formulas_would_give() -> None:
    note = lines(6).note
    whole = meeting(of_model(2), "immediate", "loopjoin", f_v=1)
    assert f"with f_v = 1 a stored join is cheaper up to P = {whole:.3f}" in note
    immediate, deferred = (meeting(join_as_printed, method, "loopjoin") for method in ("immediate", "deferred"))
    assert f"limits would be P = {immediate:.3f} for immediate and {deferred:.3f} for deferred" in note
    assert immediate > crossing(lines(6), "immediate", "loopjoin")
    assert deferred > crossing(lines(6), "deferred", "loopjoin")


def test_figure_6_a_join_bears_more_updates_than_the_selection_of_figure_2() -> None:
    for method in ("immediate", "deferred"):
        assert crossing(lines(6), method, "loopjoin") > crossing(lines(2), method, "clustered") + 0.5


def test_figure_7_a_stored_join_is_best_on_93_percent_of_the_area() -> None:
    stored = area_of(7, "immediate") | area_of(7, "deferred")
    assert percent(stored) == "93 %"
    assert regions(7).title.endswith("make a stored one cheapest on 93 % of the area")


def test_figure_7_a_join_favours_storing_over_a_larger_area_than_the_selection_of_figure_3() -> None:
    assert area_of(7, "loopjoin") < area_of(3, "clustered")


def test_figure_8_the_area_of_the_nested_loop_join_grows_as_queries_read_less() -> None:
    assert area_of(7, "loopjoin") < area_of(8, "loopjoin")
    before, after = percent(area_of(7, "loopjoin")), percent(area_of(8, "loopjoin"))
    assert regions(8).title.endswith(f"from {before} to {after}")


@pytest.mark.parametrize("number", [7, 8])
def test_figures_7_and_8_say_what_the_formulas_as_printed_would_give(number: int) -> None:
    _, changed, methods = REGIONS[number]
    printed = cheapest(join_as_printed, methods, changed)
    deferred, immediate = area(printed, "deferred"), area(printed, "immediate")
    assert len(deferred) > len(area_of(number, "deferred"))
    assert regions(number).note.endswith(
        f"Without them deferred would be the cheapest on {percent(deferred)} of the area instead of"
        f" {percent(area_of(number, 'deferred'))}, immediate on {percent(immediate)} instead of"
        f" {percent(area_of(number, 'immediate'))}."
    )


def test_figure_9_is_the_aggregate_s_costs_for_sizes_from_one_tuple_to_all() -> None:
    found = lines(9)
    assert (found.x[0], found.x[-1]) == (1, DEFAULTS.N)
    assert list(found.x) == sorted(set(found.x))
    for size, *values in found.rows():
        cost = costs(3, DEFAULTS.with_symbols({"l": size}))
        assert values == pytest.approx([cost[method] for method in found.series])


def test_figure_9_below_l_100_a_maintained_aggregate_costs_at_most_1_3_percent_of_computing_it() -> None:
    parts = []
    for size in range(1, 100):
        cost = costs(3, DEFAULTS.with_symbols({"l": size}))
        parts.append(max(cost["deferred"], cost["immediate"]) / cost["clustered"])
    assert 0.012 < max(parts) <= 0.013
    assert lines(9).title == "Below l = 100 a maintained aggregate costs at most 1.3 % of computing it"


def test_figure_9_deferred_meets_the_scan_at_l_10900_and_immediate_never_does() -> None:
    found = lines(9)
    # For l this large an update touches the set for certain: 2l/40 pages of AD, the state read and written, the screen.
    size = (17_500 - 30 - 30) / (30 * 2 / 40 + 0.1)
    assert crossing(found, "deferred", "clustered") == pytest.approx(size)
    assert f"{size:,.0f}" in found.note
    part = costs(3, DEFAULTS.with_symbols({"l": DEFAULTS.N}))["immediate"] / 17_500
    assert f"immediate costs {part:.0%}".replace("%", " %") in found.note
    assert max(found.series["immediate"]) < 17_500


def test_figure_9_maintaining_costs_more_the_more_an_update_changes() -> None:
    for method in ("immediate", "deferred"):
        assert all(later > earlier for earlier, later in pairwise(lines(9).series[method]))
    assert set(lines(9).series["clustered"]) == {17_500}


def equal_cost_updates(f: float, size: float) -> float:
    """The updates per query at which immediate costs what the scan does: its cost is linear in them."""
    scan = 30 * 2_500 * f + 100_000 * f
    per_update: float = 30 * (1 - (1 - f) ** (2 * size)) + f * size
    return (scan - 30) / per_update


def test_figure_10_every_point_is_where_immediate_and_the_scan_cost_the_same() -> None:
    found = lines(10)
    assert list(found.series) == ["f = 0.001", "f = 0.01", "f = 0.1", "f = 1"]
    for f, values in zip((0.001, 0.01, 0.1, 1), found.series.values(), strict=True):
        for size, P in zip(found.x, values, strict=True):  # noqa: N806
            updates = equal_cost_updates(f, size)
            assert pytest.approx(updates / (updates + 1), abs=1e-8) == P


def test_figure_10_below_a_curve_immediate_is_cheaper_and_above_it_the_scan() -> None:
    found = lines(10)
    for f, values in zip((0.001, 0.01, 0.1, 1), found.series.values(), strict=True):
        for size, P in zip(found.x, values, strict=True):  # noqa: N806
            below, above = (costs(3, at(P + step, f=f, l=size)) for step in (-1e-6, 1e-6))
            assert below["immediate"] < below["clustered"]
            assert above["immediate"] > above["clustered"]


def test_figure_10_a_larger_f_favours_immediate_and_a_larger_l_the_scan() -> None:
    for values in lines(10).series.values():
        assert all(later < earlier for earlier, later in pairwise(values))
    for _, *limits in lines(10).rows():
        assert all(larger > smaller for smaller, larger in pairwise(limits))


def test_figure_10_immediate_bears_97_updates_per_query_at_f_001_and_3181_at_f_1() -> None:
    few, many = equal_cost_updates(0.001, 25), equal_cost_updates(1, 25)
    assert (f"{few:,.0f}", f"{many:,.0f}") == ("97", "3,181")
    assert f"bears {few:,.0f} updates of 25 tuples per query at f = 0.001, {many:,.0f} at f = 1" in lines(10).title
