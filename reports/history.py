"""What was measured: how well costs were predicted, and what the views cost and how they were kept over time."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from profiles.words import duration, many, number, percent
from reports.history_charts import Prediction, minute, predictions, runs_charts, track_charts
from reports.html import Content, Html, tag
from reports.parts import Cell, bar, chip, figure, section, table
from reports.results import Compared, Measured, Plan, Report

NO_RUN = (
    "Nothing was measured yet. advisor refresh, query and update measure what they do from the first time on;"
    " advisor run --days 1 replays a day of this workload in a scratch copy and measures that."
)
NO_CALIBRATION = "The coefficients were never fitted here: advisor calibrate --micro measures this machine in a minute."
NO_HISTORY = "The coefficients were fitted once; their history begins with the next advisor replan or calibrate."
NO_STALENESS = "No read of stored rows was measured yet, so nothing is known of how stale they were."
NO_NIGHTS = "The nightly job has not run yet: advisor replan looks again, learns and says what should change and why."
ONLY_REHEARSED = "Only rehearsals in a scratch copy were measured so far, which say nothing of what a day costs."
NO_PLANS = "No plan was in force yet: advisor apply puts the proposal into force."
_WORST = 20
_AS_GOOD = 0.1
"""By so small a part dearer than the best is as good."""


def track_page(report: Report) -> Html:
    """How well costs were predicted."""
    found = predictions(report)
    drawn = {chart.name: figure(chart) for chart in track_charts(report)}
    content: list[Content] = [tag("p", NO_RUN, class_="missing")]
    title, lead = "Predictions are not checked against measurements yet", ""
    if found:
        errors = [each.error for each in found]
        good = percent(sum(error <= 2 for error in errors) / len(errors))
        title = f"Half of {many(len(found), 'prediction')} were within a factor of {median(errors):.2f}"
        lead = f"{good} were within a factor of 2; the worst was off by {max(errors):.1f}."
        content = [
            tag("div", drawn["predicted"], drawn["errors"], class_="pair"),
            section(_worst(found), title="The worst misses by name"),
        ]
    mistakes = report.nights[-1].mistakes if report.nights else ()
    coefficients: Content = drawn.get("coefficients") or tag(
        "p", NO_HISTORY if report.coefficients else NO_CALIBRATION, class_="missing"
    )
    return tag(
        "section",
        tag("h2", title),
        tag("p", lead, class_="lead") if lead else None,
        section(_compared(report.comparison), title=_finding(report.comparison)) if report.comparison else None,
        content,
        section(tag("ul", [tag("li", each) for each in mistakes]), title="Mistakes of the plan") if mistakes else None,
        section(coefficients, title=None if "coefficients" in drawn else "Coefficients"),
        class_="page",
        id="track",
        data_title="Track record",
    )


def _finding(compared: Sequence[Compared]) -> str:
    good = sum(each.regret <= _AS_GOOD for each in compared)
    return f"What is recommended was the measured best, or as good, for {good} of {many(len(compared), 'view')}"


def _compared(compared: Sequence[Compared]) -> Html:
    most = max((max(each.measured_seconds, each.best_seconds) for each in compared), default=0.0)
    rows = [
        (
            each.view,
            Cell(chip(each.way, each.label), each.label),
            Cell(duration(each.predicted_seconds), each.predicted_seconds),
            Cell([duration(each.measured_seconds), _bars(each, most)], each.measured_seconds),
            Cell(chip(each.best_way, each.best_label), each.best_label),
            Cell(duration(each.best_seconds), each.best_seconds),
            Cell(percent(each.regret), each.regret),
        )
        for each in sorted(compared, key=lambda each: -each.measured_seconds)
    ]
    headings = ("view", "recommended", "predicted", "measured", "measured best", "took", "regret")
    return table("comparison", headings, rows, numeric=(2, 5, 6))


def _bars(each: Compared, most: float) -> Html:
    bars = [bar(each.measured_seconds, most, each.way), bar(each.best_seconds, most, each.best_way)]
    return tag("span", bars, class_="bars")


def _worst(found: list[Prediction]) -> Html:
    rows = [
        (
            run.subject,
            run.kind,
            run.ran,
            Cell(duration(expected), expected),
            Cell(duration(run.seconds), run.seconds),
            Cell(f"×{error:.1f} {'too high' if expected > run.seconds else 'too low'}", error),
            Cell(minute(run.at), run.at),
        )
        for run, expected, error in sorted(found, key=lambda each: -each.error)[:_WORST]
    ]
    headings = ("name", "what", "by", "predicted", "measured", "off", "when (UTC)")
    return table("misses", headings, rows, numeric=(3, 4, 5))


def runs_page(report: Report) -> Html:
    """What was done, and how views were kept, over time."""
    drawn = {chart.name: figure(chart) for chart in runs_charts(report)}
    runs = [each for each in report.measurements if not each.rehearsed]
    missing = NO_RUN if not report.measurements else ONLY_REHEARSED
    title = "Nothing was run yet"
    if runs:
        title = f"{many(len(runs), 'run')} took {duration(sum(each.seconds for each in runs))} in all"
    stale = tag("p", NO_STALENESS, class_="missing") if runs else None
    failed = [each for each in runs if each.error]
    return tag(
        "section",
        tag("h2", title),
        tag(
            "div",
            drawn.get("cost") or tag("p", missing, class_="missing"),
            drawn.get("staleness") or stale,
            class_="pair",
        ),
        section(_failed(failed), title=f"{many(len(failed), 'run')} failed") if failed else None,
        section(_nights(report), title="Nights"),
        section(_plans(report), title="Plans"),
        class_="page",
        id="runs",
        data_title="Runs and plans",
    )


def _failed(failed: Sequence[Measured]) -> Html:
    rows = [(each.subject, each.kind, Cell(minute(each.at), each.at), each.error) for each in reversed(failed)]
    return table("failed", ("name", "what", "when (UTC)", "why"), rows[:_WORST])


def _nights(report: Report) -> Content:
    if not report.nights:
        return tag("p", NO_NIGHTS, class_="missing")
    rows = [
        (
            Cell(f"{each.number}", each.number),
            each.when,
            Cell(f"{each.runs:,}", each.runs),
            "; ".join(each.moved) or "nothing",
            "; ".join(each.changes) or "nothing",
            "; ".join(each.mistakes) or "none",
        )
        for each in reversed(report.nights)
    ]
    return table(
        "nights", ("night", "when (UTC)", "runs", "what moved", "what changed", "mistakes"), rows, numeric=(2,)
    )


def _plans(report: Report) -> Content:
    if not report.plans:
        return tag("p", NO_PLANS, class_="missing")
    rows = []
    before: Plan | None = None
    for plan in report.plans:
        changes = _changes(before, plan)
        name = f"{plan.number}{', in force' if plan.active else ''}"
        stored = f"{number(len(plan.views))}"
        rows.append((Cell(name, plan.number), Cell(stored, len(plan.views)), "; ".join(changes) or "nothing"))
        before = plan
    return table("plans", ("plan", "views", "what changed"), list(reversed(rows)), numeric=(1,))


def _changes(before: Plan | None, plan: Plan) -> list[str]:
    if before is None:
        return [f"{view}: {label}" for view, label in plan.views.items()]
    names = dict.fromkeys((*before.views, *plan.views))
    return [
        f"{name}: {before.views.get(name, 'not kept')} → {plan.views.get(name, 'not kept')}"
        for name in names
        if before.views.get(name) != plan.views.get(name)
    ]
