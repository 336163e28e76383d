"""Reconciles that fail, for programs that report them elsewhere than in the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReconcileFailure:
    """One reconcile that raised."""

    controller: str
    """The name of the controller."""
    namespace: str
    """The namespace of the request; empty for a cluster-scoped kind."""
    name: str
    """The name of the request."""
    error: BaseException
    """What was raised, with its traceback."""
    is_retried: bool = True
    """Whether the request is retried: not after a TerminalError."""

    @property
    def request(self) -> str:
        """NAMESPACE/NAME of the object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


OnReconcileFailure = Callable[[ReconcileFailure], None]
"""Called for each reconcile that has failed."""
