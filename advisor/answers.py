"""Answers of the commands that run views, for people and for scripts: tables of text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from advisor.wording import label
from executors.counting import kept_states
from executors.standing import NOT_BUILT
from profiles.words import duration, many
from views.definition import Definition
from views.deltas import derive_deltas
from views.places import plain_name, plain_sql
from views.pushdown import needed_rows
from views.steps import ApplyDelta, Plan, Step, step_sql
from views.text import form_text, rule_text, rules_text

if TYPE_CHECKING:
    import pyarrow as pa

    from advisor.api import Status
    from advisor.switching import Applied, Switch
    from executors.comparison import Comparison
    from executors.keeping import Keeping
    from executors.reading import Answer
    from executors.runner import Refresh


def kept_label(keeping: Keeping) -> str:
    """How a view is kept, in words."""
    if keeping.strategy == "query_modification":
        return label(keeping.strategy)
    return label(f"{keeping.strategy}/{keeping.algorithm}")


def switching_text(switches: Sequence[Switch]) -> str:
    """What `apply` and `rollback` are about to do, and what that costs and saves."""
    changed = [each for each in switches if each.changes]
    build, saved = sum(each.build_seconds for each in switches), sum(each.saving_seconds for each in changed)
    text = many(len(changed), "change") if changed else "nothing to change"
    if saved > 0:
        text += f" {'saves' if len(changed) == 1 else 'save'} {duration(saved)} a day"
    elif saved < 0:
        text += f" {'costs' if len(changed) == 1 else 'cost'} {duration(-saved)} a day more than now"
    if build > 0:
        text += f" · building takes {duration(build)}"
        text += f", paid back in {duration(build / saved * 86_400)}" if saved > 0 else ""
    return text


def applied_line(applied: Applied) -> str:
    """One view of `apply`."""
    text = f"{applied.view}: {kept_label(applied.keeping)}"
    if applied.keeping.every_seconds is not None:
        text += f" every {duration(applied.keeping.every_seconds)}"
    if applied.switch.changes and applied.switch.before.stored:
        text += f" (before: {kept_label(applied.switch.before)})"
    if applied.built is not None and applied.built.ran is not None:
        text += f", built in {duration(applied.built.seconds)}"
        text += "" if applied.built.because == NOT_BUILT else f", because {applied.built.because}"
    elif applied.built is not None:
        text += ", up to date"
    return f"{text} ({applied.note})" if applied.note else text


def applied_json(applied: Applied) -> dict[str, Any]:
    switch = applied.switch
    return {
        "strategy": applied.keeping.strategy,
        "algorithm": applied.keeping.algorithm,
        "every_seconds": applied.keeping.every_seconds,
        "before": switch.before.candidate,
        "built": None if applied.built is None else refresh_json(applied.built),
        "expected": {
            "build_seconds": switch.build_seconds,
            "saving_seconds_a_day": switch.saving_seconds,
            "payback_days": switch.payback_days,
        },
        "note": applied.note,
    }


def refresh_line(refresh: Refresh) -> str:
    """One view of `refresh`."""
    if refresh.error is not None:
        return f"{refresh.view}: is behind, and the next refresh catches up: {refresh.error}"
    if refresh.ran is None:
        return f"{refresh.view}: up to date"
    return f"{refresh.view}: {refresh.ran} in {duration(refresh.seconds)}, because {refresh.because}"


def refresh_json(refresh: Refresh) -> dict[str, Any]:
    return {
        "planned": refresh.planned,
        "ran": refresh.ran,
        "because": refresh.because,
        "seconds": round(refresh.seconds, 3),
        "version": refresh.version,
        "error": None if refresh.error is None else str(refresh.error),
    }


def comparison_line(comparison: Comparison) -> str:
    """One view of `verify`."""
    if comparison.equal:
        return f"{comparison.view}: equal"
    return (
        f"{comparison.view}: DIFFERS: {comparison.missing} rows missing, {comparison.unexpected} too many"
        f" ({comparison.example})"
    )


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    answer: dict[str, Any] = {"equal": comparison.equal}
    if not comparison.equal:
        answer |= {"missing": comparison.missing, "unexpected": comparison.unexpected, "example": comparison.example}
    return answer


def status_rows(found: Sequence[Status], now: float) -> list[tuple[str, ...]]:
    """`status` as rows of text under a heading."""
    from executors.keeping import Keeping

    rows: list[tuple[str, ...]] = [("view", "kept", "rows", "state", "last refresh", "")]
    for each in found:
        kept = kept_label(Keeping(each.strategy, each.algorithm))  # type: ignore[arg-type]
        if each.every_seconds is not None:
            kept += f", every {duration(each.every_seconds)}"
        state = "virtual" if each.strategy == "query_modification" else "up to date"
        if each.pending:
            state = f"behind: {', '.join(each.pending)}"
            state += f", for {duration(each.stale_seconds)}" if each.stale_seconds else ""
        if each.switching is not None:
            state += f"; advisor {each.switching} was interrupted, run it again"
        last = ""
        if each.last is not None:
            last = f"{each.last.ran} {duration(max(now - each.last.moment, 0))} ago"
            last += f" ({each.last.planned} was planned)" if each.last.ran != each.last.planned else ""
        if each.failure is not None:
            last = f"FAILED {duration(max(now - each.failure.moment, 0))} ago: {each.failure.error}"
        count = "" if each.rows is None else f"{each.rows:,}"
        rows.append((each.view, kept, count, state, last, ", ".join(each.reasons)))
    return rows


def status_json(each: Status) -> dict[str, Any]:
    last, failure = each.last, each.failure
    return {
        "strategy": each.strategy,
        "algorithm": each.algorithm,
        "every_seconds": each.every_seconds,
        "pending": list(each.pending),
        "stale_seconds": each.stale_seconds,
        "rows": each.rows,
        "reasons": list(each.reasons),
        "last": None if last is None else {**asdict(last), "moment": when(last.moment)},
        "error": None if failure is None else {"message": failure.error, "moment": when(failure.moment)},
        "switching": each.switching,
    }


def when(moment: float) -> str:
    """
    >>> when(1763596800.0)
    '2025-11-20T00:00:00Z'
    """
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def answer_line(answer: Answer) -> str:
    """Where the rows of a read come from, and how old they are."""
    from executors.reading import NAMES

    text = f"{answer.view}: answered from {NAMES[answer.route]}"
    if answer.stale_seconds > 0:
        return f"{text}, which lack the changes of the last {duration(answer.stale_seconds)}, as the plan allows"
    return f"{text}, up to date"


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """Rows of text in columns.

    >>> print(aligned([("view", "rows"), ("daily", "12")]))
    view   rows
    daily  12
    """
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def rows_text(rows: pa.Table, form: str) -> str:
    """Rows of a query as a table, as CSV with a header, or as JSON lines in an array."""
    records = [
        dict(zip(rows.column_names, row, strict=True))
        for row in zip(*(c.to_pylist() for c in rows.columns), strict=True)
    ]
    match form:
        case "json":
            return json.dumps(records, default=_plain, ensure_ascii=False, indent=2)
        case "csv":
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(rows.column_names)
            writer.writerows([["" if v is None else _text(v) for v in record.values()] for record in records])
            return out.getvalue().rstrip("\n")
        case _:
            cells = [tuple(rows.column_names)]
            cells += [tuple("NULL" if v is None else _text(v) for v in record.values()) for record in records]
            return aligned(cells)


def _plain(value: Any) -> Any:
    return str(value)


def _text(value: Any) -> str:
    return " ".join(str(value).splitlines())


def explanation(definition: Definition, plans: Iterable[Plan]) -> str:
    """A view for people: its rules, what a read needs of each table, and each plan as SQL."""
    lines = [f"{definition.view}({', '.join(map(plain_name, definition.columns))})", ""]
    if definition.program is not None:
        strata = definition.program.strata()
        lines.append("rules")
        for predicate in definition.program.predicates:
            lines.append(f"  {strata[predicate.name]}  {plain_name(predicate.name)}: {form_text(predicate)}")
            lines += [f"       {rule_text(predicate, rule)}" for rule in predicate.rules]
        needed = needed_rows(definition.program)
        for relation, condition in needed.items():
            if condition is not None:
                lines.append(f"  only rows of {relation} matter with {plain_sql(condition)}")
    for reason in definition.reasons:
        lines.append(f"  {reason}")
    for plan in plans:
        lines += ["", f"{plan.algorithm}"]
        for title, steps in (("to bring it up to date", plan.maintain), ("to answer a read", plan.answer)):
            for step in steps:
                if isinstance(step, ApplyDelta):
                    lines.append("  -- to bring it up to date: apply its change (--delta shows how that is derived)")
                else:
                    lines += [f"  -- {title}", *_indented(step)]
    return "\n".join(lines)


def delta_explanation(definition: Definition) -> str:
    """How the change of a view follows from the change of each table it reads: delta rules, and their SQL."""
    if definition.program is None:
        return "\n".join(str(reason) for reason in definition.reasons)
    states = kept_states(definition.program)
    lines = []
    for state in states:
        kept = ", ".join(map(plain_name, state.columns))
        lines += [f"kept beside it: {plain_name(state.table)}({kept})", ""]
    for relation in definition.program.relations:
        delta = derive_deltas(definition.program, {relation}, states)
        lines += [f"when {relation} changes", *(f"  {line}" for line in rules_text(delta).splitlines()), ""]
        lines += [*_indented(ApplyDelta(definition.view, delta)), ""]
    return "\n".join(lines).rstrip()


def _indented(step: Step) -> list[str]:
    return [f"  {line}" for line in f"{plain_sql(step_sql(step), pretty=True)};".splitlines()]


def explanation_json(definition: Definition, plans: Iterable[Plan]) -> dict[str, Any]:
    return {
        "view": definition.view,
        "columns": list(definition.columns),
        "relations": list(definition.relations),
        "rules": rules_text(definition.program) if definition.program is not None else None,
        "reasons": [{"code": r.code, "where": r.where, "remedy": r.remedy} for r in definition.reasons],
        "plans": {
            plan.algorithm: {
                "maintain": [step_sql(step).sql(dialect="spark") for step in plan.maintain],
                "answer": [step_sql(step).sql(dialect="spark") for step in plan.answer],
            }
            for plan in plans
        },
    }
