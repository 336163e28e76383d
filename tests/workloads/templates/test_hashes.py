"""Hashes of Pod templates, compared with those of Go, which `hack/templates` writes into golden.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pilotage.workloads.templates.dumps import dump_template
from pilotage.workloads.templates.hashes import fnv32a, safe_encoded, template_hash

GOLDEN: list[dict[str, Any]] = json.loads(Path(__file__).with_name("golden.json").read_text())


@pytest.mark.parametrize("row", GOLDEN, ids=[f"{index}-{row['hash']}" for index, row in enumerate(GOLDEN)])
def test_a_template_has_the_hash_that_go_computes(row: dict[str, Any]) -> None:
    assert template_hash(row["template"], row["collisionCount"]) == row["hash"]


def test_an_empty_list_has_the_hash_of_none_because_protobuf_has_no_empty_lists() -> None:
    assert template_hash({"spec": {"volumes": [], "nodeSelector": {}}}) == template_hash({})


def test_an_empty_object_is_another_template_than_none() -> None:
    assert template_hash({"spec": {"securityContext": {}}}) != template_hash({})


def test_null_is_as_if_not_set() -> None:
    assert template_hash({"metadata": {"creationTimestamp": None}}) == template_hash({})


def test_each_collision_has_a_hash_of_its_own() -> None:
    assert len({template_hash({}, count) for count in (None, 0, 1, 2)}) == 4


def test_a_dump_has_go_names_and_types() -> None:
    text = dump_template({"spec": {"containers": [{"name": "main", "image": "nginx"}], "priority": 3}})
    assert text.startswith("(v1.PodTemplateSpec){ObjectMeta:(v1.ObjectMeta){Name:(string) ")
    assert "Containers:([]v1.Container)[{Name:(string)main Image:(string)nginx Command:([]string)<nil> " in text
    assert "Priority:(*int32)3 " in text


def test_fnv32a_and_its_text_are_those_of_the_references() -> None:
    assert [fnv32a(data) for data in (b"", b"a", b"foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]
    assert safe_encoded("0123456789") == "456789bcdf"


def test_pod_template_spec_hash_has_no_collision_among_similar_templates() -> None:
    def template(version: int) -> dict[str, Any]:
        container = {"name": "cats", "image": f"registry/test/cats:v0.{version}.0"}
        return {"metadata": {"labels": {"app": "cats"}}, "spec": {"containers": [container]}}

    assert len({template_hash(template(version)) for version in range(200)}) == 200
