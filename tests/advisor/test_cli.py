"""The command line as a person or a script meets it: one process each, exit codes, one line per error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from advisor.cli import main

WORKLOAD = """\
name: shop
tables:
  orders:
    rows: 100000
    row_bytes: 100
    columns: {k: bigint, c: int, price: double}
    key: [k]
    updates: {per_day: 96, rows: 2}
views:
  total: {sql: SELECT SUM(price) AS s FROM orders, queries: {per_day: 400}}
  lookup: {sql: "SELECT k, price FROM orders", queries: {per_day: 4000, filter: k = 7}}
price: {core_hour: 0.31}
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD, encoding="utf-8")
    return path


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "advisor.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, **options)  # type: ignore[call-overload,no-any-return]


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """The same without a process of its own."""
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, arguments)))
    printed = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, printed.out, printed.err


def test_recommend_prints_the_ranking_and_writes_the_proposal(workload: Path) -> None:
    done = run("recommend", workload)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("shop · 2 views over 1 table · priced for Spark on ")
    assert "shipped with the package; advisor calibrate measures yours" in lines[0]
    assert lines[1].startswith("1 change saves ")
    (total,) = [line for line in lines if line.startswith("  total  ")]
    assert "query modification → full refresh" in total
    assert "77 rebuilds a day" in total
    assert "1 unchanged (--all shows them)" in done.stdout
    assert "total turns to query modification above" in done.stdout
    assert "estimate is a default: part of total a query reads (all)" in done.stdout
    assert " EUR)" in done.stdout
    saved = json.loads((workload.parent / ".advisor" / "proposal.json").read_text(encoding="utf-8"))
    assert saved["schema_version"] == 2
    assert saved["views"]["total"]["strategy"] == "deferred"


def test_all_shows_unchanged_views(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, folded, _ = call(capsys, "recommend", workload)
    _, everything, _ = call(capsys, "recommend", workload, "--all")
    assert not any(line.startswith("  lookup") for line in folded.splitlines())
    assert any(line.startswith("  lookup") for line in everything.splitlines())


def test_json_has_the_keys_scripts_rely_on(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "recommend", workload, "--json")
    assert (code, err) == (0, "")
    for view in json.loads(out)["views"].values():
        assert {"strategy", "algorithm", "costs", "candidates", "confidence", "expected_regret", "reason"} <= set(view)
        assert set(view["costs"]) == {"query_modification", "immediate", "deferred"}
        assert view["costs"][view["strategy"]] == min(view["costs"].values())


def test_two_runs_write_the_same_bytes(workload: Path) -> None:
    saved = workload.parent / ".advisor" / "proposal.json"
    run("recommend", workload, env={**os.environ, "PYTHONHASHSEED": "1"})
    first = saved.read_bytes()
    run("recommend", workload, "--json", env={**os.environ, "PYTHONHASHSEED": "2"})
    assert saved.read_bytes() == first
    assert [path.name for path in saved.parent.iterdir()] == ["proposal.json"]


def test_recommend_on_declared_statistics_imports_no_engine(workload: Path) -> None:
    script = (
        "import sys; from advisor.cli import main\n"
        f"try: main(['recommend', {str(workload)!r}])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "print({'pyspark', 'pandas', 'scipy', 'plotly', 'pyarrow', 'deltalake'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.splitlines()[-1] == "set()"


def test_recommend_on_delta_tables_starts_no_spark(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", pa.table({"k": [1, 2]}))
    before = sorted(tmp_path.rglob("data/**/*"))
    (tmp_path / "w.yaml").write_text(
        "tables: {t: {path: data}}\nviews: {v: {sql: SELECT k FROM t}}\n", encoding="utf-8"
    )
    script = (
        "import sys; from advisor.cli import main\n"
        f"try: main(['recommend', {str(tmp_path / 'w.yaml')!r}])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "print({'pyspark', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.splitlines()[-1] == "set()"
    assert sorted(tmp_path.rglob("data/**/*")) == before


def test_help_imports_only_what_it_prints(workload: Path) -> None:
    script = (
        "import sys; from advisor.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "heavy = {'pyspark', 'sqlglot', 'pydantic', 'pyarrow', 'deltalake', 'ruamel.yaml', 'rich.console'}\n"
        "print(heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.splitlines()[-1] == "set()"
    assert "recommend" in done.stdout


def test_whatif_prints_the_paper_s_methods(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "whatif", "--model", 1, "--set", "P=0.5", "--set", "f=0.1", "--json")
    assert code == 0
    costs = json.loads(out)["costs"]
    assert set(costs) == {"deferred", "immediate", "clustered", "unclustered", "sequential"}
    assert costs["clustered"] == pytest.approx(1750)
    _, text, _ = call(capsys, "whatif", "--model", 2)
    assert "loopjoin" in text


def test_check_says_what_each_view_is(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "check", workload)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "total: incremental, reads orders",
        "lookup: incremental, reads orders",
        "shop: 1 table and 2 views are valid",
    ]
    assert not (workload.parent / ".advisor").exists()
    code, out, err = call(capsys, "check", workload, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["views"]["lookup"] == {
        "incremental": True,
        "reasons": [],
        "relations": ["orders"],
        "columns": ["k", "price"],
    }


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    number = call(capsys, "version")[1].strip()
    assert json.loads(call(capsys, "version", "--json")[1]) == {"version": number}


def test_no_command_is_a_question_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys)
    assert code == 0
    assert "Usage: advisor" in out


def broken_yaml(folder: Path) -> None:
    (folder / "workload.yaml").write_text("tables: {a: \n", encoding="utf-8")


def unknown_key(folder: Path) -> None:
    (folder / "workload.yaml").write_text(WORKLOAD.replace("queries", "quries"), encoding="utf-8")


def missing_file(folder: Path) -> None:
    (folder / "workload.yaml").unlink()


def truncated_parquet(folder: Path) -> None:
    pq.write_table(pa.table({"k": list(range(1000))}), folder / "data.parquet")
    (folder / "data.parquet").write_bytes((folder / "data.parquet").read_bytes()[:200])
    on_data(folder, "data.parquet")


def corrupt_log(folder: Path) -> None:
    write_deltalake(folder / "data", pa.table({"k": [1]}))
    (folder / "data" / "_delta_log" / f"{0:020}.json").write_text("{", encoding="utf-8")
    on_data(folder, "data")


def negative_number(folder: Path) -> None:
    (folder / "workload.yaml").write_text(WORKLOAD.replace("96", "-96"), encoding="utf-8")


def outside_path(folder: Path) -> None:
    text = WORKLOAD.replace("sql: SELECT SUM(price) AS s FROM orders", "sql_file: ../../etc/passwd")
    (folder / "workload.yaml").write_text(text, encoding="utf-8")


def second_statement(folder: Path) -> None:
    text = WORKLOAD.replace("SELECT k, price FROM orders", "SELECT k, price FROM orders; DROP TABLE orders")
    (folder / "workload.yaml").write_text(text, encoding="utf-8")


def on_data(folder: Path, path: str) -> None:
    text = f"tables: {{t: {{path: {path}}}}}\nviews: {{v: {{sql: SELECT k FROM t}}}}\n"
    (folder / "workload.yaml").write_text(text, encoding="utf-8")


BAD = {
    broken_yaml: ("WorkloadError", "not valid YAML"),
    unknown_key: ("WorkloadError", "unknown key 'quries' in views.total"),
    missing_file: ("WorkloadError", "no such file"),
    truncated_parquet: ("TableError", "not a readable Parquet file"),
    corrupt_log: ("TableError", "Delta log cannot be read"),
    negative_number: ("WorkloadError", "-96 is out of range"),
    outside_path: ("WorkloadError", "outside the workload's folder"),
    second_statement: ("ViewError", "2 statements"),
}


@pytest.mark.parametrize("damage", BAD, ids=lambda damage: damage.__name__)
def test_bad_input_is_one_line_and_exit_code_2(
    workload: Path, damage: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(damage)
    damage(workload.parent)
    kind, message = BAD[damage]
    code, out, err = call(capsys, "recommend", workload)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("advisor: ")
    assert message in err
    code, out, err = call(capsys, "recommend", workload, "--json")
    assert (code, out) == (2, "")
    error = json.loads(err)["error"]
    assert error["kind"] == kind
    assert message in error["message"]
    assert error["hint"]
    assert not (workload.parent / ".advisor").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reccommend", "w"], "No such command 'reccommend'"),
        (["recommend"], "give one workload file, or --from-logs with folders"),
        (["check"], "Missing argument 'WORKLOAD'"),
        (["recommend", "w", "--jsn"], "No such option: --jsn"),
        (["whatif", "--model", "7"], "Invalid value for '--model'"),
        (["whatif", "--model", "1", "--set", "P"], "--set 'P' is not SYMBOL=NUMBER"),
        (["whatif", "--model", "1", "--set", "P=high"], "--set 'P=high' is not SYMBOL=NUMBER"),
        (["whatif", "--model", "1", "--set", "P=.1", "--set", "P=.2"], "is set twice"),
        (["whatif", "--model", "1", "--set", "zz=1"], "no symbol 'zz'"),
        (["whatif", "--model", "1", "--set", "P=nan"], "outside its range"),
        (["whatif", "--model", "1", "--set", "f=-1"], "outside its range"),
        (["whatif", "--model", "1", "--set", "N=inf"], "outside its range"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_folder_that_cannot_be_written_is_exit_code_3(workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A file in the folder's place refuses everybody; mode bits would not stop root.
    (workload.parent / ".advisor").write_text("in the way")
    code, out, err = call(capsys, "recommend", workload)
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "proposal.json: cannot be written" in err


def test_debug_shows_the_stack(workload: Path) -> None:
    missing_file(workload.parent)
    for arguments in (["--debug", "recommend", workload], ["recommend", workload, "--debug"]):
        done = run(*arguments)
        assert "Traceback" in done.stderr
        assert "WorkloadError" in done.stderr
        assert done.returncode != 0


def test_a_reader_that_leaves_is_no_error(workload: Path) -> None:
    command = f"{sys.executable} -m advisor.cli recommend {workload} | head -c 0"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interruption_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(path: str) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("advisor.api.load", interrupted)
    assert call(capsys, "recommend", "w.yaml") == (130, "", "")


def test_an_ascii_terminal_is_served(workload: Path) -> None:
    done = run("recommend", workload, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")


def test_a_narrow_terminal_gets_a_block_per_view(workload: Path) -> None:
    from rich.console import Console

    from advisor.output import show
    from advisor.recommend import recommend
    from profiles.workload import load

    console = Console(width=60, force_terminal=True, color_system=None, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    show(recommend(load(workload)), console, everything=True)
    printed = console.export_text()
    assert max(map(len, printed.splitlines())) <= 60
    assert "  total\n    query modification → full refresh\n" in printed


def test_names_are_never_read_as_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = WORKLOAD.replace("filter: k = 7", "filter: \"k = '[red]'\"").replace("name: shop", "name: shop-1")
    (tmp_path / "workload.yaml").write_text(text, encoding="utf-8")
    code, out, _ = call(capsys, "recommend", tmp_path / "workload.yaml")
    assert code == 0
    assert "\x1b" not in out


REASONED = """\
tables:
  orders: {rows: 1000, row_bytes: 100, columns: {k: bigint, c: int, price: double, day: date}}
views:
  chance: {sql: "SELECT k, rand() AS x FROM orders", strict: STRICT}
  over: {sql: "SELECT COUNT(*) AS n FROM chance"}
  plain: {sql: "SELECT c, SUM(price) AS total FROM orders WHERE c > 1 GROUP BY c"}
"""


def test_check_says_why_a_view_is_not_incremental(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.yaml").write_text(REASONED.replace("STRICT", "false"), encoding="utf-8")
    code, out, err = call(capsys, "check", tmp_path / "w.yaml")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "chance: not incremental, reads orders"
    assert lines[1].startswith("  NOT_INCREMENTAL.NONDETERMINISTIC: line 1, column 11: 'RAND()': ")
    assert lines[1].endswith("; compute the value when the base table is written, and store it there")
    assert lines[2] == "over: not incremental, reads chance"
    assert lines[3].startswith("  NOT_INCREMENTAL.READS_NOT_INCREMENTAL: reads 'chance': ")
    assert lines[4] == "plain: incremental, reads orders"
    _, out, _ = call(capsys, "check", tmp_path / "w.yaml", "--json")
    (reason,) = json.loads(out)["views"]["chance"]["reasons"]
    assert reason["code"] == "NOT_INCREMENTAL.NONDETERMINISTIC"
    assert reason["remedy"] == "compute the value when the base table is written, and store it there"


def test_a_strict_view_that_is_not_incremental_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.yaml").write_text(REASONED.replace("STRICT", "true"), encoding="utf-8")
    code, out, err = call(capsys, "check", tmp_path / "w.yaml")
    assert (code, err.count("\n")) == (1, 1)
    assert "plain: incremental, reads orders" in out
    assert "w.yaml:4: view 'chance' is strict: NOT_INCREMENTAL.NONDETERMINISTIC" in err
    assert err.endswith("; compute the value when the base table is written, and store it there\n")
    code, _, err = call(capsys, "check", tmp_path / "w.yaml", "--json")
    assert (code, json.loads(err)["error"]["kind"]) == (1, "StrictError")
    assert call(capsys, "check", tmp_path / "w.yaml", "--exclude", "chance")[0] == 0


def test_check_looks_at_the_selected_views(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.yaml").write_text(REASONED.replace("STRICT", "false"), encoding="utf-8")

    def views(*options: str) -> list[str]:
        code, out, _ = call(capsys, "check", tmp_path / "w.yaml", "--json", *options)
        assert code == 0
        return sorted(json.loads(out)["views"])

    assert views("--select", "p*") == ["plain"]
    assert views("--select", "+over") == ["chance", "over"]
    assert views("--select", "over", "--select", "plain") == ["over", "plain"]
    assert views("--exclude", "*a*") == ["over"]
    code, _, err = call(capsys, "check", tmp_path / "w.yaml", "--select", "plan")
    assert (code, err.count("\n")) == (2, 1)
    assert "did you mean 'plain'?" in err


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT k FROM ordrs", "line 1, column 15: reads the unknown table 'ordrs'; did you mean 'orders'?"),
        ("SELECT prise FROM orders", "line 1, column 8: unknown column 'prise'; did you mean 'price'?"),
        ("SELECT k FROM orders a, orders b", "line 1, column 8: the column 'k' is ambiguous; write a.k or b.k"),
        ("SELECT k FROM bad", "views read each other in a circle: bad → bad; break the circle"),
        ("SELECT SUM(day) AS s FROM orders", "line 1, column 8: 'SUM(orders.day)' adds up a moment"),
        ("SELECT k, c AS k FROM orders", "line 1, column 11: two columns are called 'k'; give one of them an alias"),
    ],
)
def test_a_view_that_is_wrong_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sql: str, message: str
) -> None:
    text = REASONED.replace("STRICT", "false") + f'  bad: {{sql: "{sql}"}}\n'
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    for command in (["check"], ["explain", "plain"], ["status"]):
        code, out, err = call(capsys, command[0], tmp_path / "w.yaml", *command[1:])
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("advisor: ")
        assert f"w.yaml:7: view 'bad': {message}" in err


def test_explain_prints_rules_and_the_sql_of_each_executor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.yaml").write_text(REASONED.replace("STRICT", "false"), encoding="utf-8")
    code, out, err = call(capsys, "explain", tmp_path / "w.yaml", "plain")
    assert (code, err) == (0, "")
    assert out.startswith("plain(c, total)\n\nrules\n  1  plain: group by c; total = SUM(")
    assert "  only rows of orders matter with c > 1\n" in out
    for title in ("query_modification", "recompute"):
        assert f"\n{title}\n" in out
    assert "INSERT OVERWRITE TABLE plain" in out
    code, out, err = call(capsys, "explain", tmp_path / "w.yaml", "plain", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert (answer["view"], answer["columns"], answer["relations"]) == ("plain", ["c", "total"], ["orders"])
    assert answer["plans"]["query_modification"]["maintain"] == []
    (kept,) = answer["plans"]["recompute"]["maintain"]
    assert kept.startswith("INSERT OVERWRITE TABLE `plain` SELECT")
    assert not (tmp_path / ".advisor").exists()


def test_explain_of_an_unknown_view_names_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.yaml").write_text(REASONED.replace("STRICT", "false"), encoding="utf-8")
    code, out, err = call(capsys, "explain", tmp_path / "w.yaml", "plian")
    assert (code, out) == (2, "")
    assert err == "advisor: there is no view 'plian'; did you mean 'plain'?\n"
