"""Tables shared with Spark's own Delta connector, both ways.

The judge is the connector: what it reads of a version, as a bag of rows, is what that version holds. A change set is
right when it equals the difference of two such bags, for every pair of versions. A table feature that our layer does
not handle is refused by its name.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from storage import log
from storage.changes import COUNT
from storage.pruning import files_where, files_with_keys
from storage.staging import Change
from storage.table import Table, create_table
from storage.updates import update
from views.errors import TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Bag = Counter[str]
FULL = os.environ.get("ADVISOR_TEST_FULL") == "1"


def bag(rows: DataFrame) -> Bag:
    return Counter(repr(tuple(row)) for row in rows.collect())


def signed(changes: DataFrame) -> Bag:
    """A change set as a bag with negative counts; it must be net, so no row may come twice or with zero."""
    columns = [c for c in changes.columns if c != COUNT]
    found: Bag = Counter()
    for row in changes.collect():
        text = repr(tuple(row[c] for c in columns))
        assert text not in found, f"{text} comes twice in a change set"
        assert row[COUNT] != 0
        found[text] = row[COUNT]
    return found


def difference(new: Bag, old: Bag) -> Bag:
    return Counter({row: new[row] - old[row] for row in new | old if new[row] != old[row]})


@dataclass(frozen=True)
class Shared:
    """A Delta table in a folder, as SQL names it."""

    spark: SparkSession
    path: Path

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement.replace("{t}", f"delta.`{self.path}`"))

    def connector(self, version: int | None = None) -> DataFrame:
        reader = self.spark.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(str(self.path))

    def ours(self, **named: Any) -> Table:
        return Table(self.spark, self.path, **named)

    def bags(self) -> list[Bag]:
        return [bag(self.connector(v)) for v in range(self.ours().version + 1)]

    def log_files(self) -> list[str]:
        return sorted(p.name for p in (self.path / "_delta_log").glob("*.json"))

    def data_files(self) -> set[Path]:
        return set(self.path.rglob("*.parquet")) - set((self.path / "_delta_log").rglob("*"))


def assert_equal_everywhere(shared: Shared, versions: Iterable[int] | None = None) -> None:
    """Every snapshot and the change sets between them, against the connector's versions.

    Each version with the one after it and with the first; every pair with `make test-full`.
    """
    table = shared.ours()
    bags = {v: bag(shared.connector(v)) for v in versions or range(table.version + 1)}
    for version, expected in bags.items():
        assert bag(table.snapshot(version)) == expected, f"snapshot({version})"
    pairs = [(a, b) for a, b in combinations(bags, 2) if FULL or b == a + 1 or a == min(bags)]
    for after, upto in pairs:
        assert signed(table.changes(after, upto)) == difference(bags[upto], bags[after]), f"changes{after, upto}"


# --- written by the connector, read by us


HISTORIES = {"partitioned": False, "with_feed": True}


@pytest.fixture(scope="module", params=HISTORIES)
def history(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """A table that the connector has inserted into, merged, updated, deleted from and optimized.

    The first half of its versions is without deletion vectors, the second half with them.
    """
    feed = HISTORIES[request.param]
    shared = Shared(spark, tmp_path_factory.mktemp(request.param) / "t é")
    merge = (
        "MERGE INTO {t} t USING (SELECT id FROM range(LOW, HIGH)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET price = t.price + 1 "
        "WHEN NOT MATCHED THEN INSERT (id, city, price) VALUES (s.id, 'neu', 0)"
    )
    shared.run(
        "CREATE TABLE {t} (id BIGINT, city STRING, price DECIMAL(9,2), ratio DOUBLE, seen TIMESTAMP) USING delta "
        f"{'' if feed else 'PARTITIONED BY (city)'} TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', "
        f"'delta.enableChangeDataFeed' = '{str(feed).lower()}', 'delta.checkpointInterval' = '4')",
        "INSERT INTO {t} SELECT /*+ REPARTITION(2) */ id, element_at(array('Köln', 'a/b c=%', NULL), "
        "CAST(id % 3 AS INT) + 1), id * 1.25, IF(id % 7 = 0, double('NaN'), id / 4), "
        "TIMESTAMP'2024-01-01 00:00:00.123456' + make_interval(0, 0, 0, CAST(id AS INT)) FROM range(60) "
        "UNION ALL VALUES (3, 'Köln', 1, NULL, NULL), (3, 'Köln', 1, NULL, NULL), (NULL, NULL, NULL, NULL, NULL)",
        merge.replace("LOW", "50").replace("HIGH", "65"),
        "UPDATE {t} SET city = 'Köln', ratio = 0.5 WHERE id % 10 = 1",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "DELETE FROM {t} WHERE id % 10 = 2 OR (id = 3 AND ratio IS NULL)",
        merge.replace("LOW", "20").replace("HIGH", "28"),
        "OPTIMIZE {t}",
        "DELETE FROM {t} WHERE id % 10 = 4",
    )
    return shared


def test_every_snapshot_and_every_change_set_equals_the_connectors(history: Shared) -> None:
    assert_equal_everywhere(history)


def test_optimize_changes_nothing(history: Shared) -> None:
    optimized = next(c.version for c in history.ours().log.history() if c.operation == "OPTIMIZE")
    assert signed(history.ours().changes(optimized - 1, optimized)) == Counter()


def test_histories_hold_what_they_are_meant_to(history: Shared, request: pytest.FixtureRequest) -> None:
    """Without vectors, feed files or a checkpoint in the log the tests above would prove nothing about them."""
    commits = history.ours().log.commits(0, history.ours().version)
    assert commits is not None
    assert any(action.get("deletionVector") for c in commits for action in (*c.adds, *c.removes))
    assert any(c.change_data for c in commits) == HISTORIES[request.node.callspec.params["history"]]
    assert history.ours().log.snapshot().vectors
    assert list((history.path / "_delta_log").glob("*.checkpoint*.parquet"))


PREDICATES = [
    "id = 17",
    "id >= 61",
    "id IS NULL",
    "id IN (3, 64)",
    "city = 'a/b c=%'",
    "city IS NULL",
    "price > 70",
    "price BETWEEN 1 AND 3",
    "ratio > 14",
    "seen > TIMESTAMP'2024-02-10 00:00:00.123455'",
    "id > 5 AND city = 'Köln'",
]


def test_pruning_loses_no_row(history: Shared) -> None:
    table = history.ours()
    now = table.log.snapshot()
    for predicate in PREDICATES:
        kept = table.rows(files_where(now, predicate)).where(predicate)
        assert bag(kept) == bag(history.connector().where(predicate)), predicate
    kept = table.rows(files_with_keys(now, {"id": [3, 33, 69, None]})).where("id IN (3, 33, 69) OR id IS NULL")
    assert bag(kept) == bag(history.connector().where("id IN (3, 33, 69) OR id IS NULL"))


def test_pruning_leaves_files_out(spark: SparkSession, tmp_path: Path) -> None:
    """The statistics that the connector writes are understood, not merely harmless."""
    shared = Shared(spark, tmp_path / "t")
    shared.run(
        "CREATE TABLE {t} (id BIGINT, s STRING) USING delta",
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (11, 'k'), (12, 'l')",
    )
    now = shared.ours().log.snapshot()
    assert now.num_files == 2
    assert files_with_keys(now, {"id": [12]}).sum() == 1
    assert files_where(now, "s < 'c'").sum() == 1


def test_vacuumed_history_is_refused_and_the_present_still_read(spark: SparkSession, tmp_path: Path) -> None:
    shared = Shared(spark, tmp_path / "t")
    shared.run(
        "CREATE TABLE {t} (id BIGINT) USING delta",
        "INSERT INTO {t} VALUES (1), (2)",
        "DELETE FROM {t} WHERE id = 1",
        "OPTIMIZE {t}",
        "INSERT INTO {t} VALUES (3)",
        "VACUUM {t} RETAIN 0 HOURS",
    )
    table = shared.ours()
    assert bag(table.snapshot()) == bag(shared.connector())
    with pytest.raises(TableError, match="HISTORY_GONE"):
        table.changes(1, 2)


# --- column mapping


@pytest.fixture(scope="module")
def mapped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Column mapping, partitioned; a column, a nested one and the partition column renamed, one column dropped."""
    shared = Shared(spark, tmp_path_factory.mktemp("mapped") / "t")
    shared.run(
        "CREATE TABLE {t} (id BIGINT, price INT, part STRING, note STRING, s STRUCT<a: INT, b: ARRAY<STRUCT<c: INT>>>) "
        "USING delta PARTITIONED BY (part) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "INSERT INTO {t} VALUES (1, 10, 'p', 'n', struct(1, array(struct(7)))), (2, 20, 'q', 'm', NULL), "
        "(2, 20, NULL, 'm', NULL)",
        "UPDATE {t} SET price = 11 WHERE id = 1",
        "ALTER TABLE {t} RENAME COLUMN price TO amount",
        "ALTER TABLE {t} RENAME COLUMN s.a TO z",
        "ALTER TABLE {t} RENAME COLUMN part TO region",
        "ALTER TABLE {t} DROP COLUMN note",
        "INSERT INTO {t} VALUES (3, 30, 'q', struct(3, array()))",
        "DELETE FROM {t} WHERE id = 2 AND region = 'q'",
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 5), (9, 9) AS r(id, v)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET amount = v "
        "WHEN NOT MATCHED THEN INSERT (id, amount, region) VALUES (s.id, v, 'r')",
    )
    return shared


def test_column_mapping_reads_every_version_right(mapped: Shared) -> None:
    table = mapped.ours()
    assert table.columns == ("id", "amount", "region", "s")
    for version, expected in enumerate(mapped.bags()):
        assert bag(table.snapshot(version)) == expected, f"snapshot({version})"


def test_column_mapping_changes_are_right_or_refused_never_wrong(mapped: Shared) -> None:
    table, bags = mapped.ours(), mapped.bags()
    schemas = [table.log.snapshot(v).fields for v in range(len(bags))]
    compared = 0
    for after, upto in combinations(range(len(bags)), 2):
        if schemas[after] == schemas[upto]:
            assert signed(table.changes(after, upto)) == difference(bags[upto], bags[after]), (after, upto)
            compared += 1
        else:
            with pytest.raises(TableError, match="SCHEMA_CHANGED"):
                table.changes(after, upto)
    assert compared >= 9


def test_column_mapping_prunes_soundly(mapped: Shared) -> None:
    table = mapped.ours()
    now = table.log.snapshot()
    for predicate in ("amount = 5", "amount > 20", "region = 'q'", "region IS NULL", "id = 9"):
        kept = table.rows(files_where(now, predicate)).where(predicate)
        assert bag(kept) == bag(mapped.connector().where(predicate)), predicate


def test_columns_that_swap_names_are_not_taken_for_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    shared = Shared(spark, tmp_path / "t")
    shared.run(
        "CREATE TABLE {t} (a INT, b INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "INSERT INTO {t} VALUES (1, 2)",
        "ALTER TABLE {t} RENAME COLUMN a TO c",
        "ALTER TABLE {t} RENAME COLUMN b TO a",
        "ALTER TABLE {t} RENAME COLUMN c TO b",
    )
    table = shared.ours()
    rows = bag(shared.connector().select("a", "b"))
    assert rows == Counter({"(2, 1)": 1})
    assert bag(table.snapshot().select("a", "b")) == rows
    with pytest.raises(TableError, match="SCHEMA_CHANGED"):
        table.changes(1, table.version)


def test_a_column_dropped_and_added_again_is_another_column(spark: SparkSession, tmp_path: Path) -> None:
    shared = Shared(spark, tmp_path / "t")
    shared.run(
        "CREATE TABLE {t} (a INT, b INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "INSERT INTO {t} VALUES (1, 2)",
        "ALTER TABLE {t} DROP COLUMN b",
        "ALTER TABLE {t} ADD COLUMN b INT",
    )
    table = shared.ours()
    assert bag(table.snapshot()) == bag(shared.connector()) == Counter({"(1, None)": 1})
    with pytest.raises(TableError, match="SCHEMA_CHANGED"):
        table.changes(1, table.version)


def test_column_mapping_switched_on_later_keeps_old_files_readable(spark: SparkSession, tmp_path: Path) -> None:
    shared = Shared(spark, tmp_path / "t")
    shared.run(
        "CREATE TABLE {t} (a INT, b INT) USING delta",
        "INSERT INTO {t} VALUES (1, 2)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "INSERT INTO {t} VALUES (3, 4)",
    )
    assert_equal_everywhere(shared)


# --- table features: read right or refused by name, written legally or refused by name


@dataclass(frozen=True)
class Feature:
    """A table with one feature: `read`, `insert` and `delete` are True, or the name by which each is refused."""

    columns: str
    properties: str = ""
    more: str = ""
    values: str = "(1, 1), (2, 2)"
    after: tuple[str, ...] = ()
    read: bool | str = True
    insert: bool | str = True
    delete: bool | str = True


def refused(columns: str, name: str, **rest: Any) -> Feature:
    return Feature(columns, insert=name, delete=name, **rest)


PLAIN = "id BIGINT, x INT"
FEATURES = {
    "plain": Feature(PLAIN),
    "append_only": Feature(PLAIN, "'delta.appendOnly' = 'true'", delete="appendOnly"),
    "change_data_feed": Feature(PLAIN, "'delta.enableChangeDataFeed' = 'true'", delete="changeDataFeed"),
    "timestamp_ntz": Feature(
        f"{PLAIN}, w TIMESTAMP_NTZ", values="(1, 1, TIMESTAMP_NTZ'2024-01-01 02:03:04'), (2, 2, NULL)"
    ),
    "check_constraint": refused(PLAIN, "checkConstraints", after=("ALTER TABLE {t} ADD CONSTRAINT pos CHECK (x > 0)",)),
    "generated_column": refused(
        "id BIGINT, x INT GENERATED ALWAYS AS (CAST(id AS INT))", "generatedColumns", values="(1, 1), (2, 2)"
    ),
    "identity_column": refused(
        "id BIGINT GENERATED BY DEFAULT AS IDENTITY, x INT", "identityColumns", values="(1, 1), (2, 2)"
    ),
    "column_default": refused(
        "id BIGINT, x INT DEFAULT 5",
        "allowColumnDefaults",
        properties="'delta.feature.allowColumnDefaults' = 'supported'",
    ),
    "row_tracking": refused(PLAIN, "rowTracking", properties="'delta.enableRowTracking' = 'true'"),
    "liquid_clustering": refused(PLAIN, "clustering", more="CLUSTER BY (id)"),
    "in_commit_timestamps": refused(PLAIN, "inCommitTimestamp", properties="'delta.enableInCommitTimestamps' = 'true'"),
    "iceberg_compatibility": refused(
        PLAIN,
        "icebergCompatV2",
        properties="'delta.enableIcebergCompatV2' = 'true', 'delta.columnMapping.mode' = 'name'",
    ),
    "column_mapping": refused(PLAIN, "columnMapping", properties="'delta.columnMapping.mode' = 'name'"),
    "column_mapping_by_id": refused(PLAIN, "columnMapping", properties="'delta.columnMapping.mode' = 'id'"),
    "varchar": refused(f"{PLAIN}, v VARCHAR(3)", r"varchar\(3\)", values="(1, 1, 'abc'), (2, 2, NULL)"),
    "char": Feature(f"{PLAIN}, c CHAR(4)", values="(1, 1, 'ab'), (2, 2, NULL)", read=r"char\(4\)"),
    "type_widening": Feature(
        PLAIN,
        "'delta.enableTypeWidening' = 'true'",
        after=("ALTER TABLE {t} ALTER COLUMN x TYPE BIGINT", "INSERT INTO {t} VALUES (3, 3000000000)"),
        read="typeWidening",
    ),
    "variant": Feature(f"{PLAIN}, v VARIANT", values="(1, 1, parse_json('[1]')), (2, 2, NULL)", read="variantType"),
    "v2_checkpoint": Feature(PLAIN, "'delta.checkpointPolicy' = 'v2'", read="v2Checkpoint"),
}


@pytest.mark.parametrize("name", FEATURES)
def test_feature_is_handled_right_or_refused_by_name(name: str, spark: SparkSession, tmp_path: Path) -> None:
    feature = FEATURES[name]
    shared = Shared(spark, tmp_path / "t")
    properties = f"TBLPROPERTIES ({feature.properties})" if feature.properties else ""
    shared.run(
        f"CREATE TABLE {{t}} ({feature.columns}) USING delta {feature.more} {properties}",
        f"INSERT INTO {{t}} VALUES {feature.values}",
        *feature.after,
    )
    if isinstance(feature.read, str):
        with pytest.raises(TableError, match=feature.read):
            shared.ours().snapshot().collect()
        return
    assert_equal_everywhere(shared)
    _write_or_be_refused(shared, "INSERT INTO t (id, x) VALUES (9, 9)", feature.insert, tmp_path)
    _write_or_be_refused(shared, "DELETE FROM t WHERE id = 1", feature.delete, tmp_path)


def _write_or_be_refused(shared: Shared, statement: str, allowed: bool | str, intents: Path) -> None:
    before, log, files = bag(shared.connector()), shared.log_files(), shared.data_files()
    tables = {"t": shared.ours(name="t")}
    if isinstance(allowed, str):
        with pytest.raises(TableError, match=allowed):
            update(tables, statement, intents_folder=intents / "intents")
        assert shared.log_files() == log
        assert shared.data_files() == files
        assert bag(shared.connector()) == before
        return
    update(tables, statement, intents_folder=intents / "intents")
    after = bag(shared.connector())
    change = difference(after, before)
    assert sum(change.values()) == (1 if statement.startswith("INSERT") else -1)
    assert len(change) == 1
    assert bag(shared.ours().snapshot()) == after
    version = shared.ours().version
    assert signed(shared.ours().changes(version - 1, version)) == change


def test_not_null_columns_take_no_null(spark: SparkSession, tmp_path: Path) -> None:
    shared = Shared(spark, tmp_path / "t")
    shared.run(
        "CREATE TABLE {t} (id BIGINT NOT NULL, x INT) USING delta",
        "INSERT INTO {t} VALUES (1, 1), (2, NULL)",
    )
    _write_or_be_refused(shared, "INSERT INTO t (id, x) VALUES (NULL, 9)", "NOT NULL", tmp_path)
    _write_or_be_refused(shared, "UPDATE t SET id = NULL WHERE x = 1", "NOT NULL", tmp_path)
    _write_or_be_refused(shared, "INSERT INTO t (id, x) VALUES (9, NULL)", True, tmp_path)
    _write_or_be_refused(shared, "DELETE FROM t WHERE id = 1", True, tmp_path)


def test_a_shallow_clone_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    """Its files lie in another table's folder, which may vacuum them away."""
    source, clone = Shared(spark, tmp_path / "source"), Shared(spark, tmp_path / "clone")
    source.run("CREATE TABLE {t} (id BIGINT) USING delta", "INSERT INTO {t} VALUES (1)")
    clone.run(f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{source.path}`")
    assert bag(clone.connector()) == bag(source.connector())
    with pytest.raises(TableError, match="shallow clone"):
        clone.ours().snapshot().collect()


# --- our update path on the connector's tables


def test_connector_reads_what_we_update_in_its_table_and_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    shared = Shared(spark, tmp_path / "t")
    shared.run(
        "CREATE TABLE {t} (id BIGINT, x INT, part DATE) USING delta PARTITIONED BY (part)",
        "INSERT INTO {t} SELECT id, CAST(id % 4 AS INT), "
        "IF(id % 5 = 0, NULL, date_add(DATE'2024-02-28', CAST(id % 3 AS INT))) FROM range(30)",
    )
    tables = {"t": shared.ours(name="t", key=["id"])}
    for statement in (
        "DELETE FROM t WHERE part = DATE'2024-02-29' AND x = 1",
        "UPDATE t SET x = x + 10, part = DATE'2025-01-01' WHERE id IN (5, 6)",
        "INSERT INTO t VALUES (100, 1, NULL), (101, 2, DATE'2024-02-29')",
    ):
        _write_or_be_refused_any(shared, tables, statement, tmp_path)
    shared.run(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (5), (100), (200) AS r(id)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET x = -1 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
        "OPTIMIZE {t}",
    )
    assert_equal_everywhere(shared)


def _write_or_be_refused_any(shared: Shared, tables: dict[str, Table], statement: str, intents: Path) -> None:
    """The statement through us, and the same through the connector on a copy: the same rows."""
    copy = Shared(shared.spark, intents / f"copy{shared.ours().version}")
    shutil.copytree(shared.path, copy.path)
    update(tables, statement, intents_folder=intents / "intents")
    copy.run(
        statement.replace("FROM t ", "FROM {t} ").replace("UPDATE t ", "UPDATE {t} ").replace("INTO t ", "INTO {t} ")
    )
    assert bag(shared.connector()) == bag(copy.connector())


def test_a_file_with_a_deletion_vector_is_not_rewritten_and_nothing_committed(
    spark: SparkSession, tmp_path: Path
) -> None:
    shared = Shared(spark, tmp_path / "t")
    shared.run(
        "CREATE TABLE {t} (id BIGINT, x INT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, CAST(id AS INT) FROM range(10)",
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, CAST(id AS INT) FROM range(20, 30)",
        "DELETE FROM {t} WHERE id IN (0, 5, 9)",
    )
    assert len(shared.ours().log.snapshot().vectors) == 1
    _write_or_be_refused(shared, "DELETE FROM t WHERE id = 3", "deletion vector", tmp_path)
    _write_or_be_refused(shared, "UPDATE t SET x = 0 WHERE id = 4", "deletion vector", tmp_path)
    _write_or_be_refused(shared, "DELETE FROM t WHERE id = 23", True, tmp_path)
    _write_or_be_refused(shared, "INSERT INTO t VALUES (5, 5)", True, tmp_path)
    shared.run("REORG TABLE {t} APPLY (PURGE)")
    _write_or_be_refused(shared, "DELETE FROM t WHERE id = 3", True, tmp_path)
    assert_equal_everywhere(shared)


def test_a_multi_table_update_touches_nothing_when_one_table_refuses(spark: SparkSession, tmp_path: Path) -> None:
    plain, guarded = Shared(spark, tmp_path / "plain"), Shared(spark, tmp_path / "guarded")
    plain.run("CREATE TABLE {t} (id BIGINT) USING delta")
    guarded.run("CREATE TABLE {t} (id BIGINT) USING delta", "ALTER TABLE {t} ADD CONSTRAINT pos CHECK (id > 0)")
    tables = {"plain": plain.ours(name="plain"), "guarded": guarded.ours(name="guarded")}
    logs = plain.log_files(), guarded.log_files()
    rows = pa.table({"id": pa.array([-1], pa.int64())})
    with pytest.raises(TableError, match="checkConstraints"):
        update(tables, {n: Change(inserts=rows) for n in tables}, intents_folder=tmp_path / "intents")
    assert (plain.log_files(), guarded.log_files()) == logs
    assert bag(plain.connector()) == Counter()


# --- written by us, read by the connector


def every_type(first: int, count: int) -> pa.Table:
    """Rows of every basic type, with NULLs, NaN, infinities and the values that lose digits easily."""
    numbers = list(range(first, first + count))
    day, moment = dt.date(1999, 12, 31), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)
    doubles = [float("nan"), float("inf"), -0.5, None]
    columns: dict[str, pa.Array] = {
        "id": pa.array(numbers, pa.int64()),
        "i8": pa.array([n % 100 - 50 for n in numbers], pa.int8()),
        "i16": pa.array([n * -7 for n in numbers], pa.int16()),
        "i32": pa.array([None if n % 5 == 0 else n * 1000 for n in numbers], pa.int32()),
        "f32": pa.array([n / 2 for n in numbers], pa.float32()),
        "f64": pa.array([doubles[n % 4] for n in numbers], pa.float64()),
        "flag": pa.array([None if n % 3 == 0 else n % 2 == 0 for n in numbers], pa.bool_()),
        "text": pa.array([["", "ü'\"\\\n", "x" * 50, None][n % 4] for n in numbers], pa.string()),
        "raw": pa.array([bytes([n % 256, 0, 255]) for n in numbers], pa.binary()),
        "money": pa.array([Decimal(n) / 100 for n in numbers], pa.decimal128(12, 2)),
        "wide": pa.array([Decimal("12345678901234567890.123456789") + n for n in numbers], pa.decimal128(38, 9)),
        "day": pa.array([day + dt.timedelta(n) for n in numbers], pa.date32()),
        "at": pa.array([moment + dt.timedelta(days=n, microseconds=n) for n in numbers], pa.timestamp("us", "UTC")),
        "list": pa.array([[n, None] if n % 2 else [] for n in numbers], pa.list_(pa.int32())),
        "pair": pa.array([{"a": n, "b": str(n)} for n in numbers], pa.struct([("a", pa.int32()), ("b", pa.string())])),
        "map": pa.array([[("k", n)] for n in numbers], pa.map_(pa.string(), pa.int64())),
    }
    return pa.table(columns)


def values_of(rows: pa.Table) -> Bag:
    """The rows as they were given, in the form that `bag` gives them."""
    from pyspark.sql import Row

    def spark_value(name: str, value: Any) -> Any:
        match name, value:
            case _, None:
                return None
            case "at", _:
                return value.astimezone().replace(tzinfo=None)
            case "pair", _:
                return Row(**value)
            case "map", _:
                return dict(value)
            case _:
                return value

    return Counter(repr(tuple(spark_value(n, v) for n, v in row.items())) for row in rows.to_pylist())


@pytest.fixture(scope="module")
def made_here(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """A table of every basic type that we created, updated eleven times and compacted; it has our checkpoint."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "_CHECKPOINT_EVERY", 10)
        yield make_here(spark, tmp_path_factory)


def make_here(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    shared = Shared(spark, tmp_path_factory.mktemp("made") / "types")
    table = create_table(spark, shared.path, every_type(0, 40), name="t", key=["id"])
    tables, intents = {"t": table}, shared.path.parent / "intents"
    for n in range(6):
        update(tables, {"t": Change(inserts=every_type(100 + 10 * n, 3))}, intents_folder=intents)
    update(tables, {"t": Change(deletes=pa.table({"id": [0, 7, 111]}))}, intents_folder=intents)
    update(tables, "UPDATE t SET text = 'new', i32 = NULL, day = DATE'2024-02-29' WHERE id < 5", intents_folder=intents)
    update(tables, "DELETE FROM t WHERE f64 IS NULL AND id > 20", intents_folder=intents)
    assert table.compact() > 1
    update(tables, "INSERT INTO t (id, money) VALUES (1000, 0.01)", intents_folder=intents)
    return shared


def test_connector_reads_every_basic_type_as_it_was_given(made_here: Shared) -> None:
    assert bag(made_here.connector(0)) == values_of(every_type(0, 40))


def test_connector_reads_every_version_that_we_made(made_here: Shared) -> None:
    assert made_here.ours().version == 11
    assert_equal_everywhere(made_here, (0, 1, 6, 7, 8, 9, 10, 11))


def test_connector_reads_our_checkpoint_without_the_log_before_it(made_here: Shared, tmp_path: Path) -> None:
    """A copy at another path, so that nothing cached answers."""
    copy = Shared(made_here.spark, tmp_path / "copy")
    shutil.copytree(made_here.path, copy.path)
    assert (copy.path / "_delta_log" / f"{10:020}.checkpoint.parquet").exists()
    for version in range(10):
        (copy.path / "_delta_log" / f"{version:020}.json").unlink()
    assert bag(copy.connector()) == bag(made_here.ours().snapshot())


def test_connector_skips_no_row_by_our_statistics(made_here: Shared) -> None:
    everything = made_here.ours().snapshot()
    for predicate in (
        "id = 17",
        "i8 < -40",
        "i16 = -700",
        "i32 IS NULL",
        "f32 >= 19.5",
        "f64 > 1e300",
        "isnan(f64)",
        "text = ''",
        "text > 'w'",
        "money = 0.01",
        "wide > 12345678901234567900",
        "day = DATE'2024-02-29'",
        "at >= TIMESTAMP'2000-01-01 00:00:00'",
        "at = TIMESTAMP'1970-01-01 23:59:59.000000'",
        "at = TIMESTAMP'1970-01-01 23:59:59.999999' + INTERVAL '0.000001' SECOND",
        "flag",
        "pair.a = 3",
    ):
        assert bag(made_here.connector().where(predicate)) == bag(everything.where(predicate)), predicate


def test_connector_merges_into_our_table_and_our_changes_see_it_exactly(made_here: Shared, tmp_path: Path) -> None:
    copy = Shared(made_here.spark, tmp_path / "merged")
    shutil.copytree(made_here.path, copy.path)
    first = copy.ours().version
    copy.run(
        "MERGE INTO {t} t USING (SELECT id FROM range(30, 45)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET text = 'merged', pair = NULL "
        "WHEN NOT MATCHED THEN INSERT (id, text) VALUES (s.id, 'inserted')",
        "DELETE FROM {t} WHERE id = 1000",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "DELETE FROM {t} WHERE id = 31",
    )
    table = copy.ours()
    assert table.version == first + 4
    assert_equal_everywhere(copy, range(first - 1, table.version + 1))


def test_connector_reads_our_partitions_of_every_type(spark: SparkSession, tmp_path: Path) -> None:
    columns = ["text", "day", "i32", "flag", "money", "at"]
    rows = every_type(0, 8)
    text = ["a b", "x=y/z%20", "ü'\"", None] * 2
    rows = rows.set_column(rows.column_names.index("text"), "text", pa.array(text)).select(["id", "f32", *columns])
    shared = Shared(spark, tmp_path / "t")
    table = create_table(spark, shared.path, rows, name="t", key=["id"], partition_by=columns)
    update({"t": table}, "DELETE FROM t WHERE id = 3", intents_folder=tmp_path / "intents")
    assert bag(shared.connector(0)) == values_of(rows)
    shared.run("UPDATE {t} SET f32 = 99 WHERE id IN (1, 5)")
    assert_equal_everywhere(shared)


def test_connector_reads_a_multi_table_update(spark: SparkSession, tmp_path: Path) -> None:
    shares = {n: Shared(spark, tmp_path / n) for n in ("a", "b")}
    tables = {n: create_table(spark, s.path, every_type(0, 5), name=n, key=["id"]) for n, s in shares.items()}
    what = {"a": Change(inserts=every_type(50, 2)), "b": Change(deletes=pa.table({"id": [1, 2]}))}
    assert update(tables, what, intents_folder=tmp_path / "intents") == {"a": 1, "b": 1}
    assert bag(shares["a"].connector()) == values_of(pa.concat_tables([every_type(0, 5), every_type(50, 2)]))
    assert bag(shares["b"].connector()) == values_of(pa.concat_tables([every_type(0, 1), every_type(3, 2)]))


def test_connector_reads_our_table_after_vacuum(spark: SparkSession, tmp_path: Path) -> None:
    shared = Shared(spark, tmp_path / "t")
    table = create_table(spark, shared.path, every_type(0, 5), name="t", key=["id"])
    update({"t": table}, "DELETE FROM t WHERE id = 1", intents_folder=tmp_path / "intents")
    update({"t": table}, {"t": Change(inserts=every_type(7, 1))}, intents_folder=tmp_path / "intents")
    table.compact()
    assert table.vacuum(retention_hours=0)
    assert bag(shared.connector()) == values_of(
        pa.concat_tables([every_type(0, 1), every_type(2, 3), every_type(7, 1)])
    )
