"""Pilotage: the controller runtime for Python. One reconciler: in a cluster, in one process, on a node.

Import it as `pt`. Every name here is loaded when it is first used, so importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pilotage.cache import ByObject as ByObject
    from pilotage.cache import Cache as Cache
    from pilotage.cache import CacheNotStarted as CacheNotStarted
    from pilotage.cache import CacheOptions as CacheOptions
    from pilotage.cache import Informer as Informer
    from pilotage.cache import InformerEvent as InformerEvent
    from pilotage.cache import InformerOptions as InformerOptions
    from pilotage.cache import Lister as Lister
    from pilotage.cache import NamespaceConfig as NamespaceConfig
    from pilotage.cache import NotCached as NotCached
    from pilotage.cache import Registration as Registration
    from pilotage.cache import ResourceEventHandler as ResourceEventHandler
    from pilotage.cache import SharedInformerFactory as SharedInformerFactory
    from pilotage.cache import strip_managed_fields as strip_managed_fields
    from pilotage.client.client import Client as Client
    from pilotage.client.conflicts import Backoff as Backoff
    from pilotage.client.conflicts import retry_on_conflict as retry_on_conflict
    from pilotage.client.outcome import Outcome as Outcome
    from pilotage.client.outcome import create_or_patch as create_or_patch
    from pilotage.client.outcome import create_or_update as create_or_update
    from pilotage.client.patch import merge_from as merge_from
    from pilotage.client.patch import raw_patch as raw_patch
    from pilotage.client.patch import strategic_merge_from as strategic_merge_from
    from pilotage.cluster import Cluster as Cluster
    from pilotage.cluster.cachedclient import CachedClient as CachedClient
    from pilotage.cluster.cachedclient import CachedClientOptions as CachedClientOptions
    from pilotage.cluster.events import EventRecorder as EventRecorder
    from pilotage.controller import Abandoned as Abandoned
    from pilotage.controller import CacheSyncTimeout as CacheSyncTimeout
    from pilotage.controller import Channel as Channel
    from pilotage.controller import Controller as Controller
    from pilotage.controller import ControllerBuilder as ControllerBuilder
    from pilotage.controller import ControllerOptions as ControllerOptions
    from pilotage.controller import Event as Event
    from pilotage.controller import FinalizationFailed as FinalizationFailed
    from pilotage.controller import Finalized as Finalized
    from pilotage.controller import Finalizers as Finalizers
    from pilotage.controller import Func as Func
    from pilotage.controller import Handler as Handler
    from pilotage.controller import InformerSource as InformerSource
    from pilotage.controller import InvalidResult as InvalidResult
    from pilotage.controller import Kind as Kind
    from pilotage.controller import Panic as Panic
    from pilotage.controller import Predicate as Predicate
    from pilotage.controller import Reconciler as Reconciler
    from pilotage.controller import ReconciliationTimeout as ReconciliationTimeout
    from pilotage.controller import Request as Request
    from pilotage.controller import Result as Result
    from pilotage.controller import Source as Source
    from pilotage.controller import TerminalError as TerminalError
    from pilotage.controller import and_ as and_
    from pilotage.controller import annotation_changed as annotation_changed
    from pilotage.controller import as_reconciler as as_reconciler
    from pilotage.controller import enqueue_request_for_object as enqueue_request_for_object
    from pilotage.controller import enqueue_request_for_owner as enqueue_request_for_owner
    from pilotage.controller import enqueue_requests_from as enqueue_requests_from
    from pilotage.controller import generation_changed as generation_changed
    from pilotage.controller import label_changed as label_changed
    from pilotage.controller import label_selector as label_selector
    from pilotage.controller import not_ as not_
    from pilotage.controller import on_object as on_object
    from pilotage.controller import or_ as or_
    from pilotage.controller import reconcile_id as reconcile_id
    from pilotage.controller import resource_version_changed as resource_version_changed
    from pilotage.controller import wait as wait
    from pilotage.errors import AlreadyExists as AlreadyExists
    from pilotage.errors import ApiError as ApiError
    from pilotage.errors import BadRequest as BadRequest
    from pilotage.errors import Cause as Cause
    from pilotage.errors import Conflict as Conflict
    from pilotage.errors import ConnectionLost as ConnectionLost
    from pilotage.errors import DecodeError as DecodeError
    from pilotage.errors import Forbidden as Forbidden
    from pilotage.errors import Gone as Gone
    from pilotage.errors import InternalError as InternalError
    from pilotage.errors import Invalid as Invalid
    from pilotage.errors import InvalidDefinition as InvalidDefinition
    from pilotage.errors import MethodNotSupported as MethodNotSupported
    from pilotage.errors import MissingExtra as MissingExtra
    from pilotage.errors import NoCredentials as NoCredentials
    from pilotage.errors import NoMatch as NoMatch
    from pilotage.errors import NotAcceptable as NotAcceptable
    from pilotage.errors import NotFound as NotFound
    from pilotage.errors import PilotageError as PilotageError
    from pilotage.errors import RequestTooLarge as RequestTooLarge
    from pilotage.errors import ServiceUnavailable as ServiceUnavailable
    from pilotage.errors import StaleCache as StaleCache
    from pilotage.errors import Status as Status
    from pilotage.errors import StatusDetails as StatusDetails
    from pilotage.errors import StorageBroken as StorageBroken
    from pilotage.errors import StorageBusy as StorageBusy
    from pilotage.errors import StorageError as StorageError
    from pilotage.errors import StorageFull as StorageFull
    from pilotage.errors import Timeout as Timeout
    from pilotage.errors import TooManyRequests as TooManyRequests
    from pilotage.errors import Unauthorized as Unauthorized
    from pilotage.errors import UnexpectedAnswer as UnexpectedAnswer
    from pilotage.errors import UnplacedItems as UnplacedItems
    from pilotage.errors import UnsupportedMediaType as UnsupportedMediaType
    from pilotage.manager.errors import AddressUnavailable as AddressUnavailable
    from pilotage.manager.errors import AlreadyStarted as AlreadyStarted
    from pilotage.manager.errors import LeaderElectionLost as LeaderElectionLost
    from pilotage.manager.errors import ManagerStopped as ManagerStopped
    from pilotage.manager.errors import NotIdle as NotIdle
    from pilotage.manager.errors import RunnableCancelled as RunnableCancelled
    from pilotage.manager.errors import ShutdownForced as ShutdownForced
    from pilotage.manager.errors import ShutdownTimeout as ShutdownTimeout
    from pilotage.manager.errors import ShuttingDown as ShuttingDown
    from pilotage.manager.manager import Manager as Manager
    from pilotage.manager.options import ControllerDefaults as ControllerDefaults
    from pilotage.manager.options import ManagerOptions as ManagerOptions
    from pilotage.manager.runnables import Runnable as Runnable
    from pilotage.manager.work import ActiveWork as ActiveWork
    from pilotage.manager.work import Work as Work
    from pilotage.manager.work import WorkStatistics as WorkStatistics
    from pilotage.manager.work import WorkTracker as WorkTracker
    from pilotage.meta.conditions import find_status_condition as find_status_condition
    from pilotage.meta.conditions import is_status_condition_false as is_status_condition_false
    from pilotage.meta.conditions import is_status_condition_present_and_equal as is_status_condition_present_and_equal
    from pilotage.meta.conditions import is_status_condition_true as is_status_condition_true
    from pilotage.meta.conditions import remove_status_condition as remove_status_condition
    from pilotage.meta.conditions import set_status_condition as set_status_condition
    from pilotage.meta.finalizers import add_finalizer as add_finalizer
    from pilotage.meta.finalizers import contains_finalizer as contains_finalizer
    from pilotage.meta.finalizers import remove_finalizer as remove_finalizer
    from pilotage.meta.kinds import GroupKind as GroupKind
    from pilotage.meta.kinds import GroupResource as GroupResource
    from pilotage.meta.kinds import GroupVersion as GroupVersion
    from pilotage.meta.kinds import GroupVersionKind as GroupVersionKind
    from pilotage.meta.kinds import GroupVersionResource as GroupVersionResource
    from pilotage.meta.mapper import AmbiguousMatch as AmbiguousMatch
    from pilotage.meta.mapper import RESTMapper as RESTMapper
    from pilotage.meta.mapper import RESTMapping as RESTMapping
    from pilotage.meta.markers import AtLeastOneOf as AtLeastOneOf
    from pilotage.meta.markers import AtMostOneOf as AtMostOneOf
    from pilotage.meta.markers import Column as Column
    from pilotage.meta.markers import Default as Default
    from pilotage.meta.markers import Description as Description
    from pilotage.meta.markers import EmbeddedResource as EmbeddedResource
    from pilotage.meta.markers import Enum as Enum
    from pilotage.meta.markers import ExactlyOneOf as ExactlyOneOf
    from pilotage.meta.markers import Example as Example
    from pilotage.meta.markers import ExternalDocs as ExternalDocs
    from pilotage.meta.markers import Format as Format
    from pilotage.meta.markers import Immutable as Immutable
    from pilotage.meta.markers import Items as Items
    from pilotage.meta.markers import ListType as ListType
    from pilotage.meta.markers import MapType as MapType
    from pilotage.meta.markers import Maximum as Maximum
    from pilotage.meta.markers import MaxItems as MaxItems
    from pilotage.meta.markers import MaxLength as MaxLength
    from pilotage.meta.markers import MaxProperties as MaxProperties
    from pilotage.meta.markers import Minimum as Minimum
    from pilotage.meta.markers import MinItems as MinItems
    from pilotage.meta.markers import MinLength as MinLength
    from pilotage.meta.markers import MinProperties as MinProperties
    from pilotage.meta.markers import MultipleOf as MultipleOf
    from pilotage.meta.markers import Nullable as Nullable
    from pilotage.meta.markers import Optional as Optional
    from pilotage.meta.markers import Pattern as Pattern
    from pilotage.meta.markers import PreserveUnknownFields as PreserveUnknownFields
    from pilotage.meta.markers import Required as Required
    from pilotage.meta.markers import Rule as Rule
    from pilotage.meta.markers import Scale as Scale
    from pilotage.meta.markers import Schemaless as Schemaless
    from pilotage.meta.markers import StructType as StructType
    from pilotage.meta.markers import Title as Title
    from pilotage.meta.markers import Type as Type
    from pilotage.meta.markers import UniqueItems as UniqueItems
    from pilotage.meta.markers import XIntOrString as XIntOrString
    from pilotage.meta.models import Condition as Condition
    from pilotage.meta.models import ListMeta as ListMeta
    from pilotage.meta.models import Model as Model
    from pilotage.meta.models import ObjectMeta as ObjectMeta
    from pilotage.meta.models import OwnerReference as OwnerReference
    from pilotage.meta.models import Resource as Resource
    from pilotage.meta.models import omit as omit
    from pilotage.meta.models import resource as resource
    from pilotage.meta.objectlist import ObjectList as ObjectList
    from pilotage.meta.owners import AlreadyOwned as AlreadyOwned
    from pilotage.meta.owners import InvalidOwner as InvalidOwner
    from pilotage.meta.owners import controller_of as controller_of
    from pilotage.meta.owners import has_owner_reference as has_owner_reference
    from pilotage.meta.owners import is_controlled_by as is_controlled_by
    from pilotage.meta.owners import remove_owner_reference as remove_owner_reference
    from pilotage.meta.owners import set_controller_reference as set_controller_reference
    from pilotage.meta.owners import set_owner_reference as set_owner_reference
    from pilotage.meta.quantity import Quantity as Quantity
    from pilotage.meta.scalars import IntOrString as IntOrString
    from pilotage.meta.scheme import Scheme as Scheme
    from pilotage.meta.selectors import FieldSelector as FieldSelector
    from pilotage.meta.selectors import Requirement as Requirement
    from pilotage.meta.selectors import Selector as Selector
    from pilotage.meta.times import Duration as Duration
    from pilotage.meta.times import MicroTime as MicroTime
    from pilotage.meta.times import Time as Time
    from pilotage.meta.unstructured import PartialObjectMetadata as PartialObjectMetadata
    from pilotage.meta.unstructured import Unstructured as Unstructured
    from pilotage.meta.unstructured import metadata_only as metadata_only
    from pilotage.rest.request import PatchType as PatchType
    from pilotage.telemetry.logs import configure_logging as configure_logging
    from pilotage.telemetry.logs import log_context as log_context
    from pilotage.telemetry.logs import logger as logger
    from pilotage.workqueue import BucketRateLimiter as BucketRateLimiter
    from pilotage.workqueue import ItemExponentialFailureRateLimiter as ItemExponentialFailureRateLimiter
    from pilotage.workqueue import ItemFastSlowRateLimiter as ItemFastSlowRateLimiter
    from pilotage.workqueue import MaxOfRateLimiter as MaxOfRateLimiter
    from pilotage.workqueue import QueueShutDown as QueueShutDown
    from pilotage.workqueue import RateLimiter as RateLimiter
    from pilotage.workqueue import WithMaxWaitRateLimiter as WithMaxWaitRateLimiter
    from pilotage.workqueue import WorkQueue as WorkQueue

_MODULES = {
    "manager.runnables": "Runnable",
    "cluster.cachedclient": "CachedClient CachedClientOptions",
    "cluster.events": "EventRecorder",
    "client.conflicts": "Backoff retry_on_conflict",
    "client.outcome": "Outcome create_or_patch create_or_update",
    "manager.work": "ActiveWork Work WorkStatistics WorkTracker",
    "manager.errors": "AddressUnavailable AlreadyStarted LeaderElectionLost ManagerStopped NotIdle RunnableCancelled "
    "ShutdownForced ShutdownTimeout ShuttingDown",
    "manager.options": "ControllerDefaults ManagerOptions",
    "manager.manager": "Manager",
    "controller": "Abandoned CacheSyncTimeout Channel Controller ControllerBuilder ControllerOptions Event "
    "FinalizationFailed Finalized Finalizers Func Handler InformerSource InvalidResult Kind Panic "
    "Predicate Reconciler ReconciliationTimeout Request Result Source TerminalError and_ "
    "annotation_changed as_reconciler enqueue_request_for_object enqueue_request_for_owner "
    "enqueue_requests_from generation_changed label_changed label_selector not_ on_object or_ "
    "reconcile_id resource_version_changed wait",
    "workqueue": "BucketRateLimiter ItemExponentialFailureRateLimiter ItemFastSlowRateLimiter MaxOfRateLimiter "
    "QueueShutDown RateLimiter WithMaxWaitRateLimiter WorkQueue",
    "cache": "ByObject Cache CacheNotStarted CacheOptions Informer InformerEvent InformerOptions Lister "
    "NamespaceConfig NotCached Registration ResourceEventHandler SharedInformerFactory "
    "strip_managed_fields",
    "client.client": "Client",
    "client.patch": "merge_from raw_patch strategic_merge_from",
    "cluster": "Cluster",
    "errors": "AlreadyExists ApiError BadRequest Cause Conflict ConnectionLost DecodeError Forbidden Gone "
    "InternalError Invalid InvalidDefinition MethodNotSupported MissingExtra NoCredentials NoMatch "
    "NotAcceptable NotFound PilotageError RequestTooLarge ServiceUnavailable StaleCache Status "
    "StatusDetails StorageBroken StorageBusy StorageError StorageFull Timeout TooManyRequests Unauthorized "
    "UnexpectedAnswer UnplacedItems UnsupportedMediaType",
    "meta.conditions": "find_status_condition is_status_condition_false is_status_condition_present_and_equal "
    "is_status_condition_true remove_status_condition set_status_condition",
    "meta.finalizers": "add_finalizer contains_finalizer remove_finalizer",
    "meta.kinds": "GroupKind GroupResource GroupVersion GroupVersionKind GroupVersionResource",
    "meta.mapper": "AmbiguousMatch RESTMapper RESTMapping",
    "meta.objectlist": "ObjectList",
    "meta.markers": "AtLeastOneOf AtMostOneOf Column Default Description EmbeddedResource Enum ExactlyOneOf Example "
    "ExternalDocs Format Immutable Items ListType MapType MaxItems MaxLength MaxProperties Maximum MinItems MinLength "
    "MinProperties Minimum MultipleOf Nullable Optional Pattern PreserveUnknownFields Required Rule Scale Schemaless "
    "StructType Title Type UniqueItems XIntOrString",
    "meta.models": "Condition ListMeta Model ObjectMeta OwnerReference Resource omit resource",
    "meta.owners": "AlreadyOwned InvalidOwner controller_of has_owner_reference is_controlled_by "
    "remove_owner_reference set_controller_reference set_owner_reference",
    "meta.quantity": "Quantity",
    "meta.scalars": "IntOrString",
    "meta.scheme": "Scheme",
    "meta.selectors": "FieldSelector Requirement Selector",
    "meta.times": "Duration MicroTime Time",
    "meta.unstructured": "PartialObjectMetadata Unstructured metadata_only",
    "rest.request": "PatchType",
    "telemetry.logs": "configure_logging log_context logger",
}
_HOMES = {name: f"pilotage.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


if not TYPE_CHECKING:  # a type checker would take it for "every name is there"

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'pilotage' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
