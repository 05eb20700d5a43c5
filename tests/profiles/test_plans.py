"""What plans read and write: each line is an execution of a real Spark 4.2 log, and what a person knows it did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from profiles.eventlogs import Execution, read_event_logs
from profiles.plans import How, Read, Write, is_upkeep, local_path, reads_of, together, writes_of

LOGS = Path(__file__).parent / "eventlogs"
ODD = "/data/ord ers%20ü,x]"
"""A folder that exists to be hard to find in printed lists."""


@pytest.fixture(scope="module")
def executions() -> dict[str, Execution]:
    """By description; of the Hive log, whose descriptions repeat, by number too."""
    found = {e.description: e for log in ("parquet", "delta") for e in read_event_logs(LOGS / f"{log}.json")}
    return found | {f"hive {i}": e for i, e in enumerate(read_event_logs(LOGS / "hive.json"))}


def places(relations: tuple[Read, ...] | tuple[Write, ...]) -> list[str | None]:
    return [relation.path or relation.table for relation in relations]


@pytest.mark.parametrize(
    ("description", "path", "table", "how"),
    [
        ("write base", ODD, None, "overwrite"),
        ("write part", "/data/part", None, "overwrite"),
        ("derive overwrite", "/data/derived", None, "overwrite"),
        ("derive append", "/data/derived", None, "append"),
        ("insert into", "/warehouse/t", "default.t", "append"),
        ("insert overwrite", "/warehouse/t", "default.t", "overwrite"),
        ("ctas", "/warehouse/t2", "default.t2", "overwrite"),
        ("static part ow", "/warehouse/p", "default.p", "change"),
        ("dynamic part ow", "/warehouse/p", "default.p", "change"),
        ("dynamic conf but unpartitioned", "/data/derived", None, "overwrite"),
        ("dynamic option", "/data/dyn", None, "change"),
        ("delta append", "/data/del ta%20x", None, "append"),
        ("delta derive", "/data/dagg", None, "overwrite"),
        ("delta ow replaceWhere", "/data/dagg", None, "change"),
        ("delta ctas", None, "default.dtab", "overwrite"),
        ("delta insert", "/warehouse/dtab", "default.dtab", "append"),
        ("delta insert ow", "/warehouse/dtab", "default.dtab", "overwrite"),
        ("delta saveAsTable", None, "default.dtab2", "overwrite"),
        ("delta writeTo", "/warehouse/dtab2", "default.dtab2", "overwrite"),
        ("delta merge", "/warehouse/dtab2", "default.dtab2", "change"),
        ("delta delete", None, "default.dtab", "change"),
        ("delta update", "/warehouse/dtab", "default.dtab", "change"),
        ("hive 0", "/hive/h", "default.h", "append"),
        ("hive 1", "/hive/h", "default.h", "overwrite"),
        ("hive 2", "/hive/hp", "default.hp", "change"),
        ("hive 3", "/hive/hp2", "default.hp2", "overwrite"),
        ("hive 6", "/hive/pq", "default.pq", "overwrite"),
    ],
)
def test_what_is_written_and_how(
    executions: dict[str, Execution], description: str, path: str | None, table: str | None, how: How
) -> None:
    assert executions[description].writes == (Write(path, table, how),)


@pytest.mark.parametrize(
    ("description", "filters"),
    [
        ("read filter", {ODD: ("k > 10", "s = s, [x]")}),
        ("read partfilter", {"/data/part": ("k < 5", "isnotnull(s)", "g = 3")}),
        ("derive overwrite", {ODD: ()}),
        ("derive append", {ODD: ("g = 1",)}),
        ("ctas", {"/warehouse/t": ()}),
        ("cached 2", {ODD: ("g = 2",)}),
        ("dpp", {"/data/part": ("isnotnull(g)",), "/warehouse/t2": ("c < 50", "isnotnull(g)")}),
        ("v2 read", {ODD: ("k > 10", "s = x")}),
        ("delta read", {"/data/del ta%20x": ("k > 10",)}),
        ("delta ow replaceWhere", {"/data/dagg": ("g = 3",), "/data/del ta%20x": ("g = 3",)}),
        ("delta catalog read", {"/warehouse/dtab": ("k = 9",)}),
        ("hive 4", {"default.hp": ("p = 1",)}),
        ("hive 7", {"/hive/pq": ()}),
    ],
)
def test_what_is_read_and_with_which_filters(
    executions: dict[str, Execution], description: str, filters: dict[str, tuple[str, ...]]
) -> None:
    assert {read.path or read.table: read.filters for read in executions[description].reads} == filters


def test_subqueries_are_read_too(executions: dict[str, Execution]) -> None:
    assert places(executions["read table"].reads) == ["/warehouse/t", "/warehouse/t2", "/warehouse/t3"]


@pytest.mark.parametrize("description", ["delta optimize", "vacuum", "delta delete", "delta update"])
def test_who_only_tends_a_table_reads_nothing(executions: dict[str, Execution], description: str) -> None:
    assert executions[description].reads == ()


@pytest.mark.parametrize("description", ["delta optimize", "vacuum"])
def test_upkeep_writes_nothing_new(executions: dict[str, Execution], description: str) -> None:
    assert executions[description].writes == ()


def test_reading_a_file_of_a_folder_names_the_file(executions: dict[str, Execution]) -> None:
    (read,) = executions["read multi"].reads
    assert read.path is not None
    assert read.path.startswith(f"{ODD}/part-00000-")


def node(name: str, text: str = "", *children: dict[str, Any], **metadata: str) -> dict[str, Any]:
    return {"nodeName": name, "simpleString": text, "children": list(children), "metadata": metadata}


@pytest.mark.parametrize(
    ("location", "paths"),
    [
        ("InMemoryFileIndex(1 paths)[file:/a, b]", ["/a, b"]),
        ("InMemoryFileIndex(2 paths)[file:/a, s3a://b/c]", ["/a", "s3a://b/c"]),
        ("InMemoryFileIndex(7 paths)[file:/a, file:/b, ...]", ["/a", "/b"]),
        ("InMemoryFileIndex[file:/a]", ["/a"]),
        ("PreparedDeltaFileIndex(1 paths)[hdfs://n:8020/w/t]", ["hdfs://n:8020/w/t"]),
        ("TahoeLogFileIndex(1 paths)[file:/w/t/_delta_log]", ["/w/t/_delta_log"]),
        ("InMemoryFileIndex(0 paths)[]", []),
        ("something else", []),
    ],
)
def test_locations(location: str, paths: list[str]) -> None:
    found = [read.path for read in reads_of(node("Scan parquet ", Location=location))]
    assert found == [path for path in paths if "_delta_log" not in path]


@pytest.mark.parametrize(
    ("printed", "filters"),
    [
        ("[]", ()),
        ("[isnotnull(a#1), (a#1 > 3)]", ("a > 3",)),
        ("[isnotnull(a#1L)]", ("isnotnull(a)",)),
        ("[IsNotNull(a), EqualTo(a,3)]", ("EqualTo(a,3)",)),
        ("[isnotnull(ab#1), (a#2 = 1)]", ("isnotnull(ab)", "a = 1")),
        ("[a#1 IN (1,2), (b#2 = x)]", ("a IN (1,2)", "b = x")),
        ("[(a#1 = 1), (a#1 = 1)]", ("a = 1",)),
        ("[(s#1 = (), (k#2 = 1)]", ("(s = (), (k = 1)",)),
        ("[(a#1 = 1), dynamicpruningexpression(a#1 IN dynamicpruning#7)]", ("a = 1",)),
    ],
)
def test_filters(printed: str, filters: tuple[str, ...]) -> None:
    scan = node("Scan parquet ", Location="InMemoryFileIndex(1 paths)[file:/t]", DataFilters=printed)
    assert [read.filters for read in reads_of(scan)] == [filters]


def test_a_table_is_named_without_quotes_and_without_the_catalog_of_every_session() -> None:
    scan = node("Scan parquet spark_catalog.sales.`orders`", Location="InMemoryFileIndex(1 paths)[file:/t]")
    assert [read.table for read in reads_of(scan)] == ["sales.orders"]
    assert [read.table for read in reads_of(node("BatchScan local.db.t"))] == ["local.db.t"]


def test_a_command_whose_text_was_cut_is_found_in_the_description() -> None:
    plan = node("Execute CreateDataSourceTableAsSelectCommand", "Execute CreateDataSourceTableAsSelectCommand")
    printed = "(2) CreateDataSourceTableAsSelectCommand\nArguments: `spark_catalog`.`db`.`t`, Overwrite, [a, b]\n"
    assert list(writes_of(plan, printed, dynamic=False)) == [Write(None, "db.t", "overwrite")]


@pytest.mark.parametrize(
    ("path", "mode", "written"),
    [
        ("/out/day=3", "Overwrite", Write("/out", None, "change")),
        ("/out/year=2026/day=3", "Append", Write("/out", None, "append")),
        ("/a=b/out", "Overwrite", Write("/a=b/out", None, "overwrite")),
        ("/a=b", "Overwrite", Write("/a=b", None, "overwrite")),
    ],
)
def test_who_names_the_folder_of_a_partition_changes_the_table(path: str, mode: str, written: Write) -> None:
    text = f"Execute InsertIntoHadoopFsRelationCommand file:{path}, false, Parquet, [path={path}], {mode}, [k]"
    assert list(writes_of(node("Execute InsertIntoHadoopFsRelationCommand", text), "", dynamic=False)) == [written]


def test_a_command_that_says_nothing_is_no_write() -> None:
    plan = node("Execute InsertIntoHiveTable", "Execute InsertIntoHiveTable")
    assert list(writes_of(plan, "", dynamic=False)) == []


def test_a_command_that_names_the_table_and_one_that_names_its_folder_are_one_write() -> None:
    named, placed = Write(None, "db.t", "overwrite"), Write("/w/t", None, "append")
    assert together([named, placed]) == (Write("/w/t", "db.t", "overwrite"),)
    assert together([placed]) == (placed,)
    other = Write("/w/u", "db.u", "append")
    assert together([named, other]) == (named, other)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("file:/a/b", "/a/b"),
        ("file:///a/b/", "/a/b"),
        ("/a/b", "/a/b"),
        ("file:/", "/"),
        ("hdfs://n/a", "hdfs://n/a"),
        ("file:relative", "file:relative"),
    ],
)
def test_local_paths_lose_their_scheme(path: str, shown: str) -> None:
    assert local_path(path) == shown


def test_upkeep_by_name() -> None:
    assert is_upkeep(node("Execute VacuumTableCommand"))
    assert not is_upkeep(node("Execute MergeIntoCommand"))
