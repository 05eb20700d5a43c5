"""`advisor calibrate`: what it measures, what it saves, and what it says."""

from __future__ import annotations

import io
import json
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from advisor import calibrate as command
from advisor.cli import main
from advisor.microbenchmark import CHANGED, Run, medians
from costmodels.calibration import Fit
from profiles.coefficients import FILE, QUANTITIES, SHIPPED, MachineProfile, machine_profile, this_machine

WORKLOAD = """\
name: shop
engine: sail
tables: {orders: {rows: 1000, columns: {k: bigint, c: bigint}, updates: {per_day: 5, rows: 10}}}
views: {counts: {sql: "SELECT c, COUNT(*) AS n FROM orders GROUP BY c"}}
"""


def run(*arguments: object) -> tuple[int, str, str]:
    """One command: its exit code, stdout and stderr."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err, pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    assert isinstance(end.value.code, int)
    return end.value.code, out.getvalue(), err.getvalue()


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    (tmp_path / "w.yaml").write_text(WORKLOAD, encoding="utf-8")
    return tmp_path / "w.yaml"


# On an engine


@dataclass(frozen=True)
class Calibrated:
    """A small calibration on Sail: its answer, and the folders that it met."""

    answer: dict[str, Any]
    workload: Path
    scratch: Path


@pytest.fixture(scope="module")
def calibrated(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    folder, scratch = tmp_path_factory.mktemp("calibrated"), tmp_path_factory.mktemp("scratch")
    (folder / "w.yaml").write_text(WORKLOAD, encoding="utf-8")
    whole = command.calibrate
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(scratch))
        patch.setattr(command, "calibrate", lambda advisor, step: whole(advisor, step, scale=0.01))
        code, out, err = run("calibrate", folder / "w.yaml", "--micro", "--json")
    assert (code, err) == (0, "")
    return Calibrated(json.loads(out), folder / "w.yaml", scratch)


@pytest.mark.engine("sail")
def test_every_quantity_but_the_start_is_seen_in_many_runs(calibrated: Calibrated) -> None:
    found = calibrated.answer["coefficients"]
    assert found.keys() == set(QUANTITIES)
    few = {name: each["runs"] for name, each in found.items() if each["runs"] < 10}
    assert few == {"sessions": 1, "shuffles": 9, "rows_searched": 0}  # tables as small as these are read whole
    assert all(each["after"] > 0 for each in found.values())


@pytest.mark.engine("sail")
def test_views_are_rebuilt_refreshed_and_read(calibrated: Calibrated) -> None:
    whats = {each["what"] for each in calibrated.answer["runs"]}
    assert whats == {
        "rebuild",
        *(f"refresh after {rows:,} rows of {table}" for table, rows in CHANGED),
        *(f"read {part}, {kind}" for part in ("all", "a part") for kind in ("stored", "virtual")),
    }
    views = {each["view"] for each in calibrated.answer["runs"]}
    assert len(calibrated.answer["runs"]) == len(whats) * len(views)
    for each in calibrated.answer["runs"]:
        assert each["seconds"] > 0
        assert each["quantities"].keys() <= set(QUANTITIES)
        assert each["quantities"]["statements"] >= 1


@pytest.mark.engine("sail")
def test_what_was_measured_is_what_the_next_recommendation_uses(calibrated: Calibrated) -> None:
    after = {name: each["after"] for name, each in calibrated.answer["coefficients"].items()}
    saved = machine_profile(calibrated.workload.parent / ".advisor", "sail")
    assert saved.measured
    assert asdict(saved.coefficients) == pytest.approx(after, rel=1e-3)
    code, out, _ = run("recommend", calibrated.workload, "--json")
    used = json.loads(out)["coefficients"]
    assert (code, used["engine"], used["measured"]) == (0, "sail", True)
    assert used["seconds"] == pytest.approx(after, rel=1e-3)


@pytest.mark.engine("sail")
def test_nothing_stays_but_the_coefficients(calibrated: Calibrated) -> None:
    assert calibrated.answer["file"] == str(calibrated.workload.parent / ".advisor" / FILE)
    assert list(calibrated.scratch.iterdir()) == []
    left = {path.relative_to(calibrated.workload.parent).as_posix() for path in calibrated.workload.parent.rglob("*")}
    assert left - {".advisor/proposal.json"} == {"w.yaml", ".advisor", f".advisor/{FILE}"}


# Without one


def test_without_micro_a_workload_is_needed() -> None:
    code, out, err = run("calibrate")
    assert (code, out) == (2, "")
    assert err == "advisor: whose measurements?; name a workload, or add --micro\n"


def test_an_engine_that_is_not_one_is_refused(workload: Path) -> None:
    code, _, err = run("calibrate", workload, "--micro", "--engine", "duckdb")
    assert code == 2
    assert "'duckdb' is not one of 'auto', 'spark', 'sail'" in err


@pytest.mark.parametrize("engine", ["{remote: sc://spark.example}", "{master: spark://spark.example:7077}"])
def test_a_cluster_is_not_measured_by_files_that_it_does_not_see(workload: Path, engine: str) -> None:
    workload.write_text(WORKLOAD.replace("engine: sail", f"engine: {engine}"), encoding="utf-8")
    code, out, err = run("calibrate", workload, "--micro")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "the engine is a cluster" in err
    assert "--engine spark" in err


def test_coefficients_that_cannot_be_read_stop_it_before_an_engine_starts(workload: Path) -> None:
    (workload.parent / ".advisor").mkdir()
    (workload.parent / ".advisor" / FILE).write_text("{", encoding="utf-8")
    code, out, err = run("calibrate", workload, "--micro")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{FILE}: cannot be read" in err


def test_the_engine_is_the_workloads_unless_another_is_asked_for(workload: Path) -> None:
    assert command.workload_of(str(workload), None).engine.kind == "sail"
    other = command.workload_of(str(workload), "spark")
    assert (other.engine.kind, other.folder) == ("spark", workload.parent)


def test_without_a_workload_it_is_for_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    empty = command.workload_of(None, None)
    assert (empty.engine.kind, empty.folder) == ("auto", tmp_path)


def calibration(fitted: bool) -> command.Calibration:
    """One in which a job turned out to take a tenth of a second."""
    before = MachineProfile("spark", this_machine(), SHIPPED["spark"], measured=False)
    coefficients = replace(before.coefficients, sessions=5.4, **({"jobs": 0.1} if fitted else {}))
    after = replace(before, coefficients=coefficients, measured=True)
    of = Fit(
        asdict(coefficients), fitted, 1.9, 1.2, 1.3 if fitted else 2.0, {**dict.fromkeys(QUANTITIES, 1), "jobs": 2}
    )
    runs = [Run("rebuild", "v", {"jobs": 2.0, "commits": 1.0}, 0.22), Run("read all, stored", "v", {"jobs": 1.0}, 0.1)]
    return command.Calibration("Spark 4.2.1 local[2]", before, after, of, runs, 38.2)


def test_the_text_shows_each_coefficient_before_and_now_and_how_well_they_predict() -> None:
    lines = command.calibration_text(calibration(fitted=True), Path(".advisor") / FILE).splitlines()
    assert lines[0] == f"Spark 4.2.1 local[2] · {this_machine()} · 2 kinds of run in 38 s"
    rows = {line.split()[0]: line.split()[1:] for line in lines[1 : 2 + len(QUANTITIES)]}
    assert rows.keys() == {"quantity", *QUANTITIES}
    assert rows["sessions"][2:] == ["5.4", "s", "1"]
    assert rows["jobs"][2:] == ["100", "ms", "2"]
    assert lines[2 + len(QUANTITIES) :] == [
        "the shipped coefficients predict half of these runs within a factor of 1.90,",
        "those of now within 1.20, and within 1.30 when a view is left out of the fit",
        f"saved to .advisor/{FILE}",
    ]


def test_the_text_says_when_the_fit_is_not_taken() -> None:
    lines = command.calibration_text(calibration(fitted=False), Path(FILE)).splitlines()
    assert lines[-3:-1] == [
        "the shipped coefficients predict half of these runs within a factor of 1.90 and are kept:",
        "fitted ones predict views that are left out of the fit no better, 2.00; only the start of the engine is new",
    ]


def test_json_holds_every_run_with_what_was_predicted() -> None:
    found = calibration(fitted=True).as_json()
    assert found["errors"] == {"before": 1.9, "after": 1.2, "unseen": 1.3}
    commits = SHIPPED["spark"].commits
    assert found["runs"][0] == {
        "view": "v",
        "what": "rebuild",
        "seconds": 0.22,
        "before": pytest.approx(2 * SHIPPED["spark"].jobs + commits),
        "after": pytest.approx(0.2 + commits),
        "quantities": {"commits": 1.0, "jobs": 2.0},
    }


def test_of_runs_that_are_alike_the_median_is_kept() -> None:
    runs = [Run("read", view, {"jobs": 1.0}, seconds) for view in "ab" for seconds in (0.9, 0.1, 0.3)]
    assert medians(runs) == [Run("read", "a", {"jobs": 1.0}, 0.3), Run("read", "b", {"jobs": 1.0}, 0.3)]
