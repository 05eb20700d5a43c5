"""What `advisor whatif` answers: the costs of a method in the paper's models, and the paper's figures.

A figure goes to the terminal as a finding and a coarse table or map, to scripts as JSON or CSV in full, and to a
browser as one HTML page.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from costmodels.figures import FIGURES, Lines, Regions
from costmodels.hanson import Parameters, costs
from views.errors import EstimationError, WorkloadError

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 20
_MAP_HEIGHT, _MAP_WIDTH = 20, 50
# In the order of `Regions.methods`, shades that are told apart at a glance.
_MARKS = ".iD"


def check_question(
    *,
    model: int | None,
    figures: Sequence[int],
    assignments: Sequence[str],
    output: str | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Refuse what asks for nothing, for two things, or sets what the answer does not look at."""
    if (model is None) == (not figures):
        raise WorkloadError(
            "give either --model, or --figure, or --figures",
            "for example: advisor whatif --model 1 --set P=0.5, or advisor whatif --figure 3 -o figure.html",
        )
    if model is None and assignments:
        raise WorkloadError("--set belongs to --model", "a figure is drawn with the values of the paper")
    if model is not None and (as_csv or output is not None):
        raise WorkloadError(f"{'--csv' if as_csv else '-o'} belongs to --figure", "use --json for the costs of a model")
    if as_csv and as_json:
        raise WorkloadError("--csv and --json are two forms of one answer", "give one of them")
    if as_csv and len(figures) > 1:
        raise WorkloadError("--csv prints one figure, not all", "use --figure, or --json")
    if output is not None and Path(output).suffix.lower() not in (".html", ".htm"):
        raise WorkloadError(f"-o {output!r}: a picture is an HTML page", "give a name like figure.html")


def figures_asked(number: int | None, every: bool) -> tuple[int, ...]:
    """The numbers that --figure and --figures name."""
    if number is not None and every:
        raise WorkloadError(f"--figures has figure {number} in it", "give one of --figure and --figures")
    if every:
        return tuple(FIGURES)
    return () if number is None else (number,)


def model_costs(model: int, assignments: Sequence[str]) -> dict[str, float]:
    """Milliseconds per query of each method, where `assignments` like P=0.5 replace the paper's defaults.

    >>> round(model_costs(1, ["P=0.5", "f=0.1"])["immediate"])
    2181
    """
    return costs(model, Parameters().with_symbols(_symbols(assignments)))


def _symbols(assignments: Sequence[str]) -> dict[str, float]:
    values: dict[str, float] = {}
    for text in assignments:
        symbol, equals, value = text.partition("=")
        symbol = symbol.strip()
        try:
            if not equals or symbol in values:
                raise ValueError
            values[symbol] = float(value)
        except ValueError:
            problem = "is set twice" if symbol in values else "is not SYMBOL=NUMBER"
            raise EstimationError(f"--set {text!r} {problem}", "write it like --set P=0.5") from None
    return values


def figure_json(figure: Lines | Regions) -> dict[str, Any]:
    """All data of a figure; twelve digits, as in its CSV."""
    answer: dict[str, Any] = {
        "title": figure.title,
        "subject": figure.subject,
        "note": figure.note,
        "columns": list(figure.columns),
        "rows": [[_short(cell) for cell in row] for row in figure.rows()],
    }
    if isinstance(figure, Lines):
        answer["crossings"] = [
            {"between": list(each.between), "x": _short(each.x), "y": _short(each.y)} for each in figure.crossings
        ]
    else:
        answer["shares"] = {method: _short(figure.share(method)) for method in figure.methods}
    return answer


def _short(cell: float | str) -> float | str:
    return cell if isinstance(cell, str) else float(f"{cell:.12g}")


def figure_csv(figure: Lines | Regions) -> str:
    """The data of a figure as CSV with a header; twelve digits, the rest is the noise of adding."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(figure.columns)
    writer.writerows(tuple(c if isinstance(c, str) else f"{c:.12g}" for c in row) for row in figure.rows())
    return out.getvalue()


def show_figures(figures: Sequence[Lines | Regions], output: str | None) -> None:
    """Print each figure, or, where the pictures are in a file, the findings and its name."""
    from advisor.output import PipeConsole, line

    console = PipeConsole()
    for i, figure in enumerate(figures):
        if output is not None:
            line(console, _headline(figure))
            continue
        if i:
            line(console, "")
        show_figure(figure, console)
    if output is not None:
        line(console, f"{'picture' if len(figures) == 1 else f'{len(figures)} pictures'} written to {output}")


def _headline(figure: Lines | Regions) -> str:
    return f"Figure {figure.number}: {figure.title}"


def show_figure(figure: Lines | Regions, console: Console) -> None:
    """Print a finding and what it was computed for, its data coarsely, and what to know about it."""
    from rich.text import Text

    from advisor.output import line

    line(console, _headline(figure))
    line(console, figure.subject)
    line(console, "")
    for row in table_rows(figure) if isinstance(figure, Lines) else map_rows(figure):
        console.print(Text(row), soft_wrap=True, highlight=False)
    line(console, "")
    if isinstance(figure, Lines) and figure.crossings:
        for each in figure.crossings:
            where, what = f"{figure.x_label} = {_x_text(each.x, figure, 3)}", _y_text(each.y, figure)
            line(console, f"{each.between[0]} and {each.between[1]} meet at {where}: {what} {figure.y_label}")
        line(console, "")
    line(console, figure.note)


def table_rows(figure: Lines) -> Iterator[str]:
    """Every so many rows of the data, and the last one, aligned to the right under their headings."""
    rows = list(figure.rows())
    step = ceil(len(rows) / _ROWS)
    chosen = [*rows[: len(rows) - 1 : step], rows[-1]]
    cells = [figure.columns]
    cells += [(_x_text(x, figure, 2), *(_y_text(value, figure) for value in values)) for x, *values in chosen]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    yield f"  {figure.y_label}"
    for row in cells:
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    yield f"  {len(chosen)} of {len(rows)} rows (--csv prints all)"


def map_rows(figure: Regions) -> Iterator[str]:
    """The regions as characters, f upwards and P to the right, with the share of each method below."""
    marks = dict(zip(figure.methods, _MARKS, strict=True))
    for step in reversed(range(_MAP_HEIGHT)):
        row = figure.winners[_middle(step, _MAP_HEIGHT, len(figure.winners))]
        top = (step + 1) / _MAP_HEIGHT
        label = f"{top:.1f}" if (step + 1) % (_MAP_HEIGHT // 5) == 0 else ""
        cells = "".join(marks[row[_middle(i, _MAP_WIDTH, len(row))]] for i in range(_MAP_WIDTH))
        yield f"  {'f' if step == _MAP_HEIGHT - 1 else ' '} {label:>3} |{cells}|"
    yield f"    0.0 +{'-' * _MAP_WIDTH}+"
    ticks = "".join(f"{tick / 5:.1f}".ljust(_MAP_WIDTH // 5) for tick in range(5))
    yield f"        {ticks} 1.0  P"
    yield ""
    for method, mark in marks.items():
        share = figure.share(method)
        yield f"  {mark} {method}: " + (
            f"cheapest on {share:.1%} of the area".replace("%", " %") if share else "nowhere"
        )


def _middle(step: int, steps: int, cells: int) -> int:
    """The cell at the middle of the n-th of so many steps."""
    return int((step + 0.5) * cells / steps)


def _x_text(x: float, figure: Lines, digits: int) -> str:
    return f"{x:,.0f}" if figure.x_log else f"{x:.{digits}f}"


def _y_text(value: float, figure: Lines) -> str:
    return f"{value:,.1f}" if figure.y_log else f"{value:.4f}"


def save_page(figures: Sequence[Lines | Regions], output: str) -> None:
    """Write one HTML page with the pictures of the figures."""
    from reports.figures import page

    Path(output).write_text(page(figures), encoding="utf-8")


def costs_text(found: Mapping[str, float]) -> str:
    """One method per line, the cheapest first."""
    return "\n".join(f"{name:<12} {ms:>14,.1f} ms" for name, ms in sorted(found.items(), key=lambda item: item[1]))
