"""Processes that are killed with SIGKILL, and what they leave; any number of more points: `make kill N=…`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from storage.engine import EngineSetting
from tests.conftest import ENGINE
from tests.kill.bank import Bank
from tests.kill.kill import OPERATIONS, check, crowd, points

pytestmark = pytest.mark.engine("sail", "spark")

POINTS = {"sail": 36, "spark": 4}


@pytest.mark.parametrize("operation", OPERATIONS[: POINTS.get(ENGINE)])
def test_a_killed_process_loses_nothing_and_doubles_nothing(
    tmp_path: Path, spark: Any, engine_setting: EngineSetting, operation: str
) -> None:
    engine = str(engine_setting)
    count = -(-POINTS[engine] // len(OPERATIONS[: POINTS[engine]]))
    assert len(list(points(tmp_path, spark, engine, [operation], count, operation))) == count


@pytest.mark.engine("sail")
def test_two_refreshers_and_an_updater_at_once_come_to_the_same(tmp_path: Path, spark: Any) -> None:
    bank = founded(tmp_path, spark)
    for seed in range(2):
        assert crowd(bank, Random(seed), dying=0) == "nobody died"
        check(bank, spark, "update")
    assert len(bank.journalled()) > 4
    assert {"counting", "differential"} <= bank.ran().keys()


def founded(folder: Path, spark: Any) -> Bank:
    bank = Bank(folder / "bank", "sail")
    bank.folder.mkdir()
    bank.found()
    bank.advisor(spark).apply()
    return bank


def lose_a_transfer(bank: Bank) -> None:
    bank.note(99, "begun")
    bank.note(99, "done")


def double_a_line(bank: Bank) -> None:
    lines = DeltaTable(bank.folder / "data" / "ledger").to_pyarrow_table()
    write_deltalake(bank.folder / "data" / "ledger", lines.slice(0, 1), mode="append")


def invent_a_transfer(bank: Bank) -> None:
    lines = pa.table({"tx": [77, 77], "account": [1, 2], "amount": [-5, 5]})
    write_deltalake(bank.folder / "data" / "ledger", lines, mode="append")


def change_a_balance(bank: Bank) -> None:
    DeltaTable(bank.folder / "data" / "accounts").update({"balance": "balance + 1"}, predicate="id = 3")


def change_a_view(bank: Bank) -> None:
    DeltaTable(bank.folder / "warehouse" / "turnover").update({"total": "total + 1"}, predicate="n > 0")


def tear_a_table(bank: Bank) -> None:
    path = DeltaTable(bank.folder / "warehouse" / "turnover").file_uris()[0]
    Path(path).unlink()


@pytest.mark.engine("sail")
@pytest.mark.parametrize(
    "damage", [lose_a_transfer, double_a_line, invent_a_transfer, change_a_balance, change_a_view, tear_a_table]
)
def test_damage_is_found(tmp_path: Path, spark: Any, damage: Callable[[Bank], None]) -> None:
    bank = founded(tmp_path, spark)
    bank.transfer(bank.advisor(spark), Random(1))
    check(bank, spark, "update")
    damage(bank)
    with pytest.raises((AssertionError, FileNotFoundError)):
        check(bank, spark, "update")
