"""The data and hashes of revisions, beside what Go writes (`golden.json`, of hack/kubernetes/revisions.go)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pilotage.meta import objects
from pilotage.meta.models import ObjectMeta
from pilotage.types.apps.v1 import ControllerRevision, DaemonSet, StatefulSet
from pilotage.workloads.revisions.data import (
    Owner,
    data_of,
    defaulted_data,
    revision_hash,
    revision_name,
    stored_data,
    template_of,
)

FOLDER = Path(__file__).parent
TEMPLATES: dict[str, Any] = json.loads((FOLDER / "templates.json").read_text())
GOLDEN: dict[str, Any] = json.loads((FOLDER / "golden.json").read_text())
COLLISION_COUNTS = (None, 0, 1, 12)


def owner(kind: type[StatefulSet] | type[DaemonSet], template: Any) -> Owner:
    body = {
        "apiVersion": "apps/v1",
        "kind": kind.__name__,
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    return objects.decode(kind, json.dumps(body).encode())


def test_there_is_golden_data_of_each_template() -> None:
    assert TEMPLATES.keys() == GOLDEN.keys()
    assert len(TEMPLATES) >= 30


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_data_of_a_statefulset_is_that_of_go(name: str) -> None:
    assert data_of(owner(StatefulSet, TEMPLATES[name])).decode() == GOLDEN[name]["statefulSet"]


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_data_of_a_daemonset_is_that_of_go(name: str) -> None:
    assert data_of(owner(DaemonSet, TEMPLATES[name])).decode() == GOLDEN[name]["daemonSet"]


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_hash_is_that_of_go_for_each_collision_count(name: str) -> None:
    data = GOLDEN[name]["statefulSet"].encode()
    assert [revision_hash(data, count) for count in COLLISION_COUNTS] == GOLDEN[name]["hashes"]


def revision(data: str) -> ControllerRevision:
    return ControllerRevision(metadata=ObjectMeta(name="r"), revision=1, data=json.loads(data))


NOT_STORED = {"nothing", "no containers", "large integers"}
"""No server stores a Pod without containers; and what Go writes for the largest integer, Go cannot read again."""


@pytest.mark.parametrize("name", sorted(TEMPLATES.keys() - NOT_STORED))
def test_a_stored_revision_has_the_data_that_was_written_and_the_template(name: str) -> None:
    golden = GOLDEN[name]["statefulSet"]
    restored = owner(StatefulSet, {"spec": {}})
    restored.spec.template = template_of(revision(golden))
    assert stored_data(revision(golden)).decode() == golden
    assert data_of(restored).decode() == golden


def test_a_revision_of_an_older_release_has_the_same_data_once_it_is_defaulted() -> None:
    default = TEMPLATES["as the server defaults it"]
    older = {"$patch": "replace"} | json.loads(json.dumps(default))
    older["metadata"]["creationTimestamp"] = None
    del older["spec"]["schedulerName"]
    stored = revision(json.dumps({"spec": {"template": older}}))
    assert stored_data(stored) != data_of(owner(StatefulSet, default))
    assert defaulted_data(stored) == data_of(owner(StatefulSet, default))


def test_the_name_of_a_long_owner_is_cut() -> None:
    assert revision_name("web", "abc") == "web-abc"
    assert revision_name("n" * 253, "abc") == "n" * 223 + "-abc"
