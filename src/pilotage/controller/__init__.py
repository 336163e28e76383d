"""Controllers: reconcile, events, predicates, handlers, sources, the builder."""

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.controller import Controller
from pilotage.controller.debounce import Debounce
from pilotage.controller.event import Event
from pilotage.controller.finalizers import FinalizationFailed, Finalized, Finalizers
from pilotage.controller.handlers import (
    Handler,
    enqueue_request_for_object,
    enqueue_request_for_owner,
    enqueue_requests_from,
)
from pilotage.controller.options import ControllerOptions
from pilotage.controller.predicates import (
    Predicate,
    and_,
    annotation_changed,
    generation_changed,
    label_changed,
    label_selector,
    not_,
    on_object,
    or_,
    resource_version_changed,
)
from pilotage.controller.reconcilers.objectreconciler import as_reconciler
from pilotage.controller.reconcilers.reconciler import Abandoned, Reconciler, wait
from pilotage.controller.request import Enqueue, Request
from pilotage.controller.result import Result, TerminalError
from pilotage.controller.sources.filesource import FileChange, FileSource
from pilotage.controller.sources.runningsources import CacheSyncTimeout
from pilotage.controller.sources.sources import Channel, Func, InformerSource, Kind, Source, Timer
from pilotage.controller.sources.webhooksource import WebhookSource
from pilotage.controller.worker import InvalidResult, Panic, ReconciliationTimeout, reconcile_id

__all__ = [
    "Abandoned",
    "CacheSyncTimeout",
    "Channel",
    "Controller",
    "ControllerBuilder",
    "ControllerOptions",
    "Debounce",
    "Enqueue",
    "Event",
    "FileChange",
    "FileSource",
    "FinalizationFailed",
    "Finalized",
    "Finalizers",
    "Func",
    "Handler",
    "InformerSource",
    "InvalidResult",
    "Kind",
    "Panic",
    "Predicate",
    "Reconciler",
    "ReconciliationTimeout",
    "Request",
    "Result",
    "Source",
    "TerminalError",
    "Timer",
    "WebhookSource",
    "and_",
    "annotation_changed",
    "as_reconciler",
    "enqueue_request_for_object",
    "enqueue_request_for_owner",
    "enqueue_requests_from",
    "generation_changed",
    "label_changed",
    "label_selector",
    "not_",
    "on_object",
    "or_",
    "reconcile_id",
    "resource_version_changed",
    "wait",
]
