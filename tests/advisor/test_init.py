"""`advisor init`: what it drafts from the folders and logs of strangers, and that the draft works as it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from advisor.cli import main
from advisor.drafting import Draft, draft
from profiles.eventlogs import Execution, read_event_logs
from profiles.plans import Read, Write
from profiles.workload import Workload, load

LOG = Path(__file__).parents[1] / "profiles" / "eventlogs" / "sql.json"


AWKWARD = ("a: b", "#c", "- d", "e'f\"g", "[h]", "{i}", "j\u2028k", "\u0085l", "m\ufeffn", "%o", "@p", "`q`", "!r",
           "&s", "*t", " u ", "🙂", "\\v", "C:\\w")  # fmt: skip


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, arguments)))
    printed = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, printed.out, printed.err


def parquet(path: Path, **columns: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def shop(folder: Path) -> Path:
    """Orders that changed twice, and customers."""
    data = folder / "data"
    parquet(data / "customers" / "part-0.parquet", customer_id=list(range(50)), name=[f"n{i % 9}" for i in range(50)])
    ids = list(range(200))
    write_deltalake(
        data / "orders",
        pa.table(
            {
                "order_id": ids,
                "customer_id": [i % 50 for i in ids],
                "price": [1.5] * 200,
                "day": [date(2026, 1, 1)] * 200,
            }
        ),
    )
    DeltaTable(data / "orders").delete("order_id = 7")
    write_deltalake(data / "orders", pa.table({"order_id": [900], "customer_id": [3], "price": [9.0],
                                               "day": [date(2026, 1, 2)]}), mode="append")  # fmt: skip
    return data


def strange(folder: Path) -> Path:
    """What no example shows: every name and every layout is one that somebody has."""
    data = folder / "my data"
    parquet(data / "sales 2026" / "a.parquet", **{"order id": [1, 2], "it's": ["a", "b"], 'weird "x", {y}: #z': [1, 2]})
    parquet(
        data / "größe'n" / "日本" / "a.parquet",
        id=[1, 2, 3],
        **{"日付": ["x", "y", "z"], "a.b": [1, 2, 3], "no": [1, 1, 1]},
    )
    parquet(data / "select" / "a.parquet", null=[1, 2], true=[3, 4], **{"2024": [5, 6], "<<": [1, 2], "~": [1, 2]})
    for day, region in (("2026-01-01", "north & south"), ("2026-01-02", "__HIVE_DEFAULT_PARTITION__")):
        parquet(
            data / "by day" / f"day={day}" / f"region={region.replace(' ', '%20')}" / "a.parquet",
            id=[1, 2],
            v=[1.0, 2.0],
        )
    write_deltalake(data / "deep" / "er" / "lake: house", pa.table({"k": [1, 2], "p": ["a", "b"]}), partition_by=["p"])
    write_deltalake(data / "null", pa.table({"k": pa.array([], pa.int64())}))
    pairs = pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64()))
    parquet(data / "types" / "a.parquet", ns=pa.array([1, 2], pa.timestamp("ns")), u=pa.array([1, 2], pa.uint64()),
            half=pa.array([1.0, 2.0], pa.float16()), s=[{"a b": 1}, {"a b": 2}], m=pairs,
            none=pa.nulls(2), big=pa.array([1, 2], pa.decimal128(38, 3)), raw=[b"\x00", b"\xff"])  # fmt: skip
    parquet(data / "times" / "a.parquet", t=pa.array([1], pa.time64("us")))
    parquet(data / "Sales 2026" / "a.parquet", k=[1])
    parquet(data / "mixed" / "left.parquet", k=[1, 2])
    parquet(data / "mixed" / "right.parquet", z=["a", "b"])
    parquet(data / "_temporary" / "a.parquet", k=[1])
    parquet(data / "zero" / "a.parquet", k=pa.array([], pa.int64()))
    (data / "empty folder").mkdir()
    (data / "torn").mkdir()
    (data / "torn" / "a.parquet").write_bytes(b"PAR1")
    (data / "prices, old.csv").write_text("a,b\n1,2\n")
    (data / "notes.txt").write_text("hello")
    return data


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def usable(capsys: pytest.CaptureFixture[str], file: Path) -> Workload:
    """The workload, after check and recommend have taken it as it is."""
    code, _, err = call(capsys, "check", file)
    assert (code, err) == (0, "")
    code, out, _ = call(capsys, "recommend", file, "--sample-rows", 0)
    assert code == 0, out
    return load(file)


def uncommented_example(text: str) -> str:
    """The draft with its example view in the place of `views: {}`."""
    before, example = text.split("views: {}\n")
    lines = example[example.index("# views:") :].splitlines()
    return before + "\n".join(line.removeprefix("# ") for line in lines) + "\n"


def test_a_shop_is_drafted_with_its_keys_and_passes_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "init", "data")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "customers: Parquet folder, 50 rows, key customer_id",
        "orders: Delta table, 200 rows, key order_id, 2 updates in its log",
        "workload.yaml written: 2 tables, no view",
        "next: read it and correct it, then advisor check workload.yaml · advisor recommend workload.yaml",
    ]
    workload = usable(capsys, tmp_path / "workload.yaml")
    assert workload.tables["orders"].path == "data/orders"
    assert workload.tables["orders"].key == ("order_id",)
    assert workload.tables["orders"].foreign_keys == {"customer_id": "customers.customer_id"}
    assert workload.tables["customers"].key == ("customer_id",)
    assert workload.tables["orders"].updates is None


def test_what_is_guessed_is_a_comment_that_says_so(tmp_path: Path) -> None:
    text = draft([shop(tmp_path)], None, tmp_path / "w.yaml").text
    comments = " ".join(line.strip().removeprefix("#").strip() for line in text.splitlines() if line.strip()[:1] == "#")
    assert "updates: {per_day: 2, rows: 1} (from 2 updates in its Delta log" in " ".join(comments.split())
    assert "less than a day: a guess" in comments
    assert "(nothing tells: declare what you expect)" in comments
    assert "columns: order_id bigint, customer_id bigint, price double, day date" in comments
    assert "in at most 1,000,000 rows of a table" in comments


def test_the_example_view_works_once_its_comment_marks_are_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(uncommented_example(draft([shop(tmp_path)], None, file).text), encoding="utf-8")
    assert usable(capsys, file).sql == {
        "count_of_orders": "SELECT customer_id, COUNT(*) AS how_many FROM orders GROUP BY customer_id\n"
    }


def test_a_stranger_s_folder_is_drafted_and_passes_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = strange(tmp_path)
    before = files(data)
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "init", data)
    assert (code, err) == (0, "")
    assert files(data) == before
    workload = usable(capsys, tmp_path / "workload.yaml")
    assert set(workload.tables) == {"Sales_2026", "sales_2026_2", "table", "select", "by_day", "lake_house", "null",
                                    "types", "left", "right", "zero"}  # fmt: skip
    assert workload.tables["table"].path == "my data/größe'n/日本"
    assert workload.tables["table"].key == ("id",)
    assert workload.tables["by_day"].columns == {"id": "bigint", "v": "double", "day": "date", "region": "string"}
    assert f"{data / 'torn' / 'a.parquet'} is not a readable Parquet file." in out
    assert f"{data / 'times'} is left out: column t: type time64[us] has no counterpart in Delta." in out
    text = (tmp_path / "workload.yaml").read_text(encoding="utf-8")
    assert '# prices, old: {path: "my data/prices, old.csv"}' in text
    assert files(data) == before


def test_every_table_of_a_stranger_s_folder_can_be_read_by_a_view(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = strange(tmp_path)
    for folder in ("sales 2026", "größe'n", "select", "by day", "deep", "types", "null"):
        file = tmp_path / f"{folder}.yaml"
        file.write_text(uncommented_example(draft([data / folder], None, file).text), encoding="utf-8")
        assert len(usable(capsys, file).views) == 1


def test_the_text_is_plain_to_any_yaml_reader_whatever_the_names(tmp_path: Path) -> None:
    for i, name in enumerate(AWKWARD):
        parquet(tmp_path / "data" / f"t{i}" / "a.parquet", **{name: [1, 2], "id": [1, 2]})
        if name.isprintable():
            parquet(tmp_path / "data" / name / "a.parquet", id=[1, 2])
    file = tmp_path / "w.yaml"
    drafted = draft([tmp_path / "data"], None, file)
    file.write_text(drafted.text, encoding="utf-8")
    workload = load(file)
    found = {path for name in workload.tables if (path := workload.path_of(name)) is not None}
    assert found == {table.found.path for table in drafted.tables}
    assert len(found) == len(list((tmp_path / "data").iterdir()))
    assert all(path.is_dir() for path in found)


def test_a_key_that_holds_in_a_part_of_the_rows_is_a_comment(tmp_path: Path) -> None:
    drafted = draft([shop(tmp_path)], None, tmp_path / "w.yaml", budget=60)
    assert "# key: [order_id]   (a guess: holds on the first 60 rows, the others were not read)" in drafted.text
    assert "\n    key: [customer_id]" in drafted.text
    assert "# foreign_keys: {customer_id: customers.customer_id}   (a guess: " in drafted.text
    assert "\n    foreign_keys:" not in drafted.text


def test_a_key_that_may_hold_by_chance_is_a_comment(tmp_path: Path) -> None:
    parquet(tmp_path / "data" / "t" / "a.parquet", size=[3, 4, 5])
    text = draft([tmp_path / "data"], None, tmp_path / "w.yaml").text
    assert "# key: [size]   (holds on all 3 rows, perhaps by chance)" in text
    assert "\n    key:" not in text


def test_the_draft_is_the_same_each_time(tmp_path: Path) -> None:
    data = strange(tmp_path)
    first = draft([data], None, tmp_path / "w.yaml").text
    assert draft([data], None, tmp_path / "w.yaml").text == first


def test_paths_outside_the_workload_s_folder_are_written_in_full(tmp_path: Path) -> None:
    data = shop(tmp_path)
    (tmp_path / "conf").mkdir()
    assert f"path: {data}/orders\n" in draft([data], None, tmp_path / "conf" / "w.yaml").text


def test_a_table_right_here_is_the_folder_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop(tmp_path) / "customers")
    assert call(capsys, "init", ".")[0] == 2
    code, _, _ = call(capsys, "init", ".", "-o", "../../w.yaml")
    assert code == 0
    assert list(usable(capsys, tmp_path / "w.yaml").tables) == ["customers"]


def from_log(folder: Path, *, days: float = 0) -> Draft:
    """A draft of the tables that the real log was made with; `days` later something else was read."""
    data = folder / "data"
    parquet(data / "customers" / "a.parquet", customer_id=list(range(50)), name=[f"name {i}" for i in range(50)])
    ids = list(range(200))
    parquet(data / "orders" / "a.parquet", order_id=ids, customer_id=[i % 50 for i in ids], price=[1.5] * 200,
            day=[date(2026, 1, 1)] * 200)  # fmt: skip
    parquet(data / "daily" / "a.parquet", day=[date(2026, 1, 1)], total=[300.0])
    moved = folder / "log.json"
    moved.write_text(LOG.read_text(encoding="utf-8").replace("/data/", f"{data}/"), encoding="utf-8")
    executions = read_event_logs(moved)
    if days:
        later = Execution("x", "count", executions[0].started + days * 86_400, 0.0, (Read("/e", None),), (), True)
        executions = (*executions, later)
    return draft([data], executions, folder / "w.yaml")


def test_sql_in_event_logs_becomes_views_that_pass_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drafted = from_log(tmp_path)
    file = tmp_path / "w.yaml"
    file.write_text(drafted.text, encoding="utf-8")
    workload = usable(capsys, file)
    assert drafted.views == tuple(workload.views) == ("daily", "big", "query_1", "query_2")
    assert set(workload.tables) == {"customers", "orders"}
    assert " ".join(workload.sql["daily"].split()) == "SELECT day, SUM(price) AS total FROM orders GROUP BY day"
    assert "# rebuilt 3 times a day, now stored in" in drafted.text


def test_rates_of_less_than_a_day_are_guesses_and_those_of_days_are_declared(tmp_path: Path) -> None:
    short = from_log(tmp_path)
    assert "    # queries: {per_day: 1}" in short.text
    assert "a guess: the logs span less than a day" in short.text
    file = tmp_path / "w.yaml"
    file.write_text(from_log(tmp_path, days=2).text, encoding="utf-8")
    views = load(file).views
    queries, today = views["daily"].queries, views["daily"].today
    assert queries is not None
    assert today is not None
    assert queries.per_day == pytest.approx(0.5, rel=0.01)
    assert (today.strategy, today.algorithm) == ("deferred", "recompute")
    assert today.seconds == pytest.approx((1.135 + 0.372 + 0.326) / 2, rel=0.01)
    asked = views["query_1"].today
    assert asked is not None
    assert (asked.strategy, asked.algorithm) == ("query_modification", None)
    assert views["big"].queries is views["big"].today is None


def run(folder: Path, text: str, *reads: str, write: str | None = None, hour: float = 0) -> Execution:
    writes = () if write is None else (Write(str(folder / "data" / write), None, "overwrite"),)
    read = tuple(Read(str(folder / "data" / path), None) for path in reads)
    return Execution("app", text, hour * 3600, 60.0, read, writes, True)


def test_a_view_that_cannot_be_used_is_a_comment_with_the_reason_and_its_folder_stays_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = shop(tmp_path)
    parquet(data / "daily" / "a.parquet", n=[1])
    executions = [
        run(tmp_path, "INSERT OVERWRITE daily SELECT no_such_column AS n FROM orders", "orders", write="daily", hour=h)
        for h in (0, 1)
    ]
    executions += [run(tmp_path, "SELECT 1 AS one FROM a JOIN b", "orders", "customers", hour=h) for h in (2, 3)]
    file = tmp_path / "w.yaml"
    drafted = draft([data], executions, file)
    file.write_text(drafted.text, encoding="utf-8")
    assert drafted.views == ()
    assert set(usable(capsys, file).tables) == {"orders", "customers", "daily"}
    assert "# seen too, but not usable as it stands: it reads a, b, not found here" in drafted.text
    assert re.search(r"# seen too, but not usable as it stands: .*no_such_column", drafted.text)
    assert re.search(r"\n  # +no_such_column AS n\n", drafted.text)


def test_a_view_over_a_view_is_a_view(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shop(tmp_path)
    executions = [
        run(tmp_path, "CREATE TABLE top AS SELECT MAX(n) AS m FROM per_customer", "per_customer", write="top"),
        run(tmp_path, "CREATE TABLE per_customer AS SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id",
            "orders", write="per_customer", hour=1),
    ]  # fmt: skip
    file = tmp_path / "w.yaml"
    file.write_text(draft([data], executions, file).text, encoding="utf-8")
    assert set(usable(capsys, file).views) == {"top", "per_customer"}


def test_a_view_that_reads_itself_is_a_comment(tmp_path: Path) -> None:
    executions = [
        run(tmp_path, "INSERT OVERWRITE orders SELECT * FROM orders WHERE price > 1", "orders", write="orders")
    ]
    drafted = draft([shop(tmp_path)], executions, tmp_path / "w.yaml")
    assert drafted.views == ()
    assert "orders" in {table.name for table in drafted.tables}


def test_a_table_that_is_rebuilt_by_an_unknown_query_says_so(tmp_path: Path) -> None:
    data = shop(tmp_path)
    parquet(data / "daily" / "a.parquet", day=["x"], total=[1.0])
    executions = [run(tmp_path, "parquet at Job.scala:9", "orders", write="daily", hour=h) for h in range(3)]
    executions.append(run(tmp_path, "collect at Job.scala:11", "daily", hour=4))
    text = " ".join(draft([data], executions, tmp_path / "w.yaml").text.replace("#", " ").split())
    assert f"seen to be computed from {data}/orders 3 times a day, which takes 3 m: more a view than a table." in text
    assert "read 1 a day by Spark" in text


def test_sql_that_yaml_cannot_hold_as_lines_is_quoted(tmp_path: Path) -> None:
    text = "SELECT 'a\u2028b' AS lines, customer_id FROM orders"
    executions = [run(tmp_path, text, "orders", hour=h) for h in (0, 1)]
    file = tmp_path / "w.yaml"
    file.write_text(draft([shop(tmp_path)], executions, file).text, encoding="utf-8")
    assert "'a\u2028b'" in load(file).sql["query_1"]


def test_stored_views_are_kept_where_nothing_lies(tmp_path: Path) -> None:
    shutil.move(shop(tmp_path), tmp_path / "warehouse")
    assert "\nwarehouse: ./warehouse_2 " in draft([tmp_path / "warehouse"], None, tmp_path / "w.yaml").text
    assert "\nwarehouse: ./warehouse_2 " in draft([tmp_path], None, tmp_path / "w.yaml").text
    (tmp_path / "x").mkdir()
    assert "\nwarehouse: ./warehouse " in draft([tmp_path], None, tmp_path / "x" / "w.yaml").text


def test_a_file_that_is_there_stays_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workload.yaml").write_text("mine")
    code, out, err = call(capsys, "init", "data")
    assert (code, out) == (2, "")
    assert err == "advisor: workload.yaml: is there already; name another with -o, or replace it with --force\n"
    assert (tmp_path / "workload.yaml").read_text() == "mine"
    assert call(capsys, "init", "data", "--force")[0] == 0
    assert set(usable(capsys, tmp_path / "workload.yaml").tables) == {"orders", "customers"}


def test_the_json_tells_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "w.yaml"
    code, out, err = call(capsys, "init", shop(tmp_path), "-o", file, "--json")
    answer = json.loads(out)
    assert (code, err, answer["file"], answer["views"], answer["left_out"]) == (0, "", str(file), [], [])
    assert answer["tables"]["orders"] == {
        "path": str(tmp_path / "data" / "orders"),
        "kind": "Delta table",
        "rows": 200,
        "columns": {"order_id": "bigint", "customer_id": "bigint", "price": "double", "day": "date"},
        "key": ["order_id"],
        "foreign_keys": {"customer_id": "customers.customer_id"},
    }


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "Missing argument 'PATH'"),
        (["{folder}/nowhere", "-o", "{folder}/w.yaml"], "{folder}/nowhere: no such file or folder; "),
        (["{folder}/empty", "-o", "{folder}/w.yaml"], "no table under {folder}/empty; "),
        (
            ["{folder}/data", "-o", "{folder}/none/w.yaml"],
            "{folder}/none/w.yaml: cannot be written: its folder does not",
        ),
        (["{folder}/data", "-o", "{folder}/data/orders/w.yaml"], "{folder}/data/orders/w.yaml: lies inside the table "),
        (["{folder}/data", "-o", "{folder}/empty"], "{folder}/empty: is there already; "),
        (["{folder}/data", "-o", "{folder}/empty", "--force"], "{folder}/empty: cannot be written: Is a directory; "),
        (
            ["{folder}/data", "-o", "{folder}/w.yaml", "--event-log", "{folder}/empty"],
            "{folder}/empty: holds no Spark event log",
        ),
        (["s3://bucket/x", "-o", "{folder}/w.yaml"], "s3://bucket/x: only local and mounted folders are supported; "),
    ],
)
def test_what_cannot_be_drafted_is_one_line_and_leaves_nothing(
    arguments: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop(tmp_path)
    (tmp_path / "empty").mkdir()
    before = files(tmp_path)
    code, _, err = call(capsys, "init", *(each.format(folder=tmp_path) for each in arguments))
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("advisor: " + problem.format(folder=tmp_path))
    assert files(tmp_path) == before


def test_an_empty_folder_beside_tables_is_no_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    code, _, _ = call(capsys, "init", shop(tmp_path), tmp_path / "empty", "-o", tmp_path / "w.yaml")
    assert code == 0
    usable(capsys, tmp_path / "w.yaml")


def test_a_folder_of_texts_alone_is_a_draft_without_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("x,y\n1,2\n")
    assert call(capsys, "init", tmp_path / "data", "-o", tmp_path / "w.yaml")[0] == 0
    assert usable(capsys, tmp_path / "w.yaml").tables == {}
    assert "# a: {path: data/a.csv}" in (tmp_path / "w.yaml").read_text()


def test_it_starts_no_engine(tmp_path: Path) -> None:
    shop(tmp_path)
    script = (
        "import sys; from advisor.cli import main\n"
        f"try: main(['init', 'data', '--event-log', {str(LOG)!r}])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "print({'pyspark', 'scipy', 'plotly'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
        encoding="utf-8", env={**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "set()"
