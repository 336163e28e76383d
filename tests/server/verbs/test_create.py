from __future__ import annotations

import asyncio
import json
import random
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import pilotage as pt
from pilotage.errors import AlreadyExists, ApiError, Invalid
from pilotage.meta import objects
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb, WriteOptions
from pilotage.schema.generate.crd import crd
from pilotage.server.admission import Admission, Attributes

from ..registries import CONFIG_MAPS, DEFINITIONS, SECRETS, WIDGETS, definition, opened, widget

JOBS = GroupVersionResource("batch", "v1", "jobs")


async def test_the_labels_of_a_jobs_pods_have_its_generated_name() -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "nginx:1"}]}
    document = {"metadata": {"generateName": "job-"}, "spec": {"template": {"spec": pod}}}
    async with opened() as api:
        stored = await api.create(JOBS, document, "default")
    assert stored["metadata"]["name"].startswith("job-")
    assert stored["spec"]["template"]["metadata"]["labels"]["job-name"] == stored["metadata"]["name"]


class _Repeating(random.Random):
    """Draws the same suffix a number of times."""

    left = 9

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
        self.left -= 1
        return list("aaaaa") if self.left > 0 else list("bbbbb")


@pytest.mark.covers("T146")
async def test_another_name_is_generated_if_one_is_taken() -> None:
    document = {"metadata": {"generateName": "map-"}}
    async with opened(chance=_Repeating()) as api:
        assert (await api.create(CONFIG_MAPS, document, "default"))["metadata"]["name"] == "map-aaaaa"
        assert (await api.create(CONFIG_MAPS, document, "default"))["metadata"]["name"] == "map-bbbbb"


@pytest.mark.covers("T146")
async def test_after_eight_names_that_are_taken_the_server_gives_up() -> None:
    document = {"metadata": {"generateName": "map-"}}
    chance = _Repeating()
    chance.left = 100
    async with opened(chance=chance) as api:
        await api.create(CONFIG_MAPS, document, "default")
        with pytest.raises(AlreadyExists, match="unable to generate a unique name"):
            await api.create(CONFIG_MAPS, document, "default")


@pytest.mark.covers("T147")
async def test_times_of_a_deletion_are_dropped_and_not_owned() -> None:
    async with opened() as api:
        metadata = {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
        created = await api.create(CONFIG_MAPS, {"metadata": metadata}, "default")
        assert (
            created["metadata"].keys().isdisjoint(("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"))
        )


async def test_a_name_that_is_taken_is_reported_with_the_warnings_about_the_object() -> None:
    secret = {"metadata": {"name": "a"}, "type": "kubernetes.io/tls", "data": {"tls.crt": "YQ==", "tls.key": "YQ=="}}
    async with opened() as api:
        await api.create(SECRETS, secret, "default")
        with pytest.raises(AlreadyExists) as caught:
            await api.create(SECRETS, secret, "default")
        assert caught.value.warnings == ("tls: failed to find any PEM data in certificate input",)
        with pytest.raises(Invalid) as invalid:
            await api.create(SECRETS, secret | {"metadata": {"name": "A"}}, "default")
        assert invalid.value.warnings == ()


class Part(pt.Model):
    name: str
    weight: int = 0


class BoltSpec(pt.Model):
    size: Annotated[int, pt.Minimum(0), pt.Maximum(9)] = 1
    colour: Annotated[str, pt.Pattern("^[a-z]*$")] = "red"
    parts: Annotated[list[Part], pt.markers.ListType("map", "name")] = []
    texts: dict[str, str] = {}


class BoltStatus(pt.Model):
    phase: str


@pt.resource(group="test.example.com", version="v1", status=True)
class Bolt(pt.Resource):
    spec: BoltSpec = BoltSpec()
    status: BoltStatus | None = None


BOLTS = GroupVersionResource("test.example.com", "v1", "bolts")
texts = st.sampled_from(["", "a", "A", "a.b", "x/y", "-", "a" * 64, 'é"'])
bolts = st.builds(
    lambda metadata, spec, status: Bolt(metadata=pt.ObjectMeta(**metadata), spec=spec, status=status),
    st.fixed_dictionaries(
        {"name": texts},
        optional={
            "namespace": texts | st.just("default"),
            "labels": st.dictionaries(texts, texts, max_size=2),
            "annotations": st.dictionaries(texts, texts, max_size=2),
            "finalizers": st.just(["a"]),
            "uid": st.just("u"),
        },
    ),
    st.builds(
        BoltSpec,
        size=st.sampled_from([0, 9, 10, -1, 2**70]),
        colour=texts,
        parts=st.lists(st.builds(Part, name=texts), max_size=3),
        texts=st.dictionaries(texts, texts, max_size=2),
    ),
    st.none() | st.just(BoltStatus(phase="a")),
)


@given(bolts)
def test_an_object_of_this_process_is_created_as_one_from_the_wire(bolt: Bolt) -> None:
    body = objects.encode(bolt)
    request = APIRequest(Verb.CREATE, BOLTS, namespace="default", body=body)
    by_object, by_other_bytes = replace(request, encoded=body), replace(request, body=_indented(body))
    outcomes = [asyncio.run(_outcome(each)) for each in (request, by_object, by_other_bytes)]
    assert outcomes[0] == outcomes[1] == outcomes[2]


async def _outcome(request: APIRequest) -> object:
    clock = lambda: datetime(2026, 1, 1, tzinfo=UTC)  # noqa: E731
    async with opened(chance=random.Random(1), clock=clock) as api:
        await api.create(DEFINITIONS, crd(Bolt))
        try:
            return (await api.registry.call(request)).body
        except pt.ApiError as error:
            return error.status.document()


def _indented(body: bytes) -> bytes:
    return json.dumps(json.loads(body), indent=1).encode()


async def test_a_tuple_is_checked_and_stored_as_the_list_that_it_is_in_json() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, crd(Bolt))
        client = pt.Client(api.registry)
        twice: Any = (Part(name="a"), Part(name="a"))
        with pytest.raises(Invalid, match=r"spec\.parts\[1\]: Duplicate value"):
            await client.create(Bolt(metadata=pt.ObjectMeta(name="a", namespace="default"), spec=BoltSpec(parts=twice)))
        finalizers: Any = ("example.com/a",)
        bolt = await client.create(Bolt(metadata=pt.ObjectMeta(name="a", namespace="default", finalizers=finalizers)))
        assert bolt.metadata.finalizers == ["example.com/a"]


async def test_a_namespace_of_the_path_that_is_invalid_is_refused_though_the_object_is_valid() -> None:
    request = APIRequest(
        Verb.CREATE, BOLTS, namespace="A_b", body=objects.encode(Bolt(metadata=pt.ObjectMeta(name="a")))
    )
    async with opened(namespace_lifecycle=False) as api:
        await api.create(DEFINITIONS, crd(Bolt))
        with pytest.raises(Invalid, match=r"metadata\.namespace"):
            await api.registry.call(request)


async def test_bytes_that_a_transport_has_changed_count_and_not_the_object() -> None:
    body = objects.encode(Bolt(metadata=pt.ObjectMeta(name="a")))
    async with opened() as api:
        await api.create(DEFINITIONS, crd(Bolt))
        changed = body.replace(b'"red"', b'"blue"')
        request = APIRequest(Verb.CREATE, BOLTS, namespace="default", body=changed, encoded=body)
        await api.registry.call(request)
        assert (await api.get(BOLTS, "a", "default"))["spec"]["colour"] == "blue"


@pytest.mark.parametrize("change", [{"spec": {"size": 99}}, {"metadata": {"name": "A b"}}], ids=["spec", "metadata"])
async def test_an_object_that_admission_makes_invalid_is_refused(change: Document) -> None:
    async def spoil(attributes: Attributes) -> None:
        if attributes.new is not None and attributes.new["kind"] == "Bolt":
            for part, fields in change.items():
                attributes.new[part] |= fields

    async with opened(admission=Admission((spoil,))) as api:
        await api.create(DEFINITIONS, crd(Bolt))
        with pytest.raises(Invalid):
            await api.create(BOLTS, objects.document_of(Bolt(metadata=pt.ObjectMeta(name="a"))), "default")


async def test_a_status_that_is_required_and_dropped_is_missing() -> None:
    closed = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {"type": "object", "required": ["status"], "properties": {"spec": closed, "status": closed}}
    version = definition()["spec"]["versions"][0] | {"schema": {"openAPIV3Schema": schema}}
    async with opened() as api:
        await api.create(DEFINITIONS, definition(versions=[version]))
        with pytest.raises(Invalid, match="status: Required value"):
            await api.create(WIDGETS, widget("a", status={"a": "b"}), "default")


async def test_a_field_that_is_given_twice_is_reported_though_the_object_is_valid() -> None:
    body = objects.encode(Bolt(metadata=pt.ObjectMeta(name="a"))).replace(b'"size":1', b'"size":1,"size":2')
    strict = WriteOptions(field_validation="Strict")
    async with opened() as api:
        await api.create(DEFINITIONS, crd(Bolt))
        with pytest.raises(pt.errors.BadRequest, match=r'duplicate field "spec\.size"'):
            await api.registry.call(APIRequest(Verb.CREATE, BOLTS, namespace="default", body=body, write=strict))


@pytest.mark.parametrize("version", ["99999999999999999999999", "18446744073709551616", "abc", "0"])
async def test_a_version_that_is_no_number_of_64_bits_is_ignored_in_a_create(version: str) -> None:
    async with opened() as api:
        made = await api.create(CONFIG_MAPS, {"metadata": {"name": "a", "resourceVersion": version}}, "default")
        assert made["metadata"]["resourceVersion"] != version
        sent = {"metadata": {"name": "b", "resourceVersion": "18446744073709551615"}}
        with pytest.raises(ApiError, match="resourceVersion should not be set"):
            await api.create(CONFIG_MAPS, sent, "default")
