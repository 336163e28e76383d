"""Built-in kinds with rules of their own, on every API server."""

from __future__ import annotations

from datetime import UTC

import pytest

from pilotage.errors import BadRequest, Invalid
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.times import MicroTime
from pilotage.meta.unstructured import Unstructured
from pilotage.types.coordination.v1 import Lease, LeaseSpec
from pilotage.types.core.v1 import ConfigMap, Event, ObjectReference, Secret
from pilotage.types.events.v1 import Event as NewEvent

from ..environments import Environment

NEW_EVENT = GroupVersionKind("events.k8s.io", "v1", "Event")


async def test_a_lease_keeps_its_microseconds(environment: Environment) -> None:
    time = MicroTime(2026, 1, 2, 3, 4, 5, 120000, tzinfo=UTC)
    spec = LeaseSpec(holder_identity="me", lease_duration_seconds=15, acquire_time=time, renew_time=time)
    await environment.client.create(Lease(metadata=ObjectMeta(name="l", namespace=environment.namespace), spec=spec))
    found = await environment.client.get(Lease, "l", namespace=environment.namespace)
    assert found.spec is not None
    assert found.spec.renew_time == time


async def test_a_lease_lasts_some_time(environment: Environment) -> None:
    spec = LeaseSpec(holder_identity="me", lease_duration_seconds=0)
    with pytest.raises(Invalid) as caught:
        await environment.client.create(
            Lease(metadata=ObjectMeta(name="l", namespace=environment.namespace), spec=spec)
        )
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [
        ("spec.leaseDurationSeconds", "Invalid value: 0: must be greater than 0")
    ]


async def test_an_event_is_in_the_namespace_of_what_it_is_about(environment: Environment) -> None:
    about = ObjectReference(kind="Pod", name="p", namespace=environment.namespace)
    event = Event(
        metadata=ObjectMeta(name="e", namespace=environment.namespace),
        involved_object=about,
        reason="Seen",
        message="hello",
    )
    await environment.client.create(event)
    assert event.message == "hello"
    other = ObjectReference(kind="Pod", name="p", namespace="other")
    with pytest.raises(Invalid) as caught:
        await environment.client.create(
            Event(metadata=ObjectMeta(name="f", namespace=environment.namespace), involved_object=other)
        )
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [
        ("involvedObject.namespace", 'Invalid value: "other": does not match event.namespace')
    ]


async def test_events_are_selected_by_what_they_are_about(environment: Environment) -> None:
    for name in ("a", "b"):
        about = ObjectReference(kind="Pod", name=name, namespace=environment.namespace)
        await environment.client.create(
            Event(metadata=ObjectMeta(name=f"about-{name}", namespace=environment.namespace), involved_object=about)
        )
    found = await environment.client.list(Event, namespace=environment.namespace, fields={"involvedObject.name": "b"})
    assert found.names == ["about-b"]


async def test_keys_of_a_config_map_are_checked(environment: Environment) -> None:
    with pytest.raises(Invalid) as caught:
        await environment.client.create(
            ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace), data={"a b": "c"})
        )
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueInvalid", "data[a b]")]


async def test_data_of_a_secret_is_base64(environment: Environment) -> None:
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": environment.namespace}}
    with pytest.raises(BadRequest, match="Secret"):
        await environment.client.create(Unstructured(document | {"data": {"a": "!"}}))


async def test_the_type_of_a_secret_stays(environment: Environment) -> None:
    secret = await environment.client.create(Secret(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    with pytest.raises(Invalid) as caught:
        await environment.client.patch(secret, {"type": "other"})
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [
        ("type", 'Invalid value: "other": field is immutable')
    ]


async def test_the_name_label_of_a_namespace_stays(environment: Environment) -> None:
    from pilotage.types.core.v1 import Namespace

    namespace = await environment.client.get(Namespace, environment.namespace)
    await environment.client.patch(namespace, {"metadata": {"labels": {"kubernetes.io/metadata.name": None, "a": "b"}}})
    assert namespace.metadata.labels == {"kubernetes.io/metadata.name": environment.namespace, "a": "b"}


async def test_an_event_without_an_event_time_has_null_in_its_new_form(environment: Environment) -> None:
    subject = {"kind": "Pod", "name": "x", "namespace": environment.namespace}
    metadata = {"name": "a", "namespace": environment.namespace}
    old = {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": subject, "series": {"count": 3}}
    await environment.client.create(Unstructured(old))
    (listed,) = await environment.client.list(NEW_EVENT, namespace=environment.namespace)
    read = await environment.client.get(NEW_EVENT, "a", namespace=environment.namespace)
    for document in (listed.document, read.document):  # the schema requires these, and clients insist on them
        assert "eventTime" in document
        assert document["eventTime"] is None
        assert document["series"] == {"count": 3, "lastObservedTime": None}
        assert document["deprecatedSource"] == {}
    (typed,) = await environment.client.list(NewEvent, namespace=environment.namespace)
    assert typed.event_time is None
    await environment.client.update(typed)
    # The manager that has created it is one of a group that this version does not know.
    assert typed.metadata.resource_version != read.metadata.resource_version


async def test_an_event_about_nothing_has_an_empty_reference(environment: Environment) -> None:
    await environment.client.create(
        Unstructured({"apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "a-", "namespace": "default"}})
    )
    events = await environment.client.list(GroupVersionKind("", "v1", "Event"), namespace="default")
    assert {} in [event["involvedObject"] for event in events]
