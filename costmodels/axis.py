"""The axis that every number of a pricing lies along: the estimate, draws from its range, and sweeps of the rates.

One walk over a plan gives the cost, how far it may be off, and what it would be at other rates. Draws belong to a
name ("orders.rows"): whoever mentions it sees the same ones. A number that is not in doubt has length one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from profiles.statistics import Estimate

Vector = np.ndarray[Any, np.dtype[np.float64]]

DRAWS = 100
FACTORS: Vector = 10.0 ** np.linspace(-3, 3, 49)
"""What rates are multiplied by to see where the choice turns."""
CENTRE = 0
DRAWN = slice(1, 1 + DRAWS)
UPDATES = slice(DRAWN.stop, DRAWN.stop + len(FACTORS))
QUERIES = slice(UPDATES.stop, UPDATES.stop + len(FACTORS))
SIZE = QUERIES.stop


Numbers = Callable[[Estimate, str], Vector]
"""How an estimate, by its name, lies along the axis: `vector`, or what varies one of them on purpose."""


@lru_cache(maxsize=4096)
def constant(value: float) -> Vector:
    """A number that is not in doubt; nobody may write into it."""
    found: Vector = np.asarray([value], dtype=float)
    found.flags.writeable = False
    return found


def vector(estimate: Estimate, name: str) -> Vector:
    """The value, and draws from the range: half above, half below it, near it rather than at the ends."""
    if estimate.lower == estimate.upper:
        return constant(estimate.value)
    found = np.full(SIZE, estimate.value, dtype=float)
    drawn, sides = found[DRAWN], _sides(name)
    for part, end in ((sides > 0, estimate.upper), (sides <= 0, estimate.lower)):
        far = np.abs(sides[part])
        if estimate.value > 0 and end > 0:
            drawn[part] = estimate.value * (end / estimate.value) ** far
        else:
            drawn[part] = estimate.value + far * (end - estimate.value)
    return found


def swept(number: Vector, part: slice) -> Vector:
    """The number multiplied by each of the factors in one part of the axis."""
    found = np.array(np.broadcast_to(number, (SIZE,)))
    found[part] *= FACTORS
    return found


def full(number: Vector) -> Vector:
    """The number at every place of the axis."""
    return np.broadcast_to(number, (SIZE,)) if len(number) != SIZE else number


@cache
def _sides(name: str) -> Vector:
    """How far each draw lies from the estimate, from -1 at the lower end to 1 at the upper one."""
    return np.random.default_rng(zlib.crc32(name.encode())).triangular(-1.0, 0.0, 1.0, DRAWS)
