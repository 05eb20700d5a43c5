"""A program grows at most with the square of the number of relations that its SQL joins, nests or repeats."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from views.catalog import Catalog, Relation
from views.definition import define
from views.rules import Aggregate, Partitioned, Program

SIZES = range(3, 13)
"""From 3 relations on, because the smallest program of a shape may lack a part that all others have."""

VALUES = "SELECT t0.k, {} FROM t0 "
MATCH = "SELECT 1 FROM t{0} WHERE t{0}.k = t0.k AND t{0}.v > {0}"


def values(n: int) -> str:
    return VALUES.format(", ".join(f"t{i}.v AS v{i}" for i in range(n)))


def joined(kind: str) -> Callable[[int], str]:
    return lambda n: values(n) + " ".join(f"{kind} JOIN t{i} ON t{i - 1}.v = t{i}.k" for i in range(1, n))


def between(word: str, part: str, start: int = 1) -> Callable[[int], str]:
    return lambda n: f" {word} ".join(part.format(i) for i in range(start, n))


def filtered(word: str, part: str) -> Callable[[int], str]:
    return lambda n: "SELECT k FROM t0 WHERE " + between(word, part)(n)


def ctes(step: str) -> Callable[[int], str]:
    """A chain of common table expressions, each of which uses the one before twice."""
    return lambda n: (
        "WITH c0 AS (SELECT k, v FROM t0), "
        + ", ".join(f"c{i} AS ({step.format(f'c{i - 1}')})" for i in range(1, n))
        + f" SELECT k, v FROM c{n - 1}"
    )


def nested(start: str, end: str) -> Callable[[int], str]:
    return lambda n: (
        start + f"({start}" * (n - 1) + "t0" + "".join(f"{end}) d{i}" for i in range(n - 1)) + end
    )  # fmt: skip


SHAPES: dict[str, Callable[[int], str]] = {
    "inner joins": joined(""),
    "left joins": joined("LEFT"),
    "full joins": joined("FULL"),
    "full joins using": lambda n: (
        "SELECT * FROM (SELECT k FROM t0) t0 "
        + " ".join(f"FULL JOIN (SELECT k, v AS v{i} FROM t{i}) t{i} USING (k)" for i in range(1, n))
    ),
    "joins by or": lambda n: (
        "SELECT t0.k FROM t0 " + " ".join(f"JOIN t{i} ON t0.k = t{i}.k OR t0.v = t{i}.v" for i in range(1, n))
    ),
    "CTEs joined with themselves": ctes("SELECT a.k, b.v FROM {0} a JOIN {0} b ON a.v = b.k"),
    "CTEs united with themselves": ctes("SELECT k, v FROM {0} UNION ALL SELECT v, k FROM {0}"),
    "CTEs left joined with themselves": ctes("SELECT a.k, b.v FROM {0} a LEFT JOIN {0} b ON a.v = b.k"),
    "EXISTS and EXISTS": filtered("AND", f"EXISTS ({MATCH})"),
    "EXISTS or EXISTS": filtered("OR", f"EXISTS ({MATCH})"),
    "NOT EXISTS or NOT EXISTS": filtered("OR", f"NOT EXISTS ({MATCH})"),
    "EXISTS in EXISTS": lambda n: (
        "SELECT k FROM t0 WHERE "
        + " AND ".join(f"EXISTS (SELECT 1 FROM t{i} WHERE t{i}.k = t{i - 1}.v" for i in range(1, n))
        + ")" * (n - 1)
    ),
    "NOT IN and NOT IN": filtered("AND", "v NOT IN (SELECT v FROM t{})"),
    "scalar subqueries": lambda n: (
        "SELECT k, "
        + ", ".join(f"(SELECT COUNT(*) FROM t{i} WHERE t{i}.k = t0.k) AS c{i}" for i in range(1, n))
        + " FROM t0"
    ),
    "UNION ALL": between("UNION ALL", "SELECT k, v FROM t{}", 0),
    "UNION": between("UNION", "SELECT k, v FROM t{}", 0),
    "EXCEPT": between("EXCEPT", "SELECT k, v FROM t{}", 0),
    "INTERSECT ALL": between("INTERSECT ALL", "SELECT k, v FROM t{}", 0),
    "derived tables": nested("SELECT k, v + 1 AS v FROM ", ""),
    "derived tables that repeat a value": nested("SELECT k, v + v AS v FROM ", ""),
    "groups of groups": nested("SELECT k, SUM(v) AS v FROM ", " GROUP BY k"),
}


def size(program: Program) -> int:
    """Nodes of the program: predicates, their columns, rules, subgoals, negations and every node of an expression."""
    count = 0
    for predicate in program.predicates:
        count += 1 + len(predicate.body)
        expressions = [each for rule in predicate.rules for each in rule.expressions()]
        match predicate.form:
            case Aggregate(groups, calls):
                count += len(groups)
                expressions += [call for _, call in calls]
            case Partitioned(keys, windows, order):
                count += len(keys)
                expressions += [*(window for _, window in windows), *order]
        count += sum(1 + len(rule.subgoals) + len(rule.negations) for rule in predicate.rules)
        count += sum(1 for each in expressions for _ in each.walk())
    return count


def grows_too_fast(sizes: dict[int, int]) -> list[int]:
    """The numbers of relations at which there is more than the square of them allows."""
    least = min(sizes)
    return [n for n, found in sizes.items() if found * least**2 > sizes[least] * n**2]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_program_grows_at_most_with_the_square_of_its_relations(shape: str) -> None:
    sizes = {}
    for n in SIZES:
        catalog = Catalog.of([Relation(f"t{i}", {"k": "int", "v": "int"}) for i in range(n)])
        program = define("v", SHAPES[shape](n), catalog).program
        assert program is not None
        sizes[n] = size(program)
    assert grows_too_fast(sizes) == [], sizes
    assert sizes[12] > sizes[3], "the shape does not grow with n, so nothing was tried"


def test_a_program_that_doubles_would_be_noticed() -> None:
    assert grows_too_fast({n: 2**n for n in SIZES}) == [*range(4, 13)]
    assert grows_too_fast({n: 5 * n**2 for n in SIZES}) == []
