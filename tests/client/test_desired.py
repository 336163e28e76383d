"""A desired state that a server has stored already is not sent again, whatever the server has filled in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from pilotage.client import Client
from pilotage.client.desired import is_equivalent
from pilotage.client.outcome import Outcome, create_or_patch, create_or_update
from pilotage.errors import AlreadyExists, ApiError
from pilotage.meta import objects
from pilotage.meta.documents import Document, copied
from pilotage.meta.forms import gvk_of
from pilotage.meta.models import ObjectMeta, Resource
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import APIRequest, Response, TransportWrapper, Verb
from pilotage.types import builtin
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import Namespace
from tests.server.recordings.cases import load_bases

from ..environments import Environment
from .kinds import Widget, widget_document

NAMESPACE = "recordings"
SERVERS = ["memory", pytest.param("real", marks=pytest.mark.cluster)]
IGNORED = {
    "certificatesigningrequest-rich": "the user who creates it is set by the server",
    "endpointslice-rich": "a deprecated field is dropped",
    "lease-rich": "fields behind a feature gate",
    "node-rich": "a plugin adds a taint to a new Node",
    "pod-waiting": "a plugin adds tolerations",
    "serviceaccount-rich": "of the references to Secrets only the names are kept",
    "statefulset-rich": "a field behind a feature gate",
}
"""Bases with fields that a server does not store as they are sent: one request finds that out."""


class Counting(TransportWrapper):
    """Passes requests on, and counts writes."""

    writes = 0

    async def call(self, request: APIRequest) -> Response:
        self.writes += request.verb not in (Verb.GET, Verb.LIST, Verb.WATCH)
        return await self._inner.call(request)


def document_of(base: Document) -> Document:
    document: Document = copied(base["object"])
    if base["namespaced"]:
        document["metadata"]["namespace"] = NAMESPACE
    return document


def as_class(document: Document) -> Resource:
    obj = Unstructured(copied(document))
    kind = builtin.type_for(gvk_of(obj))
    assert kind is not None
    return objects.decode(kind, objects.encode(obj))


def as_document(document: Document) -> Unstructured:
    return Unstructured(copied(document))


@pytest.mark.parametrize("form", [as_class, as_document])
@pytest.mark.parametrize("environment", SERVERS, indirect=True)
async def test_the_same_code_writes_nothing_after_the_create(
    environment: Environment, form: Callable[[Document], Any]
) -> None:
    counting = Counting(environment.transport)
    client = Client(counting, warning_handler=lambda warning: None)
    with suppress(AlreadyExists):
        await client.create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
    quiet: list[str] = []
    sent_once: list[str] = []
    refused: list[str] = []
    for name, base in load_bases().items():
        if "object" not in base:
            continue
        document = document_of(base)
        try:
            await create_or_patch(client, form(document))
        except ApiError:
            refused.append(name)
            continue
        counting.writes = 0
        await create_or_patch(client, form(document))
        (sent_once if counting.writes else quiet).append(name)
        counting.writes = 0
        assert await create_or_patch(client, form(document)) is Outcome.UNCHANGED, name
        assert not counting.writes, name
        await _remove(client, form(document))
    print(f"{len(quiet)} bases without a write, one for {sent_once}, refused: {refused}")
    assert set(sent_once) <= IGNORED.keys()
    assert len(quiet) > 100


async def _remove(client: Client, obj: Any) -> None:
    found = await client.find(
        obj.gvk if isinstance(obj, Unstructured) else type(obj), obj.metadata.name, namespace=obj.metadata.namespace
    )
    if found is not None and found.metadata.finalizers:
        found.metadata.finalizers = []
        await client.update(found)
    with suppress(ApiError):  # gone with its finalizers, or protected
        await client.delete(obj, grace_period_seconds=0, propagation_policy="Background")


def stateful_set(namespace: str, **pod: Any) -> StatefulSet:
    """A StatefulSet in whose lists without keys the server fills in defaults."""
    cpu = {"containerName": "a", "resource": "limits.cpu"}
    files = {
        "items": [{"path": "cpu", "resourceFieldRef": cpu}, {"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]
    }
    token = {"serviceAccountToken": {"path": "token"}}
    container = {
        "name": "a",
        "image": "nginx",
        "env": [{"name": "EMPTY", "value": ""}],
        "readinessProbe": {"httpGet": {"port": 80}, "initialDelaySeconds": 0},
        "volumeMounts": [{"name": "pod", "mountPath": "/pod", "readOnly": False}],
    }
    volumes = [
        {"name": "pod", "downwardAPI": files},
        {"name": "all", "projected": {"sources": [token, {"downwardAPI": files}]}},
    ]
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    spec = {
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": {
            "metadata": {"labels": {"app": "db"}},
            "spec": {"containers": [container], "volumes": volumes, "hostNetwork": False} | pod,
        },
        "volumeClaimTemplates": [{"metadata": {"name": "data"}} | claim],
    }
    document = {"metadata": {"name": "db", "namespace": namespace}, "spec": spec}
    return objects.decode(StatefulSet, objects.encode(Unstructured(document)))


async def test_defaults_inside_lists_without_keys_are_no_difference(environment: Environment) -> None:
    counting = Counting(environment.transport)
    client = Client(counting)
    assert await create_or_patch(client, stateful_set(environment.namespace)) is Outcome.CREATED
    assert await create_or_patch(client, stateful_set(environment.namespace)) is Outcome.UNCHANGED

    def replace_spec(found: StatefulSet) -> None:
        found.spec = stateful_set(environment.namespace).spec

    again = stateful_set(environment.namespace)
    assert await create_or_patch(client, again, mutate=replace_spec) is Outcome.UNCHANGED
    assert await create_or_update(client, again, replace_spec) is Outcome.UNCHANGED
    assert counting.writes == 1
    changed = stateful_set(environment.namespace, hostNetwork=True)
    assert await create_or_patch(client, changed) is Outcome.UPDATED


def policy(**port: Any) -> Unstructured:
    spec = {"podSelector": {}, "ingress": [{"ports": [{"port": 80} | port]}], "policyTypes": ["Ingress"]}
    return Unstructured({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {}, "spec": spec})


@pytest.mark.parametrize(
    ("one", "other", "equivalent"),
    [
        (policy(), policy(protocol="TCP"), True),
        (policy(), policy(protocol="UDP"), False),
        (policy(endPort=None), policy(protocol="TCP"), True),
        (policy(), policy(protocol="TCP", endPort=81), False),
        (policy(ofANewerRelease=1), policy(ofANewerRelease=2), False),
        (policy(ofANewerRelease=1), policy(protocol="TCP", ofANewerRelease=1), False),
        (policy(port=[]), policy(port=[], protocol="TCP"), False),
    ],
)
def test_documents_are_equivalent_if_a_server_stores_the_same(
    one: Unstructured, other: Unstructured, equivalent: bool
) -> None:
    assert is_equivalent(one, one.document, other.document) is equivalent
    assert is_equivalent(other, other.document, one.document) is equivalent


def test_a_field_that_the_class_does_not_know_is_compared_too() -> None:
    def widget(**spec: Any) -> Unstructured:
        return widget_document("default", **spec)

    one = objects.decode(Widget, objects.encode(widget(note="a", parts=[{"name": "p", "weight": 1}])))
    before = widget(note="a", parts=[{"name": "p", "weight": 1}]).document
    assert is_equivalent(one, before, widget(note="a", parts=[{"name": "p", "weight": 1}], tags=[]).document)
    assert not is_equivalent(one, before, widget(note="b", parts=[{"name": "p", "weight": 1}], tags=[]).document)
    assert not is_equivalent(one, before, widget(note="a", parts=[{"name": "p", "weight": 2}]).document)
