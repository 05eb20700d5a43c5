"""The files that run the nightly job: each says what its service understands, and a command that `advisor` does."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from advisor.cli import app

ROOT = Path(__file__).parents[2]
NIGHTLY = ROOT / "examples" / "nightly"
CRON_FIELD = re.compile(r"^(\*|\d+(-\d+)?)(/\d+)?(,(\*|\d+(-\d+)?)(/\d+)?)*$")


def understood(arguments: Sequence[str]) -> dict[str, Any]:
    """What the command line makes of a command; wrong options raise."""
    program, command, *rest = arguments
    assert Path(program).name == "advisor"
    commands: Any = typer.main.get_command(app)
    with commands.commands[command].make_context(command, list(rest)) as context:
        return {"command": command, **context.params}


def assert_replans(arguments: Sequence[str]) -> None:
    found = understood(arguments)
    assert (found["command"], found["apply_it"], found["max_changes"], found["min_saving"]) == ("replan", True, 3, "1m")


def test_the_cron_line_runs_at_three() -> None:
    lines = (NIGHTLY / "crontab").read_text(encoding="utf-8").splitlines()
    jobs = [line for line in lines if line and not line.startswith("#") and not re.match(r"^\w+=", line)]
    (job,) = jobs
    *times, command = job.split(None, 5)
    assert times == ["0", "3", "*", "*", "*"]
    assert all(CRON_FIELD.match(field) for field in times)
    assert "%" not in command  # which cron takes for a line's end
    words = shlex.split(command)
    assert_replans(words[: words.index(">>")])


def unit(name: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=True, interpolation=None)
    found.optionxform = str  # type: ignore[assignment, method-assign]
    found.read_string((NIGHTLY / name).read_text(encoding="utf-8"))
    return found


def test_the_systemd_units_belong_together() -> None:
    service, timer = unit("advisor-replan.service"), unit("advisor-replan.timer")
    command = shlex.split(service["Service"]["ExecStart"])
    assert_replans(command)
    assert understood(command)["detailed_exitcode"]
    assert command[0].startswith("/")  # systemd looks nowhere else
    assert (service["Service"]["Type"], service["Service"]["SuccessExitStatus"]) == ("oneshot", "10")
    assert service["Service"]["RestartPreventExitStatus"].split() == ["1", "2"]
    calendar = timer["Timer"]["OnCalendar"]
    assert calendar.endswith("03:00:00")
    assert timer["Timer"]["Persistent"] == "true"
    if shutil.which("systemd-analyze"):
        answer = subprocess.run(["systemd-analyze", "calendar", calendar], capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr


@pytest.fixture
def operators(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The DAG file, carried out with the two classes of Airflow that it uses; what it made by name."""
    made: dict[str, Any] = {}

    class DAG:
        def __init__(self, **settings: Any) -> None:
            made["dag"] = settings

        def __enter__(self) -> DAG:
            return self

        def __exit__(self, *_: object) -> None:
            pass

    class BashOperator:
        def __init__(self, *, task_id: str, bash_command: str) -> None:
            self.task_id, self.bash_command, self.after = task_id, bash_command, list[str]()
            made[task_id] = self

        def __rshift__(self, other: BashOperator) -> BashOperator:
            other.after.append(self.task_id)
            return other

    names = {"airflow": {"DAG": DAG}, "airflow.operators": {}, "airflow.operators.bash": {"BashOperator": BashOperator}}
    for name, content in names.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    source = (NIGHTLY / "airflow_dag.py").read_text(encoding="utf-8")
    exec(compile(source, "airflow_dag.py", "exec"), {"__name__": "airflow_dag"})
    return made


def test_the_airflow_dag_replans_then_verifies(operators: dict[str, Any]) -> None:
    assert operators["dag"]["schedule"] == "0 3 * * *"
    assert (operators["dag"]["catchup"], operators["dag"]["max_active_runs"]) == (False, 1)
    assert (operators["status"].after, operators["verify"].after) == (["replan"], ["status"])
    for name in ("status", "verify"):
        assert understood(shlex.split(operators[name].bash_command))["command"] == name
    first = operators["replan"].bash_command.partition(";")[0]
    assert_replans(shlex.split(first))


@pytest.mark.parametrize(("code", "seen"), [(0, 0), (10, 0), (1, 1), (2, 2), (3, 3)])
def test_a_change_is_no_failure_for_airflow(operators: dict[str, Any], tmp_path: Path, code: int, seen: int) -> None:
    (tmp_path / "advisor").write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
    (tmp_path / "advisor").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    answer = subprocess.run(["bash", "-c", operators["replan"].bash_command], env=environment, check=False)
    assert answer.returncode == seen


def test_the_databricks_job_runs_the_entry_point_of_this_package() -> None:
    job = json.loads((NIGHTLY / "databricks_job.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (task,) = job["tasks"]
    wheel = task["python_wheel_task"]
    assert wheel["package_name"] == project["name"]
    assert wheel["entry_point"] in project["scripts"]
    assert_replans(["advisor", *wheel["parameters"]])
    assert task["environment_key"] in {each["environment_key"] for each in job["environments"]}
    assert job["environments"][0]["spec"]["dependencies"] == [project["name"]]
    assert job["max_concurrent_runs"] == 1
    fields = job["schedule"]["quartz_cron_expression"].split()
    assert fields[:3] == ["0", "0", "3"]
    assert (len(fields), "?" in fields[3:]) == (6, True)  # Quartz wants one of the two days open


def test_the_readme_names_every_file() -> None:
    text = (NIGHTLY / "README.md").read_text(encoding="utf-8")
    for path in NIGHTLY.iterdir():
        assert path.name == "README.md" or path.name in text or path.suffix in text
