"""What a type checker accepts and refuses of functions for a kind. mypy reads this file, and nothing runs it.

Each refusal has a `type: ignore` with its code: mypy reports one that is not needed, so a refusal that is lost fails
`make check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, assert_type

import pilotage as pt
from pilotage.client.watching import WatchedEvent
from pilotage.meta.objectlist import ObjectList
from pilotage.types.core.v1 import ConfigMap, Pod

POD = pt.GroupVersionKind("", "v1", "Pod")


async def reconcile(request: pt.Request) -> pt.Result:
    return pt.Result()


async def reconcile_pod(request: pt.Request[Pod]) -> None:
    await reconcile(request)


async def reconcile_object(pod: Pod) -> None: ...


class Reconciler:
    async def reconcile(self, request: pt.Request) -> pt.Result:
        return pt.Result()


class PodReconciler:
    def reconcile(self, request: pt.Request[Pod]) -> pt.Result:
        return pt.Result()


def of_pod(pod: Pod) -> list[pt.Request]:
    return [pt.Request(pod.metadata.name)]


async def of_config_map(config_map: ConfigMap) -> Iterable[pt.Request]:
    return [pt.Request.of(config_map)]


def of_document(document: pt.Unstructured) -> list[pt.Request]:
    return [pt.Request(document["data"]["owner"])]


def of_metadata(partial: pt.PartialObjectMetadata) -> list[pt.Request]:
    return [pt.Request(partial.metadata.name)]


def of_anything(event: pt.Event) -> list[pt.Request]:
    return [pt.Request(event.object.metadata.name)]


def pod_event(event: pt.Event[Pod]) -> bool:
    return event.old is None or event.old.spec != event.object.spec


def resource_event(event: pt.Event[pt.Resource]) -> bool:
    return event.object.metadata.name == "a"


def is_scheduled(pod: Pod) -> bool:
    return pod.spec is not None and pod.spec.node_name is not None


def node_of(pod: Pod) -> list[str]:
    return [pod.spec.node_name] if pod.spec is not None and pod.spec.node_name else []


def reconcilers(manager: pt.Manager) -> None:
    pods = pt.ControllerBuilder(manager).for_(Pod)
    pods.complete(reconcile)
    pods.complete(reconcile_pod)
    pods.complete(Reconciler())
    pods.complete(PodReconciler())
    pods.complete(lambda request: reconcile(request))
    pods.complete(pt.controller.as_reconciler(manager.client, Pod, reconcile_object))
    pods.complete(reconcile_object)  # type: ignore[arg-type]

    config_maps = pt.ControllerBuilder(manager).for_(ConfigMap)
    config_maps.complete(Reconciler())
    config_maps.complete(reconcile_pod)  # type: ignore[arg-type]
    config_maps.complete(PodReconciler())  # type: ignore[arg-type]
    config_maps.complete(pt.controller.as_reconciler(manager.client, Pod, reconcile_object))  # type: ignore[arg-type]
    pt.controller.as_reconciler(manager.client, ConfigMap, reconcile_object)  # type: ignore[arg-type]


def handlers(builder: pt.ControllerBuilder) -> None:
    builder.watches(Pod, of_anything)
    builder.watches(Pod, pt.enqueue_requests_from(of_pod))
    builder.watches(Pod, pt.enqueue_requests_from(lambda pod: [pt.Request(pod.metadata.name)]))
    builder.watches(Pod, pt.enqueue_request_for_object)
    builder.watches(Pod, pt.enqueue_request_for_owner(ConfigMap))
    builder.watches(Pod, lambda event: [pt.Request(event.object.metadata.name)])
    builder.watches(ConfigMap, pt.enqueue_requests_from(of_config_map))
    builder.watches(ConfigMap, pt.enqueue_requests_from(of_pod))  # type: ignore[arg-type]
    builder.watches(ConfigMap, pt.enqueue_requests_from(lambda one: [pt.Request(one.spec)]))  # type: ignore[attr-defined]

    builder.watches(POD, pt.enqueue_requests_from(of_document))
    builder.watches(POD, pt.enqueue_requests_from(lambda document: [pt.Request(document["spec"]["nodeName"])]))
    builder.watches(POD, pt.enqueue_requests_from(of_pod))  # type: ignore[arg-type]
    builder.watches(pt.metadata_only(Pod), pt.enqueue_requests_from(of_metadata))
    builder.watches(pt.metadata_only(Pod), pt.enqueue_requests_from(of_pod))  # type: ignore[arg-type]


def predicates(builder: pt.ControllerBuilder) -> None:
    builder.for_(Pod, predicates=[pt.generation_changed, pod_event, resource_event, pt.on_object(is_scheduled)])
    builder.owns(Pod, predicates=[pt.not_(pod_event), pt.and_(pod_event, pt.controller.label_changed)])
    builder.watches(Pod, of_anything, predicates=[pt.on_object(lambda pod: pod.spec is None)])
    builder.with_event_filter(pt.generation_changed, resource_event)
    builder.for_(ConfigMap, predicates=[pod_event])  # type: ignore[list-item]
    builder.owns(ConfigMap, predicates=[pt.on_object(is_scheduled)])  # type: ignore[arg-type]
    builder.watches(ConfigMap, of_anything, predicates=[pod_event])  # type: ignore[list-item]


def sources(manager: pt.Manager, informer: pt.Informer[Pod]) -> None:
    pt.Kind(manager.cache, Pod, pt.enqueue_requests_from(of_pod), pod_event)
    pt.Kind(manager.cache, ConfigMap, pt.enqueue_requests_from(of_pod))  # type: ignore[arg-type]
    pt.controller.InformerSource(informer, pt.enqueue_requests_from(of_pod), pod_event)
    pt.controller.InformerSource(informer, pt.enqueue_requests_from(of_config_map))  # type: ignore[arg-type]


def indexes(cache: pt.cache.Cache, informer: pt.Informer[Pod]) -> None:
    cache.index_field(Pod, "node", node_of)
    cache.index_field(Pod, "node", lambda pod: [pod.metadata.name])
    cache.index_field(POD, "node", lambda document: [document["spec"]["nodeName"]])
    cache.index_field(pt.metadata_only(Pod), "name", lambda partial: [partial.metadata.name])
    cache.index_field(ConfigMap, "node", node_of)  # type: ignore[arg-type]
    cache.index_field(POD, "node", node_of)  # type: ignore[arg-type]
    informer.add_index("node", node_of)
    informer.add_index("name", lambda partial: [partial.metadata.name], kind=pt.metadata_only(Pod))
    informer.add_index("node", lambda config_map: [config_map.data])  # type: ignore[attr-defined]


def events(event: pt.Event[Pod], informed: pt.cache.InformerEvent[Pod], watched: WatchedEvent[Pod]) -> None:
    assert_type(event.type, Literal["create", "update", "delete", "generic"])
    assert_type(event.object, Pod)
    assert_type(event.old, Pod | None)
    assert_type(informed.type, Literal["create", "update", "delete"])
    assert_type(watched.type, Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
    if event.type == "created":  # type: ignore[comparison-overlap]
        ...
    if watched.type == "added":  # type: ignore[comparison-overlap]
        ...


async def reads(client: pt.Client, cache: pt.cache.Cache, factory: pt.SharedInformerFactory) -> None:
    assert_type(await client.get(Pod, "a"), Pod)
    assert_type(await client.get(POD, "a"), pt.Unstructured)
    assert_type(await client.get(pt.metadata_only(Pod), "a"), pt.PartialObjectMetadata)
    assert_type(await client.find(Pod, "a"), Pod | None)
    assert_type(await client.list(POD), ObjectList[pt.Unstructured])
    assert_type(await client.patch(Pod, {}, name="a"), Pod)
    assert_type(await cache.get(pt.metadata_only(POD), "a"), pt.PartialObjectMetadata)
    assert_type(await cache.list(Pod), ObjectList[Pod])
    assert_type(factory.lister(Pod).get("a"), Pod)
    async with client.watch(Pod) as events:
        assert_type([event.object async for event in events], list[Pod])
    await client.get(int, "a")  # type: ignore[type-var]
    await client.list("Pod")  # type: ignore[arg-type]
    await client.delete(int, "a")  # type: ignore[type-var]


async def writes(client: pt.Client, pod: Pod) -> None:
    assert_type(await client.create(pod, dry_run=True, field_owner="me"), Pod)
    assert_type(await client.patch_status(pod, {}, field_validation="Strict"), Pod)
    await client.create(pod, dryrun=True)  # type: ignore[call-arg]
    await client.update(pod, dry_run="no")  # type: ignore[arg-type]
