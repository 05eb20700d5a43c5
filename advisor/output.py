"""A proposal on the terminal: what changes and what it saves, what comes second, how sure, and why.

One line per view where the terminal is wide enough or the output goes to a file, a short block per view
otherwise.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from advisor.offers import Turn
from advisor.proposal import Proposal, ViewProposal
from advisor.wording import label
from profiles.words import duration, factor, number

_HEADINGS = ("view", "today → proposed", "a day", "next best", "sure", "because")


class PipeConsole(Console):
    """A console that leaves it to the command line what a closed pipe means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def show(proposal: Proposal, console: Console, everything: bool) -> None:
    """Print the proposal; unchanged views are folded unless `everything`."""
    views = sorted(proposal.views.values(), key=lambda view: (-view.saving, view.view))
    changed = [view for view in views if view.changed]
    shown = views if everything else changed
    tables = f"{proposal.tables} table{'s' if proposal.tables != 1 else ''}"
    line(console, f"{proposal.workload} · {_count(views)} over {tables} · {priced_by(proposal)}")
    line(console, _headline(proposal, views, changed))
    if shown:
        line(console, "")
        _rows(console, shown)
    line(console, "")
    for text in _footnotes(proposal, views, shown, everything):
        line(console, "  " + text)


def line(console: Console, text: str) -> None:
    """Plain text without markup; on a terminal it is wrapped, and goes on under its own indentation."""
    if console.is_terminal and text.strip():
        indent = text[: len(text) - len(text.lstrip())]
        text = textwrap.fill(text, max(console.width, 30), subsequent_indent=indent, break_on_hyphens=False)
    console.print(Text(text), soft_wrap=True, highlight=False)


def priced_by(proposal: Proposal) -> str:
    """Whose prices were used."""
    machine = proposal.machine
    if machine is None:
        measured = "" if proposal.page_costs is None else ", with C1, C2 and C3 measured here"
        return f"ranked by Hanson's page model of 1987{measured}"
    measured = "measured here" if machine.measured else "shipped with the package; advisor calibrate measures yours"
    return f"priced for {machine.engine.capitalize()} on {machine.machine} ({measured})"


def _headline(proposal: Proposal, views: Sequence[ViewProposal], changed: Sequence[ViewProposal]) -> str:
    if not views:
        return "no views"
    before = sum(view.today_seconds for view in views)
    if not changed:
        return f"nothing to change: {duration(before)} a day{_money(proposal, before)}"
    saved = sum(view.saving for view in changed)
    changes = f"{len(changed)} change{'s' if len(changed) != 1 else ''}"
    build = sum(view.build_seconds for view in changed)
    building = f" · building {'it' if len(changed) == 1 else 'them'} takes {duration(build)}" if build > 0 else ""
    if saved < 0:  # pins and external readers can cost more than what is done today
        return f"{changes} cost {duration(-saved)} a day beyond today's {duration(before)}{building}"
    verb = f"save{'s' if len(changed) == 1 else ''}"
    return f"{changes} {verb} {duration(saved)} of {duration(before)} a day{_money(proposal, saved)}{building}"


def _money(proposal: Proposal, seconds: float) -> str:
    """What so many seconds of all cores cost, where the workload has a price."""
    if proposal.price is None or proposal.machine is None:
        return ""
    return f" ({seconds / 3600 * proposal.machine.cores * proposal.price.core_hour:,.2f} {proposal.price.currency})"


def _rows(console: Console, views: Sequence[ViewProposal]) -> None:
    cells = [_cells(view) for view in views]
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_edge=False)
    for heading in _HEADINGS:
        table.add_column(heading, no_wrap=True, header_style="dim")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    table.columns[0].style = "bold"
    needed = table.__rich_measure__(console, console.options.update(width=10_000)).maximum + 2
    if not console.is_terminal or needed <= console.width:
        wide = console if console.is_terminal else Console(file=console.file, width=max(needed, 80), color_system=None)
        for text in _indented(wide, table):
            console.print(text, soft_wrap=True, highlight=False)
        return
    for name, change, cost, rival, sure, why in cells:
        console.print(Text(f"  {name}", style="bold"), soft_wrap=True)
        line(console, f"    {change}")
        line(console, f"    {cost} a day · next best {rival} · sure {sure}")
        line(console, f"    {why}")


def _indented(console: Console, table: Table) -> Iterator[Text]:
    for segments in console.render_lines(table, console.options.update(width=console.width), pad=False):
        text = Text("  ")
        for segment in segments:
            text.append(segment.text, style=segment.style)
        text.rstrip()
        yield text


def _cells(view: ViewProposal) -> tuple[str, str, str, str, str, str]:
    chosen = label(view.candidate)
    change = f"{label(view.today)} → {chosen}" if view.changed else chosen
    cost = f"{duration(view.today_seconds)} → {duration(view.seconds)}" if view.changed else duration(view.seconds)
    rival = "none allowed"
    if view.next_best is not None:
        costs = [view.candidates[c] for c in view.permitted if c.partition("/")[0] == view.next_best]
        rival = f"{view.next_best.replace('_', ' ')} {factor(min(costs), view.seconds)}"
    return view.view, change, cost, rival, f"{view.confidence:.0%}".replace("%", " %"), view.reason


def _footnotes(
    proposal: Proposal, views: Sequence[ViewProposal], shown: Sequence[ViewProposal], everything: bool
) -> Iterator[str]:
    folded = len(views) - len(shown)
    virtual = sum(view.candidates["query_modification"] for view in views)
    rebuilt = sum(view.candidates.get("deferred/recompute", view.seconds) for view in views)
    totals = f"everything virtual {duration(virtual)} · everything recomputed {duration(rebuilt)}"
    yield (f"{folded} unchanged (--all shows them) · " if folded else "") + totals
    turns = [text for view in (views if everything else shown[:3]) if (text := _turn(view))]
    if turns and not everything:
        yield "; ".join(turns) + "."
    yield from turns if everything else ()
    approximated = Counter(text for view in views for text in view.approximations)
    for text, count in sorted(approximated.items()) if everything else ():
        yield f"{text} ({count} view{'s' if count > 1 else ''})"
    if approximated and not everything:
        affected = sum(1 for view in views if view.approximations)
        yield f"{affected} of {_count(views)} only resemble one of the three models (--all says how)."
    undeclared = sum(1 for view in views if not view.today_declared)
    if undeclared:
        yield f"{undeclared} without today: taken as virtual, or as fully refreshed where others read them."
    rates = {view.view: view.estimates.get("queries_per_day", {}).get("source") for view in views}
    observed = [view for view, source in rates.items() if source in ("measured", "derived")]
    if observed:
        yield f"Reads of {', '.join(observed)} are those seen in event logs."
    defaults = sorted({text for view in views for text in view.defaults})
    if defaults:
        some = defaults if everything else defaults[:4]
        more = f" and {len(defaults) - len(some)} more (--all)" if len(some) < len(defaults) else ""
        are = "estimates are defaults" if len(defaults) > 1 else "estimate is a default"
        yield f"{len(defaults)} {are}: {', '.join(some)}{more}."
        yield "Declare or observe them to be surer."
    if proposal.ignored:
        yield f"Not used by this model: {', '.join(proposal.ignored)}."
    if proposal.machine is None and proposal.page_costs is None:
        yield "Times are those of a disk of 1987 (30 ms a page); compare them, do not expect them."


def _turn(view: ViewProposal) -> str | None:
    for turn, what in ((view.updates_turn, "updates"), (view.queries_turn, "reads")):
        if turn is not None:
            return turn_text(view.view, turn, what)
    return None


def turn_text(view: str, turn: Turn, what: str) -> str:
    """The rate at which something else becomes the cheapest."""
    side = "above" if turn.above else "below"
    return f"{view} turns to {turn.strategy.replace('_', ' ')} {side} {number(turn.rate)} {what} a day"


def _count(views: Sequence[ViewProposal]) -> str:
    return f"{len(views)} view{'s' if len(views) != 1 else ''}"
