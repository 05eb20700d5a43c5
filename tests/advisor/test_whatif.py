"""`advisor whatif` as a person or a script asks it: the costs of a model, and the figures of the paper."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.cli import main
from advisor.whatif import figure_csv, map_rows, table_rows
from costmodels.figures import FIGURES, Lines, Regions, figure
from costmodels.hanson import Parameters, costs


def ask(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["whatif", *map(str, arguments)])
    printed = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, printed.out, printed.err


def test_a_model_s_methods_are_printed_the_cheapest_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, "--model", 1, "--set", "P=0.5")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == [
        "clustered",
        "immediate",
        "deferred",
        "unclustered",
        "sequential",
    ]
    assert out.splitlines()[0] == "clustered           1,750.0 ms"


def test_a_model_s_costs_as_json_are_those_of_the_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ask(capsys, "--model", 2, "--set", "P=0.25", "--set", "f_v=1", "--json")
    assert json.loads(out) == {"costs": costs(2, Parameters().with_symbols({"P": 0.25, "f_v": 1}))}


@pytest.mark.parametrize("number", FIGURES)
def test_a_figure_is_printed_with_its_finding_first_and_its_note_last(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ask(capsys, "--figure", number)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"Figure {number}: {figure(number).title}"
    assert lines[1] == figure(number).subject
    assert lines[-1] == figure(number).note
    assert max(map(len, lines[2:-1])) <= 80


def test_the_table_of_a_figure_is_aligned_and_spans_the_axis() -> None:
    found = figure(2)
    assert isinstance(found, Lines)
    unit, heading, *rows, count = table_rows(found)
    assert unit == "  ms per query"
    assert heading.split() == ["P", "clustered", "unclustered", "immediate", "deferred"]
    assert {len(row) for row in rows} == {len(heading)}
    assert rows[0].split() == ["0.00", "1,750.0", "25,831.1", "1,435.0", "1,435.0"]
    assert [row.split()[0] for row in rows[1::9]] == ["0.05", "0.50", "0.95"]
    assert rows[-1].split()[0] == "0.99"
    assert count == "  21 of 100 rows (--csv prints all)"


def test_the_table_of_figure_10_is_one_of_probabilities() -> None:
    found = figure(10)
    assert isinstance(found, Lines)
    unit, _, first, *_, last, _ = table_rows(found)
    assert unit == "  P of equal cost"
    assert first.split() == ["1", "0.9996", "0.9996", "0.9997", "0.9998"]
    assert last.split()[0] == "100,000"


def test_the_places_of_equal_cost_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ask(capsys, "--figure", 6)
    assert "immediate and loopjoin meet at P = 0.899: 10,230.1 ms per query" in out.splitlines()
    assert "deferred and loopjoin meet at P = 0.877: 10,230.1 ms per query" in out.splitlines()


def test_a_region_figure_is_a_map_with_f_upwards_and_p_to_the_right() -> None:
    found = figure(3)
    assert isinstance(found, Regions)
    rows = [row.partition("|")[2].rstrip("|") for row in map_rows(found) if "|" in row]
    assert len(rows) == 20
    assert {len(row) for row in rows} == {50}
    # At the top f is 0.975, at the bottom 0.025.
    assert rows[0] == "i" * 27 + "D" * 13 + "." * 10
    assert rows[-1] == "i" * 41 + "." * 9
    assert [(row.count("D") > 0) for row in rows] == [True] * 12 + [False] * 8


@pytest.mark.parametrize(
    ("number", "changed"), [(3, {"f_v": 1}), (4, {"f_v": 0.1}), (5, {"f_v": 1, "C3": 2}), (7, {"f_v": 1}), (8, {})]
)
def test_the_map_agrees_with_the_cheapest_method_at_the_middle_of_each_character(
    number: int, changed: dict[str, float]
) -> None:
    found = figure(number)
    assert isinstance(found, Regions)
    model, scan = (1, "clustered") if number <= 5 else (2, "loopjoin")
    marks = {scan: ".", "immediate": "i", "deferred": "D"}
    rows = [row.partition("|")[2].rstrip("|") for row in map_rows(found) if "|" in row]
    for i, row in enumerate(reversed(rows)):
        for j, mark in enumerate(row):
            # The middle of a character lies on the border of two cells; the upper right one speaks for it.
            f, P = 0.05 * i + 0.025, 0.02 * j + 0.015  # noqa: N806
            cost = costs(model, Parameters().with_symbols({**changed, "f": f, "P": P}))
            assert mark == marks[min(marks, key=cost.__getitem__)]


def test_the_key_of_a_map_says_how_much_each_method_wins(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ask(capsys, "--figure", 4)
    assert "  . clustered: cheapest on 71.1 % of the area" in out.splitlines()
    assert "  D deferred: nowhere" in out.splitlines()


@pytest.mark.parametrize("number", FIGURES)
def test_json_holds_all_data_of_a_figure(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, "--figure", number, "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert list(answer) == ["figures"]
    found, expected = answer["figures"][str(number)], figure(number)
    assert (found["title"], found["subject"], found["note"]) == (expected.title, expected.subject, expected.note)
    assert found["columns"] == list(expected.columns)
    for row, cells in zip(found["rows"], expected.rows(), strict=True):
        for got, cell in zip(row, cells, strict=True):
            assert got == (cell if isinstance(cell, str) else pytest.approx(cell, rel=1e-11))
    if isinstance(expected, Regions):
        assert found["shares"] == {method: expected.share(method) for method in expected.methods}
    else:
        assert [each["between"] for each in found["crossings"]] == [list(c.between) for c in expected.crossings]


def test_csv_holds_all_rows_of_a_figure_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, "--figure", 6, "--csv")
    assert (code, err) == (0, "")
    header, *rows = csv.reader(io.StringIO(out))
    assert header == ["P", "loopjoin", "immediate", "deferred"]
    assert len(rows) == 100


def test_all_figures_are_printed_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ask(capsys, "--figures")
    headlines = [line for line in out.splitlines() if line.startswith("Figure ")]
    assert headlines == [f"Figure {number}: {figure(number).title}" for number in FIGURES]
    _, out, _ = ask(capsys, "--figures", "--json")
    assert {int(number) for number in json.loads(out)["figures"]} == set(FIGURES)


def test_a_picture_is_written_where_o_says_and_the_finding_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figure.html"
    code, out, err = ask(capsys, "--figure", 3, "-o", path)
    assert (code, err) == (0, "")
    assert out == f"Figure 3: {figure(3).title}\npicture written to {path}\n"
    html = path.read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>")
    assert html.count("<figure") == 1


def test_all_pictures_are_written_to_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.HTML"
    _, out, _ = ask(capsys, "--figures", "-o", path)
    assert out.splitlines()[-1] == f"9 pictures written to {path}"
    assert len(out.splitlines()) == 10
    assert path.read_text(encoding="utf-8").count("<figure") == 9


def test_a_picture_can_be_written_beside_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figure.htm"
    _, out, _ = ask(capsys, "--figure", 9, "-o", path, "--csv")
    assert out.startswith("l,clustered,immediate,deferred\n")
    assert path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either --model, or --figure, or --figures; for example: advisor whatif --model 1"),
        (["--model", 1, "--figure", 3], "give either --model, or --figure, or --figures; "),
        (["--figure", 3, "--figures"], "--figures has figure 3 in it; give one of --figure and --figures"),
        (["--figure", 11], "Invalid value for '--figure'"),
        (["--figure", 1], "Invalid value for '--figure'"),
        (["--figure", 3, "--set", "P=1"], "--set belongs to --model; a figure is drawn with the values of the paper"),
        (["--model", 1, "--csv"], "--csv belongs to --figure; "),
        (["--model", 1, "-o", "x.html"], "-o belongs to --figure; "),
        (["--figures", "--csv"], "--csv prints one figure, not all; "),
        (["--figure", 3, "-o", "x.png"], "-o 'x.png': a picture is an HTML page; give a name like figure.html"),
    ],
)
def test_a_wrong_question_is_one_line_that_says_what_to_do(
    arguments: list[object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ask(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"advisor: {message}")
    assert err.count("\n") == 1


def test_two_forms_at_once_are_refused_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = ask(capsys, "--figure", 3, "--csv", "--json")
    assert code == 2
    assert json.loads(err)["error"] == {
        "kind": "WorkloadError",
        "message": "--csv and --json are two forms of one answer",
        "hint": "give one of them",
    }


def test_a_place_that_does_not_exist_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nowhere" / "figure.html"
    code, out, err = ask(capsys, "--figure", 3, "-o", path)
    assert (code, out) == (3, "")
    assert err == f"advisor: {path}: No such file or directory; check the path and its rights\n"


@pytest.mark.parametrize("arguments", [["--model", "1"], ["--figure", "3"], ["--figure", "3", "--csv"]])
def test_plotly_is_loaded_only_for_a_picture(arguments: list[str]) -> None:
    script = (
        "import sys; from advisor.cli import main\n"
        f"try: main(['whatif', *{arguments!r}])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "print({'plotly', 'pyspark', 'pandas', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("number", FIGURES)
def test_csv_holds_every_row_to_twelve_digits(number: int) -> None:
    found = figure(number)
    header, *rows = csv.reader(io.StringIO(figure_csv(found)))
    assert tuple(header) == found.columns
    for row, expected in zip(rows, found.rows(), strict=True):
        for text, cell in zip(row, expected, strict=True):
            assert text == cell if isinstance(cell, str) else float(text) == pytest.approx(cell, rel=1e-11)


def test_the_data_is_written_without_loading_plotly() -> None:
    script = (
        "import sys; from costmodels.figures import figure; from advisor.whatif import figure_csv\n"
        "assert figure_csv(figure(9)).startswith('l,clustered,immediate,deferred')\n"
        "print('plotly' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
