"""A status that the server does not take with the rest of an object is warned of."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap

DROPPED = "Note default/a: the server did not store the status: write it with update_status or patch_status"


class NoteSpec(pt.Model):
    size: int = 1


class NoteStatus(pt.Model):
    phase: str = pt.meta.omit("")
    ready: int | None = None


@pt.resource(group="notes.example.com", version="v1", status=True)
class Note(pt.Resource):
    spec: NoteSpec
    status: NoteStatus | None = None


@pt.resource(group="notes.example.com", version="v1", kind="Plain")
class Plain(pt.Resource):
    spec: NoteSpec
    status: NoteStatus | None = None


def metadata() -> pt.ObjectMeta:
    return pt.ObjectMeta(name="a", namespace="default")


def shown(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "pilotage.client"]


async def test_a_status_in_a_create_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Note)
        client = cluster.client
        note = Note(metadata=metadata(), spec=NoteSpec(), status=NoteStatus(phase="Ready"))
        await client.create(note)
        assert note.status is None
    assert shown(caplog) == [DROPPED]


async def test_a_changed_status_in_an_update_is_warned_of_and_an_unchanged_one_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Note)
        client = cluster.client
        note = await client.create(Note(metadata=metadata(), spec=NoteSpec()))
        note.status = NoteStatus(phase="Ready")
        await client.update_status(note)
        note.spec.size = 2
        await client.update(note)
        assert shown(caplog) == []
        assert note.status is not None
        note.status.phase = "Broken"
        await client.update(note)
    assert shown(caplog) == [DROPPED]


async def test_a_status_that_the_class_has_by_default_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    @pt.resource(group="notes.example.com", version="v1", kind="Begun", status=True)
    class Begun(pt.Resource):
        spec: NoteSpec
        status: NoteStatus = NoteStatus(phase="Pending")

    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Begun)
        client = cluster.client
        begun = await client.create(Begun(metadata=metadata(), spec=NoteSpec()))
        begun.spec.size = 2
        await client.update(begun)
    assert shown(caplog) == []


async def test_a_kind_without_the_subresource_and_create_or_patch_are_not_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Note, Plain)
        client = cluster.client
        status = NoteStatus(phase="Ready")
        await client.create(Plain(metadata=metadata(), spec=NoteSpec(), status=status))
        note = Note(metadata=metadata(), spec=NoteSpec(), status=status)
        await pt.create_or_patch(client, note)
        assert note.status == status
        await client.create(ConfigMap(metadata=metadata(), data={"status": "text"}))
    assert shown(caplog) == []
