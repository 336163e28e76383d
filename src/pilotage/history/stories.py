"""The story of a reconcile, as values that a program reads, prints and sends: causes, reads, writes, log lines, result.

They are made from the records when a caller asks for them: only then are objects decoded and compared.
"""

from __future__ import annotations

from datetime import datetime

from pilotage.history.differences import Change
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.values import Value

NO_KIND = GroupVersionKind("", "", "")
"""Where a kind is not known."""

IDENTITY = ("metadata.name", "metadata.namespace", "metadata.ownerReferences")
"""Fields of a new object that the changes of a create leave out: its title shows them, or they point to the object for
which it was made."""


class Object(Value, frozen=True, omit_defaults=True, kw_only=True):
    """The object that a part of a story is about."""

    kind: GroupVersionKind = NO_KIND
    namespace: str = ""
    name: str = ""
    version: str = ""
    """Its resource version; empty where it is not known."""

    @property
    def key(self) -> str:
        """`default/main`; the name alone for a cluster-scoped kind."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def title(self) -> str:
        """`Database default/main`."""
        return " ".join(part for part in (self.kind.kind, self.key) if part)


class Read(Object, frozen=True, omit_defaults=True, kw_only=True, tag="read"):
    """An object or a list that a reconcile read."""

    verb: str = "get"
    """`get` or `list`."""
    is_live: bool = False
    """Whether it was read from the API server, not from a cache."""
    found: bool = True
    count: int = 0
    """The objects of a list."""
    selector: str = ""
    error: str = ""

    def __str__(self) -> str:
        from pilotage.history.text import read_text

        return read_text(self)


class Write(Object, frozen=True, omit_defaults=True, kw_only=True, tag="write"):
    """A request of a reconcile that changes an object."""

    verb: str
    """`create`, `update`, `patch`, `apply`, `delete` or `deletecollection`."""
    subresource: str = ""
    changes: tuple[Change, ...] = ()
    """The fields that it changed; of a create, all fields."""
    set_by_server: int = 0
    """How many of the last of these the server has added to a new object, such as defaults."""
    body: str = ""
    """What was sent, where the object before it is not known."""
    dry_run: bool = False
    error: str = ""
    place: str = ""
    """The line of the program that made it, where that is known."""
    at: datetime
    seconds: float = 0.0

    def __str__(self) -> str:
        from pilotage.history.text import write_text

        return write_text(self)


class LogLine(Value, frozen=True, omit_defaults=True, kw_only=True, tag="log"):
    """A line that a reconcile logged, or an Event that it recorded."""

    at: datetime
    level: str
    """`INFO`, `WARNING`, …; `EVENT` of an Event."""
    text: str

    def __str__(self) -> str:
        return f"{self.level.lower()}: {self.text}"


class Cause(Object, frozen=True, omit_defaults=True, kw_only=True):
    """Why a request was on the queue."""

    type: str
    """`create`, `update`, `delete` or `generic`: an event of an object. `initial`: the object existed at the start.
    `resync`: nothing had changed. `retry`: the reconcile before it failed. `requeue`: it asked for another.
    `added`: the program put the request on the queue."""
    at: datetime
    source: str = ""
    manager: str = ""
    """The field manager of the client that made the change, as the managed fields of the object show it."""
    changes: tuple[Change, ...] = ()
    write: Write | None = None
    """The write of this program that the event shows."""
    reconcile: int = 0
    """The reconcile that made this write, or that put the request on the queue again."""
    text: str = ""
    """The reason, where it is no event."""
    is_forgotten: bool = False
    """Whether the objects of the event were dropped from the history."""
    is_repeated: bool = False
    """Whether it caused an earlier attempt already, which has failed."""

    def __str__(self) -> str:
        from pilotage.history.text import cause_text

        return cause_text(self)


class Reconcile(Value, frozen=True, omit_defaults=True, kw_only=True):
    """One reconcile. `print` shows it in a few lines."""

    number: int
    controller: str
    kind: GroupVersionKind = NO_KIND
    namespace: str = ""
    name: str = ""
    began: datetime
    waited: float = 0.0
    """Seconds on the queue."""
    seconds: float = 0.0
    priority: int = 0
    causes: tuple[Cause, ...] = ()
    in_a_row: int = 0
    """How many reconciles before it, each caused by a write of the one before, led to it; only if it wrote, too."""
    steps: tuple[Read | Write | LogLine, ...] = ()
    skipped: int = 0
    """Steps that were not recorded: there were too many."""
    result: str = ""
    """`success`, `error`, `requeue`, `requeue_after=30`; `running` until it ends."""
    error: str | None = None
    place: str = ""
    """The line of the program that raised the error."""

    @property
    def key(self) -> str:
        """`default/main`; the name alone for a cluster-scoped kind."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def reads(self) -> tuple[Read, ...]:
        return tuple(step for step in self.steps if isinstance(step, Read))

    @property
    def writes(self) -> tuple[Write, ...]:
        return tuple(step for step in self.steps if isinstance(step, Write))

    @property
    def logs(self) -> tuple[LogLine, ...]:
        return tuple(step for step in self.steps if isinstance(step, LogLine))

    def __str__(self) -> str:
        from pilotage.history.text import reconcile_lines

        return "\n".join(str(line) for line in reconcile_lines(self))


Step = Read | Write | LogLine
