from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import pilotage as pt
from pilotage.errors import AlreadyExists
from pilotage.meta import objects
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb, WriteOptions
from pilotage.schema.generate.crd import crd
from pilotage.server.admission import Admission, Attributes
from pilotage.server.writes.onepass import one_pass_value

from ..registries import DEFINITIONS, Api, Pausing, opened

NUTS = GroupVersionResource("test.example.com", "v1", "nuts")
names = st.sampled_from(["a", "a.b", "a-1"])
keys = st.sampled_from(["a", "b.example.com/c", "x_y"])


class Thread(pt.Model):
    name: str
    pitch: int = 0


class NutSpec(pt.Model):
    size: Annotated[int, pt.Minimum(0)] = 1
    threads: Annotated[list[Thread], pt.markers.ListType("map", "name")] = []
    texts: dict[str, str] = {}


class NutStatus(pt.Model):
    size: int = 0


@pt.resource(group="test.example.com", version="v1", status=True)
class Nut(pt.Resource):
    spec: NutSpec = NutSpec()
    status: NutStatus | None = None


nuts = st.builds(
    lambda metadata, spec: Nut(metadata=pt.ObjectMeta(namespace="default", **metadata), spec=spec),
    st.fixed_dictionaries(
        {"name": names},
        optional={
            "labels": st.dictionaries(keys, names, min_size=1),
            "annotations": st.dictionaries(keys, st.text(), min_size=1),
        },
    ),
    st.builds(
        NutSpec,
        size=st.integers(0, 9),
        threads=st.lists(st.builds(Thread, name=st.text()), max_size=3, unique_by=lambda each: each.name),
        texts=st.dictionaries(st.text(), st.text(), max_size=2),
    ),
)


def create(nut: Nut, **more: Any) -> APIRequest:
    body = objects.encode(nut)
    return APIRequest(Verb.CREATE, NUTS, namespace="default", body=body, encoded=body, user_agent="nuts/1", **more)


def nut(**metadata: Any) -> Nut:
    return Nut(metadata=pt.ObjectMeta(**{"name": "a", "namespace": "default"} | metadata))


async def in_one_pass(api: Api, request: APIRequest) -> bool:
    return one_pass_value(api.registry.context, await api.registry.describe(request), request) is not None


@given(nuts)
def test_an_object_is_stored_in_one_pass_as_the_steps_one_by_one_store_it(made: Nut) -> None:
    async def stored(request: APIRequest, *, at_once: bool) -> list[bytes]:
        async with opened(chance=random.Random(1), clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)) as api:
            await api.create(DEFINITIONS, crd(Nut))
            other = request.body.replace(b'"name":"a', b'"name":"other-a', 1)  # its managed fields are known then
            answers = [await api.registry.call(request), await api.registry.call(replace(request, body=other))]
            assert await in_one_pass(api, request) is at_once
            return [answer.body for answer in answers]

    request = create(made)
    from_the_wire, indented = replace(request, encoded=None), replace(request, body=b" " + request.body)
    one_by_one = asyncio.run(stored(indented, at_once=False))
    assert asyncio.run(stored(request, at_once=True)) == one_by_one
    assert asyncio.run(stored(from_the_wire, at_once=True)) == one_by_one


@pytest.mark.parametrize(
    "request_of",
    [
        create(nut(), write=WriteOptions(dry_run=True)),
        replace(create(nut()), body=b" " + objects.encode(nut())),
        replace(create(nut()), body=objects.encode(nut()).replace(b'"size":1', b'"size":1,"size":2')),
        create(nut(), content_type="application/yaml"),
        create(nut(namespace="")),
        create(nut(finalizers=["example.com/a"])),
        create(nut(name="", generate_name="a-")),
        create(nut(annotations={"a": "x" * 20_000})),
    ],
    ids=[
        "dry run",
        "in another form",
        "duplicate field",
        "YAML",
        "no namespace",
        "finalizers",
        "generated name",
        "large",
    ],
)
async def test_an_object_that_needs_work_takes_the_steps(request_of: APIRequest) -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, crd(Nut))
        assert await in_one_pass(api, create(nut()))
        assert not await in_one_pass(api, request_of)


async def test_an_object_that_admission_sees_takes_the_steps() -> None:
    async def see(attributes: Attributes) -> None: ...

    async with opened(admission=Admission(validating=(see,))) as api:
        await api.create(DEFINITIONS, crd(Nut))
        assert not await in_one_pass(api, create(nut()))


def _two_versions(definition: Document) -> Document:
    first = definition["spec"]["versions"][0]
    definition["spec"]["versions"].append(first | {"name": "v2", "storage": False})
    return definition


def _scaled(definition: Document) -> Document:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    definition["spec"]["versions"][0]["subresources"]["scale"] = scale
    return definition


@pytest.mark.parametrize("change", [_two_versions, _scaled])
async def test_a_kind_with_rules_outside_of_its_schema_takes_the_steps(change: Any) -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, change(crd(Nut)))
        assert not await in_one_pass(api, create(nut()))


async def test_of_two_objects_of_one_name_at_the_same_time_one_is_created() -> None:
    async with opened(Pausing()) as api:
        await api.create(DEFINITIONS, crd(Nut))
        results = await asyncio.gather(
            *(api.registry.call(create(nut(labels={"a": value}))) for value in "xyz"), return_exceptions=True
        )
        assert sorted(type(each) is AlreadyExists for each in results) == [False, True, True]
        (created,) = [each for each in results if not isinstance(each, BaseException)]
        assert (await api.get(NUTS, "a", "default")) == objects.read(created.body)


async def test_the_managed_fields_of_such_objects_name_their_manager_and_time() -> None:
    times = iter([datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in range(59)])
    async with opened(clock=lambda: next(times)) as api:
        await api.create(DEFINITIONS, crd(Nut))
        seen = []
        for number, manager in enumerate(["one", "one", "two"]):
            made = create(nut(name=f"a{number}"), write=WriteOptions(field_manager=manager))
            metadata = objects.read((await api.registry.call(made)).body)["metadata"]
            (entry,) = metadata["managedFields"]
            seen.append(entry["manager"])
            assert entry["time"] == metadata["creationTimestamp"]
        assert seen == ["one", "one", "two"]
