"""Managed fields after creates, updates and patches."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from pilotage.errors import Invalid
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, PatchType, Verb, WriteOptions
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from ..registries import CONFIG_MAPS, DEFINITIONS, WIDGETS, definition, registry_context, widget

LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")


class Managed:
    """A registry whose clock stands still until it is moved, and writers with names."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.registry = Registry(registry_context(MemoryStorage(), clock=lambda: self.time))

    def move(self, seconds: float = 1) -> None:
        self.time += timedelta(seconds=seconds)

    async def create(self, resource: GroupVersionResource, document: Any, manager: str = "creator") -> Any:
        namespace = "" if resource in (NAMESPACES, DEFINITIONS) else "default"
        return await self._call(APIRequest(Verb.CREATE, resource, namespace=namespace), document, manager)

    async def update(
        self, resource: GroupVersionResource, document: Any, manager: str = "updater", subresource: str = ""
    ) -> Any:
        name = document["metadata"]["name"]
        request = APIRequest(Verb.UPDATE, resource, namespace="default", name=name, subresource=subresource)
        return await self._call(request, document, manager)

    async def patch(
        self,
        resource: GroupVersionResource,
        name: str,
        patch: Any,
        manager: str = "patcher",
        subresource: str = "",
        kind: PatchType = PatchType.MERGE,
    ) -> Any:
        namespace = "" if resource in (NAMESPACES, DEFINITIONS) else "default"
        request = APIRequest(
            Verb.PATCH, resource, namespace=namespace, name=name, subresource=subresource, content_type=kind.value
        )
        return await self._call(request, patch, manager)

    async def _call(self, request: APIRequest, document: Any, manager: str) -> Any:
        body, write = json.dumps(document).encode(), WriteOptions(field_manager=manager)
        return json.loads((await self.registry.call(replace(request, body=body, write=write))).body)


@asynccontextmanager
async def managed() -> AsyncIterator[Managed]:
    made = Managed()
    async with made.registry:
        await made.create(DEFINITIONS, definition())
        yield made


def config_map(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}} | more


def owners(document: Any) -> dict[str, Any]:
    """The fields of each manager, by its name."""
    return {entry["manager"]: entry["fieldsV1"] for entry in document["metadata"].get("managedFields", ())}


@pytest.mark.covers("T152")
async def test_the_creator_owns_what_it_created() -> None:
    async with managed() as api:
        made = await api.create(CONFIG_MAPS, config_map(metadata={"name": "a", "labels": {"x": "y"}}))
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "creator",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:data": {".": {}, "f:k": {}},
                "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
            },
        }
    ]


async def test_a_field_behind_a_disabled_feature_is_owned_but_not_stored() -> None:
    """As on a cluster, where fields are tracked before the object is prepared."""
    lease = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me", "preferredHolder": "you"}}
    async with managed() as api:
        made = await api.create(LEASES, lease)
        assert made["spec"] == {"holderIdentity": "me"}
        assert owners(made) == {"creator": {"f:spec": {"f:holderIdentity": {}, "f:preferredHolder": {}}}}
        patched = await api.patch(LEASES, "a", {"spec": {"preferredHolder": "them"}})
        assert patched["spec"] == {"holderIdentity": "me"}
        assert owners(patched)["patcher"] == {"f:spec": {"f:preferredHolder": {}}}


async def test_a_changed_field_belongs_to_its_writer_alone() -> None:
    async with managed() as api:
        await api.create(CONFIG_MAPS, config_map(data={"k": "v", "l": "v"}))
        api.move()
        changed = await api.patch(CONFIG_MAPS, "a", {"data": {"k": "w", "m": "n"}})
    assert owners(changed) == {
        "creator": {"f:data": {".": {}, "f:l": {}}},
        "patcher": {"f:data": {"f:k": {}, "f:m": {}}},
    }
    assert [entry["time"] for entry in changed["metadata"]["managedFields"]] == [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:01Z",
    ]


async def test_what_is_removed_has_no_owner_and_a_manager_without_fields_is_removed() -> None:
    async with managed() as api:
        await api.create(CONFIG_MAPS, config_map())
        await api.patch(CONFIG_MAPS, "a", {"data": {"m": "n"}})
        await api.patch(CONFIG_MAPS, "a", {"data": {"o": "p"}}, manager="third")
        changed = await api.patch(CONFIG_MAPS, "a", {"data": {"m": None, "k": None}}, manager="fourth")
        assert owners(changed) == {"creator": {"f:data": {}}, "third": {"f:data": {"f:o": {}}}}
        changed = await api.patch(CONFIG_MAPS, "a", {"data": None})
    assert "managedFields" not in changed["metadata"]


async def test_a_write_that_changes_nothing_changes_no_time_and_no_version() -> None:
    async with managed() as api:
        made = await api.create(CONFIG_MAPS, config_map())
        api.move()
        same = await api.update(CONFIG_MAPS, made, manager="creator")
        assert same == made
        api.move()
        changed = await api.patch(CONFIG_MAPS, "a", {"data": {"k": "w"}}, manager="creator")
    assert changed["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:02Z"
    assert owners(changed) == owners(made)


async def test_an_object_created_without_fields_is_never_tracked() -> None:
    async with managed() as api:
        made = await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert "managedFields" not in made["metadata"]
        changed = await api.patch(CONFIG_MAPS, "a", {"data": {"k": "v"}})
    assert "managedFields" not in changed["metadata"]


async def test_status_is_written_under_its_subresource() -> None:
    async with managed() as api:
        made = await api.create(WIDGETS, widget("w", spec={"a": 1}, status={"ignored": True}))
        assert owners(made) == {"creator": {"f:spec": {".": {}, "f:a": {}}}}
        changed = await api.patch(
            WIDGETS,
            "w",
            {"status": {"phase": "x"}, "spec": {"a": 2}, "metadata": {"labels": {"x": "y"}}},
            subresource="status",
        )
    assert owners(changed) == owners(made) | {"patcher": {"f:status": {".": {}, "f:phase": {}}}}
    assert [entry.get("subresource") for entry in changed["metadata"]["managedFields"]] == [None, "status"]


@pytest.mark.parametrize("entries", [[], [{}]], ids=str)
async def test_managed_fields_can_be_reset(entries: Any) -> None:
    async with managed() as api:
        made = await api.create(CONFIG_MAPS, config_map())
        made["metadata"]["managedFields"] = entries
        changed = await api.update(CONFIG_MAPS, made)
        assert "managedFields" not in changed["metadata"]
        later = await api.patch(CONFIG_MAPS, "a", {"data": {"k": "w"}})
    assert "managedFields" not in later["metadata"]


async def test_managed_fields_can_be_written_except_through_a_subresource() -> None:
    given = [{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}]
    given[0] |= {"fieldsV1": {"f:data": {"f:k": {}}}}  # type: ignore[dict-item]  # a set of fields
    async with managed() as api:
        await api.create(CONFIG_MAPS, config_map())
        operations = [{"op": "replace", "path": "/metadata/managedFields", "value": given}]
        changed = await api.patch(CONFIG_MAPS, "a", operations, kind=PatchType.JSON)
        assert changed["metadata"]["managedFields"] == given
        unknown = [given[0] | {"operation": "Guess"}]
        same = await api.patch(CONFIG_MAPS, "a", {"metadata": {"managedFields": unknown}})
        assert same == changed
        made = await api.create(WIDGETS, widget("w", spec={"a": 1}))
        same = await api.patch(WIDGETS, "w", {"metadata": {"managedFields": []}}, subresource="status")
    assert same == made


async def test_the_name_of_a_manager_has_at_most_128_bytes() -> None:
    given = [{"manager": "x" * 129, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}]
    async with managed() as api:
        await api.create(CONFIG_MAPS, config_map())
        with pytest.raises(Invalid, match=r"metadata.managedFields\[0\].manager: Too long"):
            await api.patch(
                CONFIG_MAPS, "a", {"metadata": {"managedFields": [given[0] | {"fieldsV1": {"f:data": {"f:l": {}}}}]}}
            )


async def test_a_namespace_owns_the_label_with_its_name() -> None:
    async with managed() as api:
        made = await api.create(NAMESPACES, {"metadata": {"name": "n"}})
        assert owners(made) == {"creator": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}}}
        changed = await api.patch(NAMESPACES, "n", {"spec": {"finalizers": ["x.dev/y"]}})
    assert changed["spec"] == made["spec"]
    assert owners(changed)["patcher"] == {"f:spec": {"f:finalizers": {}}}


async def test_an_entry_without_fields_is_not_kept() -> None:
    entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}
    async with managed() as api:
        await api.create(CONFIG_MAPS, config_map())
        changed = await api.patch(CONFIG_MAPS, "a", {"metadata": {"managedFields": [entry]}})
    assert "managedFields" not in changed["metadata"]


async def test_a_review_names_its_creator() -> None:
    reviews = GroupVersionResource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
    review = {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}}
    async with managed() as api:
        request = APIRequest(Verb.CREATE, reviews, body=json.dumps(review).encode(), user_agent="kubectl/v1")
        answer = json.loads((await api.registry.call(request)).body)
    assert owners(answer) == {"kubectl": {"f:spec": {"f:nonResourceAttributes": {".": {}, "f:path": {}, "f:verb": {}}}}}


async def test_a_field_that_is_never_left_out_is_owned_if_it_has_a_value() -> None:
    classes = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")
    cases: list[tuple[str, int, dict[str, Any]]] = [("a", 5, {"f:value": {}}), ("b", 0, {})]
    async with managed() as api:
        for name, value, fields in cases:
            request = APIRequest(
                Verb.CREATE,
                classes,
                body=json.dumps({"metadata": {"name": name}, "value": value, "description": "x"}).encode(),
                write=WriteOptions(field_manager="me"),
            )
            made = json.loads((await api.registry.call(request)).body)
            assert owners(made)["me"] == {"f:description": {}, "f:preemptionPolicy": {}} | fields


async def test_an_entry_that_owns_nothing_but_the_whole_object_resets_managed_fields() -> None:
    async with managed() as api:
        await api.create(CONFIG_MAPS, config_map())
        entry = {
            "manager": "me",
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {".": {}},
        }
        patched = await api.patch(CONFIG_MAPS, "a", {"metadata": {"managedFields": [entry]}})
        assert "managedFields" not in patched["metadata"]
