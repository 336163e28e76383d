"""The messages of refusals: what the request had, and what to do. The server's answer stays as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

import pilotage as pt
from pilotage.meta.unstructured import Unstructured
from pilotage.types.core.v1 import ConfigMap, Secret


class NoteSpec(pt.Model):
    size: int = 1
    due: datetime | None = None
    parts: list[dict[str, int]] = []


@pt.resource(group="notes.example.com", version="v1")
class Note(pt.Resource):
    spec: NoteSpec


@asynccontextmanager
async def opened() -> AsyncIterator[pt.Client]:
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Note)
        yield cluster.client


def metadata(**more: Any) -> pt.ObjectMeta:
    return pt.ObjectMeta(name="a", namespace="default", **more)


async def refusal(call: Awaitable[object]) -> pt.ApiError:
    with pytest.raises(pt.ApiError) as caught:
        await call
    return caught.value


async def test_the_value_of_a_wrong_type_is_named() -> None:
    async with opened() as client:
        note = Note(metadata=metadata(), spec=NoteSpec())
        note.spec.size = "many"  # type: ignore[assignment]
        error = await refusal(client.create(note))
        refused = (
            'Note.notes.example.com "a" is invalid: spec.size: Invalid value: "string": spec.size in body must be '
            'of type integer: "string"'
        )
        assert str(error) == f'{refused}; spec.size is "many"'
        assert error.status.message == refused


async def test_a_value_in_a_list_is_named() -> None:
    async with opened() as client:
        note = Note(metadata=metadata(), spec=NoteSpec(parts=[{"a": 1}, {"b": "two"}]))  # type: ignore[dict-item]
        assert str(await refusal(client.create(note))).endswith('; spec.parts[1].b is "two"')


async def test_a_datetime_without_a_time_zone_is_explained() -> None:
    async with opened() as client:
        note = Note(metadata=metadata(), spec=NoteSpec(due=datetime(2026, 1, 2, 3, 4, 5)))
        assert str(await refusal(client.create(note))) == (
            'Note.notes.example.com "a" is invalid: spec.due: Invalid value: "2026-01-02T03:04:05": spec.due in body '
            'must be of type date-time: "2026-01-02T03:04:05"; spec.due is "2026-01-02T03:04:05", which has no time '
            "zone: use an aware datetime, as in datetime.now(UTC)"
        )


async def test_a_number_where_text_is_expected_is_named_with_the_call() -> None:
    async with opened() as client:
        found = ConfigMap(metadata=metadata(), data={"n": 3})  # type: ignore[dict-item]
        cannot = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into field'
        assert str(await refusal(client.create(found))) == (
            f'cannot create ConfigMap default/a: {cannot} data.n of type string; data.n is 3: write "3"'
        )
        label: Any = {"size": 3}
        assert str(await refusal(client.create(ConfigMap(metadata=metadata(labels=label))))) == (
            f"cannot create ConfigMap default/a: {cannot} metadata.labels.size of type string; "
            'metadata.labels.size is 3: write "3"'
        )


async def test_plain_text_in_a_secret_is_explained_without_its_value() -> None:
    async with opened() as client:
        secret = Secret(metadata=metadata(), data={"good": b"x", "password": "hunter2!"})  # type: ignore[dict-item]
        error = str(await refusal(client.create(secret)))
        assert error == (
            'cannot create Secret default/a: Secret in version "v1" cannot be handled as a Secret: illegal base64 data '
            "at input byte 7; data.password is not base64: put text into string_data (stringData), or give data bytes"
        )
        number = Unstructured(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"pin": 1234}}
        )
        error = str(await refusal(client.with_namespace("default").create(number)))
        assert error.startswith('cannot create Secret default/a: Secret in version "v1" cannot be handled as a Secret')
        assert error.endswith("; stringData.pin is a number: write it as text")
        await client.create(Secret(metadata=metadata()))
        patch = client.patch(Secret, {"data": {"password": "hunter2!"}}, name="a", namespace="default")
        assert str(await refusal(patch)) == (
            'cannot patch Secret default/a: patch: Invalid value: "{}": illegal base64 data at input byte 7; '
            "data.password is not base64: put text into string_data (stringData), or give data bytes"
        )


async def test_a_request_that_is_too_large_is_named_with_its_size() -> None:
    async with opened() as client:
        large = ConfigMap(metadata=metadata(), data={"n": "x" * 4_000_000})
        assert str(await refusal(client.create(large))) == (
            "cannot create ConfigMap default/a: Request entity too large: limit is 3145728; the request has 4,000,100 "
            "bytes: keep large data elsewhere, or in several objects"
        )


async def test_a_wrong_selector_is_named_live_and_from_the_cache() -> None:
    async with opened() as client:
        expected = "unable to parse requirement: found '', expected: ',' or ')'; the label selector is 'a in (b'"
        assert str(await refusal(client.list(ConfigMap, labels="a in (b"))) == expected
        async with pt.Manager(pt.Cluster.embedded()) as manager:
            await manager.run_until_idle(timeout=60)
            assert str(await refusal(manager.client.list(ConfigMap, labels="a in (b"))) == expected
        fields = await refusal(client.list(ConfigMap, fields="foo=b"))
        assert str(fields).endswith("; the field selector is 'foo=b'")


async def test_what_go_prints_for_no_field_is_left_out() -> None:
    async with opened() as client:
        error = await refusal(client.list(ConfigMap, labels="-a=b"))
        assert str(error).startswith('unable to parse requirement: Invalid value: "-a": name part must consist of')
        assert "<nil>" in error.status.message


async def test_a_namespace_by_position_is_explained() -> None:
    async with opened() as client:
        untyped: Any = client
        for call, expected in (
            (untyped.get(Note, "a", "default"), "get(Note, 'a', namespace='default')"),
            (untyped.find(Note, "a", "default"), "find(Note, 'a', namespace='default')"),
            (untyped.list(Note, "default"), "list(Note, namespace='default')"),
            (untyped.delete(Note, "a", "default"), "delete(Note, 'a', namespace='default')"),
            (untyped.delete_all_of(Note, "default"), "delete_all_of(Note, namespace='default')"),
            (opened_watch(untyped, Note, "default"), "watch(Note, namespace='default')"),
        ):
            with pytest.raises(TypeError) as caught:
                await call
            assert str(caught.value) == f"{expected.partition('(')[0]}() takes the namespace by its name: {expected}"
        for method in (untyped.patch, untyped.patch_status):
            with pytest.raises(TypeError) as caught:
                await method(Note, {"spec": {"size": 1}}, "a", "default")
            name = method.__name__
            expected = f"{name}(Note, {{'spec': {{'size': 1}}}}, name='a', namespace='default')"
            assert str(caught.value) == f"{name}() takes the name and the namespace by their names: {expected}"


async def opened_watch(client: Any, *arguments: object) -> None:
    async with client.watch(*arguments):
        pass


async def test_a_wrong_value_is_named_by_create_or_patch_and_apply_as_well() -> None:
    async with opened() as client:
        with pytest.raises(pt.errors.BadRequest) as caught:
            await pt.create_or_patch(client, ConfigMap(metadata=metadata(), data={"a": "b", "n": 3}))  # type: ignore[dict-item]
        assert str(caught.value) == (
            'ConfigMap default/a cannot be written: Expected `str`, got `int` at .data.n; data.n is 3: write "3"'
        )
        with pytest.raises(pt.errors.BadRequest) as caught:
            await pt.create_or_patch(client, Note(metadata=metadata(), spec=NoteSpec(size="many")))  # type: ignore[arg-type]
        assert str(caught.value) == (
            'Note default/a cannot be written: Expected `int`, got `str` at .spec.size; spec.size is "many"'
        )
        secret = Secret(metadata=metadata(), string_data={"pin": 1234})  # type: ignore[dict-item]
        with pytest.raises(pt.errors.BadRequest) as caught:
            await pt.create_or_patch(client, secret)
        assert str(caught.value) == (
            "Secret default/a cannot be written: Expected `str`, got `int` at .stringData.pin; stringData.pin is a "
            "number: write it as text"
        )
        note = Note(metadata=metadata(), spec=NoteSpec(size="many"))  # type: ignore[arg-type]
        assert str(await refusal(client.apply(note, field_owner="a"))).endswith(
            '.spec.size: expected numeric (int or float), got string; spec.size is "many"'
        )
        number = ConfigMap(metadata=metadata(), data={"n": 3})  # type: ignore[dict-item]
        assert str(await refusal(client.apply(number, field_owner="a"))).endswith('; data.n is 3: write "3"')
