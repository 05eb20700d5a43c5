"""Executors come through entry points, built-in ones too, and what is wrong with one is an error."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from executors import executor as door
from executors.executor import GROUP, Executor, executors, find_executor
from views.definition import Definition
from views.errors import ExecutionError
from views.steps import Plan


class Fine:
    name = "fine"
    stores = False

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        return Plan(view.view, self.name, (), ())


class WithoutPlan:
    name = "without_plan"
    stores = True


class WantsArguments(Fine):
    def __init__(self, setting: str) -> None:
        self.setting = setting


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    executors.cache_clear()
    yield
    executors.cache_clear()


def installed(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str]) -> None:
    """Exactly these entry points are installed in the group."""
    made = EntryPoints(EntryPoint(name, value, GROUP) for name, value in points)
    monkeypatch.setattr(door, "entry_points", lambda group: made.select(group=group))


def here(what: type) -> str:
    return f"{__name__}:{what.__name__}"


@pytest.fixture
def this_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points name modules as imports do."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Fine.__module__])


def test_the_built_in_executors_come_through_their_entry_points() -> None:
    found = executors()
    assert {"query_modification", "recompute"} <= set(found)
    for name, each in found.items():
        assert isinstance(each, Executor)
        assert each.name == name
    assert not found["query_modification"].stores
    assert found["recompute"].stores
    assert find_executor("recompute") is found["recompute"]
    assert find_executor("no_such_algorithm") is None


@pytest.mark.usefixtures("this_module")
def test_a_plug_in_is_found_beside_the_built_in_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ("recompute", "executors.recompute:Recompute"), ("fine", here(Fine)))
    assert list(executors()) == ["recompute", "fine"]
    assert type(find_executor("fine")) is Fine


@pytest.mark.usefixtures("this_module")
@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([("gone", "no_such_module:Gone")], r"executor 'gone' \(no_such_module:Gone\) cannot be loaded"),
        ([("gone", "executors.recompute:Gone")], r"executor 'gone' .* cannot be loaded: .*Gone"),
        ([("fine", here(WantsArguments))], r"executor 'fine' .* cannot be loaded: .*setting"),
        ([("fast", here(Fine))], r"executor 'fast' .* is not an executor of that name"),
        ([("without_plan", here(WithoutPlan))], r"executor 'without_plan' .* is not an executor"),
        ([("fine", here(Fine)), ("fine", here(Fine))], r"two executors are called 'fine'; uninstall one of them"),
    ],
    ids=["no module", "no class", "no way to make it", "another name", "no executor", "twice"],
)  # fmt: skip
def test_a_broken_plug_in_is_an_error_and_no_absence(
    monkeypatch: pytest.MonkeyPatch, points: list[tuple[str, str]], message: str
) -> None:
    installed(monkeypatch, ("recompute", "executors.recompute:Recompute"), *points)
    with pytest.raises(ExecutionError, match=message) as raised:
        executors()
    assert raised.value.exit_code == 3


def test_a_plug_in_that_fails_while_it_is_imported_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "executor_that_fails.py").write_text("from views.steps import NoSuchStep\n")
    monkeypatch.syspath_prepend(tmp_path)
    installed(monkeypatch, ("failing", "executor_that_fails:Failing"))
    with pytest.raises(ExecutionError, match=r"executor 'failing' .* cannot be loaded: .*NoSuchStep"):
        executors()


def test_the_group_is_the_one_that_the_package_declares() -> None:
    import tomllib

    project: dict[str, Any] = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(project["entry-points"][GROUP]) <= set(executors())
