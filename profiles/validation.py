"""Validates a document against its model and says what is wrong in one line, with the line and the remedy."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from profiles import specification as spec
from profiles.document import Document, Location
from views.errors import WorkloadError
from views.spelling import did_you_mean

Model = TypeVar("Model", bound=BaseModel)

_BLOCKS: dict[Location, type[BaseModel]] = {
    (): spec.WorkloadFile,
    ("engine",): spec.Engine,
    ("defaults",): spec.Defaults,
    ("budget",): spec.Budget,
    ("price",): spec.Price,
    ("tables", "*"): spec.Table,
    ("tables", "*", "updates"): spec.Updates,
    ("views", "*"): spec.View,
    ("views", "*", "queries"): spec.Queries,
    ("views", "*", "today"): spec.Today,
}
_EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "dict_type": "a block of keys",
    "model_type": "a block of keys",
    "model_attributes_type": "a block of keys",
    "tuple_type": "a list",
    "list_type": "a list",
}


def validate(model: type[Model], document: Document, values: dict[str, Any] | None = None) -> Model:
    """`values` (the document's own when not given) as a `model`, or the first problem as a WorkloadError."""
    try:
        return model.model_validate(document.values if values is None else values)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        first = min(problems, key=lambda problem: document.place(problem["loc"]).line)
        message, hint = _explain(first, model)
        more = f" ({len(problems) - 1} more after this one)" if len(problems) > 1 else ""
        raise WorkloadError(f"{document.place(first['loc'])}: {message}", hint + more) from None


def _explain(problem: ErrorDetails, model: type[BaseModel]) -> tuple[str, str]:
    """What is wrong and what to do about it."""
    *around, last = problem["loc"] or ("the file",)
    where, block = ".".join(map(str, problem["loc"])), ".".join(map(str, around))
    context, got = problem.get("ctx", {}), _shown(problem["input"])
    match problem["type"]:
        case "extra_forbidden":
            known = _known_keys(tuple(around), model)
            inside = f" in {block}" if block else ""
            return f"unknown key {str(last)!r}{inside}", did_you_mean(str(last), known, "keys")
        case "missing":
            return f"{block or 'the file'} needs {str(last)!r}", "add it"
        case "value_error":
            message, _, hint = str(context["error"]).partition("; ")
            return f"{where.removesuffix('.[key]')}: {message}", hint or "correct it"
        case "literal_error":
            known = [str(each) for each in _choices(str(context["expected"]))]
            return f"{where}: {got} is not one of {', '.join(known)}", did_you_mean(got.strip("'"), known, "values")
        case "finite_number":
            return f"{where}: {got} is not a finite number", "write a plain number"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            message = problem["msg"].removeprefix("Input should be ")
            return f"{where}: {got} is out of range", f"it must be {message}"
        case "string_pattern_mismatch":
            return f"{where}: {got} is not written as expected", f"it must match {context['pattern']}"
        case "string_too_short":
            return f"{where}: is empty", "fill it in or remove the key"
        case kind:
            expected = _EXPECTED.get(kind, problem["msg"])
            return f"{where}: {got} is not {expected}", f"write {expected}"


def _known_keys(location: Location, model: type[BaseModel]) -> list[str]:
    general = tuple("*" if index == 1 and location[0] in ("tables", "views") else part
                    for index, part in enumerate(location))  # fmt: skip
    block = _BLOCKS.get(general, model) if general else model
    return [key for key in block.model_fields if not (block is spec.Engine and key == "kind")]


def _choices(expected: str) -> list[str]:
    return [each.strip(" '") for each in expected.replace(" or ", ", ").split(",")]


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else text[:39] + "…"
