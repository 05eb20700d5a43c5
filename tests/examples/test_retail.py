"""The retail example: its data keeps the promises of its workload, and every view runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from deltalake import DeltaTable
from ruamel.yaml import YAML
from sqlglot import exp

from profiles.workload import load

RETAIL = Path(__file__).parents[2] / "examples" / "retail"
WORKLOAD: dict[str, Any] = YAML(typ="safe").load((RETAIL / "workload.yaml").read_text(encoding="utf-8"))
TABLES: dict[str, Any] = WORKLOAD["tables"]
VIEWS: dict[str, Any] = WORKLOAD["views"]
SCALE = "0.001"
ROWS_AT_SCALE = {
    "region": 5,
    "nation": 25,
    "supplier": 10,
    "customer": 150,
    "part": 200,
    "partsupp": 700,  # TPC-H makes 800 and repeats 100 keys; the generator leaves the repeats out
    "orders": 1500,
    "lineitem": 6005,
}
FOREIGN_KEYS = [
    (table, column, *target.split("."))
    for table, spec in TABLES.items()
    for column, target in spec.get("foreign_keys", {}).items()
]
DOMAINS = [
    (table, column, *bounds) for table, spec in TABLES.items() for column, bounds in spec.get("domains", {}).items()
]


def run_generate(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, RETAIL / "generate.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def read_table(path: Path) -> pa.Table:
    """The rows of a Delta table at its last version, or of a folder of Parquet files."""
    if not (path / "_delta_log").is_dir():
        return pq.read_table(path)
    return DeltaTable(path).to_pyarrow_table()


def view_sql(name: str) -> str:
    spec = VIEWS[name]
    return spec["sql"] if "sql" in spec else (RETAIL / spec["sql_file"]).read_text(encoding="utf-8")


def in_duckdb(spark_sql: str) -> str:
    (statement,) = sqlglot.transpile(spark_sql, read="spark", write="duckdb")
    return statement


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("retail") / "data"
    finished = run_generate("--scale", SCALE, "--out", out)
    assert finished.returncode == 0, finished.stderr
    assert [line.split()[0] for line in finished.stdout.splitlines()] == list(ROWS_AT_SCALE)
    return out


@pytest.fixture(scope="module")
def database(data: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables, and every view on top of them in the order of the workload."""
    with duckdb.connect() as connection:
        for table, spec in TABLES.items():
            connection.register("arriving", read_table(data / Path(spec["path"]).relative_to("data")))
            connection.execute(f"CREATE TABLE {table} AS FROM arriving")
            connection.unregister("arriving")
        for view in VIEWS:
            connection.execute(f"CREATE VIEW {view} AS {in_duckdb(view_sql(view))}")
        yield connection


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


@pytest.mark.parametrize("table", TABLES)
def test_table_has_the_rows_of_tpch_and_its_key_is_unique(database: duckdb.DuckDBPyConnection, table: str) -> None:
    assert rows(database, f"SELECT COUNT(*) FROM {table}") == [(ROWS_AT_SCALE[table],)]
    key = ", ".join(TABLES[table]["key"])
    assert rows(database, f"SELECT {key} FROM {table} GROUP BY ALL HAVING COUNT(*) > 1") == []
    assert rows(database, f"SELECT 1 FROM {table} WHERE ({key}) IS NULL") == []


@pytest.mark.parametrize(("table", "column", "target", "target_column"), FOREIGN_KEYS)
def test_foreign_key_holds(
    database: duckdb.DuckDBPyConnection, table: str, column: str, target: str, target_column: str
) -> None:
    orphans = f"SELECT {column} FROM {table} ANTI JOIN {target} ON {column} = {target_column}"
    assert rows(database, orphans) == []


@pytest.mark.parametrize(("table", "column", "lowest", "highest"), DOMAINS)
def test_domain_holds(database: duckdb.DuckDBPyConnection, table: str, column: str, lowest: int, highest: int) -> None:
    outside = f"SELECT {column} FROM {table} WHERE {column} NOT BETWEEN {lowest} AND {highest}"
    assert rows(database, outside) == []


def test_tables_are_delta_with_a_history_or_plain_parquet(data: Path) -> None:
    plain = {name for name in TABLES if not (data / name / "_delta_log").exists()}
    assert plain == {"region", "nation"}
    operations = {
        name: [entry["operation"] for entry in reversed(DeltaTable(data / name).history())]
        for name in TABLES.keys() - plain
    }
    assert operations["orders"] == operations["lineitem"] == ["WRITE"] * 12
    assert operations["partsupp"] == ["WRITE", "WRITE", "UPDATE"]
    assert len(operations["supplier"]) == 1


@pytest.mark.parametrize("version", range(12))
def test_lines_never_arrive_before_their_order(data: Path, version: int) -> None:
    keys = []
    for name, column in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
        table = DeltaTable(data / name, version=version).to_pyarrow_table(columns=[column])
        keys.append(set(table.column(column).to_pylist()))
    assert keys[0] == keys[1]


def test_the_stock_correction_ends_at_the_data_of_tpch(data: Path, tmp_path: Path) -> None:
    subprocess.run(
        [
            Path(sys.executable).parent / "tpchgen-cli",
            *("parquet", "--quiet", "--scale-factor", SCALE),
            *("--tables", "partsupp", "--output-dir", tmp_path),
        ],
        check=True,
    )
    generated = pq.read_table(tmp_path / "partsupp.parquet")
    expected = {(row["ps_partkey"], row["ps_suppkey"]): row for row in reversed(generated.to_pylist())}
    stored = {(row["ps_partkey"], row["ps_suppkey"]): row for row in read_table(data / "partsupp").to_pylist()}
    assert stored == expected


@pytest.mark.parametrize("view", VIEWS)
def test_view_is_spark_sql_over_declared_names_and_has_rows(database: duckdb.DuckDBPyConnection, view: str) -> None:
    statement = sqlglot.parse_one(view_sql(view), dialect="spark")
    assert isinstance(statement, exp.Query)
    used = {table.name for table in statement.find_all(exp.Table)}
    assert used <= TABLES.keys() | VIEWS.keys()
    assert rows(database, f"SELECT COUNT(*) > 0 FROM {view}") == [(True,)]


@pytest.mark.parametrize("view", [name for name, spec in VIEWS.items() if "filter" in spec["queries"]])
def test_filter_of_the_queries_runs_on_the_view(database: duckdb.DuckDBPyConnection, view: str) -> None:
    condition = in_duckdb(VIEWS[view]["queries"]["filter"])
    ((selected, everything),) = rows(database, f"SELECT COUNT(*) FILTER (WHERE {condition}), COUNT(*) FROM {view}")
    assert selected < everything


def test_views_have_different_shapes() -> None:
    statements = {name: sqlglot.parse_one(view_sql(name), dialect="spark") for name in VIEWS}
    assert len(statements) >= 10
    shapes = (exp.Join, exp.Group, exp.Having, exp.Distinct, exp.Window, exp.Limit, exp.Union, exp.Exists)
    for shape in shapes:
        assert any(statement.find(shape) for statement in statements.values()), shape.__name__
    on_views = [
        name
        for name, statement in statements.items()
        if VIEWS.keys() & {table.name for table in statement.find_all(exp.Table)}
    ]
    assert on_views == ["revenue_by_region"]


def test_workload_is_valid() -> None:
    workload = load(RETAIL / "workload.yaml")
    assert list(workload.tables) == list(TABLES)
    assert list(workload.views) == list(VIEWS)


def test_workload_names_its_schema() -> None:
    first_line, _ = (RETAIL / "workload.yaml").read_text(encoding="utf-8").split("\n", 1)
    prefix, _, schema = first_line.partition("=")
    assert prefix == "# yaml-language-server: $schema"
    assert (RETAIL / schema).is_file()


def test_readme_lists_every_table_and_view() -> None:
    readme = (RETAIL / "README.md").read_text(encoding="utf-8")
    assert [name for name in [*TABLES, *VIEWS] if f"| `{name}` |" not in readme] == []


def test_second_run_does_nothing_and_another_scale_needs_force(data: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in data.rglob("*")}
    again = run_generate("--scale", SCALE, "--out", data)
    assert again.returncode == 0
    assert "nothing to do" in again.stdout

    other = run_generate("--scale", "0.002", "--out", data)
    assert other.returncode == 2
    assert other.stderr.splitlines() == [f"generate.py: {data} holds scale 0.001, not 0.002; --force replaces it"]
    assert {file: file.stat().st_mtime_ns for file in data.rglob("*")} == before


def test_force_replaces_generated_data_but_nothing_else(data: Path, tmp_path: Path) -> None:
    out = shutil.copytree(data, tmp_path / "data")
    assert run_generate("--scale", "0.002", "--out", out, "--force").returncode == 0
    assert read_table(out / "supplier").num_rows == 20
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]

    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("precious")
    refused = run_generate("--scale", SCALE, "--out", mine, "--force")
    assert refused.returncode == 2
    assert "was not made by this script" in refused.stderr
    assert (mine / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize("scale", ["0", "-1", "nan", "0.0001"])
def test_scale_that_cannot_be_generated_is_one_line(tmp_path: Path, scale: str) -> None:
    refused = run_generate(f"--scale={scale}", "--out", tmp_path / "data")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_missing_tpchgen_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    # The interpreter's folder is searched too, so the script runs in a process that sees another one.
    program = (
        "import runpy, sys; sys.executable = '/nowhere/python';"
        f"sys.argv = ['generate.py', '--scale', '{SCALE}', '--out', sys.argv[1]];"
        f"runpy.run_path({str(RETAIL / 'generate.py')!r}, run_name='__main__')"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "data"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": "/nowhere"},
    )
    assert finished.returncode == 2
    assert finished.stderr.splitlines() == [
        "generate.py: tpchgen-cli is not installed; install it with: pip install tpchgen-cli"
    ]
    assert list(tmp_path.iterdir()) == []
