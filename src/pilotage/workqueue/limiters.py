"""Rate limiters: how long an item waits before its next try, by its failures or by the rate of all items."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar, runtime_checkable

from pilotage.meta.bounds.amounts import Seconds, count, seconds
from pilotage.meta.bounds.backoff import backoff
from pilotage.meta.bounds.tokenbucket import TokenBucket
from pilotage.tasks import loop_time

T = TypeVar("T", bound=Hashable)
T_contra = TypeVar("T_contra", bound=Hashable, contravariant=True)


@runtime_checkable
class RateLimiter(Protocol[T_contra]):
    """Decides how long an item waits. Each call of `when` counts as a failure of the item."""

    def when(self, item: T_contra, /) -> float:
        """Seconds until the item may be tried again."""
        ...

    def forget(self, item: T_contra, /) -> None:
        """Reset the failures of an item that has succeeded or is no longer needed."""
        ...

    def num_requeues(self, item: T_contra, /) -> int:
        """How often the item failed since the last `forget`."""
        ...


class _Failures(Generic[T]):
    """Failures by item: the common part of limiters of single items."""

    def __init__(self) -> None:
        self._failures: dict[T, int] = {}

    def _count_failure(self, item: T) -> int:
        """Count a failure; returns how many there were before."""
        before = self._failures.get(item, 0)
        self._failures[item] = before + 1
        return before

    def forget(self, item: T) -> None:
        self._failures.pop(item, None)

    def num_requeues(self, item: T) -> int:
        return self._failures.get(item, 0)


class ItemExponentialFailureRateLimiter(_Failures[T]):
    """`base` after the first failure, twice as long after each further one, `maximum` at most."""

    def __init__(self, base: Seconds = 0.005, maximum: Seconds = 1000.0) -> None:
        super().__init__()
        self._base = seconds(base, "base")
        self._maximum = seconds(maximum, "maximum", infinite=True)

    def when(self, item: T) -> float:
        return backoff(self._count_failure(item), self._base, self._maximum)


class ItemFastSlowRateLimiter(_Failures[T]):
    """`fast` for the first `max_fast_attempts` tries of an item, `slow` afterwards."""

    def __init__(self, fast: Seconds, slow: Seconds, max_fast_attempts: int) -> None:
        super().__init__()
        self._fast = seconds(fast, "fast")
        self._slow = seconds(slow, "slow")
        self._attempts = count(max_fast_attempts, "max_fast_attempts")

    def when(self, item: T) -> float:
        return self._fast if self._count_failure(item) < self._attempts else self._slow


class BucketRateLimiter(Generic[T]):
    """All items together: `rate` a second, `burst` at once. Each call reserves the next token.

    `clock` returns the time in seconds; without it, it is the time of the event loop.
    """

    def __init__(self, rate: float = 10.0, burst: int = 100, *, clock: Callable[[], float] | None = None) -> None:
        self._rate = rate
        self._burst = count(burst, "burst")
        self._clock = clock or loop_time
        self._bucket: TokenBucket | None = None  # made at the first use: there may be no running loop before

    def when(self, item: T) -> float:
        wait = self._tokens.take(self._clock(), max_wait=math.inf)
        assert wait is not None  # no wait is too long
        return wait

    def allow(self) -> bool:
        """Take a token if there is one now; no later one is reserved."""
        return self._tokens.try_take(self._clock())

    @property
    def _tokens(self) -> TokenBucket:
        if self._bucket is None:
            self._bucket = TokenBucket(self._rate, self._burst, self._clock())
        return self._bucket

    def forget(self, item: T) -> None:
        """Do nothing: the failures of single items are not counted."""

    def num_requeues(self, item: T) -> int:
        return 0


class MaxOfRateLimiter(Generic[T]):
    """The longest wait and the largest count of several limiters."""

    def __init__(self, *limiters: RateLimiter[T]) -> None:
        if not limiters:
            raise ValueError("MaxOfRateLimiter needs at least one limiter")
        self._limiters = limiters

    def when(self, item: T) -> float:
        return max([limiter.when(item) for limiter in self._limiters])

    def forget(self, item: T) -> None:
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        return max(limiter.num_requeues(item) for limiter in self._limiters)


class WithMaxWaitRateLimiter(Generic[T]):
    """Another limiter whose waits are `maximum` at most."""

    def __init__(self, limiter: RateLimiter[T], maximum: Seconds) -> None:
        self._limiter = limiter
        self._maximum = seconds(maximum, "maximum")

    def when(self, item: T) -> float:
        return min(self._maximum, self._limiter.when(item))

    def forget(self, item: T) -> None:
        self._limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        return self._limiter.num_requeues(item)
