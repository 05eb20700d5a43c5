"""Time that passes when a test says so: what is measured and committed carries it, and nothing has to wait."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

DAY = 86_400.0


@dataclass
class Clock:
    """The real clock, put forward by so many seconds."""

    ahead: float = 0.0

    def forward(self, seconds: float) -> None:
        self.ahead += seconds

    @classmethod
    def installed(cls, monkeypatch: Any) -> Clock:
        real, clock = time.time, cls()
        monkeypatch.setattr(time, "time", lambda: real() + clock.ahead)
        return clock
