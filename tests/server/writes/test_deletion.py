from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import Conflict, Invalid, NotFound
from pilotage.kubernetes.kinds import KINDS
from pilotage.kubernetes.strategies import STRATEGIES
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import DeleteOptions
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.apiextensions import CLEANUP
from pilotage.server.strategies.custom import CustomResourceStrategy
from pilotage.server.writes import deletion
from pilotage.server.writes.deletion import Mark, Remove
from pilotage.storage.memory import MemoryStorage

from ..registries import CONFIG_MAPS, DEFINITIONS, NAMESPACES, definition, opened

NOW = "2024-01-01T00:00:00Z"
HOLD = "x.example.com/hold"
NEW_EVENTS = GroupVersionResource("events.k8s.io", "v1", "events")


async def info(resource: Any = CONFIG_MAPS) -> ResourceInfo:
    return await Catalogue(MemoryStorage(), "/t/", KINDS).find(resource)


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
        ([], "Background", []),
        ([], "Foreground", ["foregroundDeletion"]),
        ([], "Orphan", ["orphan"]),
        (["orphan", HOLD], "Orphan", ["orphan", HOLD]),
        (["orphan", HOLD], "Background", [HOLD]),
        (["orphan", HOLD], "Foreground", [HOLD, "foregroundDeletion"]),
        (["foregroundDeletion"], "Foreground", ["foregroundDeletion"]),
    ],
)
def test_the_policy_becomes_a_finalizer(before: list[str], policy: str, after: list[str]) -> None:
    assert deletion.with_policy(before, policy) == after


@pytest.mark.parametrize(
    "options",
    [
        DeleteOptions(uid="other"),
        DeleteOptions(resource_version="6"),
        DeleteOptions(uid="other", resource_version="6"),
        DeleteOptions(uid=""),
        DeleteOptions(resource_version=""),
    ],
)
async def test_preconditions_must_hold(options: DeleteOptions) -> None:
    with pytest.raises(Conflict):
        deletion.decide(await info(), document(), options, now=NOW)


@pytest.mark.parametrize(
    ("resource", "options", "message"),
    [
        (NAMESPACES, DeleteOptions(uid="v"), "Precondition failed: UID in precondition: v, UID in object meta: u"),
        (
            NAMESPACES,
            DeleteOptions(resource_version="6"),
            "Precondition failed: ResourceVersion in precondition: 6, ResourceVersion in object meta: 7",
        ),
        (NEW_EVENTS, DeleteOptions(uid="v"), 'Operation cannot be fulfilled on Event "one": the UID in the'),
    ],
)
async def test_namespaces_and_events_have_their_own_words_for_preconditions(
    resource: GroupVersionResource, options: DeleteOptions, message: str
) -> None:
    with pytest.raises(Conflict) as caught:
        deletion.check_preconditions(await info(resource), document(), options)
    assert message in str(caught.value)


async def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(Invalid):
        deletion.check_options(DeleteOptions(propagation_policy="Nope"))


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


JOBS = GroupVersionResource("batch", "v1", "jobs")
PODS = GroupVersionResource("", "v1", "pods")
EVENTS = GroupVersionResource("", "v1", "events")


@pytest.mark.parametrize(
    ("resource", "finalizers", "options", "policy"),
    [
        (CONFIG_MAPS, [], DeleteOptions(), "Background"),
        (CONFIG_MAPS, ["orphan"], DeleteOptions(), "Orphan"),
        (CONFIG_MAPS, ["foregroundDeletion"], DeleteOptions(), "Foreground"),
        (CONFIG_MAPS, ["orphan"], DeleteOptions(propagation_policy="Background"), "Background"),
        (CONFIG_MAPS, ["foregroundDeletion"], DeleteOptions(orphan_dependents=True), "Orphan"),
        (CONFIG_MAPS, ["orphan"], DeleteOptions(orphan_dependents=False), "Background"),
        (JOBS, [], DeleteOptions(), "Orphan"),
        (JOBS, ["foregroundDeletion"], DeleteOptions(), "Foreground"),
        (EVENTS, ["orphan"], DeleteOptions(propagation_policy="Foreground"), "Background"),
    ],
)
async def test_the_policy_is_requested_or_that_of_the_object_or_of_the_kind(
    resource: GroupVersionResource, finalizers: list[str], options: DeleteOptions, policy: str
) -> None:
    assert deletion.policy_of(await info(resource), {"finalizers": finalizers}, options) == policy


def pod(node: str = "", phase: str = "Running", **metadata: Any) -> Document:
    spec = {"terminationGracePeriodSeconds": 30} | ({"nodeName": node} if node else {})
    return document(generation=1, **metadata) | {"kind": "Pod", "spec": spec, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("requested", "grace", "end"),
    [
        (None, 30, "2024-01-01T00:00:30Z"),
        (5, 5, "2024-01-01T00:00:05Z"),
        (-7, 1, "2024-01-01T00:00:01Z"),
        (2**62, 2**62, "3023-05-04T00:00:00Z"),  # a thousand years at most
    ],
)
async def test_a_pod_on_a_node_has_time_to_stop(requested: int | None, grace: int, end: str) -> None:
    options = DeleteOptions(grace_period_seconds=requested)
    outcome = deletion.decide(await info(PODS), pod("a"), options, now=NOW)
    assert isinstance(outcome, Mark)
    metadata = outcome.document["metadata"]
    assert metadata["deletionTimestamp"] == end
    assert metadata["deletionGracePeriodSeconds"] == grace
    assert metadata["generation"] == 2


@pytest.mark.parametrize(
    ("document", "requested"), [(pod(), None), (pod("a", "Succeeded"), 10), (pod("a", "Failed"), None), (pod("a"), 0)]
)
async def test_a_pod_that_does_not_run_is_marked_and_removed_at_once(document: Document, requested: int | None) -> None:
    options = DeleteOptions(grace_period_seconds=requested)
    outcome = deletion.decide(await info(PODS), document, options, now=NOW)
    assert isinstance(outcome, Remove)
    assert outcome.marked
    assert outcome.document["metadata"]["deletionGracePeriodSeconds"] == 0
    assert outcome.document["metadata"]["generation"] == 2


TERMINATING = pod("a", deletionTimestamp="2024-01-01T00:00:30Z", deletionGracePeriodSeconds=30)


@pytest.mark.parametrize("requested", [None, 30, 60])
async def test_a_grace_period_is_not_prolonged(requested: int | None) -> None:
    options = DeleteOptions(grace_period_seconds=requested, propagation_policy="Foreground")
    outcome = deletion.decide(await info(PODS), TERMINATING, options, now="2024-01-01T00:00:10Z")
    assert outcome == Mark(TERMINATING, changed=False)


@pytest.mark.parametrize(
    ("requested", "grace", "end"),
    [(20, 20, "2024-01-01T00:00:20Z"), (5, 1, "2024-01-01T00:00:10Z"), (-1, 1, "2024-01-01T00:00:10Z")],
)
async def test_a_grace_period_is_shortened_but_does_not_end_in_the_past(requested: int, grace: int, end: str) -> None:
    options = DeleteOptions(grace_period_seconds=requested)
    outcome = deletion.decide(await info(PODS), TERMINATING, options, now="2024-01-01T00:00:10Z")
    assert isinstance(outcome, Mark)
    assert outcome.document["metadata"]["deletionTimestamp"] == end
    assert outcome.document["metadata"]["deletionGracePeriodSeconds"] == grace


async def test_a_pod_without_finalizers_stays_until_its_grace_period_ends() -> None:
    assert not deletion.finished((await info(PODS)).strategy, TERMINATING)
    outcome = deletion.decide(await info(PODS), TERMINATING, DeleteOptions(grace_period_seconds=0), now=NOW)
    assert isinstance(outcome, Remove)


async def test_a_job_that_cannot_be_deleted_is_reported_with_the_warning_about_its_pods() -> None:
    async with opened() as api:
        with pytest.raises(NotFound) as caught:
            await api.delete(GroupVersionResource("batch", "v1", "jobs"), "none", "default")
    assert caught.value.warnings == (STRATEGIES["jobs.batch"].rules.deletion.warning,)
