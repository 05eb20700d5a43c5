"""A change is merged into a stored table file by file, and never with more rows on the driver than are allowed."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from storage import searching
from storage.changes import COUNT
from storage.merging import merge_change
from storage.table import Table, create_table
from views.errors import ExecutionError

pytestmark = pytest.mark.engine


def change(rows: dict[tuple[int, str], int]) -> pa.Table:
    return pa.table(
        {"k": [k for k, _ in rows], "v": [v for _, v in rows], COUNT: pa.array(list(rows.values()), pa.int64())}
    )


def stored(table: Table) -> Counter[tuple[int, str]]:
    rows = DeltaTable(table.root).to_pyarrow_table()
    return Counter(zip(rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True))


def test_of_a_large_file_only_so_many_rows_are_held_at_a_time(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"k": list(range(100)), "v": [str(k % 7) for k in range(100)]})
    table = create_table(spark, tmp_path / "t", rows, name="t")
    held: list[int] = []
    search = searching._search

    def spy(part: pa.Table, *rest: Any, **how: Any) -> None:
        held.append(part.num_rows)
        search(part, *rest, **how)

    monkeypatch.setattr(searching, "_search", spy)
    merge_change(table, [change({(3, "3"): -1, (97, "6"): -1, (200, "x"): 2})], {}, {}, driver_rows=16)
    assert max(held) <= 16
    assert sum(held) == 100
    wanted = Counter({(k, str(k % 7)): 1 for k in range(100) if k not in (3, 97)}) + Counter({(200, "x"): 2})
    assert stored(table) == wanted
    with pytest.raises(ExecutionError, match="a row to take away is not there: k = 3"):
        merge_change(table, [change({(3, "3"): -1})], {}, {}, driver_rows=16)
    assert stored(table) == wanted
    assert {f.name for f in table.root.glob("*.parquet")} >= set(table.log.snapshot().paths)


@pytest.mark.parametrize("bound", [3, 200_000])
def test_random_changes_give_the_same_bag_whatever_the_bound(bound: int, spark: Any, tmp_path: Path) -> None:
    pick = random.Random(bound)
    now = Counter({(k % 9, "abc"[k % 3]): 1 for k in range(20)})
    first = pa.table({"k": [k for k, _ in now.elements()], "v": [v for _, v in now.elements()]})
    table = create_table(spark, tmp_path / "t", first, name="t")
    for _ in range(12):
        goes = Counter(pick.sample(list(now.elements()), min(now.total(), pick.randint(0, 5))))
        comes = Counter((pick.randrange(9), pick.choice("abc")) for _ in range(pick.randint(0, 6)))
        net = {row: comes[row] - goes[row] for row in {*comes, *goes} if comes[row] != goes[row]}
        merge_change(table, [change(net)], {}, {}, driver_rows=bound)
        now = now + comes - goes
        assert stored(table) == now
