"""The builder: says in one sentence what a controller watches, and gives the controller to the manager.

ControllerBuilder(manager).for_(Database).owns(StatefulSet).watches(Secret, handler).complete(reconciler)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pilotage.client import targets
from pilotage.controller import names
from pilotage.controller.controller import Controller
from pilotage.controller.handlers import Handler, enqueue_request_for_object, enqueue_request_for_owner
from pilotage.controller.options import ControllerOptions, Defaults
from pilotage.controller.predicates import Predicate
from pilotage.controller.reconciler import AnyReconciler, reconcile_function
from pilotage.controller.sources import Kind, Source, kind_name
from pilotage.controller.worker import Tracker
from pilotage.errors import InvalidDefinition
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapper import RESTMapper
from pilotage.meta.unstructured import MetadataOnly


class _Options(Protocol):
    @property
    def controller(self) -> Defaults: ...


class ManagerLike(Protocol):
    """What a builder needs of a manager."""

    @property
    def cache(self) -> Any: ...
    @property
    def rest_mapper(self) -> RESTMapper: ...
    @property
    def work(self) -> Tracker: ...
    @property
    def options(self) -> _Options: ...
    def add(self, runnable: Any, /) -> None: ...


@dataclass(frozen=True, slots=True)
class _Watch:
    """A kind, what its events lead to, and which of them matter."""

    kind: targets.Kind
    handler: Callable[[], Handler]
    predicates: tuple[Predicate, ...]


class ControllerBuilder:
    """Makes a controller step by step. `predicates` of a watch hold for it alone, `with_event_filter` holds for all."""

    def __init__(self, manager: ManagerLike) -> None:
        if manager is None:
            raise InvalidDefinition("a ControllerBuilder needs a manager: ControllerBuilder(manager)")
        self._manager = manager
        self._for: GroupVersionKind | None = None
        self._for_kind: targets.Kind | None = None
        self._watches: list[_Watch] = []
        self._sources: list[Source] = []
        self._filters: list[Predicate] = []
        self._options = ControllerOptions()
        self._name = ""

    def for_(
        self, kind: targets.Kind, *, predicates: Sequence[Predicate] = (), only_metadata: bool = False
    ) -> ControllerBuilder:
        """The kind that is reconciled: each of its objects is a request. Just one; without it, `named` is needed."""
        if self._for is not None:
            raise InvalidDefinition(
                f"for_ may be said once, and {self._for.kind} is there already; use watches(…) or owns(…) for "
                f"{kind_name(kind)}, or a second controller"
            )
        self._for = targets.gvk_of(kind)
        self._for_kind = kind
        return self._watch(kind, lambda: enqueue_request_for_object, predicates, only_metadata)

    def owns(
        self,
        kind: targets.Kind,
        *,
        predicates: Sequence[Predicate] = (),
        only_metadata: bool = False,
        match_every_owner: bool = False,
    ) -> ControllerBuilder:
        """A kind whose objects the reconciled ones control (or, with `match_every_owner`, own): their changes count."""

        def handler() -> Handler:
            if self._for_kind is None:
                raise InvalidDefinition(f"owns({kind_name(kind)}) needs for_(…): whose is it to be?")
            return enqueue_request_for_owner(
                self._for_kind, only_controller=not match_every_owner, rest_mapper=self._manager.rest_mapper
            )

        return self._watch(kind, handler, predicates, only_metadata)

    def watches(
        self,
        kind: targets.Kind,
        handler: Handler,
        *,
        predicates: Sequence[Predicate] = (),
        only_metadata: bool = False,
    ) -> ControllerBuilder:
        """Another kind; the handler says which requests its events lead to."""
        if not callable(handler):
            raise InvalidDefinition(
                f"watches({kind_name(kind)}, …) needs a handler: a function from an Event to requests, such as "
                "enqueue_requests_from(…)"
            )
        return self._watch(kind, lambda: handler, predicates, only_metadata)

    def watches_metadata(
        self, kind: targets.Kind, handler: Handler, *, predicates: Sequence[Predicate] = ()
    ) -> ControllerBuilder:
        """Another kind, of which only the metadata is kept."""
        return self.watches(kind, handler, predicates=predicates, only_metadata=True)

    def watches_raw_source(self, source: Source) -> ControllerBuilder:
        """A source of any make. It has its own predicates: `with_event_filter` does not hold for it."""
        self._sources.append(source)
        return self

    def with_event_filter(self, *predicates: Predicate) -> ControllerBuilder:
        """Let only events count that pass; said again, all must be passed, and those of each watch too."""
        self._filters += predicates
        return self

    def with_options(self, options: ControllerOptions) -> ControllerBuilder:
        self._options = options
        return self

    def named(self, name: str) -> ControllerBuilder:
        """The controller's name; without it, the kind's in lower case."""
        self._name = name
        return self

    def complete(self, reconciler: AnyReconciler) -> Controller:
        """Make the controller and add it to the manager, which starts it with everything else."""
        return self.build(reconciler)

    def build(self, reconciler: AnyReconciler) -> Controller:
        """The same; controller-runtime has both words."""
        name = self._checked_name()
        if reconciler is None:
            raise InvalidDefinition(f"the controller {name} needs a reconciler: complete(reconciler)")
        reconcile_function(reconciler)  # before anything is claimed
        if not self._watches and not self._sources:
            raise InvalidDefinition(
                f"the controller {name} watches nothing, so it would never run: use for_(…), watches(…) or "
                "watches_raw_source(…)"
            )
        manager = self._manager
        sources = [self._source(watch) for watch in self._watches] + self._sources
        controller = Controller(
            name,
            reconciler,
            self._options,
            kind=self._for,
            defaults=manager.options.controller,
            tracker=manager.work,
        )
        for source in sources:
            controller.watch(source)
        if not controller.settings.skip_name_validation:
            names.claim(manager, name)
        manager.add(controller)
        return controller

    def _watch(
        self,
        kind: targets.Kind,
        handler: Callable[[], Handler],
        predicates: Sequence[Predicate],
        only_metadata: bool,
    ) -> ControllerBuilder:
        gvk = targets.gvk_of(kind)
        watched: targets.Kind = MetadataOnly(gvk) if only_metadata else kind
        self._watches.append(_Watch(watched, handler, tuple(predicates)))
        return self

    def _source(self, watch: _Watch) -> Source:
        return Kind(
            self._manager.cache,
            watch.kind,
            watch.handler(),
            *self._filters,
            *watch.predicates,
            low_priority=self._options.low_priority,
        )

    def _checked_name(self) -> str:
        if not self._name and self._for is None:
            raise InvalidDefinition("a controller needs for_(…), or a name of its own: named(…)")
        return self._name or str(self._for.kind if self._for is not None else "").lower()
