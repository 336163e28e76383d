"""The plan of a cache: which informers a kind needs, by the options for all kinds and for this one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.optionfields import OptionalSecondsField, SecondsField, check_fields, seconds_field
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.selectors.selection import Fields, Labels, field_text
from pilotage.meta.selectors.selectors import FieldRequirement, FieldSelector
from pilotage.reflector.intake import Transform

SYNC_PERIOD = 10 * 3600.0
_SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class NamespaceConfig:
    """How one namespace is cached; None: as in the next more general options."""

    label_selector: Labels = None
    """The label selector of the objects that are cached."""
    field_selector: Fields = None
    """The field selector of the objects that are cached."""
    transform: Transform | None = None
    """Runs once for each version of an object, before it is stored."""
    sync_period: OptionalSecondsField = seconds_field(None)
    """Seconds between replays of the store to all handlers; 0: never."""

    def __post_init__(self) -> None:
        check_fields(self)


Namespaces = Mapping[str, NamespaceConfig] | Iterable[str] | None
"""Namespaces to cache, each with options of its own if needed. None: as in the next more general options; empty: all.

The empty name means all namespaces that are not listed.
"""


@dataclass(frozen=True, slots=True)
class ByObject:
    """How one kind is cached; None: as in the options for all kinds."""

    namespaces: Namespaces = None
    """The namespaces in which the kind is cached."""
    label_selector: Labels = None
    """The label selector of the objects that are cached."""
    field_selector: Fields = None
    """The field selector of the objects that are cached."""
    transform: Transform | None = None
    """Runs once for each version of an object, before it is stored."""
    sync_period: OptionalSecondsField = seconds_field(None)
    """Seconds between replays of the store to all handlers; 0: never."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """What a cache stores: by default all objects of every kind that is read or watched."""

    by_object: Mapping[Any, ByObject] = field(default_factory=dict)
    """Options for single kinds: by class, GroupVersionKind or `metadata_only`."""
    default_namespaces: Namespaces = None
    """The namespaces that are cached, for kinds that `by_object` does not name; None or empty: all."""
    default_label_selector: Labels = None
    """The label selector for kinds and namespaces without a selector of their own."""
    default_field_selector: Fields = None
    """The field selector for kinds and namespaces without a selector of their own."""
    default_transform: Transform | None = None
    """The transform for kinds and namespaces without a transform of their own."""
    sync_period: SecondsField = seconds_field(SYNC_PERIOD)
    """Seconds between replays of the store to all handlers, for each informer up to a tenth more or less; 0: never."""
    reader_fail_on_missing_informer: bool = False
    """Reading a kind without an informer raises NotCached, instead of creating one."""
    new_informer: Callable[[InformerOptions], Informer[Any] | None] | None = None
    """Creates the informer for given options; None: one that reads from the API server."""
    silence_seconds: OptionalSecondsField = seconds_field(None)
    """How long a watch may be silent before it is opened again; None: what the lister-watcher promises."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class InformerPlan:
    """The options of the informers that a kind needs: one for each namespace, or one for all."""

    informers: tuple[InformerOptions, ...]
    changes: bool
    """Whether the namespaces are the cache's set of namespaces, which may change at run time."""
    is_everywhere: bool
    """Whether that set applies to the kind, but is not a set: one informer has all namespaces."""


def plan(
    kind: Kind,
    options: CacheOptions,
    *,
    namespaced: bool,
    chooser: random.Random,
    namespaces: Mapping[str, NamespaceConfig] | None = None,
) -> InformerPlan:
    """Plan the informers of a kind. `namespaces` replace the default ones; unlike those, an empty set means none."""
    gvk = gvk_of(kind)
    own = _own(gvk, options)
    if namespaces is not None:
        options = replace(options, default_namespaces=namespaces)
    if not namespaced:
        if own.namespaces is not None and configs_of(own.namespaces).keys() - {""}:
            raise InvalidDefinition(
                f"{gvk.kind} is cluster-scoped, but the cache's options have namespaces for it: remove them"
            )
        configs = {"": NamespaceConfig()}
    else:
        chosen = own.namespaces if own.namespaces is not None else options.default_namespaces
        configs = configs_of(chosen)
        if not configs and (namespaces is None or own.namespaces is not None):
            configs = {"": NamespaceConfig()}
    general = configs_of(options.default_namespaces)
    default = NamespaceConfig(
        options.default_label_selector, options.default_field_selector, options.default_transform, options.sync_period
    )
    level = NamespaceConfig(own.label_selector, own.field_selector, own.transform, own.sync_period)
    inherited = own.namespaces is None
    planned = []
    for namespace, config in configs.items():
        order = [level, config, default] if inherited else [config, level, general.get(namespace, default), default]
        merged = _merged(order)
        if namespace == "":
            merged = replace(merged, field_selector=_without(merged.field_selector, configs.keys() - {""}))
        planned.append(_informer_options(kind, namespace, merged, options, chooser))
    follows, everywhere = namespaced and inherited, "" in configs
    return InformerPlan(tuple(planned), changes=follows and not everywhere, is_everywhere=follows and everywhere)


def _own(gvk: GroupVersionKind, options: CacheOptions) -> ByObject:
    for kind, found in options.by_object.items():
        if gvk_of(kind) == gvk:
            return found
    return ByObject()


def configs_of(namespaces: Namespaces) -> dict[str, NamespaceConfig]:
    """The namespaces with their options; empty for all."""
    if namespaces is None:
        return {}
    if isinstance(namespaces, str):
        raise InvalidDefinition(f"namespaces must be a list of names: use [{namespaces!r}] instead of {namespaces!r}")
    if isinstance(namespaces, Mapping):
        return dict(namespaces)
    return {namespace: NamespaceConfig() for namespace in namespaces}


def _merged(order: list[NamespaceConfig]) -> NamespaceConfig:
    """Each option from the first config that has it."""
    given = ([getattr(config, option.name) for config in order] for option in fields(NamespaceConfig))
    return NamespaceConfig(*(next((value for value in values if value is not None), None) for values in given))


def _without(selector: Fields, namespaces: Iterable[str]) -> Fields:
    excluded = tuple(FieldRequirement("metadata.namespace", "!=", name) for name in sorted(namespaces))
    if not excluded:
        return selector
    return FieldSelector(FieldSelector.parse(field_text(selector)).requirements + excluded)


def _informer_options(
    kind: Kind, namespace: str, config: NamespaceConfig, options: CacheOptions, chooser: random.Random
) -> InformerOptions:
    period = (config.sync_period or 0.0) * chooser.uniform(1 - _SPREAD, 1 + _SPREAD)
    if not namespace:
        # A selector for one namespace is the same as the list of that namespace, which costs the server less.
        namespace = FieldSelector.parse(field_text(config.field_selector)).requires("metadata.namespace") or ""
    return InformerOptions(
        kind=kind,
        namespace=namespace,
        labels=config.label_selector,
        fields=config.field_selector,
        transform=config.transform,
        resync=period,
        silence_seconds=options.silence_seconds,
    )
