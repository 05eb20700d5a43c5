"""Rows are looked up in files on the driver as a filter over all of them would find them."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from storage import searching
from storage.log import DeltaLog, Snapshot
from storage.pruning import files_with_keys
from storage.rows import tuples
from storage.searching import rows_among

KINDS = {
    "i": (pa.int32(), [1, 2, 3, None]),
    "l": (pa.int64(), [1, 2, 3, 2**40, None]),
    "s": (pa.string(), ["", "a", "A", "é", None]),
    "d": (pa.date32(), [dt.date(2026, 1, 1), dt.date(1960, 5, 5), None]),
    "n": (pa.decimal128(12, 2), [Decimal("1.00"), Decimal("-2.50"), None]),
    "f": (pa.float64(), [0.0, -0.0, float("nan"), 1.5, None]),
}


def rows(pick: random.Random, columns: str, number: int) -> pa.Table:
    return pa.table({c: pa.array([pick.choice(KINDS[c][1]) for _ in range(number)], KINDS[c][0]) for c in columns})


def snapshot(folder: Path) -> Snapshot:
    return DeltaLog(folder).snapshot()


def looked_up(now: Snapshot, columns: set[str], values: dict[str, Any], most: int = 1000) -> pa.Table | None:
    chunked = {name: pa.chunked_array([each]) for name, each in values.items()}
    return rows_among(now, files_with_keys(now, chunked), columns, chunked, most)


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_those_of_a_filter(seed: int, tmp_path: Path) -> None:
    pick = random.Random(seed)
    write_deltalake(tmp_path, rows(pick, "ilsd", 20))
    for _ in range(3):  # the files of the first commit lack two columns
        write_deltalake(tmp_path, rows(pick, "ilsdnf", 20), mode="append", schema_mode="merge")
    now, whole = snapshot(tmp_path), DeltaTable(tmp_path).to_pyarrow_table()
    keys = pick.sample("ilsdn", pick.randint(1, 2))
    values = {c: pa.array(pick.choices(KINDS[c][1], k=2), KINDS[c][0]) for c in keys}
    found = looked_up(now, {"f", *keys}, values)
    assert found is not None
    passing = [all(row[c] in values[c].to_pylist() for c in keys) for row in whole.to_pylist()]
    wanted = whole.filter(pa.array(passing)).select(found.column_names)
    assert sorted(map(repr, tuples(found))) == sorted(map(repr, tuples(wanted)))


def test_numbers_of_another_width_are_the_same_numbers(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"i": pa.array([1, 2, None], pa.int32())}))
    found = looked_up(snapshot(tmp_path), {"i"}, {"i": pa.array([2, 2**40, None], pa.int64())})
    assert found is not None
    assert found["i"].to_pylist() == [2, None]


@pytest.mark.parametrize("values", [pa.array([0.0]), pa.array(["1"]), pa.array([Decimal("1.0")])])
def test_what_arrow_compares_otherwise_than_sql_is_left_to_the_engine(values: pa.Array, tmp_path: Path) -> None:
    write_deltalake(tmp_path, rows(random.Random(1), "ilsdnf", 10))
    assert looked_up(snapshot(tmp_path), {"i"}, {"f": values} if values.type == pa.float64() else {"n": values}) is None


def test_too_many_rows_are_left_to_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        write_deltalake(tmp_path, pa.table({"i": np.repeat(number % 2, 5)}), mode="append")
    now = snapshot(tmp_path)
    assert looked_up(now, {"i"}, {"i": pa.array([1])}, 9) is None
    found = looked_up(now, {"i"}, {"i": pa.array([1])}, 10)
    assert found is not None
    assert found.num_rows == 10
    monkeypatch.setattr(searching, "MOST_ROWS", 9)
    assert looked_up(now, {"i"}, {"i": pa.array([1])}) is None
