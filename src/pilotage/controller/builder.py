"""The builder: declares what a controller watches, and adds the controller to the manager.

ControllerBuilder(manager).for_(Database).owns(StatefulSet).watches(Secret, handler).complete(reconciler)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, cast

from pilotage.cache.errors import NotCached
from pilotage.controller.controller import Controller, ManagerSettings
from pilotage.controller.debounce import Debouncer
from pilotage.controller.gate import Gate
from pilotage.controller.handlers import Handler, enqueue_request_for_object, enqueue_request_for_owner
from pilotage.controller.hotloops import OnHotLoop
from pilotage.controller.options import ControllerOptions
from pilotage.controller.predicates import Predicate, check_predicates
from pilotage.controller.reconcilers.reconciler import AnyReconciler, reconcile_function
from pilotage.controller.request import Q_co, Request
from pilotage.controller.sources.sources import Kind, Source, kind_name
from pilotage.errors import InvalidDefinition
from pilotage.meta import forms
from pilotage.meta.forms import KindOf, O
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Resource
from pilotage.telemetry import stack

if TYPE_CHECKING:
    from pilotage.manager.clusters import MemberCluster
from pilotage.manager.declared import DeclaredWatch, Relation
from pilotage.manager.manager import Manager


@dataclass(frozen=True, slots=True)
class _Watch:
    """A kind, the handler of its events, and the predicates that filter them."""

    relation: Relation
    kind: forms.Kind
    handler: Callable[[], Handler]
    predicates: tuple[Predicate, ...]
    place: str
    """Where it was declared."""
    cluster: MemberCluster | None = None


"""None: the cluster of the manager."""


class ControllerBuilder(Generic[Q_co]):
    """Builds a controller step by step. `predicates` of a watch apply to it alone, `with_event_filter` applies to all.

    Handlers, predicates and reconcilers are checked against the kind by type checkers: a handler of Pods is refused
    for a watch of ConfigMaps. The reconciler of `complete` takes requests of the kind in `for_`. Of
    `metadata_only(kind)` the cache keeps only the metadata.
    """

    def __init__(self, manager: Manager) -> None:
        if manager is None:
            raise InvalidDefinition("a ControllerBuilder needs a manager: ControllerBuilder(manager)")
        self._manager = manager
        manager.declared.begin_controller(self)
        self._for: GroupVersionKind | None = None
        self._for_kind: forms.Kind | None = None
        self._watches: list[_Watch] = []
        self._sources: list[tuple[Source, str]] = []  # with the place where it was declared
        self._filters: list[Predicate] = []
        self._options = ControllerOptions()
        self._name = ""

    def for_(self, kind: KindOf[O], *, predicates: Sequence[Predicate[O]] = ()) -> ControllerBuilder[Request[O]]:
        """The kind that is reconciled: each of its objects is a request. Called once; without it, `named` is needed."""
        if self._for is not None:
            raise InvalidDefinition(
                f"for_ was called already, with {self._for.kind}; use watches(…) or owns(…) for "
                f"{kind_name(kind)}, or a second controller"
            )
        self._for_kind = kind
        self._for = forms.gvk_of(self._for_kind)
        self._watch("for", kind, lambda: enqueue_request_for_object, predicates)
        return cast("ControllerBuilder[Request[O]]", self)

    def owns(
        self,
        kind: KindOf[O],
        *,
        predicates: Sequence[Predicate[O]] = (),
        match_every_owner: bool = False,
    ) -> Self:
        """A kind whose objects the reconciled ones control (with `match_every_owner`: own). Their events reconcile the
        owner."""

        def handler() -> Handler:
            if self._for_kind is None:
                raise InvalidDefinition(f"owns({kind_name(kind)}) needs for_(…), which names the kind of the owner")
            return enqueue_request_for_owner(
                self._for_kind, only_controller=not match_every_owner, rest_mapper=self._manager.rest_mapper
            )

        return self._watch("owns", kind, handler, predicates)

    def watches(
        self,
        kind: KindOf[O] | Kind,
        handler: Handler[O],
        *,
        predicates: Sequence[Predicate[O]] = (),
        cluster: MemberCluster | None = None,
    ) -> Self:
        """Another kind; the handler maps its events to requests. `cluster` is one of `manager.add_cluster`.

        A source without a handler may be given instead of the kind: `watches(Kind(manager.cache, Secret), handler)`.
        """
        cluster = self._cluster_of(kind) if isinstance(kind, Kind) else cluster
        watched: KindOf[Any] = kind.kind if isinstance(kind, Kind) else kind
        if not callable(handler):
            raise InvalidDefinition(
                f"watches({kind_name(watched)}, …) needs a handler: a function from an Event to requests, such as "
                "enqueue_requests_from(…)"
            )
        return self._watch("watches", watched, lambda: handler, predicates, cluster)

    def _cluster_of(self, source: Kind) -> MemberCluster | None:
        """The cluster whose cache a source reads; None: the manager's cluster."""
        manager = self._manager
        if source.has_handler:
            raise InvalidDefinition(
                f"the source of {kind_name(source.kind)} has a handler of its own: use "
                f"watches_raw_source(source), or watches({kind_name(source.kind)}, handler)"
            )
        found = next((member for member in manager.clusters if member.cache is source.cache), None)
        if found is None and source.cache is not manager.cache:
            raise InvalidDefinition(
                f"the source of {kind_name(source.kind)} reads another cache than the manager's caches: use "
                "watches_raw_source(…)"
            )
        return found

    def watches_raw_source(self, source: Source) -> Self:
        """Any other source. It has its own predicates: `with_event_filter` does not apply to it."""
        self._sources.append((source, stack.caller()))
        return self

    def with_event_filter(self, *predicates: Predicate) -> Self:
        """Only events that pass all these predicates, and the predicates of their watch, are handled. May be called
        again."""
        check_predicates(predicates)
        self._filters += predicates
        return self

    def with_options(self, options: ControllerOptions) -> Self:
        self._options = options
        return self

    def named(self, name: str) -> Self:
        """The controller's name; the default is the kind in lower case."""
        self._name = name
        return self

    def complete(self, reconciler: AnyReconciler[Q_co]) -> Controller:
        """Create the controller and add it to the manager, which starts it."""
        self._manager.declared.complete_controller(self)
        name = self._checked_name()
        if reconciler is None:
            raise InvalidDefinition(f"the controller {name} needs a reconciler: complete(reconciler)")
        reconcile_function(reconciler)  # raises before the name is claimed
        if not self._watches and not self._sources:
            raise InvalidDefinition(
                f"the controller {name} watches nothing, so it would never run: use for_(…), watches(…) or "
                "watches_raw_source(…)"
            )
        manager = self._manager
        debouncer = Debouncer(self._options.debounce) if self._options.debounce is not None else None
        watched = [self._source(watch, debouncer) for watch in self._watches]
        sources = [*watched, *(source for source, _ in self._sources)]
        controller = Controller(
            name,
            reconciler,
            self._options,
            kind=self._for,
            manager=ManagerSettings(
                manager.options.controller,
                manager.work,
                self._gate(),
                manager.beginning,
                manager.options.on_reconcile_failure,
                self._on_hot_loop(name),
                manager.history,
            ),
        )
        for source in sources:
            controller.watch(source)
        if not controller.settings.skip_name_validation:
            manager.claim_controller_name(name)
        manager.add(controller)
        self._declare(name)
        return controller

    def _declare(self, name: str) -> None:
        """Register the watches, so that commands can read them without starting the controller."""
        declared = self._manager.declared
        for watch in self._watches:
            member = watch.cluster.name if watch.cluster is not None else ""
            declared.watch(DeclaredWatch(name, watch.relation, watch.kind, watch.place, member))
        clusters = {member.cache: member.name for member in self._manager.clusters}
        for source, place in self._sources:
            if isinstance(source, Kind):
                declared.watch(DeclaredWatch(name, "watches", source.kind, place, clusters.get(source.cache, "")))

    def _gate(self) -> Gate | None:
        """The gate of the controller, if its manager has shards."""
        shards, cache, kind = self._manager.shards, self._manager.cache, self._for

        def exists(request: Request) -> bool:
            return kind is None or cache.informer(kind) is None or self._cached(request) is not None

        return Gate(shards, exists) if shards is not None else None

    def _on_hot_loop(self, name: str) -> OnHotLoop:
        """Records an event about the object of a request that triggers itself, where it is cached."""

        def record(request: Request, sentence: str) -> None:
            if (found := self._cached(request)) is not None:
                recorder = self._manager.cluster.event_recorder_for(name)
                recorder.event(found, "Warning", "HotLoop", sentence)

        return record

    def _cached(self, request: Request) -> Any:
        """The object of a request, as the cache has it."""
        informer = self._manager.cache.informer(self._for) if self._for is not None else None
        try:
            return informer.find(request.name, namespace=request.namespace) if informer is not None else None
        except NotCached:
            return None  # its namespace was removed from the cache

    def _watch(
        self,
        relation: Relation,
        kind: KindOf[Any],
        handler: Callable[[], Handler],
        predicates: Sequence[Predicate],
        cluster: MemberCluster | None = None,
    ) -> Self:
        if callable(predicates):
            raise InvalidDefinition(f"predicates is a list: predicates=[{getattr(predicates, '__name__', predicates)}]")
        chosen = tuple(predicates)  # an iterator can be read only once
        check_predicates(chosen)
        if isinstance(kind, Resource):
            raise forms.no_kind(kind)
        self._watches.append(_Watch(relation, kind, handler, chosen, stack.caller(), cluster))
        return self

    def _source(self, watch: _Watch, debouncer: Debouncer | None) -> Source:
        return Kind(
            self._manager.cache if watch.cluster is None else watch.cluster.cache,
            watch.kind,
            watch.handler(),
            *self._filters,
            *watch.predicates,
            low_priority=self._options.low_priority,
            debounce=debouncer,
        )

    def _checked_name(self) -> str:
        if not self._name and self._for is None:
            raise InvalidDefinition(
                "this controller has no for_(…), which declares the kind that it reconciles: call for_(Database); a "
                "controller of requests that are not objects of one kind needs a name instead: call named(…)"
            )
        return self._name or str(self._for.kind if self._for is not None else "").lower()
