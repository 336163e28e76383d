"""What is recorded about each write."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pilotage.cluster.refusals import Refusals
from pilotage.cluster.writes import PendingWrite, TrackedTransport, WriteTracker
from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.rest import APIRequest, DeleteOptions, Page, Verb, WriteOptions

from ..client.fakes import Recorder

PODS = GroupVersionResource("", "v1", "pods")
RESOURCE = GroupResource("", "pods")


def noted(request: APIRequest, document: Any) -> list[PendingWrite]:
    tracker, seen = WriteTracker(), list[PendingWrite]()
    tracker.subscribe(RESOURCE, seen.append)
    tracker.note(request, msgspec.json.encode(document))
    return seen


def pod(version: str = "5", **metadata: Any) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": version} | metadata,
    }


def request(verb: Verb, **parts: Any) -> APIRequest:
    return APIRequest(verb, PODS, "b", "a", **parts)


@pytest.mark.parametrize("verb", [Verb.CREATE, Verb.UPDATE, Verb.PATCH])
def test_a_write_is_noted_with_its_version(verb: Verb) -> None:
    (write,) = noted(request(verb), pod())
    assert write[:5] == ("b", "a", "u", 5, False)


@pytest.mark.parametrize(("subresource", "whole"), [("", True), ("status", True), ("scale", False)])
def test_an_answer_is_reported_only_if_it_is_the_object_itself(subresource: str, whole: bool) -> None:
    """A scale has the object's name and version, but not its labels: a selector must not judge by it."""
    (write,) = noted(request(Verb.PATCH, subresource=subresource), pod())
    assert (write[:5], bool(write.data)) == (("b", "a", "u", 5, False), whole)


STATUS = {"kind": "Status", "status": "Success", "details": {"name": "a", "kind": "pods", "uid": "u"}}
DYING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
NAMESPACE = {"kind": "Namespace", "metadata": {"name": "n", "uid": "u", "resourceVersion": "5"} | DYING}


@pytest.mark.parametrize(
    ("verb", "answer", "gone"),
    [
        (Verb.DELETE, STATUS, True),
        (Verb.DELETE, pod(), True),
        (Verb.DELETE, pod(**DYING, deletionGracePeriodSeconds=0), True),
        (Verb.DELETE, pod(**DYING, deletionGracePeriodSeconds=30), False),
        (Verb.DELETE, pod(**DYING, finalizers=["x"]), False),
        (Verb.UPDATE, pod(**DYING, finalizers=["x"]), False),
        (Verb.UPDATE, pod(**DYING, finalizers=[]), True),
        (Verb.PATCH, pod(**DYING), True),
        (Verb.DELETE, NAMESPACE | {"spec": {"finalizers": ["kubernetes"]}}, False),
        (Verb.UPDATE, NAMESPACE | {"spec": {}}, True),
    ],
)
def test_what_a_write_deletes_is_distinguished(verb: Verb, answer: dict[str, Any], gone: bool) -> None:
    (write,) = noted(request(verb), answer)
    assert (write.uid, write.gone) == ("u", gone)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (request(Verb.CREATE, write=WriteOptions(dry_run=True)), pod()),
        (request(Verb.DELETE, delete=DeleteOptions(dry_run=True)), STATUS),
        (request(Verb.CREATE), pod("not-a-number")),
        (request(Verb.CREATE), {"kind": "Status", "status": "Success"}),
        (request(Verb.CREATE, subresource="eviction"), {"kind": "Status", "status": "Success"}),
        (request(Verb.CREATE, subresource="token"), {"kind": "TokenRequest", "metadata": {}}),
        (request(Verb.CREATE), [1, 2]),
    ],
)
def test_what_changes_no_object_of_the_kind_is_not_noted(asked: APIRequest, answer: Any) -> None:
    assert noted(asked, answer) == []


def test_the_highest_version_counts_whatever_the_order_of_the_answers() -> None:
    tracker = WriteTracker()
    for version in ("7", "9", "8"):
        tracker.note(request(Verb.UPDATE), msgspec.json.encode(pod(version)))
    assert tracker.highest(RESOURCE) == 9
    assert tracker.highest(GroupResource("apps", "pods")) == 0


def test_versions_of_one_resource_are_one() -> None:
    tracker = WriteTracker()
    tracker.note(APIRequest(Verb.UPDATE, GroupVersionResource("", "v2", "pods")), msgspec.json.encode(pod("3")))
    assert tracker.highest(RESOURCE) == 3


def test_a_handler_that_is_removed_is_not_called_again() -> None:
    tracker, seen = WriteTracker(), list[PendingWrite]()
    stop = tracker.subscribe(RESOURCE, seen.append)
    stop()
    tracker.note(request(Verb.UPDATE), msgspec.json.encode(pod()))
    assert seen == []


async def test_the_transport_notes_writes_and_each_of_a_collection() -> None:
    tracker, seen = WriteTracker(), list[PendingWrite]()
    tracker.subscribe(RESOURCE, seen.append)
    items = [msgspec.json.encode(pod(uid=uid)) for uid in ("1", "2")]
    transport = TrackedTransport(Recorder(pod("1"), pod("2"), Page(items, "9"), Page(items, "9")), tracker, Refusals())
    await transport.call(request(Verb.GET))
    await transport.call(request(Verb.UPDATE))
    await transport.list(request(Verb.LIST))
    await transport.list(request(Verb.DELETE_COLLECTION))
    assert [(write.uid, write.gone) for write in seen] == [("u", False), ("1", True), ("2", True)]


def test_the_version_of_a_write_counts_without_subscribers() -> None:
    tracker = WriteTracker()
    for version in (7, 5):
        head = b'{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"%d","name":"a"}}' % version
        tracker.note(request(Verb.PATCH), head)
    assert tracker.highest(RESOURCE) == 7
