"""What was measured: how well costs were predicted, and what the views cost and how they were kept over time."""

from __future__ import annotations

from statistics import median

from profiles.words import duration, many, number, percent
from reports.history_charts import Prediction, minute, predictions, runs_charts, track_charts
from reports.html import Content, Html, tag
from reports.parts import Cell, figure, section, table
from reports.results import Plan, Report

NO_RUN = (
    "Nothing was measured yet. advisor refresh, query and update measure what they do from the first time on;"
    " advisor run --days 1 replays a day of this workload in a scratch copy and measures that."
)
NO_CALIBRATION = "The coefficients were never fitted here: advisor calibrate --micro measures this machine in a minute."
NO_HISTORY = "The coefficients were fitted once; their history begins with the next advisor replan or calibrate."
NO_STALENESS = "No read of stored rows was measured yet, so nothing is known of how stale they were."
NO_PLANS = "No plan was in force yet: advisor apply puts the proposal into force."
_WORST = 20


def track_page(report: Report) -> Html:
    """How well costs were predicted."""
    found = predictions(report)
    drawn = {chart.name: figure(chart) for chart in track_charts(report)}
    content: list[Content] = [tag("p", NO_RUN, class_="missing")]
    title = "Predictions are not checked against measurements yet"
    if found:
        errors = [each.error for each in found]
        good = sum(error <= 2 for error in errors) / len(errors)
        title = f"Half of {many(len(found), 'prediction')} were within a factor of {median(errors):.2f}"
        content = [
            tag(
                "p",
                f"{percent(good)} were within a factor of 2; the worst was off by {max(errors):.1f}.",
                class_="lead",
            ),
            tag("div", drawn["predicted"], drawn["errors"], class_="pair"),
            section(_worst(found), title="The worst misses by name"),
        ]
    coefficients: Content = drawn.get("coefficients") or tag(
        "p", NO_HISTORY if report.coefficients else NO_CALIBRATION, class_="missing"
    )
    return tag(
        "section",
        tag("h2", title),
        content,
        section(coefficients, title=None if "coefficients" in drawn else "Coefficients"),
        class_="page",
        id="track",
        data_title="Track record",
    )


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
    missing = tag("p", NO_RUN, class_="missing")
    done = sum(each.seconds for each in report.measurements)
    title = f"{many(len(report.measurements), 'run')} took {duration(done)} in all" if done else "Nothing was run yet"
    return tag(
        "section",
        tag("h2", title),
        tag(
            "div",
            drawn.get("cost") or missing,
            drawn.get("staleness") or (tag("p", NO_STALENESS, class_="missing") if report.measurements else None),
            class_="pair",
        ),
        section(_plans(report), title="Plans"),
        class_="page",
        id="runs",
        data_title="Runs and plans",
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
