# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.manager.clusters import MemberCluster as MemberCluster
from pilotage.manager.election.elector import LeaderCallbacks as LeaderCallbacks
from pilotage.manager.election.elector import LeaderElector as LeaderElector
from pilotage.manager.election.lease import LeaseLock as LeaseLock
from pilotage.manager.election.leasecandidate import CandidateOptions as CandidateOptions
from pilotage.manager.election.resourcelock import LeaseTimings as LeaseTimings
from pilotage.manager.errors import AddressUnavailable as AddressUnavailable
from pilotage.manager.errors import AlreadyStarted as AlreadyStarted
from pilotage.manager.errors import LeaderElectionLost as LeaderElectionLost
from pilotage.manager.errors import ManagerStopped as ManagerStopped
from pilotage.manager.errors import NotIdle as NotIdle
from pilotage.manager.errors import RunnableCancelled as RunnableCancelled
from pilotage.manager.errors import ShutdownForced as ShutdownForced
from pilotage.manager.errors import ShutdownTimeout as ShutdownTimeout
from pilotage.manager.errors import ShuttingDown as ShuttingDown
from pilotage.manager.failures import ReconcileFailure as ReconcileFailure
from pilotage.manager.manager import Manager as Manager
from pilotage.manager.options import ControllerDefaults as ControllerDefaults
from pilotage.manager.options import ManagerOptions as ManagerOptions
from pilotage.manager.processes.parent import ProcessFailed as ProcessFailed
from pilotage.manager.processes.parent import run_processes as run_processes
from pilotage.manager.reviews import with_authentication_and_authorization as with_authentication_and_authorization
from pilotage.manager.runnables import Runnable as Runnable
from pilotage.manager.runs.schedule import every as every
from pilotage.manager.shutdown import ShutdownCallbacks as ShutdownCallbacks
from pilotage.manager.work import ActiveWork as ActiveWork
from pilotage.manager.work import Work as Work
from pilotage.manager.work import WorkStatistics as WorkStatistics
from pilotage.manager.work import WorkTracker as WorkTracker

__all__: list[str]
