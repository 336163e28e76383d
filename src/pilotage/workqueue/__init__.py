"""The work queue: one worker at a time holds an item; priorities, delays, backoff."""

from pilotage.workqueue.limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
)
from pilotage.workqueue.parallel import gather, parallelize
from pilotage.workqueue.queue import QueueShutDown, QueueStatistics, WorkQueue

__all__ = [
    "BucketRateLimiter",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "MaxOfRateLimiter",
    "QueueShutDown",
    "QueueStatistics",
    "RateLimiter",
    "WithMaxWaitRateLimiter",
    "WorkQueue",
    "gather",
    "parallelize",
]
