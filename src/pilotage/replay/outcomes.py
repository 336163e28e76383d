"""What replaying a reconcile has shown."""

from __future__ import annotations

import enum

from pilotage.history.differences import Change
from pilotage.meta.values import Value


class Verdict(enum.Enum):
    """Whether a reconcile did the same again."""

    IDENTICAL = "identical"
    """It has sent the same bytes."""
    DIFFERENT = "different"
    """It has sent something else, or its result is another one."""
    LACKING = "not recorded"
    """It needs what the recording does not have."""
    HIDDEN = "secret"
    """It needs secret values, of which the recording has hashes."""


class Outcome(Value, frozen=True):
    """One reconcile of a recording, replayed."""

    number: int
    controller: str
    name: str
    namespace: str
    verdict: Verdict
    text: str = ""
    """The first difference, or what is not recorded, in one sentence."""
    changes: tuple[Change, ...] = ()
    """The fields of the request that differ: `old` is recorded, `new` is what was sent on replay."""

    @property
    def key(self) -> str:
        """`default/main`; the name alone for a cluster-scoped kind."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        from pilotage.history.text import changes_text

        heading = f"#{self.number} {self.controller} {self.key}: {self.verdict.value}"
        details = ": ".join(part for part in (self.text, changes_text(self.changes)) if part)
        return f"{heading}: {details}" if details else heading


class Ended(BaseException):
    """Ends a reconcile that cannot be replayed further. It is not an `Exception`, so that a reconciler does not handle
    it."""

    def __init__(self, verdict: Verdict, text: str = "", changes: tuple[Change, ...] = ()) -> None:
        self.verdict = verdict
        self.text = text
        self.changes = changes
        super().__init__(text)
