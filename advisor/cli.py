"""The `advisor` command: parses arguments, prints answers, and turns every error into one line and an exit code.

Exit codes: 0 done; 1 the answer is no; 2 the input is wrong; 3 engine or storage failed, trying again may
help; 130 interrupted. Commands import what they need when they run, so that help answers at once.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="advisor",
    help="Decides from cost how each view on Spark is kept: virtual, immediate or deferred.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Typer bundles click or depends on it, by version; this is the root of its errors in both.
_BadUsage: Any = typer.BadParameter.__mro__[2]

WorkloadPath = Annotated[str, typer.Argument(metavar="WORKLOAD", help="The workload file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON; errors too, on stderr.")]
Select = Annotated[
    list[str] | None, typer.Option(help="Only these views: a name, a wildcard, or +name with what it reads.")
]
Exclude = Annotated[list[str] | None, typer.Option(help="Not these views.")]
EventLog = Annotated[
    str | None, typer.Option("--event-log", metavar="DIR", help="The folder of spark.eventLog.dir, or one log.")
]
Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a report as an HTML page too.")]
ViewName = Annotated[str, typer.Argument(metavar="VIEW", help="A view of the workload.")]


class ModelChoice(StrEnum):
    """What prices the views."""

    SPARK = "spark"
    HANSON = "hanson"


SampleRows = Annotated[
    int | None,
    typer.Option(help="Rows of each table that may be looked at; 0 starts no engine and uses what is known.", min=0),
]
Model = Annotated[ModelChoice, typer.Option("--model", help="spark, or hanson: the page model of 1987.")]


class Form(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class LocalEngine(StrEnum):
    """An engine that runs in this process."""

    AUTO = "auto"
    SPARK = "spark"
    SAIL = "sail"


@app.callback()
def _global(debug: Annotated[bool, typer.Option("--debug", help="Show the stack trace of an error.")] = False) -> None:
    """Decides from cost how each view on Spark is kept: virtual, immediate or deferred."""


@app.command()
def recommend(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="WORKLOAD", help="The workload file; with --from-logs, folders.")
    ] = None,
    from_logs: Annotated[
        bool, typer.Option("--from-logs", help="Without a workload: name the tables that are rebuilt for nothing.")
    ] = False,
    event_log: EventLog = None,
    model: Model = ModelChoice.SPARK,
    sample_rows: SampleRows = None,
    as_json: Json = False,
    everything: Annotated[bool, typer.Option("--all", help="Show unchanged views and every note.")] = False,
    html: Html = None,
    select: Select = None,
    exclude: Exclude = None,
) -> None:
    """Price every view, print a ranking and write .advisor/proposal.json beside the workload.

    With --event-log DIR, reads of stored views are counted where the workload declares none.

    With --from-logs [PATH…] [--event-log DIR] no workload is needed and nothing is written: the answer is the list
    of derived tables that are rebuilt more often than they are read, or in full for small changes.
    """
    from views.errors import WorkloadError

    paths = paths or []
    if from_logs:
        if everything or select or exclude or html:
            what = "--all, --html, --select and --exclude are about the views of a workload"
            raise WorkloadError(what, "leave them out")
        _recommend_from_logs(paths, event_log, as_json)
        return
    if len(paths) != 1:
        raise WorkloadError(
            "give one workload file, or --from-logs with folders",
            "for example: advisor recommend workload.yaml, or advisor recommend --from-logs data",
        )
    if event_log is not None and model is ModelChoice.HANSON:
        raise WorkloadError("--event-log is not read by the page model of 1987", "leave one of them out")

    from advisor.api import Advisor
    from advisor.proposal import write

    if html is not None:
        _check_html(html, model)
    advisor = Advisor(paths[0])
    proposal = advisor.proposal(
        select or (),
        exclude or (),
        model=model.value,
        sample_rows=sample_rows,
        progress=_told(quiet=as_json),
        event_log=event_log,
    )
    path = write(proposal, advisor.workload.folder)
    _say(advisor.said, as_json)
    _write_html(html, advisor, select, exclude, event_log=event_log)
    if as_json:
        _print_json(proposal.as_json())
        return
    from advisor.output import PipeConsole, line, show

    console = PipeConsole()
    show(proposal, console, everything)
    line(console, f"proposal written to {os.path.relpath(path)}{f', report to {html}' if html is not None else ''}")


def _check_html(html: str, model: ModelChoice = ModelChoice.SPARK) -> None:
    """Refuse what cannot become a report, before anything is done."""
    from advisor.reporting import html_path
    from views.errors import WorkloadError

    html_path(html)
    if model is not ModelChoice.SPARK:
        raise WorkloadError("--html shows the prices of the Spark model", "leave out --model, or --html")


def _write_html(
    html: str | None,
    advisor: Any,
    select: list[str] | None = None,
    exclude: list[str] | None = None,
    **more: Any,
) -> None:
    """The report of --html."""
    if html is not None:
        from advisor.reporting import write_report

        write_report(advisor, html, select or (), exclude or (), **more)


@app.command()
def init(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Folders with Delta or Parquet tables.")],
    event_log: EventLog = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The workload file to write.")
    ] = "workload.yaml",
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    as_json: Json = False,
) -> None:
    """Draft a workload file from existing tables and event logs; everything guessed in it is a comment."""
    from advisor.drafting import draft, found_text, refuse_target, save_draft
    from profiles.eventlogs import read_event_logs

    refuse_target(output, force=force)
    executions = None if event_log is None else read_event_logs(event_log)
    drafted = draft(paths, executions, output, step=lambda line: None if as_json else print(line, flush=True))
    save_draft(drafted.text, output, force=force)
    if as_json:
        _print_json({"file": output, **drafted.as_json()})
    else:
        print(found_text(drafted, output))


def _recommend_from_logs(paths: list[str], event_log: str | None, as_json: bool) -> None:
    """The waste list of `recommend`."""
    from views.errors import WorkloadError

    files = [path for path in paths if os.path.isfile(path)]
    if files:
        raise WorkloadError(
            f"{files[0]} is a file, and --from-logs reads folders", "give either a workload or --from-logs with folders"
        )
    if not paths and event_log is None:
        raise WorkloadError("--from-logs needs logs", "name folders with Delta tables, --event-log DIR, or both")

    from advisor.waste import find_waste, waste_text
    from profiles.eventlogs import read_event_logs

    found = find_waste(None if event_log is None else read_event_logs(event_log), paths)
    if as_json:
        _print_json(found.as_json())
    else:
        print(waste_text(found))


@app.command()
def check(workload: WorkloadPath, as_json: Json = False, select: Select = None, exclude: Exclude = None) -> None:
    """Validate the workload and every view's definition, and say which views can be maintained incrementally."""
    from advisor.api import Advisor, StrictError
    from profiles.words import many

    advisor = Advisor(workload)
    views = {name: advisor.definitions[name] for name in advisor.selected(select or (), exclude or ())}
    if as_json:
        answer = {
            name: {
                "incremental": not view.reasons,
                "reasons": [{"code": r.code, "where": r.where, "remedy": r.remedy} for r in view.reasons],
                "relations": list(view.relations),
                "columns": list(view.columns),
            }
            for name, view in views.items()
        }
        _print_json({"views": answer})
    else:
        for name, view in views.items():
            print(f"{name}: {'not incremental' if view.reasons else 'incremental'}, reads {', '.join(view.relations)}")
            for reason in view.reasons:
                print(f"  {reason}")
        tables, count = many(len(advisor.workload.tables), "table"), many(len(views), "view")
        print(f"{advisor.workload.name}: {tables} and {count} are valid")
    for name, view in views.items():
        if view.reasons and advisor.workload.views[name].strict:
            place = advisor.workload.place("views", name)
            raise StrictError(f"{place}: view {name!r} is strict: {view.reasons[0]}")


@app.command()
def explain(
    workload: WorkloadPath,
    view: ViewName,
    delta: Annotated[bool, typer.Option("--delta", help="How its change follows from that of each table.")] = False,
    costs: Annotated[bool, typer.Option("--costs", help="What its cost is made of, step by step.")] = False,
    candidate: Annotated[
        str | None, typer.Option(help="With --costs: another way to keep it, like immediate/counting.")
    ] = None,
    model: Model = ModelChoice.SPARK,
    sample_rows: SampleRows = None,
    as_json: Json = False,
) -> None:
    """Print a view's rules, and as SQL what each executor does to keep it."""
    if costs:
        _explain_costs(workload, view, candidate, model, sample_rows, as_json)
        return
    from advisor import answers
    from advisor.api import Advisor
    from executors.executor import executors
    from views.steps import Plan

    advisor = Advisor(workload)
    definition = advisor.definition(view)
    plans = [executor.plan(definition, definition.relations) for executor in executors().values()]
    found = [plan for plan in plans if isinstance(plan, Plan)]
    if delta and not as_json:
        print(answers.delta_explanation(definition))
    elif as_json:
        _print_json(answers.explanation_json(definition, found))
    else:
        print(answers.explanation(definition, found))


def _explain_costs(
    workload: str, view: str, candidate: str | None, model: ModelChoice, sample_rows: int | None, as_json: bool
) -> None:
    """The costs of `explain`."""
    from advisor.api import Advisor
    from advisor.breakdown import cost_json, cost_text
    from views.errors import ViewError
    from views.spelling import did_you_mean

    advisor = Advisor(workload)
    name = advisor.definition(view).view
    proposal = advisor.proposal(model=model.value, sample_rows=sample_rows, progress=_told(quiet=as_json))
    _say(advisor.said, as_json)
    known = proposal.views[name].offers.offers
    if candidate is not None and candidate not in known:
        raise ViewError(f"view {name!r} cannot be kept as {candidate!r}", did_you_mean(candidate, known, "candidates"))
    if as_json:
        _print_json(cost_json(proposal, name))
    else:
        print(cost_text(proposal, name, candidate))


@app.command()
def apply(
    workload: WorkloadPath,
    force: Annotated[bool, typer.Option("--force", help="Also a proposal whose inputs have changed since.")] = False,
    as_json: Json = False,
    select: Select = None,
    exclude: Exclude = None,
) -> None:
    """Keep views as the proposal says, and build what that needs; without a proposal one is made first.

    What it costs and when that has paid is said before anything is built. An interrupted apply is gone on with by the
    next one.
    """
    from advisor.api import Advisor

    advisor = Advisor(workload)
    _switch(advisor, advisor.application(select or (), exclude or (), force=force), as_json)


@app.command()
def rollback(
    workload: WorkloadPath,
    to: Annotated[int | None, typer.Option(metavar="N", help="Not the plan before, but .advisor/plans/N.json.")] = None,
    as_json: Json = False,
) -> None:
    """Keep views as in the plan before the active one, and build what that needs; twice returns."""
    from advisor.api import Advisor

    advisor = Advisor(workload)
    _switch(advisor, advisor.return_to(to), as_json)


def _switch(advisor: Any, application: Any, as_json: bool) -> None:
    """Say what is about to be done, do it, and say what was done."""
    from advisor import answers

    if not as_json:
        print(answers.switching_text(application.switches), flush=True)
    done = []
    with _progress("building", len(application.switches), quiet=as_json) as step:
        for applied in application.carry_out():
            done.append(applied)
            step(answers.applied_line(applied))
    if application.dropped:
        advisor.said.append(f"dropped, because no plan stores it any more: {', '.join(application.dropped)}")
    _say(advisor.said, as_json)
    if as_json:
        answer = {each.view: answers.applied_json(each) for each in done}
        _print_json({"views": answer, "dropped": application.dropped})


@app.command()
def query(
    workload: WorkloadPath,
    view: ViewName,
    where: Annotated[str | None, typer.Option(help="A condition on the view's columns, as SQL.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most this many rows.", min=0)] = None,
    form: Annotated[Form, typer.Option("--format", help="How rows are printed.")] = Form.TABLE,
    as_json: Json = False,
) -> None:
    """Print the rows of a view, right under the strategy it is kept by."""
    from advisor.answers import answer_line, rows_text
    from advisor.api import Advisor

    advisor = Advisor(workload)
    found = advisor.rows(view, where, limit)
    said = [*advisor.said, *([answer_line(advisor.answered)] if advisor.answered is not None else [])]
    _say(said, quiet=as_json or form is not Form.TABLE)
    print(rows_text(found, "json" if as_json else form.value))


@app.command()
def update(
    workload: WorkloadPath,
    table: Annotated[str | None, typer.Argument(help="The table that --insert and --delete change.")] = None,
    insert: Annotated[str | None, typer.Option(help="A Parquet, CSV or JSON file of rows to insert.")] = None,
    delete: Annotated[str | None, typer.Option(help="A file of rows, or keys, to delete.")] = None,
    sql: Annotated[str | None, typer.Option(help="INSERT, DELETE … WHERE or UPDATE … SET … WHERE.")] = None,
    as_json: Json = False,
) -> None:
    """Carry out one update transaction; immediate views are maintained with it."""
    from advisor import answers
    from advisor.api import Advisor
    from storage.writing import read_rows
    from views.errors import WorkloadError

    if (sql is None) == (insert is None and delete is None) or (table is None) != (sql is not None):
        raise WorkloadError(
            "give either --sql, or a table with --insert or --delete",
            'for example: advisor update W orders --insert new.csv, or --sql "DELETE FROM orders WHERE …"',
        )
    advisor = Advisor(workload)
    change = None if table is None else {table: tuple(None if f is None else read_rows(f) for f in (insert, delete))}
    versions, refreshed = advisor.update(sql or change or "")  # type: ignore[arg-type]
    _say(advisor.said, as_json)
    if as_json:
        refreshes = {each.view: answers.refresh_json(each) for each in refreshed}
        _print_json({"tables": versions, "views": refreshes})
        return
    for name, version in versions.items():
        print(f"{name}: version {version}")
    if not versions:
        print("nothing changed")
    for each in refreshed:
        print(answers.refresh_line(each))


@app.command()
def refresh(
    workload: WorkloadPath,
    views: Annotated[list[str] | None, typer.Argument(help="Views; all stored ones when none is named.")] = None,
    as_json: Json = False,
    select: Select = None,
    exclude: Exclude = None,
) -> None:
    """Bring stored views up to date; one that fails keeps no other from it."""
    from advisor import answers
    from advisor.api import Advisor
    from views.errors import ExecutionError

    advisor = Advisor(workload)
    wanted = [advisor.definition(view).view for view in views or ()] or advisor.stored(select or (), exclude or ())
    done, failed = [], None
    with _progress("refreshing", len(wanted), quiet=as_json) as step:
        for view in wanted:
            try:
                done += advisor.refresh(view)
                step(answers.refresh_line(done[-1]))
            except ExecutionError as error:
                step(f"{view}: FAILED")
                failed = failed or error
    _say(advisor.said, as_json)
    if as_json:
        _print_json({"views": {each.view: answers.refresh_json(each) for each in done}})
    if failed is not None:
        raise failed


@app.command()
def watch(
    workload: WorkloadPath,
    interval: Annotated[float, typer.Option(help="Seconds between two looks at the logs.", min=0.05)] = 1.0,
    idle: Annotated[
        float, typer.Option(help="Seconds of quiet after which deferred views are refreshed; 0: never.", min=0)
    ] = 60.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, refresh what is due, and end.")] = False,
    as_json: Json = False,
) -> None:
    """Follow the logs of the tables, whoever writes them, and keep the stored views as the plan says.

    Immediate views are refreshed with each new version, deferred ones before they are too old, or when it is quiet.
    SIGTERM ends it after the refresh that is under way. With --json each refresh is one line of JSON.
    """
    from threading import Event

    from advisor import answers
    from advisor.api import Advisor
    from advisor.watch import Watcher
    from executors.runner import Refresh
    from profiles.words import many

    def tell(done: Refresh) -> None:
        if as_json:
            print(json.dumps({"view": done.view, **answers.refresh_json(done)}, ensure_ascii=False), flush=True)
        else:
            print(answers.refresh_line(done), flush=True)

    def warn(line: str) -> None:
        print(f"advisor: {line}", file=sys.stderr, flush=True)

    advisor, stopped = Advisor(workload), Event()
    advisor.stored()
    watcher = Watcher(advisor, interval, idle, tell, warn)
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    if once:
        watcher.tick()
    else:
        advisor.runner()
        _say([*advisor.said, f"watching {many(len(advisor.workload.tables), 'table')}"], as_json)
        watcher.run(stopped)
    watcher.advisor.recorder.flush()


@app.command()
def verify(
    workload: WorkloadPath,
    views: Annotated[list[str] | None, typer.Argument(help="Views; all stored ones when none is named.")] = None,
    as_json: Json = False,
    select: Select = None,
    exclude: Exclude = None,
) -> None:
    """Compare stored views with their definitions, duplicates counted; exit code 1 when one differs."""
    from advisor import answers
    from advisor.api import Advisor

    advisor = Advisor(workload)
    wanted = views or advisor.stored(select or (), exclude or ())
    found = []
    with _progress("verifying", len(wanted), quiet=as_json) as step:
        for view in wanted:
            found += advisor.verify(view)
            step(answers.comparison_line(found[-1]))
    _say(advisor.said, as_json)
    if as_json:
        _print_json({"views": {each.view: answers.comparison_json(each) for each in found}})
    raise typer.Exit(0 if all(each.equal for each in found) else 1)


@app.command()
def status(workload: WorkloadPath, as_json: Json = False) -> None:
    """Print how each view is kept, and what it has not seen yet."""
    from advisor import answers
    from advisor.api import Advisor

    advisor = Advisor(workload)
    found = advisor.status()
    _say(advisor.said, as_json)
    if as_json:
        _print_json({"views": {each.view: answers.status_json(each) for each in found}})
    else:
        print(answers.aligned(answers.status_rows(found, time.time())))


@app.command()
def report(
    workload: WorkloadPath,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The HTML page to write.")
    ] = "report.html",
    event_log: EventLog = None,
    as_json: Json = False,
    select: Select = None,
    exclude: Exclude = None,
) -> None:
    """Write an HTML page of what is recommended, known and measured; no engine is started."""
    from advisor.api import Advisor
    from advisor.reporting import write_report

    advisor = Advisor(workload)
    path = write_report(advisor, output, select or (), exclude or (), event_log=event_log)
    if as_json:
        _print_json({"file": str(path)})
    else:
        print(f"report written to {path}")


@app.command()
def whatif(
    workload: Annotated[str | None, typer.Argument(metavar="WORKLOAD", help="With --vary: the workload file.")] = None,
    view: Annotated[str | None, typer.Argument(metavar="VIEW", help="With --vary: a view of it.")] = None,
    vary: Annotated[
        str | None,
        typer.Option(metavar="PARAMETER=LOW..HIGH", help="Vary one number of a view: updates.per_day=1..10000."),
    ] = None,
    model: Annotated[int | None, typer.Option(help="1 selection, 2 join, 3 aggregate.", min=1, max=3)] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="SYMBOL=VALUE", help="A symbol of the paper, like P=0.5.")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--figure", metavar="N", help="A figure of the paper, 2 to 10.", min=2, max=10)
    ] = None,
    every: Annotated[bool, typer.Option("--figures", help="All figures of the paper.")] = False,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the pictures to this HTML page.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the data of a figure as CSV.")] = False,
    as_json: Json = False,
) -> None:
    """Vary one number of a real view, or print the costs of a method or a figure of Hanson's paper of 1987."""
    if workload is not None or vary is not None:
        _vary(workload, view, vary, as_json)
        return
    from advisor import whatif as answers
    from costmodels.figures import figure

    numbers = answers.figures_asked(number, every)
    answers.check_question(
        model=model, figures=numbers, assignments=assignments or [], output=output, as_csv=as_csv, as_json=as_json
    )
    if model is not None:
        found = answers.model_costs(model, assignments or [])
        if as_json:
            _print_json({"costs": found})
        else:
            print(answers.costs_text(found))
        return
    figures = [figure(each) for each in numbers]
    if output is not None:
        answers.save_page(figures, output)
    if as_json:
        _print_json({"figures": {str(each.number): answers.figure_json(each) for each in figures}})
    elif as_csv:
        print(answers.figure_csv(figures[0]), end="")
    else:
        answers.show_figures(figures, output)


def _vary(workload: str | None, view: str | None, vary: str | None, as_json: bool) -> None:
    """The sweep of `whatif`."""
    from advisor.api import Advisor
    from advisor.sweep import parse_range, sweep
    from views.errors import WorkloadError

    if workload is None or view is None or vary is None:
        raise WorkloadError(
            "a workload, a view and --vary belong together",
            "for example: advisor whatif workload.yaml daily_sales --vary updates.per_day=1..10000",
        )
    advisor = Advisor(workload)
    name = advisor.definition(view).view
    varied = parse_range(vary, advisor.workload)
    found = sweep(advisor.workload, advisor.profile(sample_rows=0), name, varied, "spark", advisor.definitions)
    _say(advisor.said, as_json)
    if as_json:
        _print_json(found.as_json())
    else:
        print(found.text())


@app.command()
def calibrate(
    workload: Annotated[
        str | None, typer.Argument(metavar="WORKLOAD", help="The workload file: its engine, and the folder to save to.")
    ] = None,
    micro: Annotated[bool, typer.Option("--micro", help="Measure small views over tables made for it.")] = False,
    engine: Annotated[LocalEngine | None, typer.Option(help="Another engine than the workload's.")] = None,
    as_json: Json = False,
) -> None:
    """Learn what this machine and engine cost from what was measured there, and save .advisor/coefficients.json.

    With --micro it takes a minute and needs no history: small views over tables of a temporary folder are measured.
    Without a workload that is saved in the current folder.
    """
    from views.errors import WorkloadError

    if not micro and workload is None:
        raise WorkloadError("whose measurements?", "name a workload, or add --micro")
    from advisor import calibrate as answers
    from advisor.api import Advisor

    advisor = Advisor(answers.workload_of(workload, engine.value if engine is not None else None))
    if micro:
        with _progress("measuring", answers.STEPS, quiet=as_json) as step:
            found = answers.calibrate(advisor, step)
    else:
        found = answers.from_measurements(advisor)
    path = answers.write(found, advisor.workload.folder)
    _say(advisor.said, as_json)
    if as_json:
        _print_json({"file": str(path), **found.as_json()})
    else:
        print(answers.calibration_text(found, path))


@app.command()
def run(
    workload: WorkloadPath,
    days: Annotated[float, typer.Option(help="How many days are replayed.")] = 1.0,
    compare: Annotated[bool, typer.Option("--compare", help="Under every permitted way to keep each view.")] = False,
    scale: Annotated[float, typer.Option(help="The part of a day's updates and reads that is replayed.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Draws other moments and other rows.", min=0)] = 0,
    sample_rows: SampleRows = None,
    html: Html = None,
    as_json: Json = False,
    select: Select = None,
    exclude: Exclude = None,
) -> None:
    """Replay the workload's updates and reads in a scratch copy, and print predicted against measured.

    The views are kept by the plan in force, or as recommended where there is none.
    """
    from advisor.api import Advisor

    if html is not None:
        _check_html(html)
    advisor = Advisor(workload)
    with _running(quiet=as_json) as progress:
        found = advisor.run(
            days=days,
            scale=scale,
            compare=compare,
            seed=seed,
            select=select or (),
            exclude=exclude or (),
            sample_rows=sample_rows,
            progress=progress,
        )
    _say(advisor.said, as_json)
    _write_html(html, advisor, select, exclude, run=found)
    if as_json:
        _print_json(found.as_json())
    else:
        print(found.text())


@app.command()
def replan(
    workload: WorkloadPath,
    apply_it: Annotated[bool, typer.Option("--apply", help="Put the changes into force.")] = False,
    max_changes: Annotated[int | None, typer.Option(help="Apply so many at most, the biggest savings first.")] = None,
    min_saving: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Apply only what saves that much a day, like 1m.")
    ] = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 10 when something changed.")
    ] = False,
    history: Annotated[bool, typer.Option("--history", help="Print the nights so far and do nothing.")] = False,
    sample_rows: SampleRows = None,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """The nightly job: look again, learn from what was measured, and say what should change and why.

    The proposal is written beside the workload, and the night is added to .advisor/history.md.
    """
    from advisor.api import Advisor
    from advisor.nights import history_text, read_nights
    from profiles.units import seconds
    from views.errors import WorkloadError

    advisor = Advisor(workload)
    if history:
        nights = read_nights(advisor.workload.folder)
        if as_json:
            _print_json({"nights": [each.as_json() for each in nights]})
        else:
            print(history_text(nights).rstrip())
        return
    if html is not None:
        _check_html(html)
    try:
        least = 0.0 if min_saving is None else seconds(min_saving)
    except ValueError as error:
        raise WorkloadError(f"--min-saving: {error}") from None
    found = advisor.replan(
        apply=apply_it,
        max_changes=max_changes,
        min_saving=least,
        sample_rows=sample_rows,
        progress=_told(quiet=as_json),
    )
    _say(advisor.said, as_json)
    _write_html(html, advisor)
    if as_json:
        _print_json(found.as_json())
    else:
        print(found.text())
    if detailed_exitcode and found.changed:
        raise typer.Exit(10)


@app.command()
def version(as_json: Json = False) -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    number = installed("spark-view-advisor")
    if as_json:
        _print_json({"version": number})
    else:
        print(number)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    given = sys.argv[1:] if arguments is None else arguments
    debug, as_json = "--debug" in given, "--json" in given
    # It is understood after the command too, where people add it.
    given = [*(["--debug"] if debug else []), *(each for each in given if each != "--debug")] or ["--help"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an ASCII terminal gets ? for ×, not a stack trace
    # What a command makes it mostly keeps: looking through it for garbage as often as usual takes a third of the time.
    gc.set_threshold(50_000, 20, 50)
    sys.exit(_run(given, debug, as_json))


def _run(arguments: list[str], debug: bool, as_json: bool) -> int:
    """The exit code of one command; errors are already printed."""
    from views.errors import AdvisorError

    try:
        code = app(args=arguments, standalone_mode=False, prog_name="advisor")
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # The reader has left; what is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except typer.Exit as stop:
        return stop.exit_code
    except AdvisorError as error:
        if debug:
            raise
        _print_error(error.kind, error.message, error.hint, as_json)
        return error.exit_code
    except OSError as error:
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _print_error("ExecutionError", f"{where}{error.strerror or error}", "check the path and its rights", as_json)
        return 3
    except _BadUsage as error:
        _print_error("UsageError", error.format_message(), "see advisor --help", as_json)
        return 2


@contextmanager
def _progress(verb: str, total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal, one line per view otherwise, nothing for scripts; each step says what it did."""
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():
        yield lambda line: print(line, flush=True)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(verb, total=total)

            def step(line: str) -> None:
                bar.console.print(line, markup=False, highlight=False)
                bar.advance(task)

            yield step


@contextmanager
def _running(*, quiet: bool) -> Iterator[Callable[[int, int, str | None], None]]:
    """A bar with the time left on a terminal; one line for each pass otherwise, with the time that the rest takes."""
    if quiet:
        yield lambda *_: None
    elif not sys.stderr.isatty():
        began = time.monotonic()

        def told(done: int, whole: int, line: str | None) -> None:
            if line is not None:
                from profiles.words import duration

                left = (time.monotonic() - began) * (whole - done) / max(done, 1)
                print(f"{line}: about {duration(left)} left" if done < whole else line, file=sys.stderr, flush=True)

        yield told
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("replaying", total=None)
            yield lambda done, whole, _: bar.update(task, completed=done, total=whole)


def _told(*, quiet: bool) -> Callable[[str], None]:
    """Progress of unknown length: one line each, on stderr."""
    return lambda line: None if quiet else print(f"sampled {line}", file=sys.stderr, flush=True)


def _say(lines: Iterable[str], quiet: bool) -> None:
    """What was done beside the request, on stderr so that the answer stays clean."""
    for line in lines if not quiet else ():
        print(line, file=sys.stderr)


def _print_json(answer: Any) -> None:
    print(json.dumps(answer, indent=2, sort_keys=True, ensure_ascii=False))


def _print_error(kind: str, message: str, hint: str | None, as_json: bool) -> None:
    message = " ".join(message.split())
    if as_json:
        text = json.dumps({"error": {"kind": kind, "message": message, "hint": hint}}, ensure_ascii=False)
    else:
        text = f"advisor: {message}; {hint}" if hint else f"advisor: {message}"
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
