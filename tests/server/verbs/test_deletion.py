from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import Conflict, Invalid
from pilotage.meta.documents import Document
from pilotage.rest.request import DeleteOptions
from pilotage.server.catalogue import Catalogue
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.apiextensions import CLEANUP
from pilotage.server.strategies.custom import CustomResourceStrategy
from pilotage.server.verbs import deletion
from pilotage.server.verbs.deletion import Mark, Remove
from pilotage.storage.memory import MemoryStorage

from ..registries import CONFIG_MAPS, DEFINITIONS, NAMESPACES, definition

NOW = "2024-01-01T00:00:00Z"
HOLD = "x.example.com/hold"


async def info(resource: Any = CONFIG_MAPS) -> ResourceInfo:
    return await Catalogue(MemoryStorage(), "/t/").find(resource)


def document(*finalizers: str, **metadata: Any) -> Document:
    meta = {"name": "one", "uid": "u", "resourceVersion": "7"} | metadata
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta | ({"finalizers": [*finalizers]} if finalizers else {}),
    }


async def test_what_nothing_holds_goes_at_once() -> None:
    assert isinstance(deletion.decide(await info(), document(), DeleteOptions(), now=NOW), Remove)


async def test_what_is_held_is_marked_once() -> None:
    outcome = deletion.decide(await info(), document(HOLD), DeleteOptions(), now=NOW)
    assert isinstance(outcome, Mark)
    assert outcome.changed
    assert outcome.document["metadata"]["deletionTimestamp"] == NOW
    again = deletion.decide(await info(), outcome.document, DeleteOptions(), now="2030-01-01T00:00:00Z")
    assert again == Mark(outcome.document, changed=False)


@pytest.mark.parametrize(
    ("before", "policy", "after"),
    [
        ([], "", []),
        ([], "Background", []),
        ([], "Foreground", ["foregroundDeletion"]),
        ([], "Orphan", ["orphan"]),
        (["orphan", HOLD], "", ["orphan", HOLD]),
        (["orphan", HOLD], "Background", [HOLD]),
        (["orphan", HOLD], "Foreground", [HOLD, "foregroundDeletion"]),
        (["foregroundDeletion"], "Foreground", ["foregroundDeletion"]),
    ],
)
def test_the_policy_becomes_a_finalizer(before: list[str], policy: str, after: list[str]) -> None:
    assert deletion.with_policy(before, policy) == after


@pytest.mark.parametrize(
    "options",
    [DeleteOptions(uid="other"), DeleteOptions(resource_version="6"), DeleteOptions(uid="other", resource_version="6")],
)
async def test_preconditions_must_hold(options: DeleteOptions) -> None:
    with pytest.raises(Conflict):
        deletion.decide(await info(), document(), options, now=NOW)


async def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(Invalid):
        deletion.decide(await info(), document(), DeleteOptions(propagation_policy="Nope"), now=NOW)


async def test_a_namespace_waits_for_its_own_finalizers_too() -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "one", "uid": "u", "resourceVersion": "7"},
    }
    namespace |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    namespaces = await info(NAMESPACES)
    outcome = deletion.decide(namespaces, namespace, DeleteOptions(), now=NOW)
    assert isinstance(outcome, Mark)
    assert outcome.document["status"] == {"phase": "Terminating"}
    assert namespace["status"] == {"phase": "Active"}, "the document that was asked about is left alone"
    assert not deletion.finished(namespaces.strategy, outcome.document)
    assert deletion.finished(namespaces.strategy, outcome.document | {"spec": {}})


async def test_another_kind_that_is_called_namespace_does_not() -> None:
    one = document(deletionTimestamp=NOW) | {"apiVersion": "x.example.com/v1", "kind": "Namespace"}
    assert deletion.finished(CustomResourceStrategy(), one | {"spec": {"finalizers": ["x"]}})


async def test_a_definition_gets_a_finalizer_of_its_own() -> None:
    one = definition() | {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {}}
    one["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    outcome = deletion.decide(await info(DEFINITIONS), one, DeleteOptions(), now=NOW)
    assert isinstance(outcome, Mark)
    assert outcome.document["metadata"]["finalizers"] == [CLEANUP]
    assert outcome.document["status"]["conditions"][0]["type"] == "Terminating"
    assert one["status"] == {}
