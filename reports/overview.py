"""The first page: what changes, what that saves, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from profiles.words import duration, factor, percent, signed
from reports import findings
from reports.html import Content, Html, tag
from reports.parts import Cell, bar, chip, folded, section, table
from reports.results import Report, View

NO_PLAN = "No plan is in force yet: advisor apply puts the proposal into force, and then this says what would change."


def page(report: Report, link: dict[str, str]) -> Html:
    """The overview; `link` leads from names of views to their pages."""
    views = sorted(report.views, key=lambda view: (-view.saving, view.name))
    changed, rest = [v for v in views if v.changed], [v for v in views if not v.changed]
    return tag(
        "section",
        tag("h2", findings.headline(report)),
        tag("p", _lead(report, changed), class_="lead"),
        _totals(report) if report.views else None,
        section(_views(report, changed, link), title="What changes") if changed else None,
        folded(_stays(rest), _views(report, rest, link), opened=not changed) if rest else None,
        section(_doubts(report, link), title="How sure this is"),
        section(_since(report, link), title="Since the last plan"),
        section(_made_from(report), title="Made from"),
        class_="page",
        id="overview",
        data_title="Overview",
    )


def _lead(report: Report, changed: Sequence[View]) -> str:
    words = [f"of {duration(report.total('today'))} today"] if changed else []
    saved = sum(view.saving for view in changed)
    if report.price is not None and changed:
        words.append(f"worth {saved * 365 * report.price.a_second:,.2f} {report.price.currency} a year")
    build = sum(view.proposed.build_seconds for view in changed)
    if build:
        paid = f", paid back after {duration(build / saved * 86_400)}" if saved > 0 else ""
        words.append(f"building takes {duration(build)} once{paid}")
    text = " · ".join([*words, report.priced_by])
    return text[:1].upper() + text[1:]


def _stays(views: Sequence[View]) -> str:
    count = findings.counted(len(views)).capitalize()
    return f"{count} view{' stays' if len(views) == 1 else 's stay'} as {'it is' if len(views) == 1 else 'they are'}"


def _totals(report: Report) -> Html:
    """What a day costs as proposed, today, and were all views kept one way."""
    proposed = report.total("chosen")
    rows = (
        ("proposed", proposed),
        ("today", report.total("today")),
        ("everything recomputed", report.total("deferred/recompute")),
        ("everything virtual", report.total("query_modification")),
    )
    most = max(seconds for _, seconds in rows)
    shown = []
    for name, seconds in rows:
        first = name == "proposed"
        saved = "" if first else _against(seconds - proposed)
        shown.append(
            tag(
                "tr",
                tag("th", name, scope="row"),
                tag("td", duration(seconds), _money(report, seconds), class_="number"),
                tag("td", bar(seconds, most, None), class_="bars"),
                tag("td", saved, None if first else _money(report, seconds - proposed)),
                class_="first" if first else None,
            )
        )
    caption = tag("caption", "Seconds a day of all views together, and what the proposal saves against each")
    return tag("table", caption, tag("tbody", shown), class_="totals")


def _against(saved: float) -> str:
    return f"saves {duration(saved)}" if saved >= 0 else f"costs {duration(-saved)} more"


def _money(report: Report, seconds: float) -> Content:
    if report.price is None:
        return None
    return tag("small", f"{abs(seconds) * report.price.a_second:,.2f} {report.price.currency}")


def _views(report: Report, views: Sequence[View], link: dict[str, str]) -> Html:
    most = max((max(v.now.seconds, v.proposed.seconds) for v in report.views), default=0.0)
    headings = ("view", "today → proposed", "a day", "saves", "next best", "sure", "because")
    return table("views", headings, (_row(view, most, link[view.name]) for view in views), numeric=(3, 5))


def _row(view: View, most: float, page: str) -> Iterator[Cell | str]:
    now, proposed, rival = view.now, view.proposed, view.rival
    yield Cell(tag("a", view.name, href=f"#{page}"), view.name)
    move: Content = chip(proposed.way, proposed.label)
    if view.changed:
        move = [chip(now.way, now.label), tag("span", "→ ", move, class_="to")]
    yield Cell(move, f"{now.label} → {proposed.label}")
    cost = f"{duration(now.seconds)} → {duration(proposed.seconds)}" if view.changed else duration(proposed.seconds)
    bars = [bar(now.seconds, most, now.way), bar(proposed.seconds, most, proposed.way)]
    yield Cell([tag("span", cost), tag("span", bars, class_="bars")], proposed.seconds)
    yield Cell(signed(view.saving), view.saving)
    next_best = "none allowed" if rival is None else f"{rival.label} {factor(rival.seconds, proposed.seconds)}"
    yield Cell(next_best, None if rival is None else rival.seconds)
    sure = percent(view.confidence)
    yield Cell(tag("b", sure) if view.confidence < findings.CLOSE else sure, view.confidence)
    yield view.because


def _doubts(report: Report, link: dict[str, str]) -> Iterator[Content]:
    """Which choices may be wrong, at what cost, and what would make them surer."""
    unsure = sorted((v for v in report.views if v.confidence < findings.CLOSE), key=lambda v: v.confidence)
    sure = len(report.views) - len(unsure)
    every = "Every" if not unsure else f"{findings.counted(sure).capitalize()} of {len(report.views)}"
    yield tag(
        "p",
        f"{every} choice{'' if not unsure else 's'} {'is' if not unsure else 'are'} the best in at least"
        f" {percent(findings.CLOSE)} of the draws from the ranges of the estimates; all together may cost"
        f" {duration(sum(view.regret for view in report.views))} a day more than the best.",
    )
    if unsure:
        yield tag(
            "ul",
            [
                tag(
                    "li",
                    tag("a", view.name, href=f"#{link[view.name]}"),
                    f": {view.proposed.label} is the best in {percent(view.confidence)}"
                    + (f", {view.rival.label} comes next" if view.rival is not None else "")
                    + f"; a wrong choice costs {duration(view.regret)} a day on average",
                )
                for view in unsure
            ],
        )
    defaults = sorted({each for view in report.views for each in view.defaults})
    if defaults:
        verb = "number is" if len(defaults) == 1 else "numbers are"
        count = findings.counted(len(defaults)).capitalize()
        yield tag("p", f"{count} {verb} assumed: {', '.join(defaults)}. Declare or observe them to be surer.")


def _since(report: Report, link: dict[str, str]) -> Iterator[Content]:
    """What would change of the plan in force, why, and what has moved since it was made."""
    if not report.plans:
        yield tag("p", NO_PLAN, class_="missing")
        return
    if not report.changes:
        yield tag("p", "The proposal is the plan that is in force.")
    else:
        yield tag(
            "ul",
            [
                tag("li", tag("a", c.view, href=f"#{link[c.view]}"), f": {c.before} → {c.after}, because {c.why}")
                for c in report.changes
            ],
        )
    if report.nights and report.nights[-1].moved:
        yield tag("p", f"Since the night before: {'; '.join(report.nights[-1].moved)}.")


def _made_from(report: Report) -> Iterator[Content]:
    for note in report.notes:
        yield tag("p", note)
    rows = [(name, Cell(tag("code", each), each)) for name, each in report.made_from.items()]
    yield folded("Inputs and their fingerprints", table("inputs", ("input", "fingerprint"), rows))
