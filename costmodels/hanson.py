"""The analytic cost models of H87 (Hanson 1987): milliseconds per query for each way to keep a view.

Symbols are those of the paper's Figure 1; the numbers are its defaults.

    N     100,000   tuples in the relation (R, or R1 in Model 2)
    S     100       bytes per tuple
    B     4,000     bytes per block
    n     20        bytes per B+-tree index record
    k     100       update transactions
    l     25        tuples modified by each update transaction
    q     100       queries to the view
    f     .1        selectivity of the view predicate
    f_v   .1        fraction of the view retrieved per query
    f_R2  .1        tuples of R2 as a fraction of those of R1
    C1    1 ms      to screen a record against a predicate
    C2    30 ms     to read or write a block
    C3    1 ms      per tuple and transaction, to keep the sets A and D in immediate maintenance

    b = NS/B        blocks of the relation
    T = B/S         tuples per block
    u = kl/q        tuples updated between two queries
    P = k/(k+q)     probability that an operation is an update

Model 1 is a selection and projection of one relation, Model 2 the natural join of two, Model 3 an
aggregate over a Model 1 view. Each term of the paper is one function of `Parameters`; `components`
lists which terms make up which method, and every total is the sum of that list.
"""

# The names are the paper's symbols, so that each formula can be read beside its equation.
# ruff: noqa: N802, N815

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from math import expm1, log1p

from costmodels.yao import yao
from views.errors import EstimationError

# Within these bounds no product or quotient of the formulas leaves the range of a float.
_LEAST, _MOST = 1e-15, 1e15

_DERIVED = {"b": "N, S and B", "T": "B and S", "u": "k, l and q"}


@dataclass(frozen=True)
class Parameters:
    """The symbols of Figure 1; a value outside its range raises `EstimationError`.

    >>> p = Parameters()
    >>> p.b, p.T, p.u, p.P
    (2500.0, 40.0, 25.0, 0.5)
    """

    N: float = 100_000
    S: float = 100
    B: float = 4_000
    n: float = 20
    k: float = 100
    l: float = 25  # noqa: E741
    q: float = 100
    f: float = 0.1
    f_v: float = 0.1
    f_R2: float = 0.1
    C1: float = 1
    C2: float = 30
    C3: float = 1

    def __post_init__(self) -> None:
        for symbol in ("N", "B", "q"):
            self._check(symbol, _LEAST, _MOST)
        self._check("S", _LEAST, self.B, "B: a tuple fits in a block")
        self._check("n", _LEAST, self.B / 2, "B/2: a block holds two index records or more")
        # R2 may be larger than R1, so f_R2 has no upper limit of 1.
        for symbol in ("k", "l", "f_R2", "C1", "C2", "C3"):
            self._check(symbol, 0, _MOST)
        for symbol in ("f", "f_v"):
            self._check(symbol, 0, 1)

    def _check(self, symbol: str, least: float, most: float, why: str = "") -> None:
        value = getattr(self, symbol)
        _check_number(symbol, value)
        if not least <= value <= most:  # also true for NaN
            limit = f"{most:g} ({why})" if why else f"{most:g}"
            raise EstimationError(f"{symbol} = {value} is outside its range, {least:g} to {limit}")

    @property
    def b(self) -> float:
        """Blocks of the relation."""
        return self.N * self.S / self.B

    @property
    def T(self) -> float:
        """Tuples per block."""
        return self.B / self.S

    @property
    def u(self) -> float:
        """Tuples updated between two queries."""
        return self.k * self.l / self.q

    @property
    def P(self) -> float:
        """Probability that an operation is an update."""
        return self.k / (self.k + self.q)

    def with_update_probability(self, P: float) -> Parameters:  # noqa: N803
        """The same queries with as many updates as make P: q stays, k becomes q·P/(1−P).

        >>> Parameters().with_update_probability(0.75).k
        300.0
        """
        _check_number("P", P)
        if not 0 <= P < 1:
            raise EstimationError(f"P = {P} is outside its range, 0 to below 1 (at 1 no query is left)")
        return replace(self, k=self.q * P / (1 - P))

    def with_symbols(self, values: Mapping[str, float]) -> Parameters:
        """A copy with some symbols set; P is set through k, after q.

        >>> Parameters().with_symbols({"P": 0.5, "q": 10, "f": 1}).k
        10.0
        """
        known = [field.name for field in fields(self)] + ["P"]
        for symbol in values:
            if symbol in _DERIVED:
                raise EstimationError(f"{symbol} follows from {_DERIVED[symbol]}", hint="set those instead")
            if symbol not in known:
                spelled = {name.lower(): name for name in known}
                nearest = get_close_matches(symbol.lower(), spelled, n=1, cutoff=0.5)
                hint = f"did you mean {spelled[nearest[0]]}?" if nearest else f"known are {', '.join(known)}"
                raise EstimationError(f"no symbol {symbol!r} in Figure 1", hint)
        if "P" in values and "k" in values:
            raise EstimationError("P and k set each other (P = k/(k+q))", hint="give one of them")
        changed = replace(self, **{symbol: value for symbol, value in values.items() if symbol != "P"})
        return changed.with_update_probability(values["P"]) if "P" in values else changed


def _check_number(symbol: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EstimationError(f"{symbol} = {value!r} is not a number")


def _height(p: Parameters, tuples: float) -> int:
    """⌈log_{B/n} tuples⌉, the height of a B+-tree above its data pages; 0 for up to one tuple.

    Counted, not computed as a logarithm: log(200³)/log(200) can come out just above 3.
    """
    height, reach = 0, 1.0
    while reach < tuples:
        height, reach = height + 1, reach * p.B / p.n
    return height


def H_vi(p: Parameters) -> int:
    """Height of the index on the view, ⌈log_{B/n} fN⌉ (§3.2.1); H_v in Model 2."""
    return _height(p, p.f * p.N)


def C_query1(p: Parameters) -> float:
    """Read the result from the stored view of fb/2 pages (§3.2.1)."""
    return p.C2 * p.f * p.f_v * p.b / 2 + p.C2 * H_vi(p) + p.C1 * p.f * p.f_v * p.N


def C_AD(p: Parameters) -> float:
    """Keep the hypothetical relation: the extra reads of AD, of 2u tuples (§3.2.1)."""
    return p.C2 * p.k / p.q * yao(2 * p.u, 2 * p.u / p.T, p.l)


def C_ADread(p: Parameters) -> float:
    """Read all of AD before a refresh (§3.2.1)."""
    return p.C2 * 2 * p.u / p.T


def C_screen(p: Parameters) -> float:
    """Screen the updated tuples that break a t-lock of the view (§3.2.1)."""
    return p.C1 * p.f * p.u


def X1(p: Parameters) -> float:
    """View pages changed by one deferred refresh in Model 1 (§3.2.1)."""
    return yao(p.f * p.N, p.f * p.b / 2, 2 * p.f * p.u)


def C_def_refresh1(p: Parameters) -> float:
    """Refresh the view once per query (§3.2.1)."""
    return p.C2 * (3 + H_vi(p)) * X1(p)


def X2(p: Parameters) -> float:
    """View pages changed by one update transaction in Model 1 (§3.2.2)."""
    return yao(p.f * p.N, p.f * p.b / 2, 2 * p.f * p.l)


def C_imm_refresh1(p: Parameters) -> float:
    """Refresh the view once per update transaction (§3.2.2)."""
    return p.k / p.q * p.C2 * (3 + H_vi(p)) * X2(p)


def C_overhead(p: Parameters) -> float:
    """Keep the sets A and D during transactions (§3.2.2)."""
    return p.C3 * 2 * p.f * p.l * p.k / p.q


def C_clustered_scan(p: Parameters) -> float:
    """Read the queried part of R through its clustered index: first term of TOTAL_clustered (§3.2.3).

    As printed there is no search of the index, although TOTAL_loopjoin has one.
    """
    return p.C2 * p.b * p.f * p.f_v


def C_test(p: Parameters) -> float:
    """Test each retrieved tuple against the view predicate (§3.2.3)."""
    return p.C1 * p.N * p.f * p.f_v


def C_unclustered_scan(p: Parameters) -> float:
    """Read the queried tuples of R through a secondary index: first term of TOTAL_unclustered (§3.2.3)."""
    return p.C2 * yao(p.N, p.b, p.N * p.f * p.f_v)


def C_sequential_scan(p: Parameters) -> float:
    """Read all of R: first term of TOTAL_sequential (§3.2.3)."""
    return p.C2 * p.b


def C_test_all(p: Parameters) -> float:
    """Test every tuple of R: second term of TOTAL_sequential (§3.2.3)."""
    return p.C1 * p.N


def X3(p: Parameters) -> float:
    """Pages of R2 read by one deferred refresh (§3.4.1)."""
    return yao(p.f_R2 * p.N, p.f_R2 * p.b, 2 * p.f * p.u)


def X4(p: Parameters) -> float:
    """View pages changed by one deferred refresh in Model 2 (§3.4.1)."""
    return yao(p.f * p.N, p.f * p.b, 2 * p.f * p.u)


def C_def_refresh2(p: Parameters) -> float:
    """Join A1 and D1 with R2 and refresh the view once per query (§3.4.1)."""
    return p.C2 * X3(p) + p.C1 * 2 * p.u + p.C2 * (3 + H_vi(p)) * X4(p)


def C_query2(p: Parameters) -> float:
    """Read the result from the stored view of fb pages (§3.4.1)."""
    return p.C2 * H_vi(p) + p.C2 * p.f_v * p.f * p.b + p.C1 * p.f_v * p.f * p.N


def X5(p: Parameters) -> float:
    """Pages of R2 read by one update transaction (§3.4.2)."""
    return yao(p.f_R2 * p.N, p.f_R2 * p.b, 2 * p.f * p.l)


def X6(p: Parameters) -> float:
    """View pages changed by one update transaction in Model 2 (§3.4.2)."""
    return yao(p.f * p.N, p.f * p.b, 2 * p.f * p.l)


def C_imm_refresh2(p: Parameters) -> float:
    """Join A1 and D1 with R2 and refresh the view once per update transaction (§3.4.2)."""
    # The printed formula leaves out C1·2l, though the text names "a CPU cost of C1 for handling each of
    # the 2l tuples" and the deferred formula has the same term.
    return p.k / p.q * (p.C2 * X5(p) + p.C1 * 2 * p.l + p.C2 * (3 + H_vi(p)) * X6(p))


def C_search(p: Parameters) -> float:
    """Search the B+-tree on R1 (§3.4.3)."""
    return p.C2 * _height(p, p.N)


def C_probe(p: Parameters) -> float:
    """Read pages of R2 through its hash index, each once (§3.4.3)."""
    return p.C2 * yao(p.f_R2 * p.N, p.f_R2 * p.b, p.f * p.f_v * p.N)


def C_match(p: Parameters) -> float:
    """Match the scanned tuples of R1 with those of R2 (§3.4.3)."""
    return p.C1 * p.N * p.f * p.f_v


def C_query3(p: Parameters) -> float:
    """Read the state of the aggregate, one page (§3.6)."""
    return p.C2


def _some_tuple_in_set(p: Parameters, tuples: float) -> float:
    """1 − (1 − f)^tuples: the probability that a change touches the aggregated set (§3.6)."""
    if p.f == 1:
        return 1.0 if tuples > 0 else 0.0
    return -expm1(tuples * log1p(-p.f))


def C_def_refresh3(p: Parameters) -> float:
    """Write the state before a query, if one of 2u tuples lies in the aggregated set (§3.6)."""
    return p.C2 * _some_tuple_in_set(p, 2 * p.u)


def C_imm_refresh3(p: Parameters) -> float:
    """Write the state after a transaction, if one of its 2l tuples lies in the aggregated set (§3.6)."""
    return p.C2 * p.k / p.q * _some_tuple_in_set(p, 2 * p.l)


def C_clustered_scan3(p: Parameters) -> float:
    """Read the whole aggregated set: TOTAL_clustered with f_v = 1 (§3.6)."""
    return C_clustered_scan(replace(p, f_v=1))


def C_test3(p: Parameters) -> float:
    """Test each tuple of the aggregated set: TOTAL_clustered with f_v = 1 (§3.6)."""
    return C_test(replace(p, f_v=1))


_TERMS: dict[int, dict[str, tuple[Callable[[Parameters], float], ...]]] = {
    1: {
        "deferred": (C_AD, C_ADread, C_query1, C_def_refresh1, C_screen),
        "immediate": (C_query1, C_imm_refresh1, C_screen, C_overhead),
        "clustered": (C_clustered_scan, C_test),
        "unclustered": (C_unclustered_scan, C_test),
        "sequential": (C_sequential_scan, C_test_all),
    },
    2: {
        # The printed sum leaves out C_AD, though the text says that C_AD and C_ADread are unchanged.
        "deferred": (C_AD, C_ADread, C_def_refresh2, C_query2, C_screen),
        "immediate": (C_imm_refresh2, C_query2, C_overhead, C_screen),
        "loopjoin": (C_search, C_clustered_scan, C_test, C_probe, C_match),
    },
    3: {
        # As printed: neither the formulas nor the text of Model 3 name C_AD or C_overhead.
        "deferred": (C_ADread, C_query3, C_def_refresh3, C_screen),
        "immediate": (C_query3, C_imm_refresh3, C_screen),
        "clustered": (C_clustered_scan3, C_test3),
    },
}


def components(model: int, p: Parameters) -> dict[str, dict[str, float]]:
    """Each method's terms in milliseconds per query, under the paper's names.

    >>> components(3, Parameters())["clustered"]
    {'C_clustered_scan3': 7500.0, 'C_test3': 10000.0}
    """
    if model not in _TERMS:
        raise EstimationError(f"model = {model!r} is not one of the paper's: 1, 2 or 3")
    return {method: {term.__name__: float(term(p)) for term in terms} for method, terms in _TERMS[model].items()}


def costs(model: int, p: Parameters) -> dict[str, float]:
    """Milliseconds per query of each method of a model.

    >>> {method: round(cost) for method, cost in costs(1, Parameters()).items()}
    {'deferred': 2251, 'immediate': 2181, 'clustered': 1750, 'unclustered': 25831, 'sequential': 175000}
    """
    return {method: sum(terms.values()) for method, terms in components(model, p).items()}


def TOTAL_deferred1(p: Parameters) -> float:
    """Deferred maintenance of a selection (§3.2.1)."""
    return costs(1, p)["deferred"]


def TOTAL_immediate1(p: Parameters) -> float:
    """Immediate maintenance of a selection (§3.2.2)."""
    return costs(1, p)["immediate"]


def TOTAL_clustered(p: Parameters) -> float:
    """Query modification of a selection through a clustered index (§3.2.3)."""
    return costs(1, p)["clustered"]


def TOTAL_unclustered(p: Parameters) -> float:
    """Query modification of a selection through a secondary index (§3.2.3)."""
    return costs(1, p)["unclustered"]


def TOTAL_sequential(p: Parameters) -> float:
    """Query modification of a selection by reading all of R (§3.2.3)."""
    return costs(1, p)["sequential"]


def TOTAL_deferred2(p: Parameters) -> float:
    """Deferred maintenance of a join (§3.4.1)."""
    return costs(2, p)["deferred"]


def TOTAL_immediate2(p: Parameters) -> float:
    """Immediate maintenance of a join (§3.4.2)."""
    return costs(2, p)["immediate"]


def TOTAL_loopjoin(p: Parameters) -> float:
    """Query modification of a join by nested loops with a hash index on R2 (§3.4.3)."""
    return costs(2, p)["loopjoin"]


def TOTAL_deferred3(p: Parameters) -> float:
    """Deferred maintenance of an aggregate (§3.6)."""
    return costs(3, p)["deferred"]


def TOTAL_immediate3(p: Parameters) -> float:
    """Immediate maintenance of an aggregate (§3.6)."""
    return costs(3, p)["immediate"]
