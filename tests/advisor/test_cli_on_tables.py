"""The commands that run views, as a person or a script meets them, on small tables and Sail."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from advisor.cli import main
from executors.runner import Runner

pytestmark = pytest.mark.engine("sail")

WORKLOAD = """\
name: shop
engine: sail
tables:
  orders: {path: data/orders, key: [k]}
  parts: {path: data/parts}
views:
  spent: {sql: "SELECT c, SUM(price) AS total FROM orders GROUP BY c", strategy: deferred, algorithm: recompute}
  count_all: {sql: "SELECT COUNT(*) AS n FROM orders", strategy: immediate, algorithm: recompute}
  cheap: {sql: "SELECT k, note FROM orders WHERE price < 3", strategy: query_modification}
  sizes: {sql: "SELECT DISTINCT size FROM parts", strategy: query_modification}
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A workload over a Delta table and a Parquet folder."""
    orders = {"k": [1, 2, 3], "c": [7, 7, None], "price": [1.5, 2.5, 8.0], "note": ["a, b", None, "ü"]}
    write_deltalake(tmp_path / "data" / "orders", pa.table(orders))
    (tmp_path / "data" / "parts").mkdir()
    pq.write_table(pa.table({"size": [1, 1, 2]}), tmp_path / "data" / "parts" / "part.parquet")
    (tmp_path / "w.yaml").write_text(WORKLOAD, encoding="utf-8")
    return tmp_path


@pytest.fixture
def advisor(shop: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> Command:
    """One command on the workload: its exit code, stdout and stderr."""

    def run(command: str, *arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([command, str(shop / "w.yaml"), *map(str, arguments)])
        printed = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, printed.out, printed.err

    return run


@pytest.fixture
def applied(advisor: Command) -> Command:
    assert advisor("apply")[0] == 0
    return advisor


def test_apply_says_what_it_builds_and_what_it_converts(advisor: Command, shop: Path) -> None:
    code, out, err = advisor("apply")
    assert code == 0
    costs, *lines = out.splitlines()
    assert costs.startswith("2 changes ")
    assert " · building takes " in costs
    assert [line.split(":")[0] for line in lines] == ["spent", "count_all", "cheap", "sizes"]
    assert lines[0].startswith("spent: full refresh, ")
    assert ", built in " in lines[0]
    assert lines[2] == "cheap: query modification"
    assert f"parts: the Parquet folder {shop / 'data' / 'parts'} is a Delta table now" in err
    code, out, _ = advisor("apply")
    assert (code, out.splitlines()[0]) == (0, "nothing to change")
    assert out.splitlines()[1].endswith(", up to date")


def test_apply_as_json_is_nothing_but_json(advisor: Command) -> None:
    code, out, err = advisor("apply", "--json")
    assert (code, err) == (0, "")
    views = json.loads(out)["views"]
    assert views["spent"]["strategy"] == "deferred"
    assert (views["spent"]["before"], views["spent"]["built"]["ran"]) == ("query_modification", "recompute")
    assert views["spent"]["expected"]["build_seconds"] > 0
    assert views["count_all"]["expected"]["payback_days"] > 0
    assert (views["cheap"]["strategy"], views["cheap"]["built"]) == ("query_modification", None)


def test_apply_builds_only_the_selected_views(advisor: Command, shop: Path) -> None:
    code, out, _ = advisor("apply", "--json", "--select", "s*", "--exclude", "sizes")
    assert (code, list(json.loads(out)["views"])) == (0, ["spent"])
    assert (shop / "warehouse" / "spent").exists()
    assert not (shop / "warehouse" / "count_all").exists()


def test_query_prints_a_table_csv_or_json(applied: Command) -> None:
    code, out, _ = applied("query", "cheap")
    assert code == 0
    assert out.splitlines()[0].split() == ["k", "note"]
    assert sorted(line.split(maxsplit=1) for line in out.splitlines()[1:]) == [["1", "a, b"], ["2", "NULL"]]
    code, out, err = applied("query", "cheap", "--format", "csv")
    assert (code, err) == (0, "")
    assert sorted(csv.reader(io.StringIO(out))) == [["1", "a, b"], ["2", ""], ["k", "note"]]
    for options in (["--format", "json"], ["--json"]):
        code, out, err = applied("query", "cheap", *options)
        assert (code, err) == (0, "")
        assert sorted(json.loads(out), key=lambda row: row["k"]) == [{"k": 1, "note": "a, b"}, {"k": 2, "note": None}]


def test_query_filters_and_limits(applied: Command) -> None:
    code, out, _ = applied("query", "spent", "--where", "total > 5", "--json")
    assert (code, json.loads(out)) == (0, [{"c": None, "total": 8.0}])
    code, out, _ = applied("query", "cheap", "--where", "k = 1", "--format", "csv")
    assert (code, out) == (0, 'k,note\n1,"a, b"\n')
    code, out, _ = applied("query", "cheap", "--limit", 1, "--json")
    assert (code, len(json.loads(out))) == (0, 1)
    code, out, _ = applied("query", "cheap", "--limit", 0, "--format", "csv")
    assert (code, out) == (0, "k,note\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["query", "cheep"], "there is no view 'cheep'; did you mean 'cheap'?"),
        (["query", "spent", "--where", "totl = 1"], "did you mean 'total'?"),
        (["query", "spent", "--where", "total ="], "the filter"),
        (["query", "spent", "--limit", "-1"], "--limit"),
        (["query", "spent", "--format", "xml"], "--format"),
        (["update"], "give either --sql, or a table with --insert or --delete"),
        (["update", "orders"], "give either --sql, or a table with --insert or --delete"),
        (["update", "--sql", "DROP TABLE orders"], "DROP"),
        (["update", "ordrs", "--delete", "gone.csv"], "gone.csv"),
        (["refresh", "spnt"], "there is no view 'spnt'; did you mean 'spent'?"),
        (["verify", "spnt"], "there is no view 'spnt'; did you mean 'spent'?"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(applied: Command, arguments: list[str], message: str) -> None:
    code, out, err = applied(*arguments)
    assert (code, out) == (2, "")
    (line,) = [line for line in err.splitlines() if line.startswith("advisor: ")]
    assert message in line
    assert "Traceback" not in err


def test_update_by_files_and_by_sql(applied: Command, shop: Path) -> None:
    (shop / "new.csv").write_text("k,c,price,note\n4,7,1.0,n\n", encoding="utf-8")
    (shop / "old.json").write_text('{"k": 3}\n', encoding="utf-8")
    code, out, _ = applied("update", "orders", "--insert", shop / "new.csv", "--delete", shop / "old.json")
    assert code == 0
    assert out.splitlines()[0] == "orders: version 1"
    assert out.splitlines()[1].startswith("count_all: recompute in ")
    assert out.splitlines()[1].endswith(", because orders changed")
    code, out, err = applied("update", "--sql", "UPDATE orders SET price = 2.0 WHERE k = 4", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["tables"] == {"orders": 2}
    assert answer["views"]["count_all"]["ran"] == "recompute"
    assert applied("update", "--sql", "DELETE FROM orders WHERE k = 99")[1] == "nothing changed\n"
    _, out, _ = applied("query", "spent", "--json")
    assert json.loads(out) == [{"c": 7, "total": 6.0}]


def test_refresh_brings_stored_views_up_to_date(applied: Command) -> None:
    applied("update", "--sql", "DELETE FROM orders WHERE k = 1")
    code, out, _ = applied("refresh")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("spent: recompute in ")
    assert lines[0].endswith(", because orders changed")
    assert lines[1] == "count_all: up to date"
    code, out, err = applied("refresh", "spent", "--json")
    assert (code, err, json.loads(out)["views"]["spent"]["ran"]) == (0, "", None)
    code, out, _ = applied("refresh", "--exclude", "spent", "--json")
    assert (code, list(json.loads(out)["views"])) == (0, ["count_all"])


def test_a_view_that_fails_keeps_no_other_from_its_refresh(applied: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    applied("update", "--sql", "DELETE FROM orders WHERE k = 1")
    original = Runner.build

    def build(self: Runner, view: str) -> None:
        if view == "spent":
            raise OSError(28, "No space left on device")
        original(self, view)

    monkeypatch.setattr(Runner, "build", build)
    (applied_version, *_) = applied("update", "--sql", "DELETE FROM orders WHERE k = 2")[1].splitlines()
    assert applied_version == "orders: version 2"
    code, out, err = applied("refresh")
    assert (code, out.splitlines()) == (3, ["spent: FAILED", "count_all: up to date"])
    assert "No space left on device" in err
    spent = json.loads(applied("status", "--json")[1])["views"]["spent"]
    assert "No space left on device" in spent["error"]["message"]
    assert "FAILED" in applied("status")[1]
    monkeypatch.undo()
    assert applied("refresh")[0] == 0
    assert json.loads(applied("status", "--json")[1])["views"]["spent"]["error"] is None


def test_verify_is_exit_code_1_when_a_view_differs(applied: Command, shop: Path) -> None:
    code, out, _ = applied("verify")
    assert (code, out) == (0, "spent: equal\ncount_all: equal\n")
    code, out, err = applied("verify", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"views": {"spent": {"equal": True}, "count_all": {"equal": True}}}
    write_deltalake(shop / "warehouse" / "spent", pa.table({"c": [5], "total": [5.0]}), mode="append")
    code, out, _ = applied("verify")
    assert code == 1
    assert out.splitlines()[0] == "spent: DIFFERS: 0 rows missing, 1 too many (unexpected: c = 5, total = 5.0)"
    code, out, err = applied("verify", "--json")
    found = json.loads(out)["views"]
    assert (code, err, found["spent"]["equal"], found["count_all"]["equal"]) == (1, "", False, True)
    assert applied("verify", "--select", "count_all")[0] == 0


def test_status_says_how_each_view_is_kept_and_what_it_has_not_seen(applied: Command) -> None:
    applied("update", "--sql", "DELETE FROM orders WHERE k = 1")
    code, out, err = applied("status")
    assert (code, err) == (0, "")
    states = {line.split()[0]: line for line in out.splitlines()}
    assert list(states) == ["view", "spent", "count_all", "cheap", "sizes"]
    assert "behind: orders" in states["spent"]
    assert "up to date" in states["count_all"]
    assert states["cheap"].endswith("virtual")
    code, out, err = applied("status", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["views"]
    assert (found["spent"]["pending"], found["spent"]["rows"]) == (["orders"], 2)
    assert (found["count_all"]["pending"], found["count_all"]["strategy"]) == ([], "immediate")


def test_nothing_is_stored_before_apply(advisor: Command, shop: Path) -> None:
    for command in ("refresh", "verify"):
        code, out, err = advisor(command)
        assert (code, out, err) == (3, "", "advisor: no view is stored; run advisor apply first\n")
    assert not (shop / "warehouse").exists()


def test_a_pipe_gets_nothing_but_the_answer(applied: Command, shop: Path) -> None:
    command = [sys.executable, "-m", "advisor.cli", "query", str(shop / "w.yaml"), "cheap", "--where", "k = 1"]
    done = subprocess.run([*command, "--format", "csv"], capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, 'k,note\n1,"a, b"\n', "")
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["k  note", "1  a, b"])
    assert "Sail" in done.stderr


def test_look_only_commands_write_nothing(advisor: Command, shop: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in shop.rglob("*")}
    for command in (["check"], ["explain", "spent"], ["check", "--json"]):
        assert advisor(*command)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in shop.rglob("*")} == before
    assert DeltaTable(shop / "data" / "orders").version() == 0
