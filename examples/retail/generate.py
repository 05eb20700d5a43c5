"""Generates the retail tables: TPC-H data of any scale, most of it as Delta tables with a history.

    python examples/retail/generate.py [--scale 0.05] [--out examples/retail/data] [--force]

The last version of every table is exactly what `tpchgen-cli` produces (but see `_without_repeats` for scales
below 0.024). The way there looks like a shop's:
customers, parts and stock are loaded in a few commits, a stock-taking corrects some quantities, orders and
their lines are loaded in bulk and then keep arriving in small appends, the order always before its lines.
The commits carry the clock of this run, so the declared rates of `workload.yaml` say how often they happen.

`nation` and `region` stay plain Parquet folders, as other tools would leave them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

PARQUET_TABLES = ("region", "nation")
# The column each Delta table is sorted on, and into how many equal ranges of it the table is loaded.
LOADED = {"supplier": ("s_suppkey", 1), "customer": ("c_custkey", 3), "part": ("p_partkey", 2)}
STOCK_LOADS = 2
SUPPLIERS_WITHOUT_REPEATS = 240
STOCK_CORRECTION = 100
ORDER_LOADS = 4
ORDER_APPENDS = 8
APPENDED_SHARE = 0.04
MARKER = "_generated.json"
SMALLEST_SCALE = 0.001


class GenerateError(Exception):
    """The data cannot be generated as asked; the message is one line for the user."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Generate the TPC-H tables of the retail example.")
    parser.add_argument("--scale", type=float, default=0.05, help="TPC-H scale factor (default: 0.05)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).resolve().parent / "data",
        help="folder that receives one folder per table (default: data beside this script)",
    )
    parser.add_argument("--force", action="store_true", help="replace data generated earlier")
    options = parser.parse_args(arguments)
    try:
        generate(options.scale, options.out, force=options.force)
    except (GenerateError, OSError) as error:
        print(f"generate.py: {error}", file=sys.stderr)
        return 2 if isinstance(error, GenerateError) else 3
    return 0


def generate(scale: float, out: Path, *, force: bool = False) -> None:
    """Leave the tables under `out`: all of them or, when anything fails, nothing new."""
    if not math.isfinite(scale) or scale < SMALLEST_SCALE:
        raise GenerateError(f"--scale {scale:g}: choose a number of at least {SMALLEST_SCALE}")
    out = out.resolve()
    if out.exists() and not force and (already := _generated_scale(out)) is not None:
        if already != scale:
            raise GenerateError(f"{out} holds scale {already:g}, not {scale:g}; --force replaces it")
        print(f"{out} already holds scale {scale:g}; nothing to do (--force generates it again)")
        return
    if out.exists() and _generated_scale(out) is None and (not out.is_dir() or any(out.iterdir())):
        raise GenerateError(f"{out} was not made by this script and is not empty; choose another --out")

    out.parent.mkdir(parents=True, exist_ok=True)
    with _scratch_folder(out) as scratch:
        tables = scratch / "tables"
        tables.mkdir()
        _run_tpchgen(scale, scratch / "raw")
        _write_tables(scratch / "raw", tables)
        (tables / MARKER).write_text(json.dumps({"scale": scale}) + "\n", encoding="utf-8")
        _swap_in(tables, out, scratch / "replaced")


def _swap_in(tables: Path, out: Path, replaced: Path) -> None:
    """Put `tables` in the place of `out`; what was there comes back if that fails."""
    if out.exists():
        os.rename(out, replaced)
    try:
        os.rename(tables, out)
    except OSError:
        if replaced.exists():
            os.rename(replaced, out)
        raise


@contextmanager
def _scratch_folder(out: Path) -> Iterator[Path]:
    """A folder beside `out`, on the same file system, so that the last step is a rename."""
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch)


def _generated_scale(out: Path) -> float | None:
    """The scale of data this script made, or None when `out` holds something else."""
    try:
        return float(json.loads((out / MARKER).read_text(encoding="utf-8"))["scale"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _run_tpchgen(scale: float, raw: Path) -> None:
    """Write one Parquet file per table into `raw`."""
    beside_python = str(Path(sys.executable).parent)
    search_path = os.pathsep.join([beside_python, os.environ.get("PATH", os.defpath)])
    command = shutil.which("tpchgen-cli", path=search_path)
    if command is None:
        raise GenerateError("tpchgen-cli is not installed; install it with: pip install tpchgen-cli")
    finished = subprocess.run(
        [command, "parquet", "--quiet", f"--scale-factor={scale!r}", f"--output-dir={raw}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        last_line = (finished.stderr.strip().splitlines() or ["no message"])[-1]
        raise GenerateError(f"tpchgen-cli failed with exit code {finished.returncode}: {last_line}")


def _write_tables(raw: Path, tables: Path) -> None:
    for name in PARQUET_TABLES:
        rows = _source(raw, name).to_table()
        (tables / name).mkdir()
        pq.write_table(rows, tables / name / f"{name}.parquet")
        _say(name, "Parquet", rows.num_rows)

    for name, (column, loads) in LOADED.items():
        source = _source(raw, name)
        for low, high in _ranges(0, _largest(source, column), loads):
            _append(tables / name, source, column, low, high)
        _say_delta(tables / name)

    stock = _source(raw, "partsupp")
    if _largest(_source(raw, "supplier"), "s_suppkey") < SUPPLIERS_WITHOUT_REPEATS:
        stock = _without_repeats(stock, ["ps_partkey", "ps_suppkey"])
    _write_stock(stock, _largest(_source(raw, "part"), "p_partkey"), tables / "partsupp")
    _say_delta(tables / "partsupp")

    orders, lines = _source(raw, "orders"), _source(raw, "lineitem")
    last = _largest(orders, "o_orderkey")
    loaded = int(last * (1 - APPENDED_SHARE))
    for low, high in [*_ranges(0, loaded, ORDER_LOADS), *_ranges(loaded, last, ORDER_APPENDS)]:
        _append(tables / "orders", orders, "o_orderkey", low, high)
        _append(tables / "lineitem", lines, "l_orderkey", low, high)
    _say_delta(tables / "orders")
    _say_delta(tables / "lineitem")


def _without_repeats(source: ds.Dataset, key: list[str]) -> ds.Dataset:
    """The first row of each key.

    TPC-H picks the four suppliers of a part with a formula that can name one of them twice when there are
    fewer than 240 suppliers. The primary key of `partsupp` would not hold, and the workload declares it.
    """
    rows = source.to_table()
    numbered = rows.select(key).append_column("row", pa.array(range(rows.num_rows)))
    first = numbered.group_by(key).aggregate([("row", "min")]).column("row_min")
    return ds.dataset(rows.take(first.combine_chunks().sort()))


def _write_stock(source: ds.Dataset, last: int, path: Path) -> None:
    """Load the stock with some quantities too high, then correct them in one update transaction."""
    miscounted = max(1, last // 20)
    quantity = ds.field("ps_availqty")
    columns = {name: ds.field(name) for name in source.schema.names}
    columns["ps_availqty"] = pc.if_else(
        ds.field("ps_partkey") <= miscounted, quantity + pa.scalar(STOCK_CORRECTION, pa.int32()), quantity
    ).cast(pa.int32())
    for low, high in _ranges(0, last, STOCK_LOADS):
        _append(path, source, "ps_partkey", low, high, columns)
    DeltaTable(path).update(
        updates={"ps_availqty": f"CAST(ps_availqty - {STOCK_CORRECTION} AS INT)"},
        predicate=f"ps_partkey <= {miscounted}",
    )


def _source(raw: Path, name: str) -> ds.Dataset:
    """The generated file with the plain types and nullable columns that a Spark job would write."""
    file = raw / f"{name}.parquet"
    generated = pq.read_schema(file)
    fields = [
        pa.field(field.name, pa.string() if pa.types.is_string_view(field.type) else field.type) for field in generated
    ]
    return ds.dataset(file, schema=pa.schema(fields), format="parquet")


def _largest(source: ds.Dataset, column: str) -> int:
    """The maximum of an integer column, from the statistics of the Parquet file."""
    (file,) = source.files
    metadata = pq.read_metadata(file)
    position = metadata.schema.to_arrow_schema().get_field_index(column)
    groups = range(metadata.num_row_groups)
    return int(max(metadata.row_group(group).column(position).statistics.max for group in groups))


def _ranges(low: int, high: int, parts: int) -> list[tuple[int, int]]:
    """Cut (low, high] into consecutive ranges, leaving out empty ones.

    >>> _ranges(0, 10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    edges = [low + (high - low) * part // parts for part in range(parts + 1)]
    return [(start, end) for start, end in pairwise(edges) if start < end]


def _append(
    path: Path,
    source: ds.Dataset,
    column: str,
    low: int,
    high: int,
    columns: dict[str, ds.Expression] | None = None,
) -> None:
    """Commit the rows with low < column <= high, streamed so that any scale fits in memory."""
    wanted = (ds.field(column) > low) & (ds.field(column) <= high)
    write_deltalake(path, source.scanner(columns=columns, filter=wanted).to_reader(), mode="append")


def _say_delta(path: Path) -> None:
    table = DeltaTable(path)
    rows = sum(pa.table(table.get_add_actions(flatten=True)).column("num_records").to_pylist())
    versions = table.version() + 1
    _say(path.name, "Delta", rows, f"{versions} version{'s' if versions > 1 else ''}")


def _say(name: str, kind: str, rows: int, more: str = "") -> None:
    print(f"{name:<9} {kind:<8} {rows:>12,} rows  {more}".rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
