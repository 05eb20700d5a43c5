"""The graph from base tables to views: one column per level, coloured by how a view is kept, sized by what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from profiles.words import duration, many, number
from reports.html import Html, join, tag
from reports.palette import style
from reports.parts import Cell, chip, table
from reports.results import Report, Table, View

COLUMN, ROW, MARGIN = 250, 40, 26
_SMALLEST, _LARGEST = 5.0, 15.0
_LABEL = 24
EXPLAINED = (
    "Base tables on the left, views to the right of what they read; a circle's area grows with what the view costs"
    " a day as proposed, its colour says how it is kept."
)


@dataclass(frozen=True)
class Node:
    """A table or view, and where it stands."""

    name: str
    x: float
    y: float
    radius: float


def levels(report: Report) -> dict[str, int]:
    """0 for base tables; a view stands one above the highest that it reads."""
    views = {view.name: view for view in report.views}
    found = {table.name: 0 for table in report.tables}

    def level(name: str) -> int:
        if name not in found:
            found[name] = 1 + max((level(each) for each in views[name].reads), default=0) if name in views else 0
        return found[name]

    for name in views:
        level(name)
    return found


def layout(report: Report) -> dict[str, Node]:
    """Columns by level; within one, each beside what it reads, so that few lines cross."""
    level = levels(report)
    columns: list[list[str]] = [[] for _ in range(max(level.values(), default=0) + 1)]
    for name, at in level.items():
        columns[at].append(name)
    reads = {view.name: view.reads for view in report.views}
    readers: dict[str, list[str]] = {}
    for view, names in reads.items():
        for name in names:
            readers.setdefault(name, []).append(view)
    for _ in range(4):
        for column in columns[1:]:
            _sort(column, columns, reads)
        for column in reversed(columns[:-1]):
            _sort(column, columns, readers)
    most = max((view.proposed.seconds for view in report.views), default=0.0)
    costs = {view.name: view.proposed.seconds for view in report.views}
    height = max(map(len, columns))
    found = {}
    for at, column in enumerate(columns):
        space = height / max(len(column), 1)
        for i, name in enumerate(column):
            share = sqrt(max(costs.get(name, 0.0), 0.0) / most) if most > 0 else 0.0
            radius = _SMALLEST + (_LARGEST - _SMALLEST) * share
            found[name] = Node(name, MARGIN + at * COLUMN, MARGIN + (i + 0.5) * space * ROW, radius)
    return found


def _sort(column: list[str], columns: Sequence[list[str]], linked: Mapping[str, Iterable[str]]) -> None:
    place = {name: i / max(len(each), 1) for each in columns for i, name in enumerate(each)}

    def middle(name: str) -> float:
        beside = [place[each] for each in linked.get(name, ()) if each in place]
        return sum(beside) / len(beside) if beside else place[name]

    column.sort(key=lambda name: (middle(name), name))


def page(report: Report, link: Mapping[str, str]) -> Html:
    """The page with the graph and the same as a table."""
    return tag(
        "section",
        tag("h2", _finding(report)),
        tag("p", EXPLAINED, class_="lead"),
        tag("p", [chip(way, way) for way in dict.fromkeys(v.proposed.way for v in report.views)], class_="legend"),
        tag("div", _drawing(report, link), class_="graph", tabindex="0", role="group", aria_label="Lineage"),
        _table(report, link),
        class_="page",
        id="lineage",
        data_title="Lineage",
    )


def _finding(report: Report) -> str:
    stored = [view for view in report.views if view.proposed.way != "query modification"]
    readers: dict[str, int] = {}
    for view in report.views:
        for name in view.reads:
            readers[name] = readers.get(name, 0) + 1
    most = max(readers, key=lambda name: (readers[name], name), default=None)
    text = f"{many(len(report.tables), 'table')} feed {many(len(report.views), 'view')}, {len(stored)} of them stored"
    return text if most is None else f"{text}; {most} feeds the most, {readers[most]}"


def _drawing(report: Report, link: Mapping[str, str]) -> Html:
    nodes = layout(report)
    views = {view.name: view for view in report.views}
    tables = {each.name: each for each in report.tables}
    width = max((node.x for node in nodes.values()), default=0) + COLUMN
    height = max((node.y for node in nodes.values()), default=0) + ROW
    edges = [
        tag("path", d=_curve(nodes[name], nodes[view.name]), data_from=name, data_to=view.name)
        for view in report.views
        for name in view.reads
        if name in nodes
    ]
    marks = [_mark(node, views.get(name), tables.get(name), link.get(name)) for name, node in nodes.items()]
    return tag(
        "svg",
        tag("g", edges, class_="edges"),
        tag("g", marks),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        style=f"width:{width:.0f}px",
        role="img",
        aria_label=_finding(report),
    )


def _curve(start: Node, end: Node) -> str:
    half = (end.x - start.x) / 2
    x0, x1 = start.x + start.radius, end.x - end.radius
    bend = f"{start.x + half:.0f} {start.y:.0f} {end.x - half:.0f} {end.y:.0f}"
    return f"M{x0:.0f} {start.y:.0f}C{bend} {x1:.0f} {end.y:.0f}"


def _mark(node: Node, view: View | None, base: Table | None, page: str | None) -> Html:
    name = node.name if len(node.name) <= _LABEL else f"{node.name[: _LABEL - 1]}…"
    if view is not None:
        colour, note = style(view.proposed.way).colour, f"{duration(view.proposed.seconds)} a day"
        told = f"{node.name}: {view.proposed.label}, {note}"
        shape = tag("circle", cx=f"{node.x:.0f}", cy=f"{node.y:.0f}", r=f"{node.radius:.1f}", fill=colour)
    else:
        note = many(base.updates_a_day, "update") + " a day" if base is not None else ""
        told = f"{node.name}: {note}"
        side = 2 * node.radius
        shape = tag("rect", x=f"{node.x - node.radius:.0f}", y=f"{node.y - node.radius:.0f}",
                    width=f"{side:.0f}", height=f"{side:.0f}", class_="table")  # fmt: skip
    x = node.x + node.radius + 6
    parts = join(
        [
            tag("title", told),
            shape,
            tag("text", name, x=f"{x:.0f}", y=f"{node.y - 1:.0f}"),
            tag("text", note, x=f"{x:.0f}", y=f"{node.y + 13:.0f}", class_="soft"),
        ]
    )
    return tag("a", parts, href=f"#{page}") if page else tag("g", parts)


def _table(report: Report, link: Mapping[str, str]) -> Html:
    readers: dict[str, list[str]] = {}
    for view in report.views:
        for name in view.reads:
            readers.setdefault(name, []).append(view.name)
    rows: list[tuple[Cell | str, ...]] = [
        (
            each.name,
            Cell("table", "table"),
            "",
            ", ".join(readers.get(each.name, ())),
            Cell(f"{many(each.updates_a_day, 'update')} of {many(each.rows_per_update, 'row')}", each.updates_a_day),
            Cell(number(each.rows), each.rows),
        )
        for each in report.tables
    ]
    rows += [
        (
            Cell(tag("a", view.name, href=f"#{link[view.name]}"), view.name),
            Cell(chip(view.proposed.way, view.proposed.label), view.proposed.label),
            ", ".join(view.reads),
            ", ".join(readers.get(view.name, ())),
            Cell(f"{many(view.reads_a_day, 'read')}", view.reads_a_day),
            Cell(f"{duration(view.proposed.seconds)} a day", view.proposed.seconds),
        )
        for view in report.views
    ]
    return table(
        "lineage", ("name", "kept as", "reads", "read by", "traffic a day", "rows, or cost"), rows, numeric=(5,)
    )
