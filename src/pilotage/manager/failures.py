"""Reconciles that fail, for programs that report them elsewhere than in the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReconcileFailure:
    """One reconcile that raised."""

    controller: str
    """The name of the controller."""
    request: str
    """NAMESPACE/NAME, or what `str` returns for a request of your own."""
    namespace: str
    """The namespace of the request; empty for a cluster-scoped kind."""
    name: str
    """The name of the request."""
    error: BaseException
    """What was raised, with its traceback."""
    is_retried: bool = True
    """Whether the request is retried: not after a TerminalError."""


OnReconcileFailure = Callable[[ReconcileFailure], None]
"""Called for each reconcile that has failed."""
