"""What a cost report shows: plain data that whoever has results fills in, without Spark and without a cost model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from profiles.words import short, tiny

Components = Mapping[str, float]
"""Seconds a day by what they go into; see `COMPONENTS`."""
COMPONENTS = (
    "starting and planning",
    "reading files",
    "joining and shuffling",
    "rows on the driver",
    "writing and committing",
    "other views",
    "as declared",
)


@dataclass(frozen=True)
class Item:
    """Something that happens so many times a day, and what one time takes."""

    what: str
    times: float
    seconds: float


@dataclass(frozen=True)
class Candidate:
    """One way to keep a view."""

    name: str
    """As scripts know it: deferred/counting."""
    label: str
    way: str
    """What gives it its colour; a name of `palette.METHODS`."""
    seconds: float
    """A day; what the workload declares of today's, where it does."""
    components: Components
    """Their sum is `seconds`; where that was declared, they are the model's, scaled to it."""
    items: tuple[Item, ...]
    excluded: str | None = None
    """Why the workload rules it out."""
    declared: bool = False
    build_seconds: float = 0.0
    storage_bytes: float = 0.0
    latency_seconds: float = 0.0


@dataclass(frozen=True)
class Sweep:
    """What each permitted way costs a day when only the number of updates changes."""

    updates: tuple[float, ...]
    shares: tuple[float, ...]
    """P, the share of updates among updates and reads."""
    costs: Mapping[str, tuple[float, ...]]
    """By way."""
    today: float
    """Updates a day now."""
    reads: float
    """Reads a day, throughout."""


@dataclass(frozen=True)
class Surface:
    """What each permitted way costs a day for parts f of a table in the view, and for shares P of updates."""

    table: str
    parts: tuple[float, ...]
    shares: tuple[float, ...]
    costs: Mapping[str, tuple[tuple[float, ...], ...]]
    """By way, per part the cost at each share."""
    part: float
    share: float
    """Where the view is today."""


@dataclass(frozen=True)
class Influence:
    """What the ends of one number's range make of a view's cost and choice."""

    name: str
    value: float
    lower: float
    upper: float
    source: str
    seconds: tuple[float, float]
    """A day, of the chosen way, at the lower and at the upper end."""
    winners: tuple[str | None, str | None]
    """The way that is then cheaper than the chosen one."""
    time: bool = False
    """Whether the number is in seconds."""

    @property
    def swing(self) -> float:
        """How much the cost lies between the two ends."""
        return abs(self.seconds[1] - self.seconds[0])

    def shown(self, value: float) -> str:
        """A value of the number as people read it."""
        return tiny(value) if self.time else short(value)


@dataclass(frozen=True)
class Reason:
    """Why something is not incremental."""

    code: str
    where: str
    remedy: str


@dataclass(frozen=True)
class View:
    """One view: how it is kept, how it should be, and what that is computed from."""

    name: str
    definition: str
    rules: str
    delta: str
    reads: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    today: str
    """A candidate's name, as `chosen`."""
    chosen: str
    because: str
    confidence: float
    regret: float
    updates_a_day: float
    reads_a_day: float
    refreshes_a_day: float | None
    pinned: bool = False
    held: bool = False
    turns: tuple[str, ...] = ()
    """Where the choice changes, in words."""
    defaults: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    sweep: Sweep | None = None
    surface: Surface | None = None
    no_surface: str = ""
    """Why there is none, and how to get one."""
    influences: tuple[Influence, ...] = ()

    def candidate(self, name: str) -> Candidate:
        return next(each for each in self.candidates if each.name == name)

    @property
    def proposed(self) -> Candidate:
        return self.candidate(self.chosen)

    @property
    def now(self) -> Candidate:
        return self.candidate(self.today)

    @property
    def saving(self) -> float:
        return self.now.seconds - self.proposed.seconds

    @property
    def changed(self) -> bool:
        return self.chosen != self.today

    @property
    def rival(self) -> Candidate | None:
        """The cheapest permitted candidate that is kept another way."""
        others = [c for c in self.candidates if c.excluded is None and c.way != self.proposed.way]
        return min(others, key=lambda c: c.seconds, default=None)


@dataclass(frozen=True)
class Table:
    """A base table."""

    name: str
    rows: float
    updates_a_day: float
    rows_per_update: float


@dataclass(frozen=True)
class Price:
    """What a second of the machine costs."""

    a_second: float
    currency: str


@dataclass(frozen=True)
class PlanChange:
    """A view that is kept otherwise than under the plan before, and why."""

    view: str
    before: str
    after: str
    why: str


@dataclass(frozen=True)
class Plan:
    """A plan that was in force: how each stored view was kept, as labels."""

    number: int
    views: Mapping[str, str]
    active: bool = False


@dataclass(frozen=True)
class Measured:
    """One thing that was run: what it should have taken, and what it took."""

    at: float
    """Seconds since the epoch."""
    kind: str
    subject: str
    way: str
    ran: str
    seconds: float
    predicted: float | None
    stale_seconds: float | None = None
    because: str = ""
    rehearsed: bool = False
    """Whether it happened in a scratch copy: it says what things take, not how often they happen."""
    error: str = ""
    """Why it failed."""


@dataclass(frozen=True)
class Night:
    """What one run of the nightly job found, in words."""

    number: int
    when: str
    runs: int
    moved: tuple[str, ...]
    changes: tuple[str, ...]
    mistakes: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """What a replay of the workload measured for one view: as it is recommended, and under the measured best."""

    view: str
    way: str
    label: str
    predicted_seconds: float
    measured_seconds: float
    best_way: str
    best_label: str
    best_seconds: float
    regret: float


@dataclass(frozen=True)
class Coefficients:
    """What one of each quantity costs, at one time."""

    when: str
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Report:
    """Everything on the page."""

    workload: str
    priced_by: str
    views: tuple[View, ...]
    tables: tuple[Table, ...]
    price: Price | None = None
    changes: tuple[PlanChange, ...] = ()
    """Against the active plan; empty too where there is none."""
    plans: tuple[Plan, ...] = ()
    """Oldest first; the active one is the last."""
    measurements: tuple[Measured, ...] = ()
    coefficients: tuple[Coefficients, ...] = ()
    """Oldest first."""
    nights: tuple[Night, ...] = ()
    """Oldest first."""
    comparison: tuple[Compared, ...] = ()
    """Of a replay that the report was asked for with."""
    notes: tuple[str, ...] = ()
    """What to know about how the numbers were made."""
    made_from: Mapping[str, str] = field(default_factory=dict)
    """File or table, and the fingerprint of what was read."""

    def total(self, of: str) -> float:
        """Seconds a day of all views: "today", "chosen", or a candidate's name, the chosen one where it is missing."""
        if of in ("today", "chosen"):
            return sum(view.candidate(getattr(view, of)).seconds for view in self.views)
        return sum(
            next((c.seconds for c in view.candidates if c.name == of), view.proposed.seconds) for view in self.views
        )
