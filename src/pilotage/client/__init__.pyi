# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.client.client import Client as Client
from pilotage.client.conflicts import Backoff as Backoff
from pilotage.client.conflicts import retry_on_conflict as retry_on_conflict
from pilotage.client.interception import Interceptor as Interceptor
from pilotage.client.interception import intercept as intercept
from pilotage.client.outcome import Outcome as Outcome
from pilotage.client.outcome import create_or_patch as create_or_patch
from pilotage.client.outcome import create_or_update as create_or_update
from pilotage.client.patch import Patch as Patch
from pilotage.client.patch import merge_from as merge_from
from pilotage.client.patch import raw_patch as raw_patch
from pilotage.client.patch import strategic_merge_from as strategic_merge_from
from pilotage.client.transport.metrics import register_rest_client_metrics as register_rest_client_metrics
from pilotage.client.watching import WatchedEvent as WatchedEvent
