"""What the packages may import and use, read from their source; each rule is shown a snippet that breaks it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Imports go one way, downwards; packages of one level do not know each other.
LEVELS = (("advisor",), ("executors", "costmodels", "reports"), ("profiles",), ("storage",), ("views",))
LEVEL = {package: level for level, packages in enumerate(LEVELS) for package in packages}
WITHOUT_SPARK = ("costmodels", "reports", "views")

ENGINE_DOOR = Path("storage", "engine.py")
CLASSIC_ONLY = {"_jvm", "_jsc", "_jdf", "_jsparkSession", "rdd", "sparkContext", "_sc", "getOrCreate", "SparkContext"}


def sources() -> dict[Path, str]:
    """Every module of the packages, by its path from the root."""
    return {path.relative_to(ROOT): path.read_text() for name in LEVEL for path in sorted((ROOT / name).rglob("*.py"))}


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path, source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of each import, at any depth, relative ones resolved."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, level=0):
                yield node.lineno, module or ""
            case ast.ImportFrom(module=module, level=level):
                package = path.parent.parts[: len(path.parent.parts) - level + 1]
                yield node.lineno, ".".join((*package, *([module] if module else [])))
            case ast.Call(func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"), args=[argument, *_]):
                if isinstance(argument, ast.Constant):
                    yield node.lineno, str(argument.value)
            case _:
                pass


def wrong_edges(path: Path, source: str) -> list[str]:
    own = path.parts[0]
    wrong = []
    for line, name in imported(path, source):
        package = name.split(".")[0]
        upwards = package in LEVEL and package != own and LEVEL[package] <= LEVEL[own]
        if upwards or (package == "pyspark" and own in WITHOUT_SPARK):
            wrong.append(f"{path}:{line}: {own} must not import {package}")
    return wrong


def classic_only(path: Path, source: str) -> list[str]:
    wrong = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name) if name in CLASSIC_ONLY:
                wrong.append(f"{path}:{node.lineno}: {name} is not in the API that Classic and Connect share")
            case _:
                pass
    return wrong


def broad_handlers(path: Path, source: str) -> list[str]:
    """Handlers that could swallow an error nobody expected; to clean up and raise it again is fine."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = {getattr(kind, "attr", getattr(kind, "id", None)) for kind in kinds}
            last = node.body[-1]
            reraised = names == {"BaseException"} and isinstance(last, ast.Raise) and last.exc is None
            if (None in kinds or names & {"Exception", "BaseException"}) and not reraised:
                wrong.append(f"{path}:{node.lineno}: names no error it expects")
    return wrong


def loads_spark(modules: list[str]) -> str:
    """The first of the modules after whose import pyspark is loaded, or nothing."""
    script = f"""
import importlib, sys
for name in {modules!r}:
    importlib.import_module(name)
    if "pyspark" in sys.modules:
        print(name)
        break
"""
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def test_there_is_source_to_look_at() -> None:
    assert ENGINE_DOOR in sources()
    assert {path.parts[0] for path in sources()} == set(LEVEL)


def test_imports_go_one_way() -> None:
    assert [wrong for path, source in sources().items() for wrong in wrong_edges(path, source)] == []


def test_only_what_classic_and_connect_share_is_used() -> None:
    found = [wrong for path, source in sources().items() if path != ENGINE_DOOR for wrong in classic_only(path, source)]
    assert found == []


def test_every_handler_names_what_it_expects() -> None:
    assert [wrong for path, source in sources().items() for wrong in broad_handlers(path, source)] == []


@pytest.mark.parametrize("package", WITHOUT_SPARK)
def test_no_pyspark_even_indirectly(package: str) -> None:
    assert loads_spark([module_name(path) for path in sources() if path.parts[0] == package]) == ""


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("views/x.py", "import storage.log"),
        ("storage/x.py", "def f():\n    from profiles.workload import Workload"),
        ("costmodels/x.py", "from executors import counting"),
        ("reports/x.py", "import costmodels"),
        ("executors/x.py", "from advisor.planner import plan"),
        ("views/x.py", "if TYPE_CHECKING:\n    from pyspark.sql import SparkSession"),
        ("reports/x.py", "import pyspark.sql.functions as F"),
        ("views/x.py", "import importlib\nimportlib.import_module('storage.table')"),
    ],
)
def test_a_wrong_edge_is_found(path: str, source: str) -> None:
    assert len(wrong_edges(Path(path), source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("advisor/x.py", "import executors, costmodels, reports, profiles, storage, views, pyspark"),
        ("executors/a/x.py", "from . import y\nfrom ..b import z\nfrom views import errors"),
        ("storage/x.py", "from pyspark.sql import DataFrame"),
    ],
)
def test_a_right_edge_is_not(path: str, source: str) -> None:
    assert wrong_edges(Path(path), source) == []


@pytest.mark.parametrize(
    "source",
    [
        "spark._jvm.java",
        "spark._jsc",
        "frame._jdf.count()",
        "frame.rdd.map(f)",
        "spark.sparkContext",
        "SparkSession.builder.getOrCreate()",
        "from pyspark import SparkContext",
    ],
)
def test_a_classic_only_name_is_found(source: str) -> None:
    assert len(classic_only(Path("storage/x.py"), source)) == 1


@pytest.mark.parametrize("clause", ["except:", "except Exception:", "except (OSError, BaseException) as e:"])
def test_a_broad_handler_is_found(clause: str) -> None:
    assert len(broad_handlers(Path("storage/x.py"), f"try:\n    f()\n{clause}\n    pass")) == 1


def test_cleaning_up_and_raising_again_is_no_broad_handler() -> None:
    assert broad_handlers(Path("storage/x.py"), "try:\n    f()\nexcept BaseException:\n    undo()\n    raise") == []


def test_an_indirect_pyspark_is_found() -> None:
    assert loads_spark(["views.errors", "pyspark.errors"]) == "pyspark.errors"
