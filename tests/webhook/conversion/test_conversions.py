"""Conversion between versions by functions to and from a hub."""

from __future__ import annotations

import asyncio
import re
from typing import Literal

import pytest

import pilotage as pt
from pilotage.webhook.conversion.conversions import ConversionError, Conversions, completed, conversion_of

from .jobs import GROUP, V3, Job, JobV1, JobV3, SpecV1, SpecV2, job, to_v3

V1, V2 = f"{GROUP}/v1", f"{GROUP}/v2"


class Part(pt.Model):
    name: str
    at: pt.Time
    mode: Literal["a", "b"]


class ThingSpec(pt.Model):
    size: int
    parts: list[Part] = []


class Thing(pt.Resource):
    spec: ThingSpec


def conversions(*, lossless: bool = False) -> Conversions:
    return Conversions(Job, [conversion_of(JobV1), V3], lossless=lossless)


@pytest.mark.covers("T183")
def test_a_version_converts_to_the_hub_and_back() -> None:
    old = job("v1", {"schedule": "30 2", "owner": "ada"})
    new = conversions().convert(old, V2)
    assert new == job("v2", {"minute": "30", "hour": "2", "owner": "ada"})
    assert conversions().convert(new, V1) == old


@pytest.mark.covers("T183")
def test_two_versions_convert_by_way_of_the_hub() -> None:
    found = conversions().convert(job("v1", {"schedule": "30 2"}), f"{GROUP}/v3")
    assert found == job("v3", {"minute": "30", "hour": "2", "owner": ""})


@pytest.mark.covers("T183")
def test_metadata_stays_as_it_is_except_for_labels_and_annotations() -> None:
    managed = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    old = job("v1", {"schedule": "30 2"}, managedFields=managed, labels={"a": "b"}, unknownField=1)
    assert conversions().convert(old, V2)["metadata"] == old["metadata"]


@pytest.mark.covers("T183")
def test_a_function_may_change_labels_and_annotations_only() -> None:
    def relabelled(found: Job) -> JobV3:
        metadata = pt.ObjectMeta(name="other", uid="8", labels={"from": "v2"})
        return JobV3(metadata=metadata, spec=found.spec)

    table = Conversions(Job, [pt.webhook.Conversion(JobV3, to_hub=V3.to_hub, from_hub=relabelled)])
    found = table.convert(job("v2", {"minute": "1"}), f"{GROUP}/v3")
    assert found["metadata"] == {"name": "nightly", "namespace": "default", "uid": "7", "labels": {"from": "v2"}}


@pytest.mark.covers("T183")
def test_documents_convert_without_classes() -> None:
    def to_hub(found: pt.Unstructured) -> pt.Unstructured:
        minute, hour = found["spec"]["schedule"].split()
        return pt.Unstructured({"metadata": found["metadata"], "spec": {"minute": minute, "hour": hour}})

    def from_hub(found: pt.Unstructured) -> pt.Unstructured:
        spec = {"schedule": f"{found['spec']['minute']} {found['spec']['hour']}"}
        return pt.Unstructured({"metadata": found["metadata"], "spec": spec})

    v1, v2 = (pt.GroupVersionKind(GROUP, version, "Job") for version in ("v1", "v2"))
    table = Conversions(v2, [pt.webhook.Conversion(v1, to_hub, from_hub)])
    assert table.convert(job("v1", {"schedule": "30 2"}), V2) == job("v2", {"minute": "30", "hour": "2"})


@pytest.mark.covers("T183")
def test_a_version_without_a_conversion_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(ConversionError, match=re.escape(f"no conversion for {GROUP}/v9; there are {GROUP}/v1")):
        conversions().convert(job("v1", {"schedule": "1 2"}), f"{GROUP}/v9")


@pytest.mark.covers("T183")
def test_a_class_without_the_methods_is_refused() -> None:
    with pytest.raises(pt.InvalidDefinition, match="JobV3 cannot be converted: it needs the methods convert_to"):
        conversion_of(JobV3)


@pytest.mark.covers("T183")
def test_a_version_of_another_kind_is_refused() -> None:
    @pt.resource(group=GROUP, version="v1", kind="Task")
    class Task(pt.Resource):
        pass

    with pytest.raises(pt.InvalidDefinition, match="its group or kind differs"):
        Conversions(Job, [pt.webhook.Conversion(Task, V3.to_hub, V3.from_hub)])


@pytest.mark.covers("T183")
def test_two_conversions_of_one_version_are_refused() -> None:
    with pytest.raises(pt.InvalidDefinition, match="the version v3 of Job has two conversions"):
        Conversions(Job, [V3, V3])


@pytest.mark.covers("T183")
def test_an_async_function_is_refused() -> None:
    async def slow(found: Job) -> JobV3:
        return to_v3(found)

    with pytest.raises(pt.InvalidDefinition, match="slow is async"):
        Conversions(Job, [pt.webhook.Conversion(JobV3, V3.to_hub, slow)])


@pytest.mark.covers("T183")
def test_a_wrong_result_of_a_function_names_the_function() -> None:
    table = Conversions(Job, [pt.webhook.Conversion(JobV3, V3.to_hub, lambda found: found)])
    with pytest.raises(pt.InvalidDefinition, match="returned Job: it must return a new object of JobV3"):
        table.convert(job("v2", {"minute": "1"}), f"{GROUP}/v3")


@pytest.mark.covers("T183")
def test_what_a_version_cannot_express_survives_in_an_annotation() -> None:
    lossless = conversions(lossless=True)
    new = job("v2", {"minute": "30", "hour": "2", "zones": ["a", "b"], "owner": "ada"})
    old = lossless.convert(new, V1)
    assert old["spec"] == {"schedule": "30 2", "owner": "ada"}
    assert lossless.convert(old, V2) == new


@pytest.mark.covers("T183")
def test_a_change_in_the_old_version_wins_over_what_was_saved() -> None:
    lossless = conversions(lossless=True)
    old = lossless.convert(job("v2", {"minute": "30", "hour": "2", "zones": ["a"], "owner": ""}), V1)
    old["spec"]["schedule"] = "45 2"
    assert lossless.convert(old, V2)["spec"] == {"minute": "45", "hour": "2", "zones": ["a"], "owner": ""}


@pytest.mark.covers("T183")
def test_without_a_loss_there_is_no_annotation() -> None:
    found = conversions(lossless=True).convert(job("v2", {"minute": "1", "hour": "2", "owner": ""}), V1)
    assert "annotations" not in found["metadata"]


def test_an_object_without_its_spec_converts_to_one_without_it() -> None:
    """Server-side apply converts what is left of an object without the fields of a manager."""
    old = job("v1", {}, labels={"a": "b"})
    del old["spec"]
    new = conversions().convert(old, V2)
    assert new == {**old, "apiVersion": V2}
    assert conversions().convert(new, V1) == old


def test_a_required_field_that_is_missing_reads_as_its_zero_value() -> None:
    old = {"kind": "Thing", "metadata": {"name": "a"}, "spec": {"parts": [{"name": "x"}]}}
    parts = [{"name": "x", "at": "0001-01-01T00:00:00Z", "mode": "a"}]
    assert completed(old, Thing) == old | {"spec": {"size": 0, "parts": parts}}


async def test_a_manager_applies_an_object_in_another_version_than_before() -> None:
    async with pt.Cluster.embedded("memory:") as cluster, pt.Manager(cluster) as manager:
        pt.WebhookBuilder(manager).for_(Job).with_conversion(JobV1).complete()
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(manager.start())
            await manager.ready()
            await cluster.install(Job, JobV1)
            client = cluster.client.with_namespace("default")
            await client.apply(JobV1(metadata=pt.ObjectMeta(name="a"), spec=SpecV1(schedule="30 2")), field_owner="me")
            new = Job(metadata=pt.ObjectMeta(name="a"), spec=SpecV2(minute="1", hour="2"))
            await client.apply(new, field_owner="me")
            assert (await client.get(JobV1, "a")).spec.schedule == "1 2"
            serving.cancel()
