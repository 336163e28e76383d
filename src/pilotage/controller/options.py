"""The options of a controller, under controller-runtime's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pilotage.controller.debounce import Debounce
from pilotage.controller.pipeline import LOW_PRIORITY
from pilotage.controller.request import Request
from pilotage.errors import InvalidDefinition
from pilotage.manager.options import ControllerDefaults
from pilotage.meta.bounds.optionfields import OptionalSecondsField, check_fields, count_field, seconds_field
from pilotage.meta.kinds import GroupKind
from pilotage.workqueue import RateLimiter, WorkQueue

NewQueue = Callable[[str, RateLimiter[Any] | None], WorkQueue[Request]]


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Options of a Controller; None: the manager's option, then the default. Durations are seconds or timedeltas."""

    max_concurrent_reconciles: int | None = count_field(None, least=1)
    """How many requests are reconciled at a time; 1 by default. Never two for the same object."""

    cache_sync_timeout: OptionalSecondsField = seconds_field(None)
    """How long the sources may take to start and to sync; 120 s."""

    recover_panic: bool | None = None
    """Whether a reconciler that raises something other than an `Exception`, or returns something other than a Result,
    counts as failed and is retried (the default). If not, the controller and its manager end with that error."""

    needs_leader_election: bool | None = None
    """Whether it runs only in the leader; True by default."""

    enable_warmup: bool | None = None
    """Whether its sources start before the election is won, so that the queue is filled by then."""

    reconciliation_timeout: OptionalSecondsField = seconds_field(None)
    """How long one reconcile may take; no limit by default."""

    rate_limiter: RateLimiter[Request] | None = None
    """How long a failed request waits; by default from 5 ms to 1000 s, growing with its failures."""

    new_queue: NewQueue | None = None
    """Makes the queue, given the controller's name and rate limiter."""

    skip_name_validation: bool | None = None
    """Whether another controller of the manager may have the same name; their metrics are then counted together."""

    low_priority: int = LOW_PRIORITY
    """The priority of objects of the initial list, and of replays of the cache. 0: as all others, so that a
    constant stream of changes cannot starve them."""

    debounce: Debounce | None = None
    """Combines a burst of events for one request into one reconcile, after a quiet period. For the kinds of the
    builder; objects of the initial list, replays, retries and raw sources do not wait."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.rate_limiter is not None and not isinstance(self.rate_limiter, RateLimiter):
            raise InvalidDefinition(
                f"rate_limiter={self.rate_limiter!r}: give an object with when, forget and num_requeues, such as "
                "pt.workqueue.ItemExponentialFailureRateLimiter()"
            )


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """The resolved options."""

    max_concurrent_reconciles: int = 1
    """How many requests are reconciled at a time."""
    cache_sync_timeout: float = 120.0
    """Seconds that the sources may take to start and to sync."""
    recover_panic: bool = True
    """Whether a reconciler that raises something other than an `Exception` counts as failed and is retried."""
    needs_leader_election: bool = True
    """Whether the controller runs only in the leader."""
    enable_warmup: bool = False
    """Whether its sources start before the election is won."""
    reconciliation_timeout: float = 0.0
    """Seconds that one reconcile may take; 0: no limit."""
    skip_name_validation: bool = False
    """Whether another controller of the manager may have the same name."""


def resolve(
    options: ControllerOptions, defaults: ControllerDefaults | None = None, kind: GroupKind | None = None
) -> ResolvedOptions:
    """Resolve each option: the controller's own, else the manager's, else the default.

    The manager's number of workers for a kind takes precedence over its number for all.
    """
    chosen: dict[str, Any] = {}
    for name in ResolvedOptions.__slots__:
        for value in (getattr(options, name), getattr(defaults, name, None)):
            if value is not None:
                chosen[name] = value
                break
    if options.max_concurrent_reconciles is None and defaults is not None and kind is not None:
        workers = defaults.group_kind_concurrency.get(str(kind), 0)
        if workers > 0:
            chosen["max_concurrent_reconciles"] = workers
    return ResolvedOptions(**chosen)
