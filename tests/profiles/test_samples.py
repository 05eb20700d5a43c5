"""Sampled statistics are kept byte for byte, used while they are current, and doubted when they are old."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from profiles.estimators import Matches
from profiles.requests import Join, Request
from profiles.samples import FILE, Sampled, aged, current, merge, outdated, read_samples, write_samples
from profiles.statistics import ColumnStatistics, Estimate, TableStatistics
from views.errors import WorkloadError

VERSION = "delta 8f1e version 3"
HALF = Estimate(0.5, 0.45, 0.55, "sampled")
JOIN = Join(("k",), "other", ("k",))
SAMPLED = Sampled(
    table="t",
    version=VERSION,
    rows=Estimate.of(1000.0, "measured"),
    looked_at=1000,
    conditions={"`x` > 1": HALF, "`name` = 'ünï\"'": Estimate(0.0, 0.0, 0.01, "sampled")},
    refused=frozenset({"1 / `x` > 1"}),
    distinct={"`k`": Estimate(90.0, 80.0, 100.0, "sampled"), "`k`, `x`": Estimate.of(300.0, "measured")},
    widths={"k": Estimate.of(3.2, "measured")},
    joins={JOIN.key: Matches(Estimate(0.01, 0.009, 0.011, "sampled"), HALF, Estimate.of(45.0, "measured"))},
    against={"other": "delta 77aa version 1"},
)
REQUEST = Request("t", "t", VERSION, {"k": "int"}, (), ("`x` > 1", "1 / `x` > 1"), (("`k`",),), (JOIN,))
VERSIONS = {"t": VERSION, "other": "delta 77aa version 1"}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_samples(tmp_path / ".advisor", {"t": SAMPLED, "empty": Sampled("empty", "v", HALF, 0)})
    found = read_samples(tmp_path / ".advisor")
    assert found["t"] == SAMPLED
    assert found["empty"].conditions == {}
    assert [path.name for path in (tmp_path / ".advisor").iterdir()] == [FILE]


def test_the_same_numbers_are_the_same_bytes_in_whatever_order_they_come(tmp_path: Path) -> None:
    other = replace(SAMPLED, table="s", rows=Estimate(1 / 3, 0.0, 1.0, "sampled"))
    write_samples(tmp_path / "a", {"t": SAMPLED, "s": other})
    turned = replace(SAMPLED, conditions=dict(reversed(SAMPLED.conditions.items())))
    write_samples(tmp_path / "b", {"s": read_samples(tmp_path / "a")["s"], "t": turned})
    assert (tmp_path / "a" / FILE).read_bytes() == (tmp_path / "b" / FILE).read_bytes()
    assert b"0.333333," in (tmp_path / "a" / FILE).read_bytes()


def test_without_a_file_nothing_was_sampled(tmp_path: Path) -> None:
    assert read_samples(tmp_path) == {}


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": 99, "tables": {}}',
        b'{"format": 1, "tables": {"t": {}}}',
        b'{"format": 1, "tables": {"t": 7}}',
        b'{"format": 1, "tables": []}',
    ],
)
def test_a_broken_file_is_one_line_that_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(WorkloadError, match=FILE) as caught:
        read_samples(tmp_path)
    assert "\n" not in str(caught.value)
    assert "delete the file" in str(caught.value)


@pytest.mark.parametrize("node", ['[0.5, 0.6, 0.7, "sampled"]', '[0.5, "guessed"]', '["x", "sampled"]', "[]"])
def test_an_estimate_that_is_none_is_not_believed(tmp_path: Path, node: str) -> None:
    write_samples(tmp_path, {"t": replace(SAMPLED, rows=Estimate(0.25, 0.125, 0.375, "sampled"))})
    text = (tmp_path / FILE).read_text()
    lines = '[\n    0.25,\n    0.125,\n    0.375,\n    "sampled"\n   ]'
    assert lines in text
    (tmp_path / FILE).write_text(text.replace(lines, node))
    with pytest.raises(WorkloadError, match="no sampled statistics"):
        read_samples(tmp_path)


def test_samples_are_current_while_versions_and_questions_are_the_same() -> None:
    assert current(SAMPLED, REQUEST, VERSIONS)
    assert not current(None, REQUEST, VERSIONS)
    assert not current(SAMPLED, replace(REQUEST, version="delta 8f1e version 4"), VERSIONS)
    assert not current(SAMPLED, REQUEST, {**VERSIONS, "other": "delta 77aa version 2"})
    assert not current(SAMPLED, replace(REQUEST, conditions=("`x` > 2",)), VERSIONS)
    assert not current(SAMPLED, replace(REQUEST, values=(("`y`",),)), VERSIONS)
    assert not current(SAMPLED, replace(REQUEST, joins=(replace(JOIN, where="`x` > 1"),)), VERSIONS)


def test_a_table_is_sampled_again_with_all_that_it_is_joined_with() -> None:
    def request(name: str, *others: str) -> Request:
        return Request(name, name, f"{name} 1", {}, joins=tuple(Join(("k",), other, ("k",)) for other in others))

    requests = [request("a", "b"), request("b", "a", "c"), request("c", "b"), request("apart")]
    matched = Matches(HALF, HALF, HALF)
    samples = {
        r.table: Sampled(r.table, r.version, HALF, 1, joins={join.key: matched for join in r.joins}) for r in requests
    }
    assert outdated(samples, requests) == []
    assert [r.table for r in outdated({**samples, "a": replace(samples["a"], version="a 0")}, requests)] == list("abc")
    assert [r.table for r in outdated({}, requests)] == ["a", "b", "c", "apart"]


def test_older_samples_keep_their_values_and_sources_in_wider_ranges() -> None:
    found = aged(SAMPLED, "delta 8f1e version 4", Estimate.of(2000.0, "measured"))
    assert found is not None
    half = found.conditions["`x` > 1"]
    assert (half.value, half.lower, half.upper, half.source) == (0.5, 0.45 / 2.5, 1.0, "sampled")
    assert found.distinct["`k`, `x`"].upper == 750
    assert found.joins[JOIN.key].pairs.upper == pytest.approx(0.0275)
    assert found.version == VERSION


def test_samples_of_the_same_version_are_not_doubted_and_those_of_another_table_not_used() -> None:
    assert aged(SAMPLED, VERSION, SAMPLED.rows) is SAMPLED
    assert aged(SAMPLED, "delta 9999 version 3", SAMPLED.rows) is None
    assert aged(replace(SAMPLED, version="files ab"), "files cd", SAMPLED.rows) is None


def test_samples_take_the_place_of_guesses_and_leave_what_was_counted() -> None:
    guess = Estimate.of(100.0, "default")
    table = TableStatistics(
        "t",
        rows=Estimate.of(1200.0, "declared"),
        row_bytes=guess,
        updates_per_day=guess,
        rows_per_update=guess,
        columns={"k": "int", "x": "int"},
        details={"k": ColumnStatistics(guess, guess, Estimate(0.1, 0.1, 0.1, "measured"))},
    )
    found = merge(table, SAMPLED)
    assert found.rows == table.rows
    assert found.details["k"] == ColumnStatistics(
        SAMPLED.distinct["`k`"], SAMPLED.widths["k"], table.details["k"].overlap
    )
    assert found.conditions["`x` > 1"] == HALF
    assert found.combinations["`k`, `x`"].value == 300
    assert found.joins == {"k=other.k": Estimate(0.01, 0.009, 0.011, "sampled")}
    assert found.matched == {"k=other.k": HALF}
    assert merge(replace(table, rows=guess), SAMPLED).rows == SAMPLED.rows
