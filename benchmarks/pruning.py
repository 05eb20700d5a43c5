"""How long it takes to prune 100,000 files once the table is open: `python benchmarks/pruning.py [files]`.

The log is real and the data files are not: pruning reads only the log. Target: under 100 ms for a set of
1,000 keys and for a predicate, also the first time that a column is asked for.
"""

from __future__ import annotations

import datetime as dt
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from storage.log import NewFile, create_log
from storage.pruning import files_where, files_with_keys

ROWS_PER_FILE = 1000
RUNS = 15
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("code", pa.string()),
        ("price", pa.decimal128(12, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("weight", pa.float64()),
    ]
)


def main(files: int) -> None:
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "table")
        log = create_log(root, SCHEMA, [new_file(i) for i in range(files)])
        print(f"open a table of {files:,} files: {measure(log.snapshot, runs=1):.0f} ms")
        snapshot = log.snapshot()
        rows = files * ROWS_PER_FILE
        near = [rng.randrange(rows // 2, rows // 2 + rows // 100) for _ in range(1000)]
        anywhere = [rng.randrange(rows) for _ in range(1000)]
        cases: dict[str, Callable[[], np.ndarray]] = {
            "1,000 integer keys, near one another": lambda: files_with_keys(snapshot, {"id": near}),
            "1,000 integer keys, anywhere": lambda: files_with_keys(snapshot, {"id": anywhere}),
            "1,000 text keys, anywhere": lambda: files_with_keys(snapshot, {"code": [code(i) for i in anywhere]}),
            "1,000 keys of two columns": lambda: files_with_keys(
                snapshot, {"id": anywhere, "code": [code(i) for i in anywhere]}
            ),
            "id = 5": lambda: files_where(snapshot, "id = 5"),
            "a predicate on four columns": lambda: files_where(
                snapshot,
                "id BETWEEN 1000 AND 900000 AND price < 500.00 AND (at > '2020-01-02' OR code = 'c000000000005')",
            ),
            "id IN (1,000 numbers)": lambda: files_where(snapshot, f"id IN ({', '.join(map(str, anywhere))})"),
        }
        print(f"{'':40} {'first':>8} {'median':>8}   files kept")
        for name, case in cases.items():
            snapshot.__dict__.pop("_bounds_cache", None)
            first, later = measure(case, runs=1), measure(case, runs=RUNS)
            print(f"{name:40} {first:5.1f} ms {later:5.1f} ms   {int(case().sum()):,}")


def new_file(number: int) -> NewFile:
    """An add action for a file that holds the ids from `number` × 1,000 on."""
    low, high = number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE - 1

    def values(i: int) -> dict[str, object]:
        moment = dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=i)
        at = moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
        return {"id": i, "code": code(i), "price": i / 100, "at": at, "weight": i / 7}

    counts = dict.fromkeys(SCHEMA.names, 0)
    stats = {"numRecords": ROWS_PER_FILE, "minValues": values(low), "maxValues": values(high), "nullCount": counts}
    return NewFile(f"part-{number:06}.parquet", 1_000_000, stats)


def code(i: int) -> str:
    return f"c{i:012}"


def measure(work: Callable[[], object], runs: int) -> float:
    """The median time of some runs in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
