"""MutatingAdmissionPolicies, on every API server."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.unstructured import Unstructured

from ...environments import Environment
from .objects import PROBE, Policies, create, refusal

pytest.importorskip("cel_expr_python")


def applied(expression: str) -> dict[str, Any]:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patched(expression: str) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def mutations(*found: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"mutations": list(found), "reinvocationPolicy": "Never", **spec}


def named(prefix: str) -> list[dict[str, str]]:
    return [{"name": "named", "expression": f"object.metadata.name.startsWith('{prefix}')"}]


PROBED = mutations(patched("[JSONPatch{op: 'remove', path: '/data/absent'}]"), matchConditions=named(PROBE))
"""Refuses the probe, because its patch does not apply."""


async def test_an_object_is_merged_and_patched(environment: Environment) -> None:
    policies = Policies(environment, "MutatingAdmissionPolicy")
    labels = "Object{metadata: Object.metadata{labels: {'app': 'x-' + object.metadata.name}}, data: {'b': '2'}}"
    key = "'/metadata/labels/' + jsonpatch.escapeKey('example.com/keys')"
    keys = f"[JSONPatch{{op: 'add', path: {key}, value: string(size(object.data))}}]"
    await policies.create("both", mutations(applied(labels), patched(keys), matchConditions=named("a")))
    await policies.create("z-probe", PROBED)
    await policies.active()
    made = await create(environment, "a", {"a": "1"})
    assert made["data"] == {"a": "1", "b": "2"}
    assert made["metadata"]["labels"] == {"app": "x-a", "example.com/keys": "2"}
    assert "labels" not in (await create(environment, "b"))["metadata"]


async def test_items_of_lists_are_merged_by_their_keys(environment: Environment) -> None:
    policies = Policies(environment, "MutatingAdmissionPolicy")
    containers = (
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', image: 'changed'}, "
        "Object.spec.containers{name: 'side', image: 'added'}]}}"
    )
    await policies.create("containers", mutations(applied(containers)), resources=("pods",))
    await policies.create("z-probe", PROBED)
    await policies.active()
    metadata = {"name": "a", "namespace": environment.namespace}
    spec = {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    made = await environment.client.create(Unstructured(document))
    assert {each["name"]: each["image"] for each in made["spec"]["containers"]} == {
        "a": "changed",
        "b": "b",
        "side": "added",
    }


async def test_a_patch_whose_test_fails_changes_nothing(environment: Environment) -> None:
    policies = Policies(environment, "MutatingAdmissionPolicy")
    test = "JSONPatch{op: 'test', path: '/data/a', value: 'other'}"
    patch = f"[{test}, JSONPatch{{op: 'add', path: '/data/b', value: '2'}}]"
    await policies.create("tested", mutations(patched(patch), matchConditions=named("a")))
    await policies.create("z-probe", PROBED)
    await policies.active()
    assert (await create(environment, "a", {"a": "1"}))["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        (
            applied("Object{nofield: 'x'}"),
            "error applying patch: failed to convert patch object to typed object: .nofield: field not declared in "
            "schema",
        ),
        (applied("Object{data: {'n': object.data.absent}}"), "resulted in error: no such key: absent"),
        (
            applied("Object{metadata: Object.metadata{labels: Object.labels{a: 'b'}}}"),
            'type mismatch: unexpected type name "Object.labels", expected "Object.metadata.labels", which matches '
            "field name path from root Object type",
        ),
        (
            patched("[JSONPatch{op: 'add', path: '/data', value: Object.foo{y: Object.foo.z{}}}]"),
            'type mismatch: unexpected type name "Object.foo.z", expected "Object.foo.y", which matches '
            "field name path from root Object type",
        ),
    ],
)
async def test_a_mutation_that_fails_refuses_the_write(
    environment: Environment, mutation: dict[str, Any], message: str
) -> None:
    policies = Policies(environment, "MutatingAdmissionPolicy")
    await policies.create("failing", mutations(mutation, matchConditions=named("a")))
    await policies.create("ignored", mutations(mutation, failurePolicy="Ignore", matchConditions=named("b")))
    await policies.create("z-probe", PROBED)
    await policies.active()
    error = await refusal(environment, "a", {"a": "1"})
    assert error is not None
    assert (error.status.code, error.status.reason) == (403, "Invalid")
    full = policies.name("failing")
    assert error.status.message.startswith(f"policy '{full}' with binding '{full}' denied request: ")
    assert error.status.message.endswith(message)
    assert await refusal(environment, "b", {"a": "1"}) is None


async def test_an_atomic_list_cannot_be_changed_by_a_configuration(environment: Environment) -> None:
    policies = Policies(environment, "MutatingAdmissionPolicy")
    expression = "Object{spec: Object.spec{nodeSelector: {'disk': 'fast'}}}"
    await policies.create("atomic", mutations(applied(expression)), resources=("pods",))
    await policies.create("z-probe", PROBED)
    await policies.active()
    metadata = {"name": "a", "namespace": environment.namespace}
    spec = {"containers": [{"name": "a", "image": "a"}]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    with pytest.raises(Exception, match=r"may not mutate atomic arrays, maps or structs: \.spec\.nodeSelector"):
        await environment.client.create(Unstructured(document))


async def test_a_policy_that_asks_for_it_sees_the_changes_of_later_ones(environment: Environment) -> None:
    policies = Policies(environment, "MutatingAdmissionPolicy")
    count = applied("Object{data: {'keys': string(size(object.data))}}")
    again = mutations(count, matchConditions=named("a"), reinvocationPolicy="IfNeeded")
    await policies.create("a-count", again)
    await policies.create("b-add", mutations(applied("Object{data: {'b': '2'}}"), matchConditions=named("a")))
    await policies.create("z-probe", PROBED)
    await policies.active()
    assert (await create(environment, "a", {"a": "1"}))["data"] == {"a": "1", "b": "2", "keys": "3"}
