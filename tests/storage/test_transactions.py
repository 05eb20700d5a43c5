"""Several tables, several writers, sudden death: a transaction happens whole or not at all, and none is lost.

The writers are real processes on Sail, which starts quickest; what they leave behind is read by an independent
Delta reader.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

PREPARE = """
import os, signal, sys
from pathlib import Path

import pyarrow as pa

from storage import intents
from storage.engine import open_session
from storage.log import DeltaLog
from storage.staging import Change
from storage.table import Table
from storage.updates import update
from views.errors import AdvisorError

root, mode = Path(sys.argv[1]), sys.argv[2]
spark = open_session("sail")
tables = {name: Table(spark, root / name, name=name, key=["k"]) for name in ("left", "right")}
folder = root / "_advisor" / "intents"


def transfer(k):
    rows = pa.table({"k": [k], "v": [k]})
    return {"left": Change(deletes=rows), "right": Change(inserts=rows)}

"""

DIE = """
when, number = mode.split(":")
commits = 0
original = DeltaLog.commit


def commit(self, *args, **kwargs):
    global commits
    commits += 1
    if when == "before" and commits == int(number):
        os.kill(os.getpid(), signal.SIGKILL)
    version = original(self, *args, **kwargs)
    if when == "after" and commits == int(number):
        os.kill(os.getpid(), signal.SIGKILL)
    return version


DeltaLog.commit = commit
update(tables, transfer(3), intents_folder=folder)
"""

RECOVER = """
intents.recover(folder, tables)
for table in tables.values():
    table.log.refresh()
print(sorted(r["k"] for r in tables["left"].snapshot().toArrow().to_pylist()))
"""

MOVE_ALL = """
print("ready", flush=True)
for k in range(10):
    update(tables, transfer(k), intents_folder=folder)
print("done", flush=True)
"""

WRITER = """
me = int(mode)
for i in range(4):
    k = 1000 + me * 100 + i
    update(tables, {"left": Change(inserts=pa.table({"k": [k], "v": [me]}))}, intents_folder=folder)
    update(tables, f"UPDATE right SET v = v + 1 WHERE k = {me % 3}", intents_folder=folder)
try:
    update(tables, {"left": Change(inserts=pa.table({"k": [999], "v": [me]}))}, intents_folder=folder)
    print("won")
except AdvisorError as error:
    print(error)
"""


def start(script: str, root: Path, mode: str) -> subprocess.Popen[str]:
    code = PREPARE + script
    return subprocess.Popen(
        [sys.executable, "-c", code, str(root), mode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def keys(root: Path, name: str) -> list[int]:
    return sorted(DeltaTable(str(root / name)).to_pyarrow_table()["k"].to_pylist())


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    write_deltalake(str(tmp_path / "left"), pa.table({"k": list(range(10)), "v": list(range(10))}))
    write_deltalake(str(tmp_path / "right"), pa.table({"k": pa.array([], pa.int64()), "v": pa.array([], pa.int64())}))
    return tmp_path


@pytest.mark.parametrize("moment", ["before:1", "after:1", "before:2", "after:2"])
def test_a_transaction_killed_between_its_commits_is_carried_to_its_end(warehouse: Path, moment: str) -> None:
    died = start(DIE, warehouse, moment)
    died.communicate(timeout=120)
    assert died.returncode == -signal.SIGKILL
    finish(start(RECOVER, warehouse, ""))
    assert keys(warehouse, "left") == [k for k in range(10) if k != 3]
    assert keys(warehouse, "right") == [3]
    assert not list((warehouse / "_advisor" / "intents").glob("*.json"))


def test_killed_at_random_moments_no_row_is_lost_or_doubled(warehouse: Path) -> None:
    rng = random.Random(86)
    for _ in range(4):
        running = start(MOVE_ALL, warehouse, "")
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.6))
        running.kill()
        running.communicate()
        finish(start(RECOVER, warehouse, ""))
        assert sorted(keys(warehouse, "left") + keys(warehouse, "right")) == list(range(10))
        if not keys(warehouse, "left"):
            break
    assert keys(warehouse, "right"), "not one transaction went through: the test kills too early"


def test_a_part_that_cannot_be_finished_is_taken_back(warehouse: Path) -> None:
    """After the first commit another writer takes the second table's key: the whole is undone."""
    died = start(DIE, warehouse, "after:1")
    died.communicate(timeout=120)
    write_deltalake(str(warehouse / "right"), pa.table({"k": [3], "v": [0]}), mode="append")
    recovered = start(RECOVER, warehouse, "")
    recovered.communicate(timeout=120)
    assert keys(warehouse, "left") == list(range(10))
    assert keys(warehouse, "right") == [3]
    assert not list((warehouse / "_advisor" / "intents").glob("*.json"))


def test_ten_concurrent_writers_lose_nothing(warehouse: Path) -> None:
    write_deltalake(str(warehouse / "right"), pa.table({"k": [0, 1, 2], "v": [0, 0, 0]}), mode="append")
    answers = [finish(p) for p in [start(WRITER, warehouse, str(i)) for i in range(10)]]
    left = DeltaTable(str(warehouse / "left")).to_pyarrow_table()
    expected = {*range(10), 999, *(1000 + me * 100 + i for me in range(10) for i in range(4))}
    assert Counter(left["k"].to_pylist()) == Counter(expected)
    right = {r["k"]: r["v"] for r in DeltaTable(str(warehouse / "right")).to_pyarrow_table().to_pylist()}
    assert right == {0: 16, 1: 12, 2: 12}
    assert sum("won" in a for a in answers) == 1
    assert sum("duplicate key k = 999" in a for a in answers) == 9
