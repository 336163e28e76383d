from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from pilotage.client.patch import raw_patch
from pilotage.errors import BadRequest, Invalid
from pilotage.meta import objects
from pilotage.meta.models import ManagedFieldsEntry, Model, ObjectMeta, Resource, resource
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.scalars.unwritable import unwritable
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import PatchType


class GaugeSpec(Model):
    ratio: float = 1.0
    samples: list[float] = []
    limit: float | None = None


@resource(group="demo.pilotage.dev", version="v1")
class Gauge(Resource):
    spec: GaugeSpec


def test_each_number_that_json_does_not_have_is_found_with_its_path() -> None:
    document = {"spec": {"a": math.nan, "b": [0.5, -math.inf], "c": {"d": ({"e": math.inf},)}, "f": None, "g": "nan"}}
    assert [cause.field for cause in unwritable(document)] == ["spec.a", "spec.b[1]", "spec.c.d[0].e"]


def test_an_object_with_such_a_number_is_refused_and_not_written_without_it() -> None:
    gauge = Gauge(metadata=ObjectMeta(name="a"), spec=GaugeSpec(samples=[1.0, math.inf]))
    with pytest.raises(Invalid, match=r'Gauge\.demo\.pilotage\.dev "a" is invalid: spec\.samples\[1\]: .*"inf"'):
        objects.updated(gauge)
    read = objects.decode(Gauge, objects.updated(Gauge(metadata=ObjectMeta(name="a"), spec=GaugeSpec())))
    read.spec.ratio = math.nan
    with pytest.raises(Invalid, match=r'spec\.ratio: Invalid value: "nan": must be a finite number'):
        objects.updated(read)
    with pytest.raises(Invalid, match=r"spec\.ratio"):
        objects.updated(Unstructured(objects.document_of(read)))


def test_half_of_a_surrogate_pair_and_values_of_other_classes_are_refused_with_their_path() -> None:
    document: dict[str, Any] = {"apiVersion": "demo.pilotage.dev/v1", "kind": "Gauge", "metadata": {"name": "a"}}
    with pytest.raises(Invalid, match=r"\"a\" is invalid: spec\.texts\[1\]: .*ud800.*: has half of a surrogate pair"):
        objects.updated(Unstructured(document | {"spec": {"texts": ["a", "\ud800"]}}))
    with pytest.raises(
        Invalid, match=r'spec\.b: Invalid value: "object": a value of this type cannot be written as JSON'
    ):
        objects.updated(Unstructured(document | {"spec": {"b": object()}}))
    with pytest.raises(Invalid, match=r"spec: Invalid value: .*ud800.*: a name in JSON must be"):
        objects.updated(Unstructured(document | {"spec": {"\ud800": 1}}))
    label: Any = object()
    with pytest.raises(Invalid, match=r"metadata\.labels\.x: "):
        objects.updated(Gauge(metadata=ObjectMeta(name="a", labels={"x": label}), spec=GaugeSpec()))
    with pytest.raises(BadRequest, match=r"cannot patch: metadata\.labels\.x: .*half of a surrogate pair"):
        raw_patch(PatchType.MERGE, {"metadata": {"labels": {"x": "\udfff"}}})


def test_what_the_encoder_writes_is_no_problem() -> None:
    gauge = Gauge(metadata=ObjectMeta(name="a", creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC)), spec=GaugeSpec())
    assert list(unwritable(gauge)) == []
    assert list(unwritable(ManagedFieldsEntry(manager="a"))) == []  # its fields are not set
    assert list(unwritable({"a": (1, True, None, "é"), "b": {1: Quantity("1Ki")}, "c": {"x"}})) == []


def test_null_is_written() -> None:
    document = {"apiVersion": "demo.pilotage.dev/v1", "kind": "Gauge", "metadata": {}, "spec": {"limit": None}}
    assert b'"limit":null' in objects.updated(Unstructured(document))


def test_a_patch_with_such_a_number_is_refused_and_does_not_delete_the_field() -> None:
    with pytest.raises(BadRequest, match=r'cannot patch: spec\.ratio: Invalid value: "nan"'):
        raw_patch(PatchType.MERGE, {"spec": {"ratio": math.nan}})
    assert raw_patch(PatchType.MERGE, {"spec": {"ratio": None}}).data(None) == b'{"spec":{"ratio":null}}'
