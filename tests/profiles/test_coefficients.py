"""Coefficients: kept per engine and machine, shipped where none were measured, and never silently wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from profiles.coefficients import (
    FILE,
    QUANTITIES,
    SCHEMA_VERSION,
    SHIPPED,
    Coefficients,
    MachineProfile,
    machine_profile,
    save,
    this_machine,
)
from views.errors import EstimationError

MEASURED = Coefficients(**{name: float(f"0.1{i:02}") for i, name in enumerate(QUANTITIES)})


def keep(
    folder: Path,
    coefficients: Coefficients,
    engine: Literal["spark", "sail"] = "spark",
    machine: str | None = None,
) -> None:
    profile = MachineProfile(engine, machine or this_machine(), coefficients, measured=True)
    (folder / FILE).write_text(save(folder, profile), encoding="utf-8")


def written(folder: Path, **changes: Any) -> None:
    """A file as `save` writes it, with some coefficients changed afterwards."""
    keep(folder, MEASURED)
    content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    for values in content["profiles"].values():
        values.update(changes)
    (folder / FILE).write_text(json.dumps(content), encoding="utf-8")


def one_line_error(folder: Path) -> str:
    with pytest.raises(EstimationError) as caught:
        machine_profile(folder, "spark")
    assert "\n" not in str(caught.value)
    assert str(folder / FILE) in str(caught.value)
    assert caught.value.hint == "remove it, and run advisor calibrate again"
    return str(caught.value)


def test_what_was_measured_is_found_again(tmp_path: Path) -> None:
    keep(tmp_path, MEASURED)
    assert machine_profile(tmp_path, "spark") == MachineProfile("spark", this_machine(), MEASURED, measured=True)


def test_four_digits_are_kept_of_however_small_a_number(tmp_path: Path) -> None:
    keep(tmp_path, replace(MEASURED, bytes_read=1.23456789e-10, rows_read=0.0, sessions=12345.678))
    found = machine_profile(tmp_path, "spark").coefficients
    assert (found.bytes_read, found.rows_read, found.sessions) == (1.235e-10, 0.0, 12350.0)


def test_the_same_coefficients_are_the_same_text_however_often_they_are_saved(tmp_path: Path) -> None:
    keep(tmp_path, MEASURED)
    first = (tmp_path / FILE).read_text(encoding="utf-8")
    keep(tmp_path, machine_profile(tmp_path, "spark").coefficients)
    assert (tmp_path / FILE).read_text(encoding="utf-8") == first


def test_engines_are_kept_beside_each_other(tmp_path: Path) -> None:
    keep(tmp_path, MEASURED, "spark")
    keep(tmp_path, replace(MEASURED, jobs=9.0), "sail")
    keep(tmp_path, replace(MEASURED, jobs=5.0), "spark")
    assert machine_profile(tmp_path, "spark").coefficients.jobs == 5
    assert machine_profile(tmp_path, "sail").coefficients.jobs == 9


@pytest.mark.parametrize("engine", ["spark", "sail"])
def test_without_a_measurement_the_shipped_ones_are_used_and_called_so(
    tmp_path: Path, engine: Literal["spark", "sail"]
) -> None:
    found = machine_profile(tmp_path / "nowhere", engine)
    assert found == MachineProfile(engine, this_machine(), SHIPPED[engine], measured=False)


def test_the_profile_of_another_machine_or_engine_is_not_used_and_not_lost(tmp_path: Path) -> None:
    keep(tmp_path, MEASURED, machine="96 cores riscv")
    keep(tmp_path, MEASURED, "sail")
    assert machine_profile(tmp_path, "spark").coefficients == SHIPPED["spark"]
    keep(tmp_path, replace(MEASURED, jobs=5.0))
    kept = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))["profiles"]
    assert kept["spark, 96 cores riscv"]["jobs"] == MEASURED.jobs
    assert set(kept) == {"spark, 96 cores riscv", f"sail, {this_machine()}", f"spark, {this_machine()}"}


def test_looking_for_a_profile_writes_nothing(tmp_path: Path) -> None:
    machine_profile(tmp_path, "spark")
    save(tmp_path, MachineProfile("spark", this_machine(), MEASURED, measured=True))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [-1e-9, float("inf"), float("-inf"), float("nan"), "0.1", None])
def test_a_coefficient_that_is_not_a_number_from_zero_on_is_refused_by_name(value: Any) -> None:
    with pytest.raises(EstimationError, match=r"^coefficient rows_read is .*, not a number of seconds from 0 on$"):
        replace(MEASURED, rows_read=value)


def test_a_coefficient_may_be_zero() -> None:
    assert replace(MEASURED, rows_read=0).rows_read == 0


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "null", "7", '"text"', "{}", '{"schema_version": 1}', '{"schema_version": 1, "profiles": 3}'),
        *(
            json.dumps({"schema_version": SCHEMA_VERSION, "profiles": {"x": json.loads(each)}})
            for each in ("7", "{}", "null", "[]")
        ),
    ],
)
def test_a_file_that_holds_something_else_is_one_line_that_names_it(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content, encoding="utf-8")
    assert "cannot be read" in one_line_error(tmp_path)


def test_a_file_that_is_no_text_is_one_line_that_names_it(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe\x00\x80")
    assert "cannot be read" in one_line_error(tmp_path)


def test_a_folder_in_its_place_is_one_line_that_names_it(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    assert "cannot be read" in one_line_error(tmp_path)


def test_a_negative_coefficient_in_the_file_is_one_line_that_names_both(tmp_path: Path) -> None:
    written(tmp_path, rows_read=-1)
    assert "coefficient rows_read is -1" in one_line_error(tmp_path)


def test_an_unknown_quantity_in_the_file_is_one_line_that_names_both(tmp_path: Path) -> None:
    written(tmp_path, moonlight=1)
    assert "moonlight" in one_line_error(tmp_path)


def test_a_file_of_another_version_is_not_guessed_at(tmp_path: Path) -> None:
    keep(tmp_path, MEASURED)
    content = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))
    (tmp_path / FILE).write_text(json.dumps({**content, "schema_version": SCHEMA_VERSION + 1}), encoding="utf-8")
    assert "another version of the advisor" in one_line_error(tmp_path)


def test_a_broken_file_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{", encoding="utf-8")
    with pytest.raises(EstimationError, match="cannot be read"):
        save(tmp_path, MachineProfile("spark", this_machine(), MEASURED, measured=True))


def test_a_measured_profile_may_be_off_by_less_than_a_shipped_one() -> None:
    shipped = MachineProfile("spark", "4 cores x86_64", SHIPPED["spark"], measured=False)
    assert 1 < replace(shipped, measured=True).spread < shipped.spread


def test_a_machine_is_told_by_its_cores() -> None:
    assert MachineProfile("spark", "4 cores x86_64", SHIPPED["spark"], measured=False).cores == 4
