from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from pilotage.errors import ApiError, BadRequest, Cause, Conflict, Invalid
from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.meta.validation.objectmeta import MAX_CAUSES
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.catalogue.custom import resources_of
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.metadata import deduplicate_owners, wipe
from pilotage.server.strategies.rules import Rules
from pilotage.server.strategies.strategy import Strategy
from pilotage.server.verbs.identity import check_identity, check_uid, check_version, version_number
from pilotage.server.writes import steps
from pilotage.storage.memory import MemoryStorage

from ...counting import counted_lines
from ..registries import CONFIG_MAPS, definition

NOW = "2024-01-01T00:00:00Z"
UPDATE = APIRequest(Verb.UPDATE, CONFIG_MAPS, namespace="n", name="one")


async def built_in() -> ResourceInfo:
    return await Catalogue(MemoryStorage(), "/t/", KINDS).find(CONFIG_MAPS)


def custom(*, status: bool = True) -> ResourceInfo:
    document = definition()
    if not status:
        del document["spec"]["versions"][0]["subresources"]
    document["status"] = {
        "acceptedNames": document["spec"]["names"],
        "conditions": [{"type": "Established", "status": "True"}],
    }
    return next(resources_of(document, "/key", 1))


def stored(**more: Any) -> Document:
    metadata = {"name": "one", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 3}
    metadata |= {"creationTimestamp": NOW} | more.pop("metadata", {})
    return {"apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": metadata} | more


class _Fixed(Strategy):
    def validate(self, document: Document) -> list[Cause]:
        return [invalid("spec.color", document["spec"]["color"], "no such color")]


def test_an_update_reports_what_is_wrong_and_then_what_may_not_change() -> None:
    strategy = _Fixed(Rules(immutable=("kind", "spec.size")))
    document, old = stored(spec={"color": "x", "size": 2}), stored(spec={"color": "x", "size": 1})
    assert [f"{cause.field}: {cause.message}" for cause in strategy.validate_update(document, old)] == [
        'spec.color: Invalid value: "x": no such color',
        "spec.size: Invalid value: 2: field is immutable",
    ]


def test_a_new_object_has_nothing_that_is_the_servers_to_give() -> None:
    document = stored(status={"a": 1}, metadata={"deletionTimestamp": NOW, "selfLink": "x"})
    wipe(document["metadata"])
    steps.prepare_create(custom(), document, now="now", uid="new")
    assert document["metadata"] == {
        "name": "one",
        "namespace": "n",
        "uid": "new",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": "now",
    }
    assert "status" not in document


@pytest.mark.parametrize(
    ("change", "status", "generation"),
    [
        ({"spec": {"a": 1}}, True, 3),
        ({"spec": {"a": 2}}, True, 4),
        ({"spec": {"a": True}}, True, 4),
        ({"spec": {"a": 1}, "more": 1}, True, 4),
        ({"spec": {"a": 1}, "status": {"x": 1}}, True, 3),
        ({"spec": {"a": 1}, "status": {"x": 1}}, False, 4),
        ({"spec": {"a": 1}, "metadata": {"labels": {"a": "b"}, "generation": 99}}, True, 3),
    ],
)
def test_generation_counts_changes_outside_metadata_and_status(change: Document, status: bool, generation: int) -> None:
    old = stored(spec={"a": 1})
    new = stored(**change)
    steps.prepare_update(custom(status=status), UPDATE, new, old)
    assert new["metadata"]["generation"] == generation


def test_an_update_cannot_change_what_is_the_servers() -> None:
    new = stored(metadata={"creationTimestamp": "x", "uid": "u"})
    del new["metadata"]["uid"]
    steps.prepare_update(custom(), UPDATE, new, stored(metadata={"deletionTimestamp": NOW}))
    assert new["metadata"]["creationTimestamp"] == NOW
    assert new["metadata"]["uid"] == "u"
    assert new["metadata"]["deletionTimestamp"] == NOW


def test_a_status_write_changes_nothing_else_of_a_custom_object() -> None:
    old = stored(spec={"a": 1})
    new = stored(spec={"a": 2}, status={"x": 1}, metadata={"labels": {"a": "b"}})
    assert custom().strategy.prepare_for_status_update(new, old) == old | {"status": {"x": 1}}


async def test_a_status_write_may_label_a_built_in_object() -> None:
    new = stored(status={}, metadata={"labels": {"a": "b"}})
    assert (await built_in()).strategy.prepare_for_status_update(new, stored())["metadata"]["labels"] == {"a": "b"}


def test_an_owner_that_is_there_twice_is_kept_once_with_a_warning() -> None:
    owner = {"uid": "1", "name": "a"}
    metadata = {"ownerReferences": [owner, dict(owner), {"uid": "2"}]}
    (warning,) = deduplicate_owners(metadata)
    assert metadata["ownerReferences"] == [owner, {"uid": "2"}]
    assert warning.endswith("observed: 1")


def test_owners_by_the_ten_thousand_are_looked_through_once() -> None:
    metadata = {"ownerReferences": [{"uid": str(number), "name": "a"} for number in range(2_000)]}
    with counted_lines() as lines:
        assert deduplicate_owners(metadata) == []
    assert lines.count < 2_000 * 10
    assert len(metadata["ownerReferences"]) == 2_000


async def test_the_version_that_is_given_must_be_the_current_one() -> None:
    info = await built_in()
    check_version(info, stored(), stored(), "one")
    check_version(info, stored(metadata={"resourceVersion": ""}), stored(), "one")
    with pytest.raises(Conflict):
        check_version(info, stored(metadata={"resourceVersion": "6"}), stored(), "one")
    with pytest.raises(Invalid):
        check_version(custom(), stored(metadata={"resourceVersion": ""}), stored(), "one")


@pytest.mark.parametrize("text", ["", "abc", "-1", "1.0", "٣", "9" * 20, " 1"])
def test_a_version_is_a_plain_number(text: str) -> None:
    with pytest.raises(ApiError):
        version_number(text)


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"name": "two"}, BadRequest),
        ({"name": ""}, BadRequest),
        ({"namespace": "other"}, BadRequest),
    ],
)
async def test_a_body_must_be_of_the_object_that_the_path_names(metadata: Document, error: type[ApiError]) -> None:
    with pytest.raises(error):
        check_identity(await built_in(), UPDATE, stored(metadata=metadata))


async def test_a_uid_in_a_body_must_be_that_of_the_object() -> None:
    with pytest.raises(Conflict):
        check_uid(await built_in(), UPDATE, stored(metadata={"uid": "other"}), stored())


class _Counting(Strategy):
    def validate_status_update(self, document: Document, old: Document) -> list[Cause]:
        fewer = document["status"]["count"] < old["status"]["count"]
        return [invalid("status.count", document["status"]["count"], "must not be decremented")] if fewer else []


async def test_a_strategy_validates_a_status_that_is_written() -> None:
    info = replace(await built_in(), rules=Rules(subresources=("status",)), make_strategy=_Counting)
    request = replace(UPDATE, subresource="status")
    old = stored() | {"status": {"count": 2}}
    assert not steps.validate_update(info, request, old | {"status": {"count": 3}}, old)
    assert [cause.field for cause in steps.validate_update(info, request, old | {"status": {"count": 1}}, old)] == [
        "status.count"
    ]


class _Endless(Strategy):
    def validate(self, document: Document) -> Iterator[Cause]:
        return (invalid(f"data[{index}]", index, "is wrong") for index in count())


async def test_a_strategy_is_not_asked_for_more_causes_than_an_answer_has() -> None:
    info = replace(await built_in(), make_strategy=_Endless)
    assert len(steps.validate_create(info, UPDATE, stored())) == MAX_CAUSES + 1
    assert len(steps.validate_update(info, UPDATE, stored(), stored())) == MAX_CAUSES + 1
