"""Scratch copies of a workload's tables, in which anything may be tried: files are linked where that is possible."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from profiles.workload import Workload
from views.errors import ExecutionError

FOLDER = Path("_advisor") / "scratch"
LEFT_SECONDS = 2 * 86_400.0
"""What was left behind by a process that was killed is removed after so long."""
TABLES, WAREHOUSE = "tables", "warehouse"


@contextmanager
def scratch_folder(warehouse: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, within the warehouse so that every engine that reaches that reaches it."""
    place = warehouse / FOLDER
    folder = place / f"run-{uuid.uuid4().hex[:12]}"
    try:
        folder.mkdir(parents=True)
        for left in place.glob("run-*"):
            if time.time() - left.stat().st_mtime > LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    except OSError as error:
        raise ExecutionError(f"{folder}: cannot be made ({error.strerror})", "is the warehouse writable?") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def copied(workload: Workload, folder: Path) -> Workload:
    """The workload over copies of its tables in a folder, with a warehouse of its own there."""
    tables = {}
    for name, table in workload.tables.items():
        path = workload.path_of(name)
        if path is not None:
            imported = workload.warehouse / "_advisor" / "tables" / name
            source = imported if imported.is_dir() else path
            target = folder / TABLES / (name + source.suffix)
            copy(source, target)
            table = table.model_copy(update={"path": str(target)})
        tables[name] = table
    return replace(workload, tables=tables, warehouse=folder / WAREHOUSE)


def copy(source: Path, target: Path) -> None:
    """A folder or a file; data files, which are never written twice, are linked."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if source.is_dir():
            shutil.copytree(source, target, copy_function=_link)
        else:
            shutil.copy2(source, target)
    except (OSError, shutil.Error) as error:
        raise ExecutionError(
            f"{source}: cannot be copied to {target}", "is there space, and may it be read?"
        ) from error


def _link(source: str, target: str) -> str:
    if source.endswith(".parquet"):
        try:
            os.link(source, target)
            return target
        except OSError:
            pass  # another file system, or one without links
    return str(shutil.copy2(source, target))
