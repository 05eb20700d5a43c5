"""The workload file: what it accepts, and the one line it answers anything else with."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from profiles import workload
from profiles.workload import load
from views.errors import TableError, WorkloadError

SMALL = """\
tables:
  orders: {rows: 1000}
views:
  v: {sql: SELECT * FROM orders}
"""

FULL = """\
name: retail
warehouse: ./warehouse
engine: auto
defaults: {max_staleness: 1h}
tables:
  orders:
    rows: 1500000
    row_bytes: 120
    columns: {o_orderkey: bigint, o_custkey: bigint, o_shippriority: int}
    key: [o_orderkey]
    foreign_keys: {o_custkey: customer.c_custkey}
    domains: {o_shippriority: [0, 5]}
    updates: {per_day: 96, rows: 500, inserts: 0.8, deletes: 0.1, modifies: 0.1, at: "02:00"}
  customer: {table: db.customer, columns: {c_custkey: bigint}}
views:
  revenue:
    sql: |
      SELECT o_custkey, COUNT(*) AS n FROM orders GROUP BY o_custkey
    queries: {per_day: 400, fraction: 0.1, filter: "o_custkey = 3", between: "08:00-18:00"}
    readers: advisor
    max_staleness: 15m
    max_query_latency: 2s
    today: {strategy: deferred, algorithm: recompute, seconds: 412}
    strategy: auto
    algorithm: auto
    strict: false
  plain: {sql: SELECT * FROM orders}
budget: {storage: 10GiB}
price: {core_hour: 0.31, currency: EUR}
"""


def write(folder: Path, text: str, name: str = "workload.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(WorkloadError) as caught:
        load(path)
    line = str(caught.value)
    assert "\n" not in line
    return line.replace(f"{path.parent}/", "")


def test_every_key_of_the_design_is_read(tmp_path: Path) -> None:
    read = load(write(tmp_path, FULL))
    orders, revenue = read.tables["orders"], read.views["revenue"]
    assert (read.name, read.warehouse) == ("retail", tmp_path / "warehouse")
    assert orders.updates is not None
    assert orders.updates.at == (120,)
    assert orders.domains == {"o_shippriority": (0, 5)}
    assert revenue.max_staleness == 900
    assert revenue.max_query_latency == 2
    assert revenue.queries is not None
    assert revenue.queries.between == (480, 1080)
    assert read.budget is not None
    assert read.budget.storage == 10 * 2**30
    assert read.place("views", "revenue", "queries").line == 19


def test_defaults_hold_for_views_that_say_nothing(tmp_path: Path) -> None:
    read = load(write(tmp_path, FULL))
    assert read.views["plain"].max_staleness == 3600


def test_defaults_that_contradict_a_pin_are_refused(tmp_path: Path) -> None:
    text = "defaults: {readers: external}\n" + SMALL.replace("orders}", "orders, strategy: query_modification}")
    assert "workload.yaml:5: views.v: pins query_modification but has external readers" in refusal(
        write(tmp_path, text)
    )


@pytest.mark.parametrize(
    ("engine", "kind"),
    [("auto", "auto"), ("sail", "sail"), ('{master: "spark://h:7077"}', "spark"), ('{remote: "sc://h"}', "remote")],
)
def test_engines(tmp_path: Path, engine: str, kind: str) -> None:
    assert load(write(tmp_path, f"engine: {engine}\n{SMALL}")).engine.kind == kind


BAD = {
    "unknown key": ("nme: x\n" + SMALL, "workload.yaml:1: unknown key 'nme'; did you mean 'name'?"),
    "unknown key of a view": (
        SMALL.replace("orders}", "orders,\n      quries: {per_day: 4}}"),
        "workload.yaml:5: unknown key 'quries' in views.v; did you mean 'queries'?",
    ),
    "unknown key of queries": (
        SMALL.replace("orders}", "orders, queries: {perday: 4}}"),
        "unknown key 'perday' in views.v.queries; did you mean 'per_day'?",
    ),
    "unknown key of engine": ("engine: {master: a, remot: b}\n" + SMALL, "unknown key 'remot' in engine"),
    "unknown engine": ("engine: sprak\n" + SMALL, "did you mean 'spark'?"),
    "two engines": ("engine: {master: a, remote: sc://b}\n" + SMALL, "needs one of master and remote"),
    "empty": ("", "workload.yaml:1: is empty"),
    "only a comment": ("# nothing\n", "workload.yaml:1: is empty"),
    "a list": ("- a\n", "workload.yaml:1: is not a mapping"),
    "syntax": ("tables:\n  orders: {rows: 1\nviews:\n", "workload.yaml:3: not valid YAML"),
    "tab": ("tables:\n\torders: 1\n", "workload.yaml:2: not valid YAML"),
    "two documents": (SMALL + "---\na: 1\n", "not valid YAML"),
    "duplicate key": (SMALL + "views: {}\n", "workload.yaml:5: the key 'views' is already on line 3"),
    "tag": ("name: !!python/object/apply:os.system [id]\n" + SMALL, "workload.yaml:1: the tag !!python/object"),
    "scalar tag": ("name: !env HOME\n" + SMALL, "workload.yaml:1: the tag !env is not allowed"),
    "merge key": ("a: &a {rows: 1}\ntables: {t: {<<: *a}}\n", "merge keys"),
    "alias of itself": ("name: &a [*a]\n", "an alias that contains itself"),
    "deep nesting": ("name: " + "[" * 500 + "\n", "workload.yaml:1:"),
    "negative rows": (SMALL.replace("1000", "-1"), "workload.yaml:2: tables.orders.rows: -1 is out of range"),
    "absurd rows": (SMALL.replace("1000", "1e30"), "1e+30 is out of range"),
    "NaN": (SMALL.replace("1000", ".nan"), "nan is not a finite number"),
    "infinite": (SMALL.replace("1000", ".inf"), "inf is not a finite number"),
    "text for a number": (SMALL.replace("1000", "many"), "'many' is not a number"),
    "boolean for a number": (SMALL.replace("1000", "true"), "True is not a number"),
    "number of 5,000 digits": (SMALL.replace("1000", "9" * 5000), "workload.yaml:2:"),
    "fraction": (SMALL.replace("orders}", "orders, queries: {fraction: 1.5}}"), "1.5 is out of range"),
    "mix": (SMALL.replace("1000", "1, updates: {inserts: 0.5}"), "sum to 0.5; they are fractions and must sum to 1"),
    "duration": (SMALL.replace("orders}", "orders, max_staleness: 15 minutes}"), "'15 minutes' is not a duration"),
    "size": ("budget: {storage: much}\n" + SMALL, "'much' is not a size"),
    "time": (SMALL.replace("1000", '1, updates: {at: "25:00"}'), "'25:00' is not a time of day"),
    "window": (SMALL.replace("orders}", 'orders, queries: {between: "8-18"}}'), "'8-18' is not a window"),
    "no source": (SMALL.replace("rows: 1000", "key: [a]"), "has no path, table or rows"),
    "two sources": (SMALL.replace("rows: 1000", "path: a, table: b"), "has both path and table"),
    "no definition": (SMALL.replace("sql: SELECT * FROM orders", "strict: true"), "has no definition"),
    "two definitions": (SMALL.replace("orders}", "orders, datalog: a}"), "has both sql and datalog"),
    "strategy": (SMALL.replace("orders}", "orders, strategy: imediate}"), "did you mean 'immediate'?"),
    "name that leaves the folder": (SMALL.replace("  orders:", "  ../orders:"), "'../orders' is not a name"),
    "name with a separator": (SMALL.replace("  v:", "  a/b:"), "'a/b' is not a name"),
    "reserved name": (SMALL.replace("  v:", "  v__state:"), "that suffix is reserved"),
    "same name twice": (SMALL.replace("  v:", "  Orders:"), "view 'Orders' is already table 'orders'"),
    "foreign key": (SMALL.replace("1000", "1, foreign_keys: {a: custmer.b}"), "unknown table 'custmer'"),
    "foreign key without column": (SMALL.replace("1000", "1, foreign_keys: {a: b}"), "is not table.column"),
    "key": (SMALL.replace("1000", "1, columns: {order_id: int}, key: [orderid]"), "did you mean 'order_id'?"),
    "domain": (SMALL.replace("1000", "1, domains: {a: [5, 0]}"), "the domain [5, 0] is empty"),
    "sql_file outside": (SMALL.replace("sql: SELECT * FROM orders", "sql_file: ../a.sql"), "is outside the workload's"),
    "sql_file absolute": (SMALL.replace("sql: SELECT * FROM orders", "sql_file: /etc/passwd"), "is outside"),
    "sql_file missing": (
        SMALL.replace("sql: SELECT * FROM orders", "sql_file: a.sql"),
        "workload.yaml:4: a.sql: no such",
    ),
    "include outside": ("include: [../*.yaml]\n" + SMALL, "'../*.yaml' is outside"),
    "include without match": ("include: [nothing/*.yaml]\n" + SMALL, "matches no file"),
    "path with a NUL": (SMALL.replace("rows: 1000", 'path: "a\\0b"'), "tables.orders.path"),
    "table is null": ("tables: {orders: }\nviews: {}\n", "tables.orders: None is not a block of keys"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_answered_in_one_line_with_its_place(tmp_path: Path, case: str) -> None:
    text, expected = BAD[case]
    line = refusal(write(tmp_path, text))
    assert expected in line
    assert re.match(r"workload\.yaml:\d+: ", line), line


def test_aliases_that_would_expand_to_gigabytes_are_stopped(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    assert "use fewer aliases" in refusal(write(tmp_path, "\n".join(levels)))


def test_the_first_of_several_errors_is_told_and_the_others_counted(tmp_path: Path) -> None:
    line = refusal(write(tmp_path, SMALL.replace("1000", "-1").replace("orders}", "orders, strict: 3}")))
    assert line.startswith("workload.yaml:2: ")
    assert "(1 more after this one)" in line


def test_text_that_is_not_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_bytes(b"name: x\n# caf\xe9\n")
    assert refusal(path) == "workload.yaml:2: is not UTF-8 text; save the file as UTF-8"


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert refusal(tmp_path / "folder") == "folder: is a folder; name the file itself"
    assert refusal(tmp_path / "nothing.yaml") == "nothing.yaml: no such file; check the path"


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    secret = write(tmp_path, "SELECT 1", "secret.sql")
    path = write(tmp_path / "w", SMALL.replace("sql: SELECT * FROM orders", "sql_file: link.sql"))
    (tmp_path / "w" / "link.sql").symlink_to(secret)
    assert "is outside the workload's folder" in refusal(path)


def test_included_files_add_tables_and_views(tmp_path: Path) -> None:
    path = write(tmp_path, "include: [more/*.yaml]\n" + SMALL)
    write(tmp_path, "tables: {nation: {rows: 25}}\n", "more/a.yaml")
    write(tmp_path, "views: {w: {sql_file: w.sql}}\n", "more/b.yaml")
    write(tmp_path, "SELECT * FROM nation", "w.sql")
    read = load(path)
    assert list(read.tables) == ["orders", "nation"]
    assert read.sql["w"] == "SELECT * FROM nation"
    assert set(read.digests) == {"workload.yaml", "more/a.yaml", "more/b.yaml", "w.sql"}


def test_duplicates_across_files_name_both_places(tmp_path: Path) -> None:
    path = write(tmp_path, "include: [more.yaml]\n" + SMALL)
    write(tmp_path, "\ntables: {orders: {rows: 25}}\n", "more.yaml")
    assert "more.yaml:2: table 'orders' is already table 'orders' at workload.yaml:3" in refusal(path)


def test_errors_in_included_files_name_that_file(tmp_path: Path) -> None:
    path = write(tmp_path, "include: [more.yaml]\n" + SMALL)
    write(tmp_path, "\ntables: {nation: {rows: -25}}\n", "more.yaml")
    assert refusal(path).startswith("more.yaml:2: tables.nation.rows: -25 is out of range")
    write(tmp_path, "\nengine: spark\n", "more.yaml")
    assert refusal(path) == "more.yaml:2: 'engine' in an included file; move it to workload.yaml"


def test_the_published_schema_is_up_to_date() -> None:
    published = Path(workload.__file__).with_name("workload.schema.json").read_text(encoding="utf-8")
    assert published == workload.json_schema(), "run python -m profiles.workload > profiles/workload.schema.json"


def test_the_schema_knows_every_key_of_the_design() -> None:
    schema = json.loads(workload.json_schema())
    keys = set(schema["properties"])
    assert keys >= {"name", "warehouse", "engine", "defaults", "include", "tables", "views", "budget", "price"}
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["View"]["additionalProperties"] is False


def test_running_the_module_prints_the_schema() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "profiles.workload"], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert printed.stdout == workload.json_schema()


def test_a_path_may_be_a_file_address_and_an_object_store_is_refused_with_its_place(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, SMALL.replace("{rows: 1000}", f"{{path: 'file://{tmp_path}/a%20b'}}")))
    assert loaded.path_of("orders") == tmp_path / "a b"
    loaded = load(write(tmp_path, SMALL.replace("{rows: 1000}", "{path: 's3://bucket/orders'}")))
    with pytest.raises(
        TableError, match=r"workload.yaml:2: table 'orders': s3://bucket/orders: only local and mounted"
    ):
        loaded.path_of("orders")
