"""Event logs as Spark leaves them: whole, rolled, compressed, still written, cut off, and not logs at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from advisor.waste import derived_tables, find_waste
from profiles.eventlogs import Execution, read_event_logs
from profiles.plans import Read, Write
from profiles.queries import query_history
from views.errors import TableError, WorkloadError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGS = Path(__file__).parent / "eventlogs"
PLAIN = LOGS / "parquet.json"
SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"


def start(number: int, root: int | None = None, *, name: str = "a query", time: int = 1000, **more: Any) -> bytes:
    plan = {"nodeName": "Scan parquet ", "simpleString": "", "children": [],
            "metadata": {"Location": f"InMemoryFileIndex(1 paths)[file:/t{number}]"}}  # fmt: skip
    event = {"Event": SQL + "Start", "executionId": number, "rootExecutionId": number if root is None else root,
             "description": name, "physicalPlanDescription": "", "sparkPlanInfo": plan, "time": time,
             "modifiedConfigs": {}}  # fmt: skip
    return json.dumps(event | more, separators=(",", ":")).encode() + b"\n"


def end(number: int, time: int = 3000, error: str | None = "") -> bytes:
    event = {"Event": SQL + "End", "executionId": number, "time": time, "errorMessage": error}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def application(name: str) -> bytes:
    event = {"Event": "SparkListenerApplicationStart", "App Name": "x", "App ID": name, "Timestamp": 1}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def write(path: Path, *lines: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def test_an_execution_has_its_text_its_times_and_its_outcome() -> None:
    found = {e.description: e for e in read_event_logs(PLAIN)}
    read, failed = found["read filter"], found["failing"]
    assert (read.application, read.started, read.seconds) == ("local-1795028189931", 1795028223.407, 1.143)
    assert read.succeeded
    assert not failed.succeeded
    assert failed.seconds == 0.347


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_a_log_that_spark_compressed_says_the_same_as_the_plain_one(codec: str) -> None:
    assert read_event_logs(LOGS / f"parquet.{codec}") == read_event_logs(PLAIN)


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_a_compressed_log_may_be_made_of_many_blocks(codec: str, tmp_path: Path) -> None:
    block = (LOGS / f"parquet.{codec}").read_bytes()
    (tmp_path / f"app.{codec}").write_bytes(block * 3)
    assert read_event_logs(tmp_path) == read_event_logs(PLAIN)


def test_lzf_is_refused_with_the_codec_to_use(tmp_path: Path) -> None:
    write(tmp_path / "app.lzf", b"ZV")
    with pytest.raises(TableError, match=r"app\.lzf: is compressed with lzf, which cannot be read; .*codec=zstd"):
        read_event_logs(tmp_path)


def test_a_rolled_log_is_read_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    write(folder / "events_1_app-1", application("app-1"), start(0))
    write(folder / "events_2_app-1", end(0, 2000), start(1, time=2500))
    write(folder / "events_10_app-1", end(1, 9000))
    write(folder / "appstatus_app-1")
    assert [(e.application, e.seconds) for e in read_event_logs(tmp_path)] == [("app-1", 1.0), ("app-1", 6.5)]


def test_of_a_compacted_log_what_it_replaces_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app-1"
    write(folder / "events_1_app-1", start(0, name="gone"))
    write(folder / "events_2_app-1", start(7, name="compacted away"))
    write(folder / "events_2_app-1.compact", application("app-1"), start(1), end(1))
    write(folder / "events_3_app-1", start(2), end(2))
    assert [e.description for e in read_event_logs(tmp_path)] == ["a query", "a query"]


def test_every_log_below_a_folder_is_read_and_hidden_files_are_not(tmp_path: Path) -> None:
    write(tmp_path / "a" / "app-1", application("app-1"), start(0, time=5000), end(0))
    write(tmp_path / "b" / "app-2", application("app-2"), start(0, time=4000), end(0))
    write(tmp_path / "b" / ".app-2.crc", b"\x00crc")
    assert [e.application for e in read_event_logs(tmp_path)] == ["app-2", "app-1"]


def test_an_application_copied_twice_counts_once(tmp_path: Path) -> None:
    shutil.copy(PLAIN, tmp_path / "one")
    shutil.copy(PLAIN, tmp_path / "two")
    assert read_event_logs(tmp_path) == read_event_logs(PLAIN)


def test_what_spark_starts_for_an_execution_belongs_to_it(tmp_path: Path) -> None:
    write(tmp_path / "app", start(1, 0, time=1100), start(0, name="ctas"), end(1, 1200), end(0, 2000))
    (found,) = read_event_logs(tmp_path)
    assert (found.description, found.seconds) == ("ctas", 1.0)
    assert [read.path for read in found.reads] == ["/t1", "/t0"]


def test_a_log_without_root_executions_is_of_spark_before_3_4(tmp_path: Path) -> None:
    write(tmp_path / "app", start(0, rootExecutionId=None), end(0, error=None))
    (found,) = read_event_logs(tmp_path)
    assert found.succeeded


def test_the_session_decides_what_an_overwrite_replaces_and_the_query_decides_before_it(tmp_path: Path) -> None:
    text = "Execute InsertIntoHadoopFsRelationCommand file:/p, false, [g#1], Parquet, [path=/p], Overwrite, [g]"
    plan = {"nodeName": "Execute InsertIntoHadoopFsRelationCommand", "simpleString": text, "children": []}
    mode = "spark.sql.sources.partitionOverwriteMode"
    settings = {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {mode: "DYNAMIC"}}
    line = json.dumps(settings, separators=(",", ":")).encode() + b"\n"
    own = start(1, sparkPlanInfo=plan, modifiedConfigs={mode: "static"}, time=2000)
    write(tmp_path / "app", line, start(0, sparkPlanInfo=plan), own)
    assert [e.writes for e in read_event_logs(tmp_path)] == [
        (Write("/p", None, "change"),),
        (Write("/p", None, "overwrite"),),
    ]


def test_what_has_not_ended_did_not_succeed_and_took_nobody_knows_how_long(tmp_path: Path) -> None:
    write(tmp_path / "app.inprogress", start(0))
    (found,) = read_event_logs(tmp_path)
    assert (found.seconds, found.succeeded) == (None, False)


def test_a_clock_that_went_back_takes_no_time(tmp_path: Path) -> None:
    write(tmp_path / "app", start(0, time=5000), end(0, 4000))
    assert read_event_logs(tmp_path)[0].seconds == 0.0


def test_of_a_log_that_is_still_written_the_last_line_may_be_cut(tmp_path: Path) -> None:
    write(tmp_path / "app.inprogress", start(0), end(0), start(1)[:200])
    assert [e.seconds for e in read_event_logs(tmp_path)] == [2.0]


def test_of_a_finished_log_it_may_not(tmp_path: Path) -> None:
    write(tmp_path / "app", start(0), end(0), start(1)[:200])
    with pytest.raises(TableError, match=r"app:3: is not a line of a Spark event log; copy the log again"):
        read_event_logs(tmp_path)


def test_an_end_without_a_line_break_is_cut_too(tmp_path: Path) -> None:
    write(tmp_path / "app", start(0), end(0)[:-1])
    with pytest.raises(TableError, match="app:2: is not a line"):
        read_event_logs(tmp_path)


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.97])
def test_a_compressed_log_that_is_cut_says_so_unless_it_is_still_written(
    codec: str, part: float, tmp_path: Path
) -> None:
    whole = (LOGS / f"parquet.{codec}").read_bytes()
    cut = whole[: int(len(whole) * part)]
    write(tmp_path / "done" / f"app.{codec}", cut)
    with pytest.raises(TableError, match=rf"app\.{codec}:\d+: (cannot be read|is not a line)"):
        read_event_logs(tmp_path / "done")
    write(tmp_path / "live" / f"app.{codec}.inprogress", cut)
    known = read_event_logs(PLAIN)
    assert {e.started for e in read_event_logs(tmp_path / "live")} <= {e.started for e in known}


def test_of_a_rolled_log_only_the_newest_file_may_be_cut_and_only_while_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app"
    write(folder / "appstatus_app.inprogress")
    write(folder / "events_1_app", start(0), end(0))
    newest = write(folder / "events_2_app", start(1), end(1)[:50])
    assert [e.seconds for e in read_event_logs(tmp_path)] == [2.0, None]
    write(folder / "events_3_app", start(2), end(2))
    with pytest.raises(TableError, match=f"{newest.name}:2: is not a line"):
        read_event_logs(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"hello\n",
        b"\x00\xff\xfe binary\n",
        b"\n",
        b'{"Event":"' + SQL.encode() + b'Start","executionId":1}\n',
        b'{"Event":"' + SQL.encode() + b'End","executionId":[]}\n',
        b'{"Event":"' + SQL.encode() + b'Start",' + b"[" * 50_000 + b"}\n",
        start(0, sparkPlanInfo={}),
        start(0, sparkPlanInfo=[1]),
        start(0, time="soon"),
        start(0, modifiedConfigs=["a"]),
    ],
)
def test_what_is_no_event_is_told_with_its_line(content: bytes, tmp_path: Path) -> None:
    write(tmp_path / "app", application("a"), content)
    with pytest.raises(TableError, match=r"app:2: is not a line of a Spark event log"):
        read_event_logs(tmp_path)


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_what_only_claims_to_be_compressed_is_told(codec: str, tmp_path: Path) -> None:
    write(tmp_path / f"app.{codec}", start(0), end(0))
    with pytest.raises(TableError, match=rf"app\.{codec}:1: cannot be read"):
        read_event_logs(tmp_path)


def test_a_damaged_block_is_told(tmp_path: Path) -> None:
    whole = bytearray((LOGS / "parquet.lz4").read_bytes())
    whole[100:140] = bytes(40)
    write(tmp_path / "app.lz4", bytes(whole))
    with pytest.raises(TableError, match=r"app\.lz4:\d+: "):
        read_event_logs(tmp_path)


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_a_folder_without_logs_is_an_error_that_says_which_to_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(WorkloadError, match=rf"{name}: .*; name the folder of spark\.eventLog\.dir"):
        read_event_logs(tmp_path / name)


def test_unknown_events_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "app", b'{"Event":"SparkListenerNewsOf2030","x":1}\n', start(0), end(0), end(99))
    assert len(read_event_logs(tmp_path)) == 1


def test_a_line_may_be_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    write(tmp_path / "app", start(0, name="x" * 100_000), end(0))
    packed = pa.compress((tmp_path / "app").read_bytes(), "zstd", asbytes=True)
    (tmp_path / "app").unlink()
    write(tmp_path / "app.zstd", packed)
    assert len(read_event_logs(tmp_path)[0].description) == 100_000


@pytest.mark.engine("spark")
def test_spark_s_own_log_tells_who_read_and_who_rebuilt(
    spark: SparkSession, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, jobs: Callable[[], int]
) -> None:
    """A session at work, its log read while it is still written, and the waste in it."""
    orders, daily = tmp_path / "orders, 1 ü%20", tmp_path / "daily"
    spark.range(200).selectExpr("id AS k", "id % 7 AS day", "id * 2 AS price").write.parquet(str(orders))
    spark.read.parquet(str(orders)).createOrReplaceTempView("orders_of_this_test")
    for _ in range(3):
        totals = spark.sql("SELECT day, SUM(price) AS total FROM orders_of_this_test GROUP BY day")
        totals.write.mode("overwrite").parquet(str(daily))
    assert len(spark.read.parquet(str(daily)).where("day = 3").collect()) == 1
    spark.sql("CREATE TABLE mine_of_this_test USING parquet AS SELECT day FROM orders_of_this_test WHERE price > 9")
    try:
        assert spark.table("mine_of_this_test").where("day < 2").count() > 0
        before = jobs()
        executions = read_event_logs(tmp_path_factory.getbasetemp() / "events")
        assert jobs() == before

        def touching(place: Path) -> list[Execution]:
            return [e for e in executions if str(place) in {r.path for r in e.relations}]

        written = [write for e in touching(daily) for write in e.writes]
        assert written == [Write(str(daily), None, "overwrite")] * 3
        assert all(e.succeeded and e.seconds is not None for e in touching(orders))
        own = [e for e in executions if "default.mine_of_this_test" in {r.table for r in e.relations}]
        assert [[w.how for w in e.writes] for e in own] == [["overwrite"], []]
        assert own[1].reads[0].filters == ("day < 2",)

        history = query_history(executions, {"daily": [daily], "orders": [orders]})
        assert len(history["daily"].times) == 1
        assert history["daily"].filters == (("day = 3", 1.0),)
        assert len(history["orders"].times) == 4

        mine = touching(orders) + touching(daily)[-1:]
        (found,) = [t for t in derived_tables(mine) if t.table == str(daily)]
        assert (found.sources, found.how, len(found.rebuilds)) == ((str(orders),), "overwrite", 3)
        (waste,) = [w for w in find_waste(mine).wastes if w.table == str(daily)]
        assert waste.because == "rebuilt 3 times a day, read 1 time"
        assert waste.saved_seconds_per_day == pytest.approx(2 / 3 * (waste.seconds_per_day or 0))
        assert Read(str(daily), None, ("day = 3",)) in {read for e in executions for read in e.reads}
    finally:
        spark.sql("DROP TABLE mine_of_this_test")
