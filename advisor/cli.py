"""The `advisor` command: parses arguments, prints answers, and turns every error into one line and an exit code.

Exit codes: 0 done; 1 the answer is no; 2 the input is wrong; 3 engine or storage failed, trying again may
help; 130 interrupted. Commands import what they need when they run, so that help answers at once.
"""

from __future__ import annotations

import json
import os
import sys
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


@app.callback()
def _global(debug: Annotated[bool, typer.Option("--debug", help="Show the stack trace of an error.")] = False) -> None:
    """Decides from cost how each view on Spark is kept: virtual, immediate or deferred."""


@app.command()
def recommend(
    workload: WorkloadPath,
    as_json: Json = False,
    everything: Annotated[bool, typer.Option("--all", help="Show unchanged views and every note.")] = False,
    select: Select = None,
    exclude: Exclude = None,
) -> None:
    """Price every view, print a ranking and write .advisor/proposal.json beside the workload."""
    from advisor.proposal import write
    from advisor.recommend import recommend as decide
    from profiles.workload import load

    loaded = load(workload)
    proposal = decide(loaded, select or (), exclude or ())
    path = write(proposal, loaded.folder)
    if as_json:
        _print_json(proposal.as_json())
        return
    from advisor.output import PipeConsole, line, show

    console = PipeConsole()
    show(proposal, console, everything)
    line(console, f"proposal written to {os.path.relpath(path)}")


@app.command()
def check(workload: WorkloadPath, as_json: Json = False) -> None:
    """Validate the workload and every view's definition, and say which model prices it."""
    from advisor import gathering
    from profiles.workload import load

    loaded = load(workload)
    statistics = gathering.all_statistics(loaded)
    shapes = gathering.shapes_of(loaded, gathering.catalog_of(loaded, statistics))
    views = {name: gathering.gather(loaded, name, shape, statistics) for name, shape in shapes.items()}
    if as_json:
        answer = {
            name: {
                "model": view.shape.model,
                "tables": sorted(set(view.shape.tables)),
                "approximations": list(view.approximations),
                "defaults": list(view.defaults),
            }
            for name, view in views.items()
        }
        _print_json({"views": answer})
        return
    kinds = {1: "selection", 2: "join", 3: "aggregate"}
    for name, view in views.items():
        print(f"{name}: {kinds[view.shape.model]} of {', '.join(dict.fromkeys(view.shape.tables))}")
        for note in view.approximations:
            print(f"  {note}")
    print(f"{loaded.name}: {len(loaded.tables)} tables and {len(views)} views are valid")


@app.command()
def whatif(
    model: Annotated[int, typer.Option(help="1 selection, 2 join, 3 aggregate.", min=1, max=3)],
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="SYMBOL=VALUE", help="A symbol of the paper, like P=0.5.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what each method costs per query in Hanson's model of 1987, in milliseconds."""
    from costmodels.hanson import Parameters, costs

    answer = costs(model, Parameters().with_symbols(_symbols(assignments or [])))
    if as_json:
        _print_json({"costs": answer})
        return
    for method, cost in sorted(answer.items(), key=lambda item: item[1]):
        print(f"{method:<12} {cost:>14,.1f} ms")


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


def _symbols(assignments: list[str]) -> dict[str, float]:
    from views.errors import EstimationError

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
