"""Edits are valid, change one field, and follow the seed."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

import pilotage as pt
from examples.database import Database
from pilotage.errors import InvalidDefinition
from pilotage.markers import Maximum, Minimum, Pattern
from pilotage.testing import chaos


class PoolSpec(pt.Model):
    replicas: Annotated[int, Minimum(1), Maximum(3)]
    mode: Literal["fast", "safe"] = "fast"
    paused: bool = False
    labels: list[str] | None = None


@pt.resource(group="pools.pilotage.dev", version="v1")
class Pool(pt.Resource):
    spec: PoolSpec


class CodedSpec(pt.Model):
    code: Annotated[str, Pattern("^[a-f]{3}$")]


@pt.resource(group="pools.pilotage.dev", version="v1")
class Coded(pt.Resource):
    spec: CodedSpec


SAMPLE = {
    "apiVersion": "pools.pilotage.dev/v1",
    "kind": "Pool",
    "metadata": {"name": "one", "namespace": "default"},
    "spec": {"replicas": 3, "labels": ["a", "b"]},
}


def test_each_edit_changes_one_field_within_the_bounds_of_the_schema() -> None:
    found = chaos.edits(Pool, sample=SAMPLE, count=30)
    assert found.first == SAMPLE
    assert len(found.edits) == 30
    values: dict[str, set[str]] = {edit.path: set() for edit in found.edits}
    for edit in found.edits:
        values[edit.path].add(str(edit.new))
    assert values["spec.replicas"] <= {"1", "2", "3"}
    assert values["spec.mode"] <= {"fast", "safe", "None"}
    assert {"spec.replicas", "spec.mode", "spec.paused", "spec.labels"} == values.keys()


def test_every_third_edit_takes_back_the_one_before() -> None:
    edits = chaos.edits(Pool, sample=SAMPLE, count=9).edits
    for last, back in ((edits[1], edits[2]), (edits[4], edits[5])):
        assert (back.path, back.old, back.new) == (last.path, last.new, last.old)


def test_edits_follow_the_seed() -> None:
    assert chaos.edits(Database, seed=3) == chaos.edits(Database, seed=3)
    assert chaos.edits(Database, seed=3) != chaos.edits(Database, seed=4)


def test_without_a_sample_a_valid_object_is_generated() -> None:
    found = chaos.edits(Pool)
    assert found.first["metadata"] == {"name": "chaos", "namespace": "default"}
    assert 1 <= found.first["spec"]["replicas"] <= 3


def test_a_kind_whose_fields_only_its_author_can_fill_needs_a_sample() -> None:
    with pytest.raises(InvalidDefinition, match="code"):
        chaos.edits(Coded)
    sample = {"apiVersion": "pools.pilotage.dev/v1", "kind": "Coded", "metadata": {"name": "one"}}
    assert chaos.edits(Coded, sample=sample | {"spec": {"code": "abc"}}).edits == ()
