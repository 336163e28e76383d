"""Warnings of the server: deprecated versions, unknown fields. Each is logged once."""

from __future__ import annotations

from collections.abc import Callable

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.values import Value

_KEPT = 1000


class ServerWarning(Value, frozen=True):
    """A warning in the answer to a call, and the object of that call. Its text form names both."""

    text: str
    """The text as the server sent it: `unknown field "spec.colour"`."""
    gvk: GroupVersionKind
    """The kind that the call was about."""
    namespace: str = ""
    """The namespace of the object; empty for a cluster-scoped kind and for a list of all namespaces."""
    name: str = ""
    """The name of the object; empty for a list."""

    def __str__(self) -> str:
        key = "/".join(part for part in (self.namespace, self.name) if part)
        subject = f"{self.gvk.kind} {key}" if self.name else self.gvk.kind
        return f"{subject}: {self.text}"


WarningHandler = Callable[[ServerWarning], None]
"""Receives each warning, as often as the server sends it."""


class LoggedOnce:
    """Logs each warning once for each kind, with the object that it was first seen on.

    A program that sends a wrong field sends it for every object of the kind: one line is enough to find it. The number
    of remembered warnings is bounded.
    """

    def __init__(self) -> None:
        self._seen: Recent[tuple[GroupVersionKind, str], None] = Recent(_KEPT)

    def __call__(self, warning: ServerWarning) -> None:
        key = (warning.gvk, warning.text)
        if key not in self._seen:
            from pilotage.telemetry.logs import logger  # hardly any program is warned

            self._seen[key] = None
            logger("pilotage.client").warning(str(warning))
