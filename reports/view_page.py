"""The page of one view: what is proposed, what each way costs and why, and what all of it is computed from."""

from __future__ import annotations

from collections.abc import Iterator

from profiles.words import duration, factor, many, number, percent, size
from reports import findings, view_charts
from reports.charts import Chart
from reports.html import Content, Html, tag
from reports.parts import Cell, chip, code, facts, figure, folded, later, section, table
from reports.results import Candidate, Influence, Price, View

NO_SWEEP = (
    "No updates of its tables, or no reads, are known, so there is no share of updates to vary. Declare"
    " updates: {per_day: …} at its tables and queries: {per_day: …} at the view, or let the advisor see them."
)
NO_INFLUENCES = "Every number that enters its cost was measured, so there is no range to vary."


def charts_of(view: View) -> Iterator[Chart]:
    """The charts that there is data for."""
    yield view_charts.of_components(view)
    if view.sweep is not None:
        yield view_charts.of_sweep(view.sweep)
    if view.surface is not None:
        yield view_charts.of_surface(view.surface)
    if view.influences:
        yield view_charts.of_influences(view)


def page(identity: str, view: View, drawn: list[Chart], price: Price | None, link: dict[str, str]) -> Html:
    """A view's page; `link` leads from names of views to their pages."""
    found = {chart.name: figure(chart) for chart in drawn}
    return tag(
        "section",
        tag("p", tag("b", view.name), " reads ", _sources(view, link), class_="kicker"),
        tag("h2", findings.of_view(view)),
        tag("p", _sentence(view), class_="lead"),
        facts(_facts(view, price)),
        tag("div", _or(found, "components"), _or(found, "updates", NO_SWEEP), class_="pair"),
        tag("div", _or(found, "regions", view.no_surface), _or(found, "sensitivity", NO_INFLUENCES), class_="pair"),
        section(_alternatives(view), title="The alternatives"),
        section(_items(view), title="What the proposed way does in a day"),
        section(_estimates(view), title="Estimates behind these numbers"),
        section(_reasons(view), title="What is not incremental") if view.reasons else None,
        folded("Definition", code(view.definition)),
        folded("Rules", code(view.rules)) if view.rules else None,
        folded("Delta rules and their SQL", later("delta")) if view.delta else None,
        class_="page view",
        id=identity,
        data_title=view.name,
    )


def _or(found: dict[str, Html], name: str, why: str = "") -> Content:
    """A chart, or the sentence that says how to get it."""
    return found.get(name) or (tag("p", why, class_="missing") if why else None)


def _sentence(view: View) -> str:
    text = view.because[:1].upper() + view.because[1:]
    return ". ".join([text, *(turn[:1].upper() + turn[1:] for turn in view.turns)]) + "."


def _facts(view: View, price: Price | None) -> Iterator[tuple[str, Content]]:
    chosen = view.proposed
    yield "today", [chip(view.now.way, view.now.label), tag("br"), f"{duration(view.now.seconds)} a day"]
    yield "proposed", [chip(chosen.way, chosen.label), tag("br"), f"{duration(chosen.seconds)} a day"]
    if view.changed:
        yield (
            "saves a day",
            [duration(view.saving) if view.saving >= 0 else f"−{duration(-view.saving)}", _money(view, price)],
        )
    rival = view.rival
    if rival is not None:
        yield "next best", [chip(rival.way, rival.label), tag("br"), factor(rival.seconds, chosen.seconds)]
    yield "sure", [percent(view.confidence), tag("br"), f"regret {duration(view.regret)} a day"]
    yield "a read takes", f"{duration(chosen.latency_seconds)} at worst"
    if chosen.build_seconds:
        yield "building it", f"{duration(chosen.build_seconds)}, {size(chosen.storage_bytes)}"
    yield "traffic", [many(view.reads_a_day, "read"), tag("br"), f"{many(view.updates_a_day, 'update')} a day"]


def _money(view: View, price: Price | None) -> Content:
    return None if price is None else [tag("br"), f"{view.saving * 365 * price.a_second:,.2f} {price.currency} a year"]


def _alternatives(view: View) -> Html:
    rows = []
    chosen = view.proposed
    for each in sorted(view.candidates, key=lambda c: c.seconds):
        against = "proposed" if each.name == chosen.name else factor(each.seconds, chosen.seconds)
        rows.append(
            (
                Cell(chip(each.way, each.label), each.label),
                Cell(_algorithm(each), each.name),
                Cell(duration(each.seconds), each.seconds),
                Cell(against, each.seconds - chosen.seconds),
                Cell(duration(each.latency_seconds), each.latency_seconds),
                Cell(duration(each.build_seconds), each.build_seconds),
                Cell(size(each.storage_bytes), each.storage_bytes),
                _lost(view, each),
            )
        )
    headings = ("way", "algorithm", "a day", "against proposed", "a read", "building", "storage", "why not")
    return table("alternatives", headings, rows, numeric=(2, 3, 4, 5, 6))


def _algorithm(candidate: Candidate) -> str:
    return candidate.name.partition("/")[2].replace("_", " ") or "none"


def _lost(view: View, candidate: Candidate) -> str:
    """Why a candidate is not the proposed one."""
    words = []
    if candidate.name == view.chosen:
        held = "today's, and not worth a change" if view.held else "the cheapest allowed"
        words.append("pinned" if view.pinned else held)
    elif candidate.excluded is not None:
        words.append(candidate.excluded)
    elif candidate.seconds < view.proposed.seconds:
        words.append("cheaper, and still not chosen: see the reason above")
    else:
        words.append("costs more" if candidate.seconds > view.proposed.seconds else "costs as much")
    if candidate.name == view.today:
        words.append("what is done today" + (", as declared" if candidate.declared else ""))
    return "; ".join(words)


def _items(view: View) -> Html:
    rows = [
        (
            item.what,
            Cell(number(item.times), item.times),
            Cell(duration(item.seconds), item.seconds),
            Cell(duration(item.times * item.seconds), item.times * item.seconds),
        )
        for item in view.proposed.items
    ]
    return table("work", ("what", "times a day", "each", "a day"), rows, numeric=(1, 2, 3))


def _estimates(view: View) -> Content:
    if not view.influences:
        return tag("p", NO_INFLUENCES, class_="missing")
    rows = [
        (
            each.name,
            Cell(each.shown(each.value), each.value),
            Cell(_range(each), each.upper - each.lower),
            each.source,
            Cell(_swing(each.seconds), each.swing),
        )
        for each in sorted(view.influences, key=lambda each: -each.swing)
    ]
    shown = table("estimates", ("number", "value", "range", "source", "a day"), rows, numeric=(1, 2, 4))
    guessed = f"Assumed, because nothing says otherwise: {', '.join(view.defaults)}." if view.defaults else None
    return [tag("p", guessed) if guessed else None, shown]


def _range(each: Influence) -> str:
    return f"{each.shown(each.lower)} to {each.shown(each.upper)}" if each.lower < each.upper else "exact"


def _swing(seconds: tuple[float, float]) -> str:
    low, high = duration(min(seconds)), duration(max(seconds))
    return low if low == high else f"{low} to {high}"


def _reasons(view: View) -> Html:
    rows = [(tag_code(each.code), each.where, each.remedy) for each in view.reasons]
    return table("reasons", ("reason", "where", "what would help"), rows)


def tag_code(text: str) -> Cell:
    """A code that scripts know."""
    return Cell(tag("code", text), text)


def _sources(view: View, link: dict[str, str]) -> Iterator[Content]:
    for i, name in enumerate(view.reads):
        yield ", " if i else None
        yield tag("a", name, href=f"#{link[name]}") if name in link else name
