"""Samples are used while they are of the table as it is or nearly so; else an engine is asked for, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from advisor.api import Advisor
from advisor.profiling import Profiled, profile
from advisor.proposal import FOLDER
from advisor.recommend import recommend
from profiles.definitions import definitions_of
from profiles.estimators import Matches
from profiles.requests import Request, requests_of, value_text
from profiles.samples import Sampled, read_samples, write_samples
from profiles.sources import all_statistics
from profiles.statistics import Estimate
from profiles.workload import Workload, load
from tests.advisor.workloads import NAMED, workload

TENTH = Estimate(0.1, 0.09, 0.11, "sampled")
VIEW = "SELECT city, COUNT(*) AS n FROM sales WHERE amount > 5 GROUP BY city"


class AskedForError(Exception):
    """An engine was asked for."""


@dataclass
class Engine:
    """Stands in for the opening of a session, and only counts that it is asked for."""

    asked: list[str] = field(default_factory=list)

    def __call__(self) -> NoReturn:
        self.asked.append("now")
        raise AskedForError


def sales(folder: Path, rows: int, mode: str = "overwrite") -> None:
    data = pa.table({"city": [f"c{i % 7}" for i in range(rows)], "amount": list(range(rows))})
    write_deltalake(folder / "sales", data, mode=mode)  # type: ignore[call-overload]


def made(folder: Path, view: str = VIEW, more: str = "") -> Workload:
    path = folder / "workload.yaml"
    text = f'tables: {{sales: {{path: sales}}}}\nviews: {{v: {{sql: "{view}"{more}}}}}\n'
    path.write_text(text, encoding="utf-8")
    return load(path)


def profiled(read: Workload, engine: Callable[[], NoReturn] | None) -> Profiled:
    statistics = all_statistics(read)
    return profile(
        read, statistics, definitions_of(read, statistics), read.folder / FOLDER, engine, 1000, lambda line: None
    )


def sampled(read: Workload) -> Sampled:
    """A sample that holds all that the workload's views ask of its table as it is."""
    statistics = all_statistics(read)
    (request,) = requests_of(definitions_of(read, statistics), statistics, {"sales": read.folder / "sales"})
    return answer(request, statistics["sales"].rows)


def answer(request: Request, rows: Estimate) -> Sampled:
    return Sampled(
        table=request.table,
        version=request.version,
        rows=rows,
        looked_at=int(rows.value),
        conditions=dict.fromkeys(request.conditions, TENTH),
        distinct={value_text(values): Estimate(7.0, 7.0, 7.0, "measured") for values in request.values},
        joins={join.key: Matches(TENTH, TENTH, TENTH) for join in request.joins},
    )


@pytest.fixture
def kept(tmp_path: Path) -> Workload:
    """A workload over 1,000 rows, with a sample of them beside it."""
    sales(tmp_path, 1000)
    read = made(tmp_path)
    write_samples(tmp_path / FOLDER, {"sales": sampled(read)})
    return read


def test_without_samples_an_engine_is_asked_for(tmp_path: Path) -> None:
    sales(tmp_path, 1000)
    engine = Engine()
    with pytest.raises(AskedForError):
        profiled(made(tmp_path), engine)
    assert len(engine.asked) == 1


def test_a_sample_of_this_version_is_used_and_no_engine_asked_for(kept: Workload) -> None:
    engine = Engine()
    found = profiled(kept, engine)
    assert (engine.asked, found.missing) == ([], ())
    assert set(found.statistics["sales"].conditions.values()) == {TENTH}


def test_a_sample_changes_what_is_recommended_from(kept: Workload) -> None:
    guessed, known = recommend(kept), recommend(kept, statistics=profiled(kept, None).statistics)
    assert known.views["v"].candidates != guessed.views["v"].candidates


def test_a_table_that_has_grown_by_less_than_a_tenth_is_not_sampled_again_but_doubted(kept: Workload) -> None:
    sales(kept.folder, 90, "append")
    engine = Engine()
    found = profiled(load(kept.folder / "workload.yaml"), engine)
    assert (engine.asked, found.missing) == ([], ())
    (condition,) = set(found.statistics["sales"].conditions.values())
    assert condition.value == TENTH.value
    assert condition.lower < TENTH.lower
    assert condition.upper > TENTH.upper


@pytest.mark.parametrize("grown", [True, False])
def test_a_table_that_has_grown_or_shrunk_by_more_is_sampled_again(kept: Workload, grown: bool) -> None:
    sales(kept.folder, 110 if grown else 890, "append" if grown else "overwrite")
    engine = Engine()
    with pytest.raises(AskedForError):
        profiled(load(kept.folder / "workload.yaml"), engine)
    assert len(engine.asked) == 1


def test_another_table_in_the_same_place_is_sampled_again(kept: Workload) -> None:
    earlier = read_samples(kept.folder / FOLDER)["sales"]
    elsewhere = replace(earlier, version="delta 0000 version 0")
    write_samples(kept.folder / FOLDER, {"sales": elsewhere})
    with pytest.raises(AskedForError):
        profiled(kept, Engine())


def test_a_view_that_asks_for_more_is_sampled_again(kept: Workload) -> None:
    with pytest.raises(AskedForError):
        profiled(made(kept.folder, VIEW.replace("amount > 5", "amount > 6")), Engine())


def test_a_filter_of_queries_is_asked_for_too(kept: Workload) -> None:
    with pytest.raises(AskedForError):
        profiled(made(kept.folder, more=", queries: {filter: city = 'c3'}"), Engine())


def test_without_an_engine_what_is_missing_is_named(tmp_path: Path) -> None:
    sales(tmp_path, 1000)
    found = profiled(made(tmp_path), None)
    assert found.missing == ("sales",)
    assert found.statistics["sales"].conditions == {}
    assert not (tmp_path / FOLDER).exists()


def test_without_an_engine_an_older_sample_of_much_fewer_rows_is_not_used(kept: Workload) -> None:
    sales(kept.folder, 4000, "append")
    found = profiled(load(kept.folder / "workload.yaml"), None)
    assert found.missing == ("sales",)
    assert found.statistics["sales"].conditions == {}


def test_tables_without_rows_to_look_at_ask_for_no_engine(tmp_path: Path) -> None:
    engine = Engine()
    found = profiled(workload(tmp_path, f'v: {{sql: "{NAMED}"}}'), engine)
    assert (engine.asked, found.missing) == ([], ())


def test_the_advisor_says_what_was_not_sampled(tmp_path: Path) -> None:
    sales(tmp_path, 1000)
    advisor = Advisor(made(tmp_path))
    advisor.proposal(sample_rows=0)
    assert any("not sampled: sales" in line for line in advisor.said)
