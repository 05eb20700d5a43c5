"""What is found below folders that strangers have, and which keys and foreign keys hold on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from profiles.discovery import (
    FoundTable,
    Keys,
    discover,
    find_keys,
    find_references,
    name_of,
    partition_types,
    read_columns,
)
from views.errors import TableError, WorkloadError

TYPES = {"k": "bigint", "id": "bigint", "n": "bigint", "s": "string", "line_number": "bigint", "order_id": "bigint",
         "product_id": "bigint", "price": "double", "day": "string", "customer_id": "bigint"}  # fmt: skip


def parquet(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns or {"k": [1, 2]}), path)
    return path


def names(*paths: Path) -> dict[str, str]:
    return {table.name: table.kind for table in discover(paths).tables}


def one(path: Path) -> FoundTable:
    (table,) = discover([path]).tables
    return table


def keys(table: FoundTable, budget: int = 1_000_000) -> Keys:
    present = pq.read_schema(table.root / table.files[0].path).names if table.files else []
    return find_keys(table, {c: TYPES[c] for c in (*present, *table.partitions)}, budget)


def test_tables_of_every_kind_are_found_at_any_depth(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "lake" / "orders", pa.table({"k": [1]}))
    parquet(tmp_path / "lake" / "deep" / "er" / "customers" / "part-0.parquet")
    parquet(tmp_path / "lake" / "deep" / "er" / "customers" / "part-1.parquet")
    parquet(tmp_path / "lake" / "events" / "day=2026-01-01" / "x.parquet")
    parquet(tmp_path / "single.parquet")
    assert names(tmp_path) == {
        "customers": "Parquet folder",
        "events": "Parquet folder",
        "orders": "Delta table",
        "single": "Parquet file",
    }


def test_a_table_may_be_named_itself(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "orders", pa.table({"k": [1]}))
    file = parquet(tmp_path / "f" / "only.parquet")
    assert names(tmp_path / "orders", tmp_path / "f", file) == {
        "orders": "Delta table",
        "f": "Parquet folder",
        "only": "Parquet file",
    }


def test_a_folder_named_twice_is_one_table(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet")
    assert names(tmp_path, tmp_path / "t", tmp_path) == {"t": "Parquet folder"}


def test_files_of_different_tables_in_one_folder_are_tables_each(tmp_path: Path) -> None:
    parquet(tmp_path / "customers.parquet", k=[1], s=["a"])
    parquet(tmp_path / "orders.parquet", id=[1], n=[2])
    assert names(tmp_path) == {"customers": "Parquet file", "orders": "Parquet file"}


def test_files_of_one_table_may_have_more_columns_than_others(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "1.parquet", k=[1])
    parquet(tmp_path / "t" / "2.parquet", k=[1], s=["a"])
    assert names(tmp_path) == {"t": "Parquet folder"}


def test_files_beside_the_folders_of_other_tables_are_left_out_and_said_so(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet")
    parquet(tmp_path / "b.parquet")
    parquet(tmp_path / "t" / "1.parquet")
    found = discover([tmp_path])
    assert [table.name for table in found.tables] == ["t"]
    assert found.left_out == (
        f"{tmp_path} holds 2 Parquet files beside other tables: give them a folder of their own.",
    )


@pytest.mark.parametrize("hidden", ["_temporary", ".spark-staging", "_SUCCESS"])
def test_hidden_folders_are_not_looked_into(hidden: str, tmp_path: Path) -> None:
    parquet(tmp_path / hidden / "a.parquet")
    parquet(tmp_path / f"{hidden}.parquet")
    assert discover([tmp_path]).tables == ()


def test_texts_are_named_apart(tmp_path: Path) -> None:
    for name in ("prices.csv", "events.jsonl", "README.md"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    found = discover([tmp_path])
    assert [path.name for path in found.texts] == ["events.jsonl", "prices.csv"]
    assert (found.tables, found.left_out) == ((), ())


def test_what_cannot_be_read_is_left_out_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "broken" / "_delta_log").mkdir(parents=True)
    (tmp_path / "nothing").mkdir()
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "a.parquet").write_bytes(b"PAR1 no")
    parquet(tmp_path / "wide" / "a.parquet", n=pa.array([1], pa.decimal256(50, 2)))
    parquet(tmp_path / "new\nline" / "a.parquet")
    parquet(tmp_path / "good" / "a.parquet")
    found = discover([tmp_path])
    assert [table.name for table in found.tables] == ["good"]
    assert len(found.left_out) == 4
    told = " ".join(found.left_out)
    for reason in (
        f"{tmp_path / 'broken'}",
        f"{tmp_path / 'torn' / 'a.parquet'} is not a readable Parquet file.",
        f"{tmp_path / 'wide'} is left out: column n has more digits than Spark's decimals.",
        "has a name that no workload can hold: rename it.",
    ):
        assert reason in told


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="nowhere: no such file or folder; name folders"):
        discover([tmp_path / "nowhere"])
    with pytest.raises(TableError, match="only local and mounted folders"):
        discover(["s3://bucket/data"])


def test_a_link_is_not_followed_unless_it_is_named(tmp_path: Path) -> None:
    parquet(tmp_path / "elsewhere" / "t" / "a.parquet")
    (tmp_path / "data").mkdir()
    link = tmp_path / "data" / "linked"
    link.symlink_to(tmp_path / "elsewhere")
    found = discover([tmp_path / "data"])
    assert (found.tables, found.left_out) == ((), (f"{link} is a link, which is not followed: name it itself.",))
    assert [table.path for table in discover([link]).tables] == [link / "t"]


@pytest.mark.parametrize(
    "name", ["id", "ID", "order_id", "o_orderkey", "orderId", "store_no", "country_code", "skuCode"]
)
def test_a_name_that_says_key(name: str, tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", x=[1, 1], **{name: [1, 2]})
    assert find_keys(one(tmp_path), {"x": "bigint", name: "bigint"}).key == (name,)


@pytest.mark.parametrize("name", ["paid", "valid", "casino", "kidney", "amount"])
def test_a_name_that_does_not(name: str, tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", x=[1, 1], **{name: [1, 2]})
    assert find_keys(one(tmp_path), {"x": "bigint", name: "bigint"}).key == ()


def test_a_view_that_the_advisor_stores_is_no_base_table(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "orders", pa.table({"k": [1]}))
    base = DeltaTable(tmp_path / "orders").metadata().id
    write_deltalake(tmp_path / "view", pa.table({"k": [1]}))
    entry = tmp_path / "view" / "_delta_log" / f"{0:020}.json"
    line = json.dumps({"txn": {"appId": f"advisor.consumed.{base}", "version": 0}})
    entry.write_text(entry.read_text().rstrip("\n") + "\n" + line + "\n")
    found = discover([tmp_path])
    assert [table.name for table in found.tables] == ["orders"]
    assert found.left_out == (f"{tmp_path / 'view'} is left out: it is a view that the advisor stores.",)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", "orders"),
        ("my orders (2)", "my_orders_2"),
        ('it\'s "quoted"', "it_s_quoted"),
        ("2026", "t_2026"),
        ("Ünïcode", "Unicode"),
        ("日本", "table"),
        ("a-b.c", "a_b_c"),
        ("x" * 500, "x" * 100),
    ],
)
def test_names_that_a_workload_allows(text: str, name: str) -> None:
    assert name_of(text) == name


def test_tables_of_one_name_are_told_apart_whatever_the_case(tmp_path: Path) -> None:
    for folder in ("a/orders", "b/Orders", "c/orders"):
        parquet(tmp_path / folder / "1.parquet")
    assert list(names(tmp_path)) == ["orders", "Orders_2", "orders_3"]


def test_a_unique_column_named_like_a_key_is_the_key(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", n=[5, 6, 7], id=[1, 2, 3], s=["a", "a", "b"])
    assert keys(one(tmp_path)) == Keys(3, True, (("id",), ("n",)), True)
    assert keys(one(tmp_path)).key == ("id",)


def test_a_unique_column_of_few_rows_that_is_not_named_so_is_perhaps_chance(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", n=[5, 6, 7])
    found = keys(one(tmp_path))
    assert (found.holding, found.key) == ((("n",),), ())


def test_the_first_column_is_meant_as_a_key_when_many_rows_say_so(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", n=list(range(100)), k=list(range(100)))
    assert keys(one(tmp_path)).key == ("n",)


@pytest.mark.parametrize(
    "values",
    [[1, 2, 2], [1, 2, None]],
)
def test_neither_repeated_values_nor_null_make_a_key(values: list[int | None], tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", id=pa.array(values, pa.int64()))
    assert keys(one(tmp_path)) == Keys(3, True)


def test_a_float_is_no_key(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", price=[1.5, 2.5])
    assert keys(one(tmp_path)).holding == ()


def test_a_repeated_value_in_another_file_is_seen(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", id=[1, 2])
    parquet(tmp_path / "t" / "b.parquet", id=[3, 1])
    assert keys(one(tmp_path)).holding == ()


def test_a_repeated_value_far_behind_is_seen(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", id=[*range(50_000), 3])
    assert keys(one(tmp_path)) == Keys(50_001, True)


def pairs(folder: Path, orders: int) -> FoundTable:
    """Orders of two lines each, with a product each."""
    lines = range(2 * orders)
    columns = {"order_id": [i // 2 for i in lines], "product_id": [i % 2 for i in lines],
               "line_number": [i % 2 for i in lines]}  # fmt: skip
    parquet(folder / "t" / "a.parquet", **columns)
    return one(folder)


def test_a_pair_is_a_key_with_the_number_within_it_first(tmp_path: Path) -> None:
    found = keys(pairs(tmp_path, 50))
    assert found.key == ("order_id", "line_number")
    assert ("order_id", "product_id") in found.holding


def test_a_pair_of_few_rows_is_perhaps_chance(tmp_path: Path) -> None:
    found = keys(pairs(tmp_path, 49))
    assert (found.holding[0], found.key) == (("order_id", "line_number"), ())


def test_a_pair_of_columns_that_are_not_named_so_is_not_looked_for(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", n=[1, 1, 2], s=["a", "b", "a"])
    assert keys(one(tmp_path)).holding == ()


def test_what_parts_a_table_may_be_half_of_its_key(tmp_path: Path) -> None:
    for day in ("2026-01-01", "2026-01-02"):
        parquet(tmp_path / "t" / f"day={day}" / "a.parquet", customer_id=list(range(50)))
    assert keys(one(tmp_path)).key == ("customer_id", "day")


def test_a_key_seen_in_a_part_of_the_rows_is_no_declaration(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", id=list(range(100)))
    parquet(tmp_path / "t" / "b.parquet", id=[1, 1])
    found = keys(one(tmp_path), budget=60)
    assert found == Keys(60, False, (("id",),), True)
    assert found.key == ()


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_rows_show_no_key(rows: int, tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", id=pa.array(range(rows), pa.int64()))
    assert keys(one(tmp_path)) == Keys(rows, True)


def test_rows_that_a_deletion_vector_hides_are_not_read(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", id=[1, 2, 2, 3])
    table = one(tmp_path)
    (file,) = table.files
    hidden = FoundTable("t", table.path, table.kind, (type(file)(file.path, {}, (1,)),))
    rows, whole = read_columns(hidden, ["id"], 100)
    assert rows is not None
    assert (rows["id"].to_pylist(), whole) == ([1, 2, 3], True)
    assert keys(hidden).key == ("id",)


def test_columns_that_the_files_call_otherwise_are_read_by_that_name(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", k=[1, 2])
    table = one(tmp_path)
    mapped = FoundTable("t", table.path, table.kind, table.files, physical={"id": "k"})
    assert find_keys(mapped, {"id": "bigint"}).key == ("id",)


def test_texts_that_writers_store_in_several_ways_are_one_column(tmp_path: Path) -> None:
    for i, kind in enumerate(
        (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()))
    ):
        parquet(tmp_path / "t" / f"{i}.parquet", id=pa.array([f"{i}a", f"{i}b"], pa.string()).cast(kind))
    assert keys(one(tmp_path)).rows == 8
    assert find_keys(one(tmp_path), {"id": "string"}).key == ("id",)


def test_files_that_contradict_each_other_show_no_key(tmp_path: Path) -> None:
    parquet(tmp_path / "t" / "a.parquet", id=[1, 2])
    parquet(tmp_path / "t" / "b.parquet", id=["a", "b"])
    assert keys(one(tmp_path)).holding == ()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "20"], "bigint"),
        (["01", "2"], "string"),
        (["2026-01-31", "2025-12-01"], "date"),
        (["2026-13-01"], "string"),
        (["__HIVE_DEFAULT_PARTITION__", "7"], "bigint"),
        (["__HIVE_DEFAULT_PARTITION__"], "string"),
        (["a%20b"], "string"),
    ],
)
def test_partition_columns_have_the_narrowest_type(values: list[str], kind: str, tmp_path: Path) -> None:
    for value in values:
        parquet(tmp_path / "t" / f"p={value}" / "a.parquet")
    assert partition_types(one(tmp_path)) == {"p": kind}


def references(folder: Path, columns: Mapping[str, Mapping[str, str]], budget: int = 1_000_000) -> set[str]:
    tables = discover([folder]).tables
    known = {table.name: find_keys(table, columns[table.name], budget) for table in tables}
    found = find_references(tables, columns, known, budget)
    return {f"{r.table}.{r.column} {'=' if r.whole else '~'} {r.other}.{r.other_column}" for r in found}


def shop(folder: Path, customers: list[int | None], ids: int = 3) -> dict[str, dict[str, str]]:
    parquet(folder / "customers" / "a.parquet", id=list(range(ids)))
    parquet(
        folder / "orders" / "a.parquet", id=list(range(len(customers))), customer_id=pa.array(customers, pa.int32())
    )
    return {"customers": {"id": "bigint"}, "orders": {"id": "bigint", "customer_id": "int"}}


def test_a_column_named_after_a_table_points_to_its_key_when_all_values_are_there(tmp_path: Path) -> None:
    assert references(tmp_path, shop(tmp_path, [0, 2, 2, None])) == {"orders.customer_id = customers.id"}


def test_one_value_that_is_not_there_is_enough(tmp_path: Path) -> None:
    assert references(tmp_path, shop(tmp_path, [0, 2, 9])) == set()


def test_a_column_of_nulls_points_nowhere(tmp_path: Path) -> None:
    assert references(tmp_path, shop(tmp_path, [None, None])) == set()


def test_a_reference_seen_in_a_part_of_the_rows_says_so(tmp_path: Path) -> None:
    assert references(tmp_path, shop(tmp_path, [0, 1, 2, 0, 9], ids=3), budget=4) == {
        "orders.customer_id ~ customers.id"
    }


def test_equal_names_point_to_each_other_only_where_they_say_whose_key(tmp_path: Path) -> None:
    parquet(tmp_path / "a" / "a.parquet", id=[1, 2], store_no=[1, 2])
    parquet(tmp_path / "b" / "a.parquet", id=[1, 2], x_store_no=[1, 1])
    columns = {"a": {"store_no": "bigint"}, "b": {"id": "bigint", "x_store_no": "bigint"}}
    assert references(tmp_path, columns) == {"b.x_store_no = a.store_no"}
    assert references(tmp_path, {"a": {"id": "bigint"}, "b": {"id": "bigint"}}) == set()


def test_values_of_another_type_point_nowhere(tmp_path: Path) -> None:
    parquet(tmp_path / "customers" / "a.parquet", id=[1, 2])
    parquet(tmp_path / "orders" / "a.parquet", id=[1, 2], customer_id=["one", "two"])
    columns = {"customers": {"id": "bigint"}, "orders": {"id": "bigint", "customer_id": "string"}}
    assert references(tmp_path, columns) == set()
