# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.workqueue.limiters import BucketRateLimiter as BucketRateLimiter
from pilotage.workqueue.limiters import ItemExponentialFailureRateLimiter as ItemExponentialFailureRateLimiter
from pilotage.workqueue.limiters import ItemFastSlowRateLimiter as ItemFastSlowRateLimiter
from pilotage.workqueue.limiters import MaxOfRateLimiter as MaxOfRateLimiter
from pilotage.workqueue.limiters import RateLimiter as RateLimiter
from pilotage.workqueue.limiters import WithMaxWaitRateLimiter as WithMaxWaitRateLimiter
from pilotage.workqueue.parallel import gather as gather
from pilotage.workqueue.parallel import parallelize as parallelize
from pilotage.workqueue.queue import QueueShutDown as QueueShutDown
from pilotage.workqueue.queue import WorkQueue as WorkQueue

__all__: list[str]
