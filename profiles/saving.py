"""Files beside a workload that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from views.errors import ExecutionError


def save(target: Path, text: str) -> Path:
    """Write a file whole or not at all; folders that are missing are made."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ExecutionError(f"{target}: cannot be written: {reason}", "make the folder writable") from error
    return target
