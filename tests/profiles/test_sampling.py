"""What Spark samples of small tables is exact, of large ones near the truth, and the same every time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from profiles import sampling
from profiles.requests import Join, Request, mirrored
from profiles.samples import Sampled
from profiles.sampling import sample
from storage.log import open_log
from storage.types import delta_fields, spark_types
from views.errors import ExecutionError, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.engine

EVEN = "`x` % 2 = 0"
SALES = Join(("k",), "items", ("k",))
CHEAP = replace(SALES, where="`x` < 10")


def stored(folder: Path, name: str, rows: pa.Table, files: int = 1) -> Path:
    step = -(-rows.num_rows // files) or 1
    for start in range(0, max(rows.num_rows, 1), step):
        write_deltalake(folder / name, rows.slice(start, step), mode="append")
    return folder / name


def request(place: Path, rows: pa.Table, **asked: object) -> Request:
    types = spark_types(delta_fields(rows.schema))
    snapshot = open_log(place).snapshot()
    version = f"delta {snapshot.table_id} version {snapshot.version}"
    return replace(Request(place.name, place, version, types), **asked)  # type: ignore[arg-type]


def sales(count: int, keys: int) -> pa.Table:
    """Column k is even, d ascends from file to file, x says nothing about either; some of k is NULL."""
    draw = np.random.default_rng(1)
    k = pa.array(draw.integers(0, keys, count), mask=draw.random(count) < 0.05)
    columns = {"id": np.arange(count), "k": k, "x": draw.integers(0, 100, count), "d": np.arange(count) // 100}
    return pa.table(columns)


def items(keys: int) -> pa.Table:
    return pa.table({"k": pa.array(range(keys // 2, keys * 2), pa.int32()), "name": ["n"] * (keys * 2 - keys // 2)})


def truth(one: pa.Table, two: pa.Table) -> int:
    return one.select(["k"]).cast(pa.schema([("k", pa.int64())])).join(
        two.select(["k"]).cast(pa.schema([("k", pa.int64())])), "k", join_type="inner"
    ).num_rows  # fmt: skip


def both(
    spark: SparkSession, folder: Path, one: pa.Table, two: pa.Table, files: int, budget: int
) -> dict[str, Sampled]:
    requests = [
        request(
            stored(folder, "sales", one, files),
            one,
            key=("id",),
            conditions=(EVEN, "`x` < 10", "`d` < 3", "`x` < 10 AND `d` < 3", "`x` > 1000", "`x` * `x` > 10000"),
            values=(("`x`",), ("`d`", "`x`"), ("`k`",), ("`id`", "`x`")),
            joins=(SALES, CHEAP),
        ),
        request(
            stored(folder, "items", two),
            two,
            values=(("`k`",),),
            joins=(mirrored(SALES, "sales"), mirrored(CHEAP, "sales")),
        ),
    ]
    return sample(spark, requests, budget)


def test_a_small_table_is_counted_exactly(spark: SparkSession, tmp_path: Path) -> None:
    one, two = sales(5_000, 300), items(300)
    found = both(spark, tmp_path, one, two, 3, 10_000)
    mine = found["sales"]
    x, d = one["x"].to_numpy(), one["d"].to_numpy()
    assert mine.rows.value == mine.looked_at == 5_000
    assert {each.source for each in mine.conditions.values()} == {"measured"}
    assert mine.conditions[EVEN].value == np.mean(x % 2 == 0)
    assert mine.conditions["`x` < 10 AND `d` < 3"].value == np.mean((x < 10) & (d < 3))
    assert mine.conditions["`x` > 1000"].upper == 0
    assert mine.distinct["`x`"].value == 100
    assert mine.distinct["`d`, `x`"].value == len(set(zip(x.tolist(), d.tolist(), strict=True)))
    assert mine.distinct["`id`, `x`"].value == 5_000
    pairs = mine.joins[SALES.key].pairs
    assert pairs.source == "measured"
    assert pairs.value * 5_000 * two.num_rows == pytest.approx(truth(one, two))
    cheap = one.filter(pa.array(x < 10))
    assert mine.joins[CHEAP.key].pairs.value * 5_000 * two.num_rows == pytest.approx(truth(cheap, two))
    assert found["items"].joins[mirrored(SALES, "sales").key].pairs == pairs
    k = one["k"].to_pandas()
    assert mine.joins[SALES.key].matched.value == pytest.approx((k >= 150).mean())
    assert mine.against == {"items": found["items"].version}
    assert mine.widths.keys() == {"id", "k", "x", "d"}


def test_a_large_table_is_looked_at_in_part_and_estimated_closely(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 2_000)
    monkeypatch.setattr(sampling, "KEYS", 500)
    one, two = sales(40_000, 5_000), items(5_000)
    found = both(spark, tmp_path, one, two, 20, 12_000)
    mine = found["sales"]
    x = one["x"].to_numpy()
    assert mine.rows.value == 40_000
    assert mine.looked_at == 12_000
    for condition, part in ((EVEN, np.mean(x % 2 == 0)), ("`x` < 10", np.mean(x < 10))):
        assert mine.conditions[condition].value == pytest.approx(part, rel=0.1)
        assert mine.conditions[condition].lower <= part <= mine.conditions[condition].upper
        assert mine.conditions[condition].source == "sampled"
    # the log knows that d < 3 holds in the first of twenty files at most
    assert mine.conditions["`d` < 3"].upper <= 0.05
    assert mine.conditions["`x` > 1000"].upper == 0
    assert 0 < mine.conditions["`x` * `x` > 10000"].upper < 0.01
    assert mine.distinct["`x`"].value == pytest.approx(100, rel=0.05)
    assert mine.distinct["`k`"].value == pytest.approx(len(set(one["k"].drop_null().to_pylist())), rel=0.15)
    pairs = mine.joins[SALES.key].pairs
    exact = truth(one, two) / 40_000 / two.num_rows
    assert pairs.source == "sampled"
    assert pairs.value == pytest.approx(exact, rel=0.2)
    assert pairs.lower <= exact <= pairs.upper
    cheap = truth(one.filter(pa.array(x < 10)), two) / 40_000 / two.num_rows
    assert cheap / 1.5 <= mine.joins[CHEAP.key].pairs.value <= cheap * 1.5


def test_a_table_that_is_known_whole_joins_one_that_is_sampled(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 2_000)
    monkeypatch.setattr(sampling, "KEYS", 500)
    one, two = sales(40_000, 5_000), items(1_000)
    pairs = both(spark, tmp_path, one, two, 1, 100_000)["items"].joins[mirrored(SALES, "sales").key].pairs
    exact = truth(one, two) / 40_000 / two.num_rows
    assert pairs.source == "sampled"
    assert exact / 1.4 <= pairs.value <= exact * 1.4
    assert pairs.lower <= exact <= pairs.upper


def test_of_the_largest_table_a_part_of_the_files_is_enough_for_its_joins(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 2_000)
    monkeypatch.setattr(sampling, "WHOLE_COLUMNS", 1)
    one, two = sales(40_000, 5_000), items(5_000)
    found = both(spark, tmp_path, one, two, 20, 12_000)
    pairs = found["sales"].joins[SALES.key].pairs
    exact = truth(one, two) / 40_000 / two.num_rows
    assert pairs.value == pytest.approx(exact, rel=0.1)
    assert pairs.lower <= exact <= pairs.upper
    values = len(set(one["k"].drop_null().to_pylist()))
    assert found["sales"].distinct["`k`"].lower <= values <= found["sales"].distinct["`k`"].upper
    matched = found["items"].joins[mirrored(SALES, "sales").key].matched
    assert matched.lower <= np.isin(two["k"].to_numpy(), one["k"].drop_null().to_numpy()).mean() <= matched.upper


def test_the_same_version_gives_the_same_statistics(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 1_000)
    monkeypatch.setattr(sampling, "KEYS", 300)
    one = sales(10_000, 3_000)
    place = stored(tmp_path, "sales", one, 10)
    asked = request(
        place, one, conditions=(EVEN,), values=(("`k`",), ("`d`", "`x`")), joins=(Join(("k",), "sales", ("k",)),)
    )
    assert sample(spark, [asked], 3_000) == sample(spark, [asked], 3_000)


def test_a_value_that_has_a_third_of_the_rows_does_not_spoil_the_join(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 2_000)
    monkeypatch.setattr(sampling, "KEYS", 200)
    draw = np.random.default_rng(3)
    often = np.full(10_000, 7)
    one = pa.table({"id": np.arange(30_000), "k": np.concatenate([draw.integers(0, 20_000, 20_000), often])})
    self_join = Join(("k",), "sales", ("k",))
    asked = request(stored(tmp_path, "sales", one), one, key=("id",), values=(("`k`",),), joins=(self_join,))
    found = sample(spark, [asked], 100_000)["sales"].joins[self_join.key].pairs
    _, counts = np.unique(one["k"].to_numpy(), return_counts=True)
    assert found.value * 30_000**2 == pytest.approx(float(np.sum(counts**2)), rel=0.01)


def test_an_empty_table_has_nothing_and_joins_nothing(spark: SparkSession, tmp_path: Path) -> None:
    found = both(spark, tmp_path, sales(0, 1), items(300), 1, 10_000)
    mine = found["sales"]
    assert mine.rows.value == 0
    assert mine.conditions[EVEN].upper == 0
    assert mine.distinct["`x`"].value == 0
    assert mine.joins[CHEAP.key].pairs.value == mine.joins[CHEAP.key].matched.value == 0


def test_the_version_that_is_asked_for_is_read(spark: SparkSession, tmp_path: Path) -> None:
    one = sales(100, 10)
    asked = request(stored(tmp_path, "sales", one), one, conditions=(EVEN,))
    write_deltalake(tmp_path / "sales", one, mode="append")
    assert sample(spark, [asked])["sales"].rows.value == 100


def test_parquet_folders_csv_files_and_catalog_tables_are_read(spark: SparkSession, tmp_path: Path) -> None:
    one = sales(500, 10)
    types = spark_types(delta_fields(one.schema))
    (tmp_path / "folder").mkdir()
    for number in range(5):
        pq.write_table(one.slice(number * 100, 100), tmp_path / "folder" / f"{number}.parquet")
    (tmp_path / "rows.csv").write_text("x\n" + "\n".join(str(x) for x in one["x"].to_pylist()) + "\n")
    spark.createDataFrame(one).createOrReplaceTempView("sales_for_sampling")
    places: tuple[Path | str, ...] = (tmp_path / "folder", tmp_path / "rows.csv", "sales_for_sampling")
    part = np.mean(one["x"].to_numpy() % 2 == 0)
    said: list[str] = []
    requests = [Request(f"t{i}", place, "v", types, (), (EVEN,)) for i, place in enumerate(places)]
    found = sample(spark, requests, progress=said.append)
    assert [each.conditions[EVEN].value for each in found.values()] == [part] * 3
    assert [each.rows.value for each in found.values()] == [500] * 3
    assert said == ["t0: 500 rows", "t1: 500 rows", "t2: 500 rows"]
    drawn = sample(spark, requests[:1], 90)["t0"]
    assert drawn.looked_at == 500  # four of five files are nearly all


@pytest.mark.engine("spark", "connect")
def test_a_condition_that_fails_by_itself_is_left_out_with_its_joins(spark: SparkSession, tmp_path: Path) -> None:
    one, two = sales(200, 10), items(10)
    wrong = "CAST(CONCAT('x', `x`) AS INT) > 1"
    failing = replace(SALES, where=wrong)
    requests = [
        request(stored(tmp_path, "sales", one), one, conditions=(EVEN, wrong), joins=(SALES, failing)),
        request(stored(tmp_path, "items", two), two, joins=(mirrored(SALES, "sales"), mirrored(failing, "sales"))),
    ]
    found = sample(spark, requests)
    assert found["sales"].conditions.keys() == {EVEN}
    assert found["sales"].refused == {wrong, failing.key}
    assert found["items"].refused == {mirrored(failing, "sales").key}
    assert found["sales"].joins.keys() == {SALES.key}


def test_a_table_that_cannot_be_read_is_one_line(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="gone: statistics could not be sampled"):
        sample(spark, [Request("gone", "no_such_table_anywhere", "v", {}, (), ("`x` > 1",))])
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(TableError, match="neither Delta, Parquet, CSV nor JSON"):
        sample(spark, [Request("notes", tmp_path / "notes.txt", "v", {})])
