"""Update transactions on an engine: what they change, what they refuse, and that the bag is respected."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType
from sqlglot import exp

from storage import searching, writing
from storage.log import DeltaLog, open_log
from storage.staging import Change, tuples
from storage.table import Table, convert_parquet, create_table, import_file
from storage.updates import update
from views.errors import ExecutionError, TableError, UpdateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.engine


def stored(table: Table) -> Counter[tuple[Any, ...]]:
    """The table's rows as an independent Delta reader sees them."""
    return Counter(tuples(DeltaTable(str(table.root)).to_pyarrow_table().select(list(table.columns))))


def summed(table: Table, after: int, upto: int) -> Counter[tuple[Any, ...]]:
    """A change set as row → signed count; a row that comes twice would be a defect."""
    rows = tuples(table.changes(after, upto).toArrow())
    assert len({row[:-1] for row in rows}) == len(rows)
    return Counter({row[:-1]: row[-1] for row in rows})


@pytest.fixture(params=["driver", "engine"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are looked up on the driver, or, as in tables that are too large for it, by the engine."""
    if request.param == "engine":
        monkeypatch.setattr(searching, "MOST_ROWS", -1)


@pytest.fixture
def intents(tmp_path: Path) -> Path:
    return tmp_path / "_advisor" / "intents"


@pytest.fixture
def people(spark: SparkSession, tmp_path: Path) -> Table:
    rows = pa.table({"id": [1, 2, 3, 4], "name": ["ann", "bob", None, "dan"], "pay": [1.5, float("nan"), -0.0, None]})
    return create_table(spark, tmp_path / "people", rows, key=["id"])


@pytest.fixture
def bag(spark: SparkSession, tmp_path: Path) -> Table:
    rows = pa.table({"x": [1, 1, 2, None], "y": ["p", "p", "q", None]})
    return create_table(spark, tmp_path / "bag", rows)


def test_statements_change_what_they_say_and_keep_the_change(people: Table, intents: Path) -> None:
    tables = {"people": people}
    assert update(tables, "DELETE FROM people WHERE id = 2", intents_folder=intents) == {"people": 1}
    update(tables, "UPDATE people p SET name = upper(name), pay = id * 2 WHERE p.id >= 3", intents_folder=intents)
    update(tables, "INSERT INTO people (pay, id) VALUES (0.5, 7), (NULL, 8)", intents_folder=intents)
    assert stored(people) == Counter(
        [(1, "ann", 1.5), (3, None, 6.0), (4, "DAN", 8.0), (7, None, 0.5), (8, None, None)]
    )
    assert summed(people, 0, 1) == Counter({(2, "bob", "NaN"): -1})
    assert summed(people, 1, 2) == Counter(
        {(3, None, 0.0): -1, (3, None, 6.0): 1, (4, "dan", None): -1, (4, "DAN", 8.0): 1}
    )
    assert summed(people, 0, 3)[(7, None, 0.5)] == 1


def test_a_statement_reads_what_its_names_mean_where_they_stand(bag: Table, people: Table, intents: Path) -> None:
    tables = {"bag": bag, "people": people}
    update(
        tables, "INSERT INTO bag WITH bag AS (SELECT id FROM people) SELECT id, 'w' FROM bag", intents_folder=intents
    )
    update(tables, "DELETE FROM bag WHERE x IN (WITH b AS (SELECT id AS x FROM people) SELECT x FROM b WHERE x > 2)",
           intents_folder=intents)  # fmt: skip
    update(tables, "INSERT INTO bag SELECT p.y + 20, p.x FROM bag AS p(y, x) WHERE x = 'q'", intents_folder=intents)
    assert stored(bag) == Counter([(1, "p"), (1, "p"), (2, "q"), (None, None), (1, "w"), (2, "w"), (22, "q")])


def test_a_statement_reads_other_tables_as_they_now_stand(
    spark: SparkSession, bag: Table, people: Table, intents: Path
) -> None:
    elsewhere = Table(spark, people.root, name="people", key=["id"])
    update({"people": elsewhere}, "DELETE FROM people WHERE id > 1", intents_folder=intents)
    update({"bag": bag, "people": people}, "DELETE FROM bag WHERE x IN (SELECT id FROM people)", intents_folder=intents)
    assert stored(bag) == Counter([(2, "q"), (None, None)])


def test_a_table_may_have_any_name(spark: SparkSession, tmp_path: Path, intents: Path) -> None:
    for name in ("order", "my orders", "rendelés-ek", "a.b", "tick`s"):
        table = create_table(spark, tmp_path / "t" / name.replace("`", ""), pa.table({"x": [1, 2]}))
        quoted = "`" + name.replace("`", "``") + "`"
        update({name: table}, f"UPDATE {quoted} SET x = x + 1 WHERE x = 2", intents_folder=intents)
        update({name: table}, f"DELETE FROM {quoted} WHERE {quoted}.x = 1", intents_folder=intents)
        assert stored(table) == Counter([(3,)])


@pytest.mark.usefixtures("either_way")
def test_deleting_one_of_two_equal_rows_leaves_one(bag: Table, intents: Path) -> None:
    update({"bag": bag}, {"bag": Change(deletes=pa.table({"x": [1], "y": ["p"]}))}, intents_folder=intents)
    assert stored(bag) == Counter([(1, "p"), (2, "q"), (None, None)])
    assert summed(bag, 0, 1) == Counter({(1, "p"): -1})


@pytest.mark.usefixtures("either_way")
def test_a_row_of_nulls_is_found_and_deleted(bag: Table, intents: Path) -> None:
    nothing = pa.table({"x": pa.array([None], pa.int64()), "y": pa.array([None], pa.string())})
    update({"bag": bag}, {"bag": Change(deletes=nothing)}, intents_folder=intents)
    assert stored(bag) == Counter([(1, "p"), (1, "p"), (2, "q")])


def test_a_row_deleted_and_inserted_in_one_transaction_is_no_change(bag: Table, intents: Path) -> None:
    same = pa.table({"x": [2], "y": ["q"]})
    assert update({"bag": bag}, {"bag": Change(same, same)}, intents_folder=intents) == {}
    assert bag.version == 0


@pytest.mark.usefixtures("either_way")
def test_deletes_may_name_only_the_key_and_rows_may_come_from_pandas(people: Table, intents: Path) -> None:
    change = Change(
        inserts=pd.DataFrame({"pay": [9.0], "id": [9], "name": ["zoe"]}), deletes=pd.DataFrame({"id": [4, 1]})
    )
    update({"people": people}, {"people": change}, intents_folder=intents)
    assert stored(people) == Counter([(2, "bob", "NaN"), (3, None, 0.0), (9, "zoe", 9.0)])


@pytest.mark.usefixtures("either_way")
def test_a_key_that_others_wrote_twice_is_deleted_whole(spark: SparkSession, tmp_path: Path, intents: Path) -> None:
    table = create_table(spark, tmp_path / "t", pa.table({"k": [1, 1, 1, 2], "v": ["a", "a", "b", "c"]}), key=["k"])
    update({"t": table}, {"t": Change(deletes=pa.table({"k": [1]}))}, intents_folder=intents)
    assert stored(table) == Counter([(2, "c")])


@pytest.mark.usefixtures("either_way")
def test_moving_a_key_in_one_transaction_is_allowed(people: Table, intents: Path) -> None:
    update({"people": people}, "UPDATE people SET id = id + 1", intents_folder=intents)
    assert sorted(row[0] for row in stored(people)) == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ({"bag": Change(deletes=pa.table({"x": [9], "y": ["p"]}))}, "not in the table, for example x = 9, y = 'p'"),
        ({"bag": Change(deletes=pa.table({"x": [1] * 3, "y": ["p"] * 3}))}, "1 of the rows to delete"),
        ({"people": Change(deletes=pa.table({"id": [77]}))}, "id = 77"),
        ({"people": Change(deletes=pa.table({"name": ["ann"]}))}, "no column id"),
        ("INSERT INTO people VALUES (3, 'x', 1)", "duplicate key id = 3"),
        ("INSERT INTO people VALUES (8, 'x', 1), (8, 'y', 2)", "duplicate key id = 8"),
        ("UPDATE people SET id = 1 WHERE id = 2", "duplicate key id = 1"),
        ("INSERT INTO people (name) VALUES ('x')", "NULL in key id"),
        ("DELETE FROM bag WHERE x = 1; DROP TABLE people", "2 statements"),
        ("DROP TABLE people", "DROP is not an update"),
        ("TRUNCATE TABLE people", "is not an update"),
        ("DELETE FROM poeple", "did you mean people?"),
        ("DELETE FROM parquet.`/etc/passwd`", "unknown table"),
        ("DELETE FROM people WHERE id IN (SELECT id FROM parquet.`/etc/passwd`)", "unknown table"),
        (
            "INSERT INTO bag SELECT * FROM csv.`/x` WHERE 1 IN (WITH `/x` AS (SELECT 1 AS a) SELECT a FROM `/x`)",
            "unknown table",
        ),
        (
            "INSERT INTO bag SELECT * FROM secret WHERE 1 IN (WITH secret AS (SELECT 1 AS a) SELECT a FROM secret)",
            "unknown table",
        ),
        ("INSERT INTO bag WITH secret AS (SELECT * FROM secret) SELECT * FROM secret", "unknown table"),
        ("INSERT INTO bag SELECT TRANSFORM(x) USING 'cat' AS (x, y) FROM bag", "runs code outside SQL"),
        ("UPDATE people SET name = reflect('java.lang.System', 'getenv')", "runs code outside SQL"),
        ("DELETE FROM bag WHERE java_method('java.lang.System', 'exit', 0) = 1", "runs code outside SQL"),
        ("DELETE FROM bag WHERE x = 1 LIMIT 1", "LIMIT is not understood"),
        ("DELETE FROM people JOIN bag ON id = x", "JOINS is not understood"),
        ("DELETE FROM people USING bag WHERE id = x", "USING is not understood"),
        ("UPDATE people SET pay = 1 FROM bag WHERE id = x", "FROM is not understood"),
        ("UPDATE people SET name.first = 'x'", "SET name.first names no column"),
        ("INSERT INTO bag REPLACE WHERE x = 1 SELECT 1, 'p'", "WHERE is not understood"),
        ("INSERT INTO bag BY NAME SELECT 'p' AS y, 1 AS x", "BY NAME is not understood"),
        ("INSERT INTO bag PARTITION (x = 1) SELECT 'p'", "PARTITION is not understood"),
        ("WITH q AS (SELECT 1 AS a) DELETE FROM bag WHERE x IN (SELECT a FROM q)", "WITH is not understood"),
        ("INSERT INTO bag SELECT * FROM bag VERSION AS OF 0", "not the table as it stands"),
        ("DELETE FROM bag TABLESAMPLE (1 ROWS)", "SAMPLE is not understood"),
        ("UPDATE people SET nme = 'x'", "did you mean name?"),
        ("UPDATE people SET name = 'x', name = 'y'", "set twice"),
        ("DELETE FROM people WHERE rand() < 0.5", "RAND"),
        ("DELETE FROM people WHERE", "line 1"),
        ("UPDATE people SET pay = 'much' WHERE id = 1", "cannot run"),
        ("UPDATE people SET pay = nope WHERE id = 1", "cannot run"),
        ({"people": Change(inserts=pa.table({"id": [8], "nam": ["x"], "pay": [1.0]}))}, "did you mean name?"),
        ({"people": Change(inserts=pa.table({"id": [8], "name": ["x"]}))}, "no column pay"),
        ({"people": Change(inserts=pa.table({"id": ["x"], "name": ["x"], "pay": [1.0]}))}, "does not fit its column"),
        ({"nobody": Change()}, "unknown table nobody"),
    ],
)
@pytest.mark.usefixtures("either_way")
def test_a_wrong_update_says_so_in_one_line_and_commits_nothing(
    people: Table, bag: Table, intents: Path, what: Any, says: str
) -> None:
    before = sorted(people.root.rglob("*")) + sorted(bag.root.rglob("*"))
    with pytest.raises(UpdateError) as caught:
        update({"people": people, "bag": bag}, what, intents_folder=intents)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (people.log.refresh(), bag.log.refresh()) == (0, 0)
    assert sorted(people.root.rglob("*")) + sorted(bag.root.rglob("*")) == before


def test_an_error_in_one_table_keeps_the_other_as_it_was(people: Table, bag: Table, intents: Path) -> None:
    change = {
        "people": Change(deletes=pa.table({"id": [1]})),
        "bag": Change(deletes=pa.table({"x": [9], "y": ["z"]})),
    }
    with pytest.raises(UpdateError, match="not in the table"):
        update({"people": people, "bag": bag}, change, intents_folder=intents)
    assert (people.log.refresh(), bag.log.refresh()) == (0, 0)


def test_a_table_that_refuses_writes_keeps_the_others_as_they_were(people: Table, bag: Table, intents: Path) -> None:
    DeltaTable(str(bag.root)).alter.add_constraint({"positive": "x > 0 OR x IS NULL"})
    before = sorted(intents.parents[1].rglob("*.*"))
    rows = {"people": Change(deletes=pa.table({"id": [1]})), "bag": Change(inserts=pa.table({"x": [-1], "y": ["n"]}))}
    with pytest.raises(TableError, match="checkConstraints"):
        update({"people": people, "bag": bag}, rows, intents_folder=intents)
    assert sorted(intents.parents[1].rglob("*.*")) == before


@pytest.mark.usefixtures("either_way")
def test_only_the_files_that_hold_a_deleted_row_are_rewritten(
    spark: SparkSession, tmp_path: Path, intents: Path
) -> None:
    table = create_table(spark, tmp_path / "t", pa.table({"k": list(range(10)), "v": ["a"] * 10}), key=["k"])
    for start in (10, 20, 30):
        rows = pa.table({"k": list(range(start, start + 10)), "v": ["a"] * 10})
        update({"t": table}, {"t": Change(inserts=rows)}, intents_folder=intents)
    before = table.log.snapshot().active
    update({"t": table}, "UPDATE t SET v = 'b' WHERE k = 15", intents_folder=intents)
    after = table.log.snapshot().active
    assert len(before - after) == 1
    assert stored(table)[(15, "b")] == 1
    assert stored(table).total() == 40


@pytest.mark.parametrize("rows_on_the_driver", [1, 1_000])
def test_few_rows_and_many_rows_take_different_ways_to_the_same_table(
    spark: SparkSession, tmp_path: Path, intents: Path, monkeypatch: pytest.MonkeyPatch, rows_on_the_driver: int
) -> None:
    monkeypatch.setattr(writing, "DRIVER_ROWS", rows_on_the_driver)
    start = pa.table({"k": list(range(20)), "v": ["a", "b"] * 10})
    table = create_table(spark, tmp_path / "t", start, key=["k"])
    tables = {"t": table}
    update(tables, "DELETE FROM t x WHERE x.v = 'b' AND k > (SELECT min(k) + 2 FROM t)", intents_folder=intents)
    update(tables, "UPDATE t SET v = 'z' WHERE k > 3", intents_folder=intents)
    update(tables, "INSERT INTO t SELECT k + 100, v FROM t", intents_folder=intents)
    with pytest.raises(UpdateError, match="duplicate key"):
        update(tables, "INSERT INTO t SELECT k + 100, v FROM t WHERE k < 100", intents_folder=intents)
    with pytest.raises(UpdateError, match="a NULL in key k"):
        update(tables, "INSERT INTO t SELECT nullif(k, 2) + 1000, v FROM t", intents_folder=intents)
    check = duckdb.connect()
    check.register("start", start)
    check.execute("CREATE TABLE t AS SELECT * FROM start")
    check.execute("DELETE FROM t WHERE v = 'b' AND k > (SELECT min(k) + 2 FROM t)")
    check.execute("UPDATE t SET v = 'z' WHERE k > 3")
    check.execute("INSERT INTO t SELECT k + 100, v FROM t")
    assert stored(table) == Counter(check.execute("SELECT * FROM t").fetchall())
    total = Counter(tuples(start))
    for row, count in summed(table, 0, table.version).items():
        total[row] += count
    assert +total == stored(table)


def test_rows_that_the_engine_loses_between_a_condition_and_its_negation_stop_the_update(
    bag: Table, intents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the coalesce, a row whose condition is NULL would neither be deleted nor stay."""
    monkeypatch.setattr(writing, "DRIVER_ROWS", 1)
    monkeypatch.setattr(exp, "func", lambda name, condition, otherwise: condition)
    with pytest.raises(ExecutionError, match="of 4 rows the engine found 3"):
        update({"bag": bag}, "DELETE FROM bag WHERE x = 1", intents_folder=intents)
    assert bag.log.refresh() == 0


@pytest.mark.usefixtures("either_way")
def test_a_random_sequence_of_updates_equals_duckdb_after_each(
    spark: SparkSession, tmp_path: Path, intents: Path
) -> None:
    rng = random.Random(20261118)
    schema = pa.schema([("k", pa.int64()), ("g", pa.string()), ("n", pa.float64())])

    def rows(count: int) -> pa.Table:
        return pa.table(
            {
                "k": [rng.choice([None, *range(6)]) for _ in range(count)],
                "g": [rng.choice([None, "", "a", "b'; --"]) for _ in range(count)],
                "n": [rng.choice([None, 0.0, 1.25, -3.0]) for _ in range(count)],
            },
            schema=schema,
        )

    start = rows(12)
    table = create_table(spark, tmp_path / "t", start)
    check = duckdb.connect()
    check.register("start", start)
    check.execute("CREATE TABLE t AS SELECT * FROM start")
    for _ in range(12):
        k, n = rng.randrange(6), rng.choice(["1.25", "NULL", "-3.0"])
        statement = rng.choice(
            [
                f"DELETE FROM t WHERE k = {k} AND n IS NOT NULL",
                f"UPDATE t SET n = {n}, g = concat(coalesce(g, '-'), 'x') WHERE k <= {k} OR g = 'a'",
                f"INSERT INTO t SELECT k + 1, g, n FROM t WHERE k = {k}",
                f"INSERT INTO t VALUES ({k}, 'new', {n}), (NULL, NULL, NULL)",
                "UPDATE t SET n = -n WHERE k IS NULL",
            ]
        )
        version = table.version
        before = stored(table)
        update({"t": table}, statement, intents_folder=intents)
        check.execute(statement)
        expected = Counter(check.execute("SELECT * FROM t").fetchall())
        assert stored(table) == expected, statement
        changed = summed(table, version, table.version)
        moved = {row: expected[row] - before[row] for row in before | expected}
        assert {row: count for row, count in moved.items() if count} == dict(changed), statement


def test_keys_are_checked_through_the_log_not_only_in_the_pruned_files(people: Table, intents: Path) -> None:
    other = Table(people.spark, people.root, key=["id"])
    update({"people": other}, "INSERT INTO people VALUES (50, 'new', 1)", intents_folder=intents)
    with pytest.raises(UpdateError, match="duplicate key id = 50"):
        update({"people": people}, "INSERT INTO people VALUES (50, 'again', 1)", intents_folder=intents)


def test_compaction_changes_files_but_no_row(spark: SparkSession, bag: Table, intents: Path) -> None:
    for i in range(3):
        update({"bag": bag}, f"INSERT INTO bag VALUES ({i}, 'n')", intents_folder=intents)
    before, version = stored(bag), bag.version
    assert bag.compact() == 4
    assert bag.log.num_files == 1
    assert stored(bag) == before
    assert summed(bag, version, bag.version) == Counter()
    assert summed(bag, 0, bag.version).total() == 3


def test_vacuum_keeps_what_a_view_has_not_consumed(
    spark: SparkSession, bag: Table, tmp_path: Path, intents: Path
) -> None:
    view = create_table(spark, tmp_path / "view", pa.table({"n": [4]}))
    view.commit(consumed={bag.log.table_id: 0})
    update({"bag": bag}, "DELETE FROM bag WHERE x = 1", intents_folder=intents)
    update({"bag": bag}, "INSERT INTO bag VALUES (5, 'n')", intents_folder=intents)
    bag.vacuum([view.log], retention_hours=0)
    assert summed(bag, 0, 2) == Counter({(1, "p"): -2, (5, "n"): 1})
    view.commit(consumed={bag.log.table_id: 2})
    gone = bag.vacuum([open_log(view.root)], retention_hours=0)
    assert gone
    with pytest.raises(TableError, match="HISTORY_GONE"):
        bag.changes(0, 2)
    assert stored(bag) == Counter([(2, "q"), (None, None), (5, "n")])


def test_a_parquet_folder_becomes_a_table_in_place(spark: SparkSession, tmp_path: Path, intents: Path) -> None:
    folder = tmp_path / "sales"
    for year in (2023, 2024):
        part = folder / f"year={year}"
        part.mkdir(parents=True)
        pa.parquet.write_table(pa.table({"amount": [year + 0.5, None]}), part / "a b.parquet")
    files = sorted(p for p in folder.rglob("*.parquet"))
    convert_parquet(folder)
    assert sorted(p for p in folder.rglob("*.parquet") if "_delta_log" not in p.parts) == files
    table = Table(spark, folder)
    assert Counter(tuples(table.snapshot().toArrow())) == Counter(
        [(2023.5, 2023), (None, 2023), (2024.5, 2024), (None, 2024)]
    )
    update({"sales": table}, "DELETE FROM sales WHERE year = 2024 AND amount IS NULL", intents_folder=intents)
    assert stored(table) == Counter([(2023.5, 2023), (None, 2023), (2024.5, 2024)])


def test_csv_and_json_files_are_imported(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name,day\n1,ann,2024-02-29\n2,,2024-03-01\n")
    (tmp_path / "b.jsonl").write_text('{"id": 1, "tags": ["x"]}\n{"id": 2, "tags": null}\n')
    csv = import_file(spark, tmp_path / "a.csv", tmp_path / "a")
    json = import_file(spark, tmp_path / "b.jsonl", tmp_path / "b")
    assert [(r["id"], r["name"], str(r["day"])) for r in csv.snapshot().toArrow().to_pylist()] == [
        (1, "ann", "2024-02-29"),
        (2, None, "2024-03-01"),
    ]
    assert json.snapshot().toArrow().to_pylist() == [{"id": 1, "tags": ["x"]}, {"id": 2, "tags": None}]
    (tmp_path / "c.txt").write_text("x")
    with pytest.raises(TableError, match="neither CSV nor JSON"):
        import_file(spark, tmp_path / "c.txt", tmp_path / "c")


def failing(monkeypatch: pytest.MonkeyPatch, number: int, *, landed: bool) -> None:
    """The storage fails at the commit of this number, before or after it landed."""
    original, calls = DeltaLog.commit, iter(range(1, 100))

    def commit(self: DeltaLog, *args: Any, **kwargs: Any) -> int:
        fails = next(calls) == number
        if landed or not fails:
            version = original(self, *args, **kwargs)
        if fails:
            raise ExecutionError("the disk is full")
        return version

    monkeypatch.setattr(DeltaLog, "commit", commit)


@pytest.mark.parametrize("landed", [False, True])
def test_a_commit_that_fails_loses_no_file_that_landed(
    people: Table, intents: Path, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    with monkeypatch.context() as patch:
        failing(patch, 1, landed=landed)
        with pytest.raises(ExecutionError, match="disk is full"):
            update({"people": people}, "DELETE FROM people WHERE id = 1", intents_folder=intents)
    assert sorted(row[0] for row in stored(people)) == ([2, 3, 4] if landed else [1, 2, 3, 4])


@pytest.mark.parametrize(("number", "landed"), [(1, False), (1, True), (2, False), (2, True)])
def test_a_transaction_whose_storage_fails_happens_whole_or_not_at_all(
    people: Table, bag: Table, intents: Path, monkeypatch: pytest.MonkeyPatch, number: int, landed: bool
) -> None:
    tables = {"people": people, "bag": bag}
    change = {"people": Change(deletes=pa.table({"id": [1]})), "bag": Change(deletes=pa.table({"x": [2], "y": ["q"]}))}
    with monkeypatch.context() as patch:
        failing(patch, number, landed=landed)
        with pytest.raises(ExecutionError, match="disk is full"):
            update(tables, change, intents_folder=intents)
    happened = (number, landed) != (1, False)
    assert bool(list(intents.glob("*.json"))) == happened
    update(tables, "INSERT INTO bag VALUES (7, 'z')", intents_folder=intents)
    assert ((1, "ann", 1.5) not in stored(people)) == happened
    assert ((2, "q") not in stored(bag)) == happened
    assert stored(bag)[(7, "z")] == 1
    assert not list(intents.glob("*"))


def test_what_stays_of_a_rewritten_file_outlives_a_transaction_taken_back(
    people: Table, bag: Table, intents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two commits another writer deletes the row that the second one was to delete."""
    original = DeltaLog.commit

    def commit(self: DeltaLog, *args: Any, **kwargs: Any) -> int:
        if self is bag.log:
            DeltaTable(str(bag.root)).delete("x = 2")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(DeltaLog, "commit", commit)
    change = {"people": Change(deletes=pa.table({"id": [1]})), "bag": Change(deletes=pa.table({"x": [2], "y": ["q"]}))}
    with pytest.raises(UpdateError, match="not in the table"):
        update({"people": people, "bag": bag}, change, intents_folder=intents)
    assert sorted(row[0] for row in stored(people)) == [1, 2, 3, 4]
    assert not list(intents.glob("*"))


def test_taking_back_is_not_repeated_after_a_failure_in_between(
    spark: SparkSession, people: Table, bag: Table, intents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two parts have landed, the third cannot; the storage fails between the two inverse commits."""
    third = create_table(spark, tmp_path / "third", pa.table({"z": [5, 6]}))
    tables = {"people": people, "bag": bag, "third": third}
    change = {
        "people": Change(deletes=pa.table({"id": [1]})),
        "bag": Change(deletes=pa.table({"x": [2], "y": ["q"]})),
        "third": Change(deletes=pa.table({"z": [5]})),
    }
    before = stored(people), stored(bag)
    with monkeypatch.context() as patch:
        failing(patch, 5, landed=False)  # 1, 2 and 3 are the parts, 4 and 5 take the first two back
        inner = DeltaLog.commit

        def commit(self: DeltaLog, *args: Any, **kwargs: Any) -> int:
            if self is third.log:
                DeltaTable(str(third.root)).delete("z = 5")
            return inner(self, *args, **kwargs)

        patch.setattr(DeltaLog, "commit", commit)
        with pytest.raises(ExecutionError, match="half committed"):
            update(tables, change, intents_folder=intents)
    update(tables, "INSERT INTO third VALUES (5)", intents_folder=intents)
    assert (stored(people), stored(bag)) == before
    assert stored(third) == Counter([(5,), (6,)])
    assert not list(intents.glob("*"))


def test_moments_are_created_from_a_frame_and_updated(spark: SparkSession, tmp_path: Path, intents: Path) -> None:
    rows = spark.sql("SELECT 1 AS k, TIMESTAMP '2026-01-02 03:04:05.678901' AS t, array(TIMESTAMP '2026-01-02') AS l")
    table = create_table(spark, tmp_path / "t", rows, key=["k"])
    update({"t": table}, "INSERT INTO t SELECT 2, t + INTERVAL 1 DAY, l FROM t", intents_folder=intents)
    update({"t": table}, "DELETE FROM t WHERE t < TIMESTAMP '2026-01-03'", intents_folder=intents)
    later, first = (dt.datetime(2026, 1, 3, 3, 4, 5, 678901, dt.UTC), dt.datetime(2026, 1, 2, tzinfo=dt.UTC))
    assert stored(table) == Counter([(2, later, (first,))])


def test_a_file_that_is_cut_off_stops_an_update_in_one_line(people: Table, intents: Path) -> None:
    path = people.root / people.log.snapshot().paths[0]
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(TableError, match="not a readable Parquet file"):
        update({"people": people}, {"people": Change(deletes=pa.table({"id": [1]}))}, intents_folder=intents)


def test_rows_from_before_a_column_was_added_are_deleted_and_kept(
    spark: SparkSession, tmp_path: Path, intents: Path
) -> None:
    table = create_table(spark, tmp_path / "t", pa.table({"k": [1, 2]}))
    DeltaTable(table.root).alter.add_columns([Field("more", PrimitiveType("string"))])
    table.log.refresh()
    update({"t": table}, {"t": Change(deletes=pa.table({"k": [1], "more": [None]}))}, intents_folder=intents)
    assert stored(table) == Counter([(2, None)])
