"""The values that the page reads, as JSON. `docs/dashboard.md` lists where each is served."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pilotage.history.differences import Change
from pilotage.history.stories import Reconcile
from pilotage.meta.values import Value


class State(Value, frozen=True):
    """A state in one word, and how it is meant: `ok`, `warn`, `error` or `wait`."""

    word: str
    sign: str


class Condition(Value, frozen=True):
    """A condition of an object."""

    type: str = ""
    status: str = ""
    reason: str = ""


class Program(Value, frozen=True):
    """The process."""

    name: str
    pid: int
    version: str
    started: datetime
    python: str
    storage: str


class Leader(Value, frozen=True):
    """Whether this process leads. `state` is `leading`, `waiting`, or `off` without an election."""

    state: str
    holder: str = ""


class Series(Value, frozen=True):
    """The last five minutes in steps. `t` has the seconds since 1970 at which each step ends; the last one is not
    over."""

    t: tuple[int, ...]
    rate: tuple[float, ...]
    """Reconciles in a second."""
    errors: tuple[int, ...]
    latency: tuple[float, ...]
    """The longest reconcile, in seconds."""
    queue: tuple[int, ...]


class Figures(Value, frozen=True):
    """What the runs of one controller show at one moment."""

    rate: float = 0.0
    errors: int = 0
    p50: float = 0.0
    p95: float = 0.0
    last: datetime | None = None
    queued: int = 0
    running: int = 0
    series: Series | None = None


class ControllerRow(Value, frozen=True):
    """One controller. `rate` is of the last ten seconds, the rest of the last five minutes."""

    name: str
    kind: str
    rate: float
    queued: int
    delayed: int
    running: int
    workers: int
    errors: int
    p50: float
    p95: float
    last: datetime | None
    series: Series | None


class Watch(Value, frozen=True):
    """One informer. `fresh` is the seconds since its server was heard last; None: never."""

    kind: str
    objects: int
    version: str
    fresh: float | None
    live: bool
    trouble: str = ""


class Attention(Value, frozen=True):
    """Something that a person should look at. `level` is `error` or `warning`."""

    level: str
    title: str
    text: str
    next: datetime | None = None
    place: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    reconcile: int = 0


class Overview(Value, frozen=True, rename={"since": "from"}):
    """The first view."""

    program: Program
    now: datetime
    since: datetime | None
    """How far the history reaches back; `from` in the JSON."""
    leader: Leader
    shards: tuple[str, ...]
    controllers: tuple[ControllerRow, ...]
    watches: tuple[Watch, ...]
    attention: tuple[Attention, ...]


class Owner(Value, frozen=True):
    """The object that owns another. Its kind is `Kind.group`."""

    kind: str
    namespace: str
    name: str


class KindCount(Value, frozen=True):
    kind: str
    count: int


class ObjectRow(Value, frozen=True):
    """One object in the list, below its owner."""

    kind: str
    api_version: str
    namespace: str
    name: str
    version: str
    age: float | None
    """Seconds."""
    state: State
    conditions: tuple[Condition, ...]
    owner: Owner | None
    depth: int
    runs: int = 0
    last: int = 0
    """The number of its last reconcile; 0: none."""
    last_result: str = ""
    last_at: datetime | None = None
    next: datetime | None = None


class ObjectList(Value, frozen=True):
    total: int
    kinds: tuple[KindCount, ...]
    rows: tuple[ObjectRow, ...]


class Version(Value, frozen=True):
    """One version of an object that the history has seen."""

    at: datetime
    version: str
    type: str
    changes: tuple[Change, ...]
    reconcile: int
    """The reconcile of this program that wrote it; 0: another writer did."""


class ObjectDetail(Value, frozen=True):
    row: ObjectRow
    document: dict[str, object]
    reconciles: tuple[Reconcile, ...]
    versions: tuple[Version, ...]


class Summary(Value, frozen=True):
    """A reconcile in one row."""

    number: int
    controller: str
    kind: str
    namespace: str
    name: str
    began: datetime
    waited: float
    seconds: float
    result: str
    error: str
    causes: int
    writes: int
    because: str


class SummaryList(Value, frozen=True):
    total: int
    rows: tuple[Summary, ...]


class Story(Reconcile, frozen=True, omit_defaults=True, kw_only=True):
    """The whole story of one reconcile, with its lines for people: a word and a text."""

    lines: tuple[tuple[str, str], ...]


class Bar(Value, frozen=True):
    """A reconcile in the timeline."""

    number: int
    lane: str
    kind: str
    namespace: str
    name: str
    key: str
    began: datetime
    seconds: float
    result: str
    caused_by: tuple[int, ...]


class Moment(Value, frozen=True):
    """An event in the timeline, and the reconciles that it caused."""

    at: datetime
    kind: str
    namespace: str
    name: str
    type: str
    reconciles: tuple[int, ...]


class Written(Value, frozen=True):
    """A write in the timeline."""

    at: datetime
    verb: str
    kind: str
    namespace: str
    name: str
    reconcile: int
    error: str = ""


class Timeline(Value, frozen=True):
    bars: tuple[Bar, ...]
    events: tuple[Moment, ...]
    writes: tuple[Written, ...]
    more: bool
    """Whether there were too many: a shorter time shows all."""


class GPURow(Value, frozen=True):
    kind: str
    name: str
    uuid: str
    state: State
    conditions: tuple[Condition, ...]
    node: str


class GPUList(Value, frozen=True):
    rows: tuple[GPURow, ...]


class Summaries(Value, frozen=True):
    """The new reconciles of the last moment, in the stream; `skipped` are those that are not among the rows."""

    rows: tuple[Summary, ...]
    skipped: int


class Changed(Value, frozen=True):
    """How many objects have changed in the last moment, in the stream."""

    changed: int


class Failure(Value, frozen=True):
    """Why a request was not answered."""

    error: str


encode = msgspec.json.Encoder().encode
