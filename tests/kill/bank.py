"""A bank whose books tell whether a transaction was lost or done twice, with views of every kind over them.

A transfer takes an amount from one account to another: two lines of the ledger and two changed accounts, in one
transaction over two tables. Which transfers were begun, and which had returned, stands in a journal beside the tables.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from advisor.api import Advisor
from advisor.plan import read_plan
from advisor.proposal import save as save_text
from executors.testing import assert_same_rows, stored_rows
from profiles.coefficients import FILE, SHIPPED, MachineProfile, save, this_machine
from profiles.measurements import FOLDER as MEASUREMENTS
from storage.log import is_delta
from tests.executors.recomputation import on_duckdb

ACCOUNTS, START = 40, 1000
OWNERS = ("ann", "bob", "cy", None)
VIEWS = {
    "movements": "SELECT l.tx, a.owner, l.amount FROM ledger l JOIN accounts a ON l.account = a.id WHERE l.amount > 0",
    "turnover": "SELECT account, COUNT(*) AS n, SUM(amount) AS total, MAX(amount) AS most FROM ledger GROUP BY account",
    "owners": "SELECT a.owner, SUM(t.n) AS n FROM turnover t JOIN accounts a ON t.account = a.id GROUP BY a.owner",
    "quiet": "SELECT id FROM accounts a WHERE NOT EXISTS (SELECT 1 FROM ledger l WHERE l.account = a.id)",
    "rich": "SELECT id, owner, balance FROM accounts WHERE balance > 1000",
}
KEPT = {
    "movements": "deferred/differential",
    "turnover": "immediate/counting",
    "owners": "deferred/counting",
    "quiet": "immediate/counting",
    "rich": "deferred/recompute",
}
WAYS = {
    "movements": ("immediate/differential", "deferred/counting", "query_modification", "deferred/recompute"),
    "turnover": ("deferred/counting", "query_modification", "immediate/recompute", "immediate/counting"),
    "owners": ("immediate/counting", "query_modification", "deferred/recompute", "deferred/counting"),
    "quiet": ("deferred/counting", "immediate/recompute", "query_modification", "immediate/counting"),
    "rich": ("immediate/differential", "deferred/counting", "query_modification", "deferred/recompute"),
}


class Bank:
    """The tables and the workload in a folder."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.folder, self.engine = folder, engine
        self.workload = folder / "workload.yaml"
        self.journal = folder / "journal"

    def found(self) -> None:
        """Make the tables and the workload."""
        accounts = {
            "id": list(range(ACCOUNTS)),
            "owner": [OWNERS[i % len(OWNERS)] for i in range(ACCOUNTS)],
            "balance": [START] * ACCOUNTS,
        }
        write_deltalake(self.folder / "data" / "accounts", pa.table(accounts))
        lines = pa.schema([("tx", pa.int64()), ("account", pa.int64()), ("amount", pa.int64())])
        write_deltalake(self.folder / "data" / "ledger", lines.empty_table())
        self.price()
        self.journal.touch()
        self.pin(KEPT)

    def price(self) -> None:
        """Let applying changes be cheap, and reading and writing whole tables dear."""
        kind: Any = self.engine
        dear = replace(SHIPPED[kind], rows_written=0.1, rows_read=1.0)
        folder = self.folder / ".advisor"
        folder.mkdir(exist_ok=True)
        text = save(folder, MachineProfile(kind, this_machine(), dear, measured=True))
        save_text(folder / FILE, text)

    def pin(self, kept: dict[str, str]) -> None:
        """Let the workload ask for these ways to keep the views; the file is there whole at any time."""
        lines = [
            "name: bank",
            f"engine: {self.engine}",
            "tables:",
            "  accounts: {path: data/accounts, key: [id]}",
            "  ledger: {path: data/ledger, foreign_keys: {account: accounts.id}}",
            "views:",
        ]
        for view, sql in VIEWS.items():
            strategy, _, algorithm = kept[view].partition("/")
            how = {"sql": sql, "strategy": strategy, **({"algorithm": algorithm} if algorithm else {})}
            lines.append(f"  {view}: {json.dumps(how)}")
        unfinished = self.workload.with_suffix(f".{os.getpid()}.tmp")
        unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
        unfinished.replace(self.workload)

    def switched(self, random: Random) -> dict[str, str]:
        """Other ways to keep some of the views."""
        return {view: random.choice((KEPT[view], *WAYS[view])) for view in VIEWS}

    def advisor(self, spark: Any = None) -> Advisor:
        return Advisor(self.workload, spark)

    def is_switching(self) -> bool:
        """Whether somebody died while he put a plan into force."""
        return read_plan(self.folder).switching is not None

    # Transfers

    def transfer(self, advisor: Advisor, random: Random) -> None:
        """One transaction, in the journal before and after."""
        number = max((number for number, _ in self.journalled()), default=0) + 1
        sender, receiver = random.sample(range(ACCOUNTS), 2)
        amount = random.randint(1, 50)
        accounts = DeltaTable(self.folder / "data" / "accounts").to_pyarrow_table().to_pylist()
        before = [row for row in accounts if row["id"] in (sender, receiver)]
        after = [{**row, "balance": row["balance"] + (amount if row["id"] == receiver else -amount)} for row in before]
        lines = {"tx": [number] * 2, "account": [sender, receiver], "amount": [-amount, amount]}
        self.note(number, "begun")
        advisor.update(
            {
                "ledger": (pa.table(lines), None),
                "accounts": (pa.Table.from_pylist(after), pa.Table.from_pylist(before)),
            }
        )
        self.note(number, "done")

    def note(self, number: int, what: str) -> None:
        with self.journal.open("a", encoding="utf-8") as journal:
            journal.write(f"{number} {what}\n")

    def journalled(self) -> list[tuple[int, str]]:
        lines = (line.split() for line in self.journal.read_text(encoding="utf-8").splitlines())
        return [(int(number), what) for number, what in lines]

    # What must be so, whatever died

    def check_readable(self) -> None:
        """Every table opens and can be read by any Delta reader."""
        for folder in (self.folder / "data", self.folder / "warehouse", self.folder / "warehouse" / "_advisor"):
            for table in folder.iterdir() if folder.is_dir() else ():
                if is_delta(table):
                    stored_rows(table)

    def check_right(self, advisor: Advisor) -> None:
        """After one refresh nothing is pending, no transfer is lost or doubled, and every view equals recompute."""
        stored = [each.view for each in advisor.status() if each.strategy != "query_modification"]
        advisor.refresh()
        tables = {name: stored_rows(self.folder / "data" / name) for name in ("accounts", "ledger")}
        self.check_books(tables)
        wanted = on_duckdb(VIEWS, tables)
        for view in stored:
            assert_same_rows(stored_rows(self.folder / "warehouse" / view), wanted[view], view)
        for view in VIEWS:
            assert_same_rows(advisor.query(view).toArrow(), wanted[view], f"query of {view}")
        behind = {each.view: each.pending for each in advisor.status() if each.pending}
        assert not behind, f"still pending after a refresh: {behind}"
        intents = list((self.folder / "warehouse" / "_advisor" / "intents").glob("*.[js]*"))
        assert not intents, f"transactions that nobody carried to their end: {intents}"

    def check_books(self, tables: dict[str, pa.Table]) -> None:
        lines = tables["ledger"].to_pylist()
        begun = {number for number, what in self.journalled() if what == "begun"}
        done = {number for number, what in self.journalled() if what == "done"}
        amounts: dict[int, list[int]] = {}
        balance = dict.fromkeys(range(ACCOUNTS), START)
        for line in lines:
            amounts.setdefault(line["tx"], []).append(line["amount"])
            balance[line["account"]] += line["amount"]
        there = set(amounts)
        assert done <= there, f"transfers were lost: {sorted(done - there)}"
        assert there <= begun, f"transfers that nobody made: {sorted(there - begun)}"
        odd = {number: found for number, found in amounts.items() if len(found) != 2 or sum(found)}
        assert not odd, f"transfers that happened in part or twice: {odd}"
        found = {row["id"]: row["balance"] for row in tables["accounts"].to_pylist()}
        assert len(found) == tables["accounts"].num_rows == ACCOUNTS, "accounts were lost or doubled"
        assert found == balance, "accounts and ledger disagree"

    def ran(self) -> dict[str, int]:
        """How often each algorithm ran, as far as it was measured."""
        found: dict[str, int] = {}
        folder = self.folder / "warehouse" / MEASUREMENTS
        for row in stored_rows(folder).to_pylist() if is_delta(folder) else ():
            if row["kind"] == "refresh" and row["ran"]:
                found[row["ran"]] = found.get(row["ran"], 0) + 1
        return found
