"""What a commit through our layer costs: an append, and one rewritten file, beside no Spark job.

    python benchmarks/commit.py [--files 5000] [--commits 10000]

Builds a Delta log with that many files and earlier commits (the log alone: no data is read by a commit), then
times commits of both kinds and prints the medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from storage.log import DeltaLog, NewFile, create_log


def new_file(number: int) -> NewFile:
    low, high = number * 10, number * 10 + 9
    bounds = {"minValues": {"k": low, "s": f"{low:012}"}, "maxValues": {"k": high, "s": f"{high:012}"}}
    return NewFile(f"part-{number}.parquet", 1000, {"numRecords": 10, **bounds, "nullCount": {"k": 0, "s": 0}})


def measure(log: DeltaLog, start: int, rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"append": [], "rewrite one file": []}
    for i in range(start, start + rounds):
        for kind, removes in (("append", []), ("rewrite one file", [f"part-{2 * i}.parquet"])):
            begin = time.perf_counter()
            log.commit([new_file(2 * i + len(removes))], removes, note={"change_files": ["_changes/x.parquet"]})
            found[kind].append((time.perf_counter() - begin) * 1000)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=50)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "table"
        schema = pa.schema([("k", pa.int64()), ("s", pa.string())])
        log = create_log(root, schema, [new_file(i) for i in range(args.files)])
        print(f"{'earlier commits':>16}  {'files':>6}  {'kind':<18}{'median':>8}{'90 %':>8}")
        base = args.files
        for target in (0, args.commits):
            while log.version < target:
                # The same file added and removed in turn keeps the number of files where it is.
                log.commit([new_file(base)])
                log.commit([], [f"part-{base}.parquet"])
                base += 1
            earlier, files = log.version, log.num_files
            for kind, times in measure(log, base + 1, args.rounds).items():
                p90 = statistics.quantiles(times, n=10)[-1]
                print(f"{earlier:>16}  {files:>6}  {kind:<18}{statistics.median(times):>5.1f} ms{p90:>5.1f} ms")
            base += 4 * args.rounds + 10


if __name__ == "__main__":
    main()
