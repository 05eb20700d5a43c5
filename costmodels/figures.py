"""Figures 2 to 10 of H87 (Hanson 1987) as data, computed from its formulas in `costmodels.hanson`.

    2       Model 1, a selection    cost against P
    3–5     Model 1                 which method is cheapest, for f and P
    6       Model 2, a join         cost against P
    7, 8    Model 2                 which method is cheapest, for f and P
    9       Model 3, an aggregate   cost against l
    10      Model 3                 the P at which two methods cost the same, against l

A title states what the formulas give, a note where that differs from what the paper prints; the numbers in both
are computed. The scan of the paper has lost the drawings, so the ranges and scales of the axes are chosen here.
"""

# P is the paper's symbol.
# ruff: noqa: N803

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby, pairwise
from math import ceil

from costmodels.hanson import H_vi, Parameters, components, costs
from views.errors import EstimationError

FIGURES = range(2, 11)

# Of equal costs the first wins: the method that keeps less.
_METHODS = {
    1: ("clustered", "immediate", "deferred"),
    2: ("loopjoin", "immediate", "deferred"),
    3: ("clustered", "immediate", "deferred"),
}
_CELLS = 100
_STRIDE = 10
_VARIED = ("f", "f_v", "l")
_PERCENT = tuple(percent / 100 for percent in range(100))
# From one tuple to all N of them, ten sizes to each power of ten.
_SIZES = tuple(float(size) for size in sorted({round(10 ** (i / 10)) for i in range(51)}))
_SELECTIVITIES = (0.001, 0.01, 0.1, 1.0)
_UPDATES = "P, the share of updates"

Price = Callable[[Parameters], Mapping[str, float]]


@dataclass(frozen=True)
class Crossing:
    """A point where two series of a figure meet."""

    x: float
    y: float
    between: tuple[str, str]


@dataclass(frozen=True)
class Lines:
    """Series over one axis: a value for each method, or for each f, at every x."""

    number: int
    title: str
    subject: str
    note: str
    x_label: str
    x_title: str
    y_label: str
    x: tuple[float, ...]
    series: Mapping[str, tuple[float, ...]]
    crossings: tuple[Crossing, ...] = ()
    x_log: bool = False
    y_log: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.x_label, *self.series)

    def rows(self) -> Iterator[tuple[float, ...]]:
        """The data under `columns`, one row for each x."""
        return zip(self.x, *self.series.values(), strict=True)


@dataclass(frozen=True)
class Regions:
    """The cheapest method in each cell of f × P.

    `winners[i][j]` belongs to f_values[i] and p_values[j], the centres of cells of one size that cover 0 to 1.
    """

    number: int
    title: str
    subject: str
    note: str
    f_values: tuple[float, ...]
    p_values: tuple[float, ...]
    winners: tuple[tuple[str, ...], ...]
    methods: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("f", "P from", "P to", "cheapest")

    def rows(self) -> Iterator[tuple[float, float, float, str]]:
        """The data under `columns`: for each f the ranges of P in which one method stays the cheapest."""
        for f, row in zip(self.f_values, self.winners, strict=True):
            start = 0
            for method, cells in groupby(row):
                end = start + len(list(cells))
                yield f, start / len(row), end / len(row), method
                start = end

    def share(self, method: str) -> float:
        """The part of the area in which a method is the cheapest."""
        return sum(row.count(method) for row in self.winners) / (len(self.f_values) * len(self.p_values))


def figure(number: int) -> Lines | Regions:
    """The data of one of the paper's figures.

    >>> figure(6).title
    'A stored join is cheaper than a nested-loop join up to P = 0.899'
    """
    if number not in _FIGURES:
        raise EstimationError(f"Hanson 1987 has no figure {number} of costs", f"ask for {FIGURES[0]} to {FIGURES[-1]}")
    return _FIGURES[number]()


@cache
def _figure_2() -> Lines:
    p = Parameters()
    cost = partial(_against_p, 1, p)
    series = _series(cost, _PERCENT, ("clustered", "unclustered", "immediate", "deferred"))
    crossings = [
        crossing
        for scan in ("clustered", "unclustered")
        for method in ("immediate", "deferred")
        for crossing in _crossings(cost, _PERCENT, series, method, scan)
    ]
    limit = {crossing.between: crossing.x for crossing in crossings}
    immediate, deferred = limit["immediate", "clustered"], limit["deferred", "clustered"]
    apart = _root(lambda P: cost(P)["deferred"] / cost(P)["immediate"] - 1.02, 0.1, _PERCENT[-1])
    idle = cost(0)
    return Lines(
        number=2,
        title=f"A stored view is cheaper than a clustered scan up to P = {immediate:.3f}, dearer above",
        subject=f"A selection (Model 1): cost of a query against the share of updates P; {_settings(p, *_VARIED)}",
        note=(
            "The paper calls the clustered scan equal or superior throughout. Its formulas agree only above"
            f" P = {immediate:.3f}: without updates the stored view costs {idle['immediate']:,.0f} ms against"
            f" {idle['clustered']:,.0f}, because it has half as many pages. Deferred meets the scan at"
            f" P = {deferred:.3f}. As the paper says, immediate and deferred cost almost the same at low P (within 2 %"
            f" up to P = {apart:.2f}), and both far less than an unclustered scan, which they meet only at"
            f" P = {limit['immediate', 'unclustered']:.2f} and {limit['deferred', 'unclustered']:.2f}. The sequential"
            f" scan, {idle['sequential']:,.0f} ms, is left out as in the paper."
        ),
        x_label="P",
        x_title=_UPDATES,
        y_label="ms per query",
        x=_PERCENT,
        series=series,
        crossings=tuple(crossings),
        y_log=True,
    )


@cache
def _figure_3() -> Regions:
    p = Parameters(f_v=1)
    area = _area(1, p)
    deferred = [(f - 0.5 / _CELLS, P_from) for f, P_from, _, method in area.rows() if method == "deferred"]
    steps = [(low + high) / 2 for low, high in pairwise(area.f_values) if _height(p, low) != _height(p, high)]
    return _titled(
        area,
        number=3,
        title=(
            f"Queries of the whole view make immediate cheapest on {_percent(area.share('immediate'))} of the area,"
            f" the clustered scan on {_percent(area.share('clustered'))}"
        ),
        subject=f"A selection (Model 1): the cheapest method for f and P; {_settings(p, 'f_v', 'l', 'C3')}",
        note=(
            "The paper says that deferred is never the cheapest here. Its formulas make it so on"
            f" {_percent(area.share('deferred'))} of the area, above f = {min(f for f, _ in deferred):.2f} and"
            f" P = {min(P for _, P in deferred):.2f}. The step at f = {', '.join(f'{f:.2f}' for f in steps)} is the"
            " view's index growing by a level."
        ),
    )


@cache
def _figure_4() -> Regions:
    p = Parameters(f_v=0.1)
    area, whole = _area(1, p), _area(1, Parameters(f_v=1))
    return _titled(
        area,
        number=4,
        title=(
            f"Queries of a tenth of the view make the clustered scan cheapest on {_percent(area.share('clustered'))}"
            " of the area"
        ),
        subject=f"A selection (Model 1): the cheapest method for f and P; {_settings(p, 'f_v', 'l', 'C3')}",
        note=(
            f"As the paper says, the area of the clustered scan is larger than in Figure 3, where it is"
            f" {_percent(whole.share('clustered'))}. Deferred is the cheapest {_on(area.share('deferred'))}: what the"
            " paper says of it under Figure 3 is true here. The scanned caption has lost the decimal point of f_v;"
            " the text has it."
        ),
    )


@cache
def _figure_5() -> Regions:
    p = Parameters(f_v=1, C3=2)
    area, before, caption = _area(1, p), _area(1, Parameters(f_v=1)), _area(1, Parameters(f_v=0.1, C3=2))
    return _titled(
        area,
        number=5,
        title=(
            f"Twice the overhead C3 enlarges the area of deferred from {_percent(before.share('deferred'))}"
            f" to {_percent(area.share('deferred'))}"
        ),
        subject=f"A selection (Model 1): the cheapest method for f and P; {_settings(p, 'f_v', 'l', 'C3')}",
        note=(
            "Drawn with f_v = 1 as in the paper's text. Its caption has 0.1, with which deferred would be the"
            f" cheapest {_on(caption.share('deferred'))}, although the text says that it wins in a part."
        ),
    )


@cache
def _figure_6() -> Lines:
    p = Parameters()
    cost = partial(_against_p, 2, p)
    series = _series(cost, _PERCENT, _METHODS[2])
    crossings = [
        crossing
        for method in ("immediate", "deferred")
        for crossing in _crossings(cost, _PERCENT, series, method, "loopjoin")
    ]
    limit = {crossing.between[0]: crossing.x for crossing in crossings}

    def limit_of(method: str, base: Parameters, price: Price) -> float:
        def gap(P: float) -> float:
            cost = price(base.with_update_probability(P))
            return cost[method] - cost["loopjoin"]

        return _root(gap, 0, _PERCENT[-1])

    return Lines(
        number=6,
        title=f"A stored join is cheaper than a nested-loop join up to P = {limit['immediate']:.3f}",
        subject=f"A join (Model 2): cost of a query against the share of updates P; {_settings(p, *_VARIED)}",
        note=(
            f"Deferred meets the nested-loop join at P = {limit['deferred']:.3f}. The scanned caption has f_v = 1, the"
            " text the standard parameters, which are drawn; with f_v = 1 a stored join is cheaper up to"
            f" P = {limit_of('immediate', Parameters(f_v=1), partial(costs, 2)):.3f}. {_CORRECTIONS}. Without them the"
            f" limits would be P = {limit_of('immediate', p, _as_printed):.3f} for immediate and"
            f" {limit_of('deferred', p, _as_printed):.3f} for deferred."
        ),
        x_label="P",
        x_title=_UPDATES,
        y_label="ms per query",
        x=_PERCENT,
        series=series,
        crossings=tuple(crossings),
        y_log=True,
    )


@cache
def _figure_7() -> Regions:
    p = Parameters(f_v=1)
    area, printed = _area(2, p), _area(2, p, as_printed=True)
    return _titled(
        area,
        number=7,
        title=(
            "Queries of the whole joined view make a stored one cheapest on"
            f" {_percent(1 - area.share('loopjoin'))} of the area"
        ),
        subject=f"A join (Model 2): the cheapest method for f and P; {_settings(p, 'f_v', 'f_R2', 'l')}",
        note=f"{_CORRECTIONS}. {_without_corrections(area, printed)}.",
    )


@cache
def _figure_8() -> Regions:
    p = Parameters(f_v=0.1)
    area, printed, whole = _area(2, p), _area(2, p, as_printed=True), _area(2, Parameters(f_v=1))
    return _titled(
        area,
        number=8,
        title=(
            "Queries of a tenth of the joined view enlarge the area of the nested-loop join from"
            f" {_percent(whole.share('loopjoin'))} to {_percent(area.share('loopjoin'))}"
        ),
        subject=f"A join (Model 2): the cheapest method for f and P; {_settings(p, 'f_v', 'f_R2', 'l')}",
        note=f"{_CORRECTIONS}. {_without_corrections(area, printed)}.",
    )


@cache
def _figure_9() -> Lines:
    p = Parameters()

    def cost(size: float) -> Mapping[str, float]:
        return costs(3, p.with_symbols({"l": size}))

    series = _series(cost, _SIZES, _METHODS[3])
    crossings = _crossings(cost, _SIZES, series, "deferred", "clustered")
    crossings += _crossings(cost, _SIZES, series, "immediate", "clustered")
    (deferred,) = (crossing.x for crossing in crossings if crossing.between[0] == "deferred")
    small = [cost(size) for size in range(1, 100)]
    worst = max(max(each["deferred"], each["immediate"]) / each["clustered"] for each in small)
    last = cost(_SIZES[-1])
    return Lines(
        number=9,
        title=f"Below l = 100 a maintained aggregate costs at most {ceil(worst * 1000) / 10:g} % of computing it",
        subject=(
            "An aggregate (Model 3): cost of a query against the tuples l changed by an update;"
            f" {_settings(p, 'f', 'P')}"
        ),
        note=(
            f"Deferred meets the scan at l = {deferred:,.0f}; immediate costs"
            f" {_percent(last['immediate'] / last['clustered'])} of it at l = {_SIZES[-1]:,.0f}, where an update"
            " changes every tuple. As printed, Model 3 charges neither C_AD nor C_overhead; the scan reads the whole"
            " aggregated set (f_v = 1)."
        ),
        x_label="l",
        x_title="l, tuples changed by an update",
        y_label="ms per query",
        x=_SIZES,
        series=series,
        crossings=tuple(crossings),
        x_log=True,
        y_log=True,
    )


@cache
def _figure_10() -> Lines:
    p = Parameters()
    series = {
        f"f = {f:g}": tuple(_equal_cost(p.with_symbols({"f": f, "l": size})) for size in _SIZES) for f in _SELECTIVITIES
    }
    least, most = (_equal_cost(p.with_symbols({"f": f})) for f in (_SELECTIVITIES[0], _SELECTIVITIES[-1]))
    return Lines(
        number=10,
        title=(
            f"Immediate maintenance of an aggregate bears {_updates_per_query(least)} updates of {p.l:g} tuples per"
            f" query at f = {_SELECTIVITIES[0]:g}, {_updates_per_query(most)} at f = {_SELECTIVITIES[-1]:g}"
        ),
        subject=(
            "An aggregate (Model 3): the share of updates P at which immediate and a clustered scan cost the same,"
            " against the tuples l changed by an update"
        ),
        note=(
            "Below a curve immediate is cheaper, above it the clustered scan. As the paper says, a larger f favours"
            " immediate and a larger l the scan. The values of f are chosen here."
        ),
        x_label="l",
        x_title="l, tuples changed by an update",
        y_label="P of equal cost",
        x=_SIZES,
        series=series,
        x_log=True,
    )


_FIGURES: dict[int, Callable[[], Lines | Regions]] = dict(
    zip(
        FIGURES,
        (_figure_2, _figure_3, _figure_4, _figure_5, _figure_6, _figure_7, _figure_8, _figure_9, _figure_10),
        strict=True,
    )
)

_CORRECTIONS = (
    "TOTAL_deferred2 includes C_AD, and C_imm-refresh2 includes C1·2l: the text names both, the printed formulas lack"
    " them"
)


def _against_p(model: int, p: Parameters, P: float) -> Mapping[str, float]:
    return costs(model, p.with_update_probability(P))


def _series(
    cost: Callable[[float], Mapping[str, float]], xs: tuple[float, ...], methods: tuple[str, ...]
) -> dict[str, tuple[float, ...]]:
    found = [cost(x) for x in xs]
    return {method: tuple(each[method] for each in found) for method in methods}


def _crossings(
    cost: Callable[[float], Mapping[str, float]],
    xs: tuple[float, ...],
    series: Mapping[str, tuple[float, ...]],
    one: str,
    other: str,
) -> list[Crossing]:
    """Every place between two neighbours of `xs` at which one series passes the other."""

    def gap(x: float) -> float:
        return cost(x)[one] - cost(x)[other]

    above = [a > b for a, b in zip(series[one], series[other], strict=True)]
    found = []
    for i, (before, after) in enumerate(pairwise(above)):
        if before != after:
            x = _root(gap, xs[i], xs[i + 1])
            found.append(Crossing(x, cost(x)[one], (one, other)))
    return found


def _root(gap: Callable[[float], float], low: float, high: float) -> float:
    """Where a difference changes its sign, by bisection."""
    below = gap(low) <= 0
    for _ in range(32):
        middle = (low + high) / 2
        low, high = (middle, high) if (gap(middle) <= 0) == below else (low, middle)
    return (low + high) / 2


def _equal_cost(p: Parameters) -> float:
    """The P at which immediate maintenance of an aggregate costs what the scan does."""

    def gap(P: float) -> float:
        cost = costs(3, p.with_update_probability(P))
        return cost["immediate"] - cost["clustered"]

    return _root(gap, 0, 1 - 1e-9)


@cache
def _area(model: int, p: Parameters, *, as_printed: bool = False) -> Regions:
    """The cheapest method over f × P, without words."""
    centres = tuple((i + 0.5) / _CELLS for i in range(_CELLS))
    methods = _METHODS[model]
    price: Price = _as_printed if as_printed else partial(costs, model)

    def winner(f: float, P: float) -> str:
        cost = price(p.with_symbols({"f": f, "P": P}))
        return min(methods, key=lambda method: cost[method])

    winners = tuple(_row(partial(winner, f), centres) for f in centres)
    return Regions(0, "", "", "", centres, centres, winners, methods)


def _row(winner: Callable[[float], str], xs: tuple[float, ...]) -> tuple[str, ...]:
    """The winner at each x. Between two places _STRIDE apart with the same winner nobody else is looked for."""
    found: list[str] = [""] * len(xs)

    def fill(low: int, high: int) -> None:
        if found[low] == found[high]:
            found[low:high] = [found[low]] * (high - low)
        elif high - low > 1:
            middle = (low + high) // 2
            found[middle] = winner(xs[middle])
            fill(low, middle)
            fill(middle, high)

    stops = [*range(0, len(xs) - 1, _STRIDE), len(xs) - 1]
    for stop in stops:
        found[stop] = winner(xs[stop])
    for low, high in pairwise(stops):
        fill(low, high)
    return tuple(found)


def _as_printed(p: Parameters) -> Mapping[str, float]:
    """Model 2 without the two terms that its printed formulas lack."""
    cost = costs(2, p)
    missing = {"deferred": components(2, p)["deferred"]["C_AD"], "immediate": p.k / p.q * p.C1 * 2 * p.l}
    return {method: ms - missing.get(method, 0) for method, ms in cost.items()}


def _without_corrections(area: Regions, printed: Regions) -> str:
    return (
        f"Without them deferred would be the cheapest on {_percent(printed.share('deferred'))} of the area instead of"
        f" {_percent(area.share('deferred'))}, immediate on {_percent(printed.share('immediate'))} instead of"
        f" {_percent(area.share('immediate'))}"
    )


def _titled(area: Regions, *, number: int, title: str, subject: str, note: str) -> Regions:
    return Regions(number, title, subject, note, area.f_values, area.p_values, area.winners, area.methods)


def _height(p: Parameters, f: float) -> int:
    return H_vi(p.with_symbols({"f": f}))


def _settings(p: Parameters, *symbols: str) -> str:
    return ", ".join(f"{symbol} = {getattr(p, symbol):g}" for symbol in symbols)


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _on(share: float) -> str:
    return f"on {_percent(share)} of the area" if share else "nowhere"


def _updates_per_query(P: float) -> str:
    return f"{P / (1 - P):,.0f}"
