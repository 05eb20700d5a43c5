"""The waste list: which derived tables cost more than they need, what could be saved, and what is not known."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from advisor.cli import main
from advisor.waste import DerivedTable, Waste, WasteList, derived_tables, find_waste, waste_of, waste_text
from profiles.eventlogs import Execution
from profiles.plans import How, Read, Write
from views.errors import TableError

LOGS = Path(__file__).parents[1] / "profiles" / "eventlogs"
DAY, HOUR = 86_400.0, 3600.0


def run(
    hour: float, reads: Sequence[str] = (), write: str | None = None, how: How = "overwrite", *, seconds: float = 60.0
) -> Execution:
    """A query, or a rebuild when it writes."""
    writes = () if write is None else (Write(write, None, how),)
    return Execution("app", "q", hour * HOUR, seconds, tuple(Read(path, None) for path in reads), writes, True)


def only(found: WasteList) -> Waste:
    (waste,) = found.wastes
    return waste


def delta(folder: Path, *hours: float, mode: str = "append", rows: int = 100) -> Path:
    """A Delta table of one commit per hour: the first loads `rows` rows, the others write one."""
    for i, _ in enumerate(hours):
        count = 1 if i and mode == "append" else rows
        write_deltalake(folder, pa.table({"k": list(range(count))}), mode=mode if i else "error")
    return date(folder, *hours)


def date(folder: Path, *hours: float) -> Path:
    """Its commits as if they had been made at these hours since the epoch."""
    for log, hour in zip(sorted((folder / "_delta_log").glob("*.json")), hours, strict=True):
        text = log.read_text()
        assert '"commitInfo":{"timestamp":' in text
        log.write_text(re.sub(r'("commitInfo":\{"timestamp":)\d+', rf"\g<1>{int((hour + 0.01) * HOUR * 1000)}", text))
    return folder


def test_rebuilt_every_hour_and_read_twice_a_day(tmp_path: Path) -> None:
    rebuilds = [run(i, ["/raw"], "/daily", seconds=60) for i in range(25)]
    found = find_waste([*rebuilds, run(3, ["/daily"]), run(9, ["/daily"]), run(48)])
    waste = only(found)
    days = 48 / 24 + 60 / DAY
    assert (waste.table, waste.sources, waste.changed_fraction) == ("/daily", ("/raw",), None)
    assert waste.rebuilds_per_day == pytest.approx(25 / days)
    assert waste.reads_per_day == pytest.approx(2 / days)
    assert waste.seconds_per_day == pytest.approx(25 * 60 / days)
    assert waste.saved_seconds_per_day == pytest.approx(23 * 60 / days)
    assert waste.because == "rebuilt 12 times a day, read 1 time"


def test_read_more_often_than_rebuilt_is_no_waste() -> None:
    found = find_waste([*(run(i, ["/raw"], "/daily") for i in (0, 24, 48)), *(run(i, ["/daily"]) for i in range(9))])
    assert (found.wastes, found.derived) == ((), 1)


def test_rebuilt_in_full_though_one_row_in_a_hundred_changed(tmp_path: Path) -> None:
    source = delta(tmp_path / "orders", 0, 30, 54)
    rebuilds = [run(hour, [str(source)], "/daily", seconds=100) for hour in (24, 48, 72)]
    waste = only(find_waste([*rebuilds, *(run(h, ["/daily"]) for h in (25, 26, 49, 50, 73))]))
    assert waste.changed_fraction == pytest.approx(1 / 102)
    assert waste.because == "rebuilt in full for 0.98 % changed rows"
    assert waste.saved_seconds_per_day == pytest.approx((waste.seconds_per_day or 0) * 101 / 102)


def test_rebuilt_in_full_though_nothing_changed(tmp_path: Path) -> None:
    source = delta(tmp_path / "orders", 0)
    waste = only(find_waste([*(run(h, [str(source)], "/d") for h in (1, 2)), *(run(h, ["/d"]) for h in (3, 4, 5))]))
    assert waste.because == "rebuilt in full though no row changed"
    assert waste.saved_seconds_per_day == waste.seconds_per_day


def test_rebuilt_after_half_of_the_rows_changed_is_no_waste(tmp_path: Path) -> None:
    source = delta(tmp_path / "orders", 0, 1.5, mode="overwrite")
    found = find_waste([*(run(h, [str(source)], "/d") for h in (1, 2)), *(run(h, ["/d"]) for h in (3, 4, 5))])
    assert (found.wastes, found.derived) == ((), 1)


def test_a_source_whose_changes_nobody_logs_is_left_out_and_named(tmp_path: Path) -> None:
    source = delta(tmp_path / "orders", 0)
    rebuilds = [run(hour, [str(source), "/raw"], "/d") for hour in (1, 2)]
    found = find_waste([*rebuilds, *(run(hour, ["/d"]) for hour in (3, 4, 5))])
    assert only(found).because == "rebuilt in full though no row changed (changes of /raw are unknown)"
    assert "How many rows change in /raw is unknown: no Delta log there tells." in found.unknown


def test_a_log_that_was_cleaned_before_the_first_rebuild_does_not_tell(tmp_path: Path) -> None:
    source = delta(tmp_path / "orders", 0, 30, 54)
    DeltaTable(source).create_checkpoint()
    (source / "_delta_log" / f"{0:020}.json").unlink()
    rebuilds = [run(hour, [str(source)], "/daily") for hour in (24, 48, 72)]
    (table,) = derived_tables(rebuilds)
    assert (table.changed_fraction, table.uncounted) == (None, (str(source),))


@pytest.mark.parametrize("path", ["/" + "x" * 5000, "/nul\0l", "/nowhere", "s3a://bucket/orders"])
def test_a_source_that_is_not_on_this_machine_is_only_a_name(path: str) -> None:
    (table,) = derived_tables([run(hour, [path], "/daily") for hour in (1, 2)])
    assert (table.sources, table.uncounted) == ((path,), (path,))


def test_one_rebuild_is_how_a_table_begins() -> None:
    found = find_waste([run(0, ["/raw"], "/daily")])
    assert (found.wastes, found.derived) == ((), 1)


def test_a_load_without_a_source_derives_nothing() -> None:
    assert find_waste([run(i, [], "/raw") for i in range(9)]).derived == 0


def test_a_table_that_is_only_computed_from_itself_is_not_derived() -> None:
    assert find_waste([run(i, ["/raw"], "/raw") for i in range(9)]).derived == 0


def test_a_failed_rebuild_is_none() -> None:
    failed = Execution("app", "q", 0.0, 9.0, (Read("/raw", None),), (Write("/daily", None, "overwrite"),), False)
    assert derived_tables([failed, failed]) == ()


def test_appended_to_and_never_read() -> None:
    waste = only(find_waste([run(i, ["/raw"], "/archive", "append") for i in range(4)]))
    assert waste.because == "appended to 4 times a day, never read"
    assert waste.saved_seconds_per_day == waste.seconds_per_day == 240


def test_appended_to_more_often_than_read_is_no_waste() -> None:
    found = find_waste([*(run(i, ["/raw"], "/archive", "append") for i in range(4)), run(5, ["/archive"])])
    assert found.wastes == ()


def test_only_the_full_rebuilds_of_a_table_are_counted() -> None:
    changes = [run(i, ["/raw"], "/daily", "change") for i in range(9)]
    (table,) = derived_tables(
        [*changes, run(10, ["/raw"], "/daily", seconds=7), run(11, ["/raw"], "/daily", seconds=9)]
    )
    assert (table.how, len(table.rebuilds), table.seconds_per_rebuild) == ("overwrite", 2, 8)


def test_a_table_known_by_name_and_by_folder_is_one() -> None:
    by_name = Execution("app", "q", 0.0, 1.0, (Read("/raw", None),), (Write(None, "db.daily", "overwrite"),), True)
    by_both = Execution("app", "q", 9.0, 1.0, (Read("/w/daily", "db.daily"),), (), True)
    (table,) = derived_tables([by_name, by_name, by_both])
    assert (table.table, len(table.rebuilds), table.reads_per_day) == ("/w/daily", 2, 1)


def test_without_an_event_log_a_table_that_every_commit_replaces_is_called_rebuilt(tmp_path: Path) -> None:
    delta(tmp_path / "daily", 0, 24, 48, mode="overwrite")
    delta(tmp_path / "orders", 0, 24, 48)
    found = find_waste(None, [tmp_path])
    waste = only(found)
    assert waste.table == str(tmp_path / "daily")
    assert re.fullmatch(r"rebuilt in full 1 time a day, [\d.]+ k?B each", waste.because)
    assert (waste.seconds_per_day, waste.reads_per_day, waste.saved_seconds_per_day) == (None, None, None)
    assert found.unknown[0].startswith("Without an event log it is unknown what a rebuild costs")


@pytest.mark.parametrize("how", ["delete", "optimize"])
def test_a_table_that_is_changed_in_place_is_not_called_rebuilt(how: str, tmp_path: Path) -> None:
    folder = delta(tmp_path / "t", 0, 1, mode="overwrite")
    write_deltalake(folder, pa.table({"k": [7]}), mode="append")
    if how == "delete":
        DeltaTable(folder).delete("k >= 0")
    else:
        DeltaTable(folder).optimize.compact()
    assert find_waste(None, [tmp_path]).derived == 0


def test_an_event_log_that_shows_the_reads_but_not_the_rebuilds(tmp_path: Path) -> None:
    folder = delta(tmp_path / "daily", 0, 24, 48, mode="overwrite")
    waste = only(find_waste([run(0), run(1, [str(folder)]), run(96)], [tmp_path]))
    assert waste.because == "rebuilt 1 time a day, read 0.25 times"
    assert waste.seconds_per_day is None


def test_a_log_that_cannot_be_read_is_told_and_leaves_its_table_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken" / "_delta_log").mkdir(parents=True)
    (tmp_path / "broken" / "_delta_log" / f"{0:020}.json").write_text("{")
    delta(tmp_path / "daily", 0, 24, 48, mode="overwrite")
    assert only(find_waste(None, [tmp_path])).table == str(tmp_path / "daily")
    assert len(caplog.records) == 1
    assert str(tmp_path / "broken") in caplog.text


def test_hidden_folders_and_what_lies_inside_a_table_are_not_looked_into(tmp_path: Path) -> None:
    delta(tmp_path / "t", 0)
    for inner in (tmp_path / "t" / "inner", tmp_path / "_staging" / "t", tmp_path / ".trash" / "t"):
        delta(inner, 0, 1, mode="overwrite")
    assert find_waste(None, [tmp_path]).derived == 0


def test_a_folder_is_found_by_any_way_to_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    delta(tmp_path / "a b" / "daily", 0, 24, 48, mode="overwrite")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    reads = [run(0), run(1, [str(tmp_path / "a b" / "daily")]), run(96)]
    for folder in ("../a b", (tmp_path / "a b").as_uri(), tmp_path / "a b"):
        assert only(find_waste(reads, [folder])).reads_per_day == pytest.approx(0.25, rel=0.01)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no such folder; name a folder that holds Delta tables"):
        find_waste(None, [tmp_path / "nowhere"])


def table(name: str, seconds: float | None, rebuilds: int = 4) -> DerivedTable:
    return DerivedTable(name, ("/raw",), "overwrite", (0.0,) * rebuilds, float(rebuilds), seconds, 0.0, None)


def test_the_biggest_comes_first_and_what_is_unknown_last() -> None:
    found = waste_of([table("b", 2), table("u", None), table("a", 2), table("much", 9), table("v", None, rebuilds=9)])
    assert [waste.table for waste in found] == ["much", "a", "b", "v", "u"]


def test_the_list_is_aligned_and_sums_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    wastes = waste_of([table("/data/daily", 90), table("/x", None)])
    assert waste_text(WasteList(wastes, 5, ("One thing is unknown.",))).splitlines() == [
        "2 of 5 derived tables cost more than needed: 6 m a day, of which at most 6 m can be saved",
        "",
        "  table       a day    to save  because",
        "  data/daily  6 m      6 m      rebuilt 4 times a day, never read",
        "  x           unknown  unknown  rebuilt 4 times a day, never read",
        "",
        "One thing is unknown.",
        "",
        "next: advisor init drafts a workload from the same folders and logs; recommend then prices other ways",
    ]


def test_a_list_of_unknown_costs_sums_up_nothing() -> None:
    assert waste_text(WasteList(waste_of([table("x", None)]), 1, ())).startswith(
        "1 of 1 derived table costs a full rebuild each time\n"
    )


def test_nothing_to_complain_about_is_said() -> None:
    assert waste_text(WasteList((), 3, ())) == (
        "nothing to complain about: 3 derived tables, none rebuilt more often than read or in full for a small change"
    )
    assert waste_text(WasteList((), 0, ())).startswith("no derived table found")


def test_a_log_of_a_few_hours_says_that_rates_are_guesses() -> None:
    found = find_waste([run(0, ["/raw"], "/daily"), run(2, ["/daily"], seconds=0)])
    assert found.unknown[0] == ("The event logs span only 2 h; rates are those of a day in which nothing else happens.")
    assert "Who reads without Spark is not in its event logs." in found.unknown
    assert find_waste([]).unknown == ("The event logs show no query and no write.",)


def test_a_folder_without_delta_tables_is_named(tmp_path: Path) -> None:
    assert find_waste(None, [tmp_path]).unknown[0] == f"{tmp_path} holds no Delta table."


def advise(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["recommend", *map(str, arguments)])
    printed = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, printed.out, printed.err


def test_the_command_prints_the_list_of_real_logs_without_a_workload(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = advise(capsys, "--from-logs", "--event-log", LOGS / "delta.json")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("1 of 3 derived tables costs more than needed: ")
    assert "/warehouse/dtab2  39 s   39 s     rebuilt 2 times a day, never read" in out


def test_the_json_holds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = advise(capsys, "--from-logs", "--event-log", LOGS / "delta.json", "--json")
    answer = json.loads(out)
    assert (code, answer["derived_tables"]) == (0, 3)
    (waste,) = answer["waste"]
    assert set(waste) == {"table", "because", "seconds_per_day", "saved_seconds_per_day", "rebuilds_per_day",
                          "reads_per_day", "changed_fraction", "sources"}  # fmt: skip
    assert (waste["table"], waste["rebuilds_per_day"]) == ("/warehouse/dtab2", 2)


def test_folders_may_stand_before_and_after_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        delta(tmp_path / name / "daily", 0, 24, 48, mode="overwrite")
    code, out, _ = advise(capsys, tmp_path / "a", "--from-logs", tmp_path / "b")
    assert code == 0
    assert out.startswith("2 of 2 derived tables cost a full rebuild each time\n")


def test_it_writes_nothing_and_loads_no_engine(tmp_path: Path) -> None:
    delta(tmp_path / "data" / "daily", 0, 24, 48, mode="overwrite")
    before = sorted(tmp_path.rglob("*"))
    script = (
        "import sys; from advisor.cli import main\n"
        f"try: main(['recommend', '--from-logs', 'data', '--event-log', {str(LOGS)!r} + '/parquet.zstd'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "print({'pyspark', 'scipy', 'plotly'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.splitlines()[-1] == "set()"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give one workload file, or --from-logs with folders; "),
        (["a.yaml", "b.yaml"], "give one workload file, or --from-logs with folders; "),
        (["--from-logs"], "--from-logs needs logs; "),
        (["{file}", "--from-logs"], "{file} is a file, and --from-logs reads folders; give either a workload or "),
        (["{file}", "--from-logs", "{folder}"], "{file} is a file, and --from-logs reads folders; "),
        (["{folder}/none", "--from-logs"], "{folder}/none: no such folder; "),
        (["--from-logs", "--event-log", "{folder}/none"], "{folder}/none: no such file or folder; "),
        (["--from-logs", "--event-log", "{folder}"], "{folder}/workload.yaml:1: is not a line of a Spark event log; "),
        (
            ["--from-logs", "{folder}", "--all"],
            "--all, --html, --select and --exclude are about the views of a workload; ",
        ),
        (["{file}", "--event-log", "{folder}", "--model", "hanson"], "--event-log is not read by the page model of "),
    ],
)
def test_arguments_that_contradict_each_other_are_one_line(
    arguments: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text("tables: {}\nviews: {}\n")
    filled = [each.format(file=file, folder=tmp_path) for each in arguments]
    code, out, err = advise(capsys, *filled)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("advisor: " + problem.format(file=file, folder=tmp_path))
