from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pilotage.kubernetes.core.namespacecontents import NamespaceContents
from pilotage.kubernetes.flowcontrol.dangling import FIELD_MANAGER, SCHEMAS, condition
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource

from ...server.registries import Api, opened

LEVELS = GroupVersionResource("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations")
SCHEMA = {"metadata": {"name": "mine"}, "spec": {"priorityLevelConfiguration": {"name": "level"}}}


async def dangling(api: Api) -> Document:
    await asyncio.sleep(1)
    (found,) = (await api.get(SCHEMAS, "mine"))["status"]["conditions"]
    found.pop("lastTransitionTime")
    return dict(found)


@pytest.mark.virtual_time
async def test_the_condition_of_a_flow_schema_shows_whether_its_priority_level_exists() -> None:
    async with opened(contents=NamespaceContents()) as api:
        await api.create(SCHEMAS, SCHEMA)
        assert await dangling(api) == condition("level", exists=False)
        await api.create(
            LEVELS,
            {
                "metadata": {"name": "level"},
                "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
            },
        )
        assert await dangling(api) == condition("level", exists=True)
        await api.delete(LEVELS, "level")
        assert await dangling(api) == condition("level", exists=False)


@pytest.mark.virtual_time
async def test_the_condition_has_the_manager_that_kube_apiserver_has_for_it() -> None:
    async with opened(contents=NamespaceContents()) as api:
        await api.create(SCHEMAS, SCHEMA)
        await asyncio.sleep(1)
        entries: list[Any] = (await api.get(SCHEMAS, "mine"))["metadata"]["managedFields"]
        applied = [(entry["manager"], entry["subresource"]) for entry in entries if entry["operation"] == "Apply"]
        assert applied == [(FIELD_MANAGER, "status")]
