"""How a simulated container behaves: how long it takes to pull and to stop, when it ends, and what fails."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one container of a Pod behaves. Durations are seconds."""

    pull_seconds: float = 1.0
    """How long its image takes to pull, on a node that does not have it."""
    pull_error: str = ""
    """Why the image cannot be pulled; empty: it can."""
    mount_seconds: float = 0.0
    """How long its volumes take to mount."""
    run_seconds: float | None = None
    """How long it runs until it ends; None: for ever."""
    exit_code: int = 0
    exit_reason: str = ""
    """The reason of its end; empty: Completed or Error, by the code."""
    ready_after: float | None = 0.0
    """How long after its start its readiness probe succeeds; None: never."""
    unready_after: float | None = None
    """How long after its start its readiness probe begins to fail; None: never."""
    unhealthy_after: float | None = None
    """How long after its start its liveness probe fails, so that it is killed; None: never."""
    stop_seconds: float = 1.0
    """How long it takes to stop when it is asked to, at most the grace period."""
    stop_exit_code: int = 143


DEFAULT = Behaviour()
JOB = replace(DEFAULT, run_seconds=1.0)
"""A container that does its work and ends: those of Pods with the restart policy Never or OnFailure, and of init
containers."""
