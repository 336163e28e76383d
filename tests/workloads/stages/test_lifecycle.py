"""Which stage comes next, when, and what it does."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.meta.patches import json_patch
from pilotage.meta.text import yamltext
from pilotage.workloads.stages import stagefiles
from pilotage.workloads.stages.actions import Finalizer, Finalizers
from pilotage.workloads.stages.filestage import FileStage
from pilotage.workloads.stages.lifecycle import Lifecycle
from pilotage.workloads.stages.moment import Moment
from pilotage.workloads.stages.native import NativeStage
from pilotage.workloads.stages.stage import Apply, Delete, Event, Patch, ResourceRef, StageFailed, Step

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MOMENT = Moment(now=NOW)
POD = ResourceRef("v1", "Pod")


def stage(name: str = "s", kind: str = "Pod", group: str = "v1", **spec: Any) -> FileStage:
    spec = {"resourceRef": {"kind": kind, "apiGroup": group}, "selector": {}, **spec}
    document = {"apiVersion": stagefiles.API_VERSION, "kind": "Stage", "metadata": {"name": name}, "spec": spec}
    (found,) = stagefiles.parse(yamltext.write(document), "f.yaml")
    return found


def chosen(*stages: FileStage, document: dict[str, Any] | None = None, times: int = 400) -> Counter[str]:
    """How often each stage is chosen."""
    lifecycle, random = Lifecycle(stages), Random(1)
    choices = [lifecycle.choose("v1", "Pod", document or {}, random) for _ in range(times)]
    return Counter(choice.name if choice else "none" for choice in choices)


def weighted(name: str, weight: int, expression: str = "") -> FileStage:
    return stage(name, weight=weight, weightFrom={"expressionFrom": expression} if expression else None)


def test_stages_are_chosen_by_weight() -> None:
    found = chosen(weighted("a", 1), weighted("b", 3), weighted("zero", 0))
    assert set(found) == {"a", "b"}
    assert 2 < found["b"] / found["a"] < 4


def test_stages_without_weights_are_equally_likely() -> None:
    found = chosen(weighted("a", 0), weighted("b", 0))
    assert found["a"] > 150 < found["b"]


def test_a_stage_whose_weight_is_empty_is_chosen_only_if_there_is_no_other() -> None:
    empty = weighted("empty", 5, '.missing // ""')
    assert set(chosen(empty, weighted("a", 0))) == {"a"}
    assert set(chosen(empty)) == {"empty"}
    assert set(chosen(empty, weighted("empty too", 5, '.missing // ""'))) == {"empty", "empty too"}


@pytest.mark.parametrize(
    ("value", "weight"),
    [("7", 7), ("0x10", 16), ("010", 8), (3, 3), (2.9, 2), ("x", None), ("", None), (None, 5), (True, 5), ([], 5)],
)
def test_a_weight_comes_from_the_object(value: Any, weight: int | None) -> None:
    assert weighted("s", 5, ".w").weight({"w": value}) == weight


def test_a_stage_is_for_its_kind_only() -> None:
    lifecycle = Lifecycle([stage("d", kind="Deployment", group="apps/v1")])
    assert lifecycle.resources == [ResourceRef("apps/v1", "Deployment")]
    assert lifecycle.choose("v1", "Pod", {}, Random()) is None
    found = lifecycle.choose("apps/v1", "Deployment", {}, Random())
    assert found is not None
    assert found.name == "d"


def test_a_stage_without_a_selector_matches_nothing() -> None:
    assert not stage(selector=None).matches({})
    assert stage(selector={}).matches({})


@pytest.mark.parametrize(
    ("requirement", "matching", "others"),
    [
        ({"key": ".a", "operator": "Exists"}, [1, False, "", [], {}], [None]),
        ({"key": ".a", "operator": "DoesNotExist"}, [None], [1, False, "", [], {}]),
        ({"key": ".a", "operator": "In", "values": ["x", "true", "1"]}, ["x", True, "1"], [None, "y", 1, False, ["x"]]),
        ({"key": ".a", "operator": "NotIn", "values": ["x", "true", "1"]}, [None, "y", 1, False], ["x", True, "1"]),
        ({"key": ".a.b", "operator": "NotIn", "values": ["x"]}, [None, "text", {"b": "y"}], [{"b": "x"}]),
        ({"key": ".a.b", "operator": "Exists"}, [{"b": "x"}], [None, "text", {"b": None}]),
        ({"jq": {"key": ".a[]", "operator": "In", "values": ["x"]}}, [["y", "x"], {"k": "x"}], [None, [], "x", ["y"]]),
        ({"key": ".a | length", "operator": "In", "values": ["2"]}, [[1, 2], "ab"], [None, 2, [1], True]),
    ],
)
def test_requirements_match_as_in_kwok(requirement: dict[str, Any], matching: list[Any], others: list[Any]) -> None:
    """A number of the object equals no text; a number that the expression computes does."""
    found = stage(selector={"matchExpressions": [requirement]})
    assert [value for value in matching if not found.matches({"a": value})] == []
    assert [value for value in others if found.matches({"a": value})] == []


def test_labels_and_annotations_match_exactly() -> None:
    found = stage(selector={"matchLabels": {"a": "1"}, "matchAnnotations": {"b": "2"}})
    assert found.matches({"metadata": {"labels": {"a": "1", "c": "3"}, "annotations": {"b": "2"}}})
    assert not found.matches({"metadata": {"labels": {"a": "1"}}})
    assert not found.matches({"metadata": {"labels": None, "annotations": {"b": "2"}}})
    assert not found.matches({})


def test_a_cel_expression_that_fails_fails_the_stage() -> None:
    found = stage(selector={"matchExpressions": [{"cel": {"expression": "self.spec.x == 'y'"}}]})
    assert found.matches({"spec": {"x": "y"}})
    with pytest.raises(StageFailed, match=r"Stage s: spec\.selector: no such key: x"):
        found.matches({"spec": {}})


@pytest.mark.parametrize(
    ("delay", "expected"),
    [
        ({}, (0.0,)),
        ({"durationMilliseconds": 1500}, (1.5,)),
        ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 5000}, (1.0, 5.0)),
        ({"durationMilliseconds": 5000, "jitterDurationMilliseconds": 1000}, (1.0,)),
        ({"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": ".d"}}, (90.0,)),
        ({"durationFrom": {"expressionFrom": ".t"}}, (10.0,)),
        ({"durationFrom": {"expressionFrom": ".past"}}, (-5.0,)),
        ({"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": ".missing"}}, (1.0,)),
        ({"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": ".word"}}, (1.0,)),
        ({"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": ".empty"}}, ()),
        ({"durationMilliseconds": 1000, "jitterDurationFrom": {"jq": {"expression": ".t"}}}, (1.0, 10.0)),
        ({"durationMilliseconds": 1000, "jitterDurationFrom": {"jq": {"expression": ".missing"}}}, (1.0,)),
        ({"durationFrom": {"cel": {"expression": "duration('3s')"}}}, (3.0,)),
        ({"durationFrom": {"cel": {"expression": "self.d"}}}, (90.0,)),
    ],
)
def test_a_delay_is_constant_or_comes_from_the_object(delay: dict[str, Any], expected: tuple[float, ...]) -> None:
    document = {"d": "1m30s", "t": "2026-01-02T03:04:15Z", "past": "2026-01-02T03:04:00Z", "word": "x", "empty": ""}
    found = stage(delay=delay)
    assert found.delay_range(document, NOW) == expected
    seconds = found.delay(document, NOW, Random(1))
    assert max(0.0, min(expected, default=0.0)) <= seconds <= max(0.0, *expected, 0.0)


def test_a_stage_without_a_delay_acts_at_once() -> None:
    assert stage().delay({}, NOW, Random()) == 0.0


def test_the_actions_of_next_are_event_finalizers_patches_and_deletion() -> None:
    found = stage(
        next={
            "delete": True,
            "statusTemplate": "phase: {{ .p }}",
            "finalizers": {"add": [{"value": "x/y"}]},
            "event": {"type": "Normal", "reason": "R", "message": "{{ not a template }}"},
        },
        immediateNextStage=True,
    )
    step = found.step({"p": "Running"}, MOMENT)
    finalizers = [{"op": "add", "path": "/metadata/finalizers", "value": ["x/y"]}]
    assert step == Step(
        (
            Event("Normal", "R", "{{ not a template }}"),
            Patch("json", finalizers),
            Patch("strategic", {"status": {"phase": "Running"}}, "status"),
            Delete(),
        ),
        immediate=True,
    )
    assert (step.deletes, len(step.patches), len(step.events)) == (True, 2, 1)


def test_patches_are_strategic_for_pods_and_nodes_only() -> None:
    after = {"statusTemplate": "a: 1"}
    kinds = [("Pod", "v1"), ("Node", "v1"), ("Service", "v1"), ("Pod", "other/v1")]
    patches = [stage(kind=kind, group=group, next=after).step({}, MOMENT).patches[0] for kind, group in kinds]
    assert [patch.type for patch in patches] == ["strategic", "strategic", "merge", "merge"]


def test_a_patch_has_a_root_and_a_type() -> None:
    operations = json.dumps([{"op": "add", "path": "/a", "value": 1}])
    found = stage(
        steps=[
            {"patch": {"type": "json", "root": "metadata", "template": operations}},
            {"patch": {"type": "merge", "template": "a: 1", "subresource": "scale"}},
            {"apply": {"template": "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"}},
        ]
    )
    assert found.step({}, MOMENT).actions == (
        Patch("json", [{"op": "add", "path": "/metadata/a", "value": 1}]),
        Patch("merge", {"a": 1}, "scale"),
        Apply("apply", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}),
    )


def test_only_events_follow_a_deletion() -> None:
    patch = {"patch": {"template": "a: 1"}}
    found = stage(steps=[patch, {"delete": True}, patch, {"event": {"type": "Normal", "reason": "Deleted"}}])
    names = [type(action).__name__ for action in found.step({}, MOMENT).actions]
    assert names == ["Patch", "Delete", "Event"]


FAILURES = {
    "a: {{ index .list 3 }}": "spec.next.statusTemplate line 1: index out of range: 3 in {{index .list 3}}",
    "a: b: c": "spec.next.statusTemplate: the document is not YAML: mapping values are not allowed in this context",
}


@pytest.mark.parametrize(("template", "message"), FAILURES.items())
def test_a_template_that_fails_names_stage_field_and_line(template: str, message: str) -> None:
    with pytest.raises(StageFailed) as raised:
        stage(next={"statusTemplate": template}).step({"list": []}, MOMENT)
    assert str(raised.value).startswith(f"Stage s: {message}")


@pytest.mark.parametrize("template", ["a: 1", "[1]", "[{op: add}]"])
def test_a_json_patch_is_a_list_of_operations(template: str) -> None:
    with pytest.raises(StageFailed, match="a JSON patch must be a list of operations with paths"):
        stage(steps=[{"patch": {"type": "json", "template": template}}]).step({}, MOMENT)


def test_an_applied_object_has_a_kind() -> None:
    with pytest.raises(StageFailed, match="the object must have apiVersion and kind"):
        stage(steps=[{"apply": {"template": "a: 1"}}]).step({}, MOMENT)


def changed(add: tuple[str, ...] = (), remove: tuple[str, ...] = (), *, empty: bool = False) -> Finalizers:
    return Finalizers([Finalizer(each) for each in add], [Finalizer(each) for each in remove], empty)


@pytest.mark.parametrize(
    ("change", "current", "after"),
    [
        (changed(add=("a",)), [], ["a"]),
        (changed(add=("a", "b")), ["b"], ["b", "a"]),
        (changed(remove=("a",)), ["a", "b", "a"], ["b"]),
        (changed(remove=("a",)), ["a"], None),
        (changed(remove=("a",)), ["b"], ["b"]),
        (changed(remove=("a",), add=("c",)), ["a", "b"], ["b", "c"]),
        (changed(remove=("a",), add=("c",)), ["a"], ["c"]),
        (changed(empty=True), ["a", "b"], None),
        (changed(empty=True), [], None),
        (changed(empty=True, add=("c",)), ["a"], ["c"]),
    ],
)
def test_finalizers_are_added_and_removed(change: Finalizers, current: list[str], after: list[str] | None) -> None:
    document: dict[str, Any] = {"metadata": {"finalizers": current} if current else {}}
    patched = json_patch.apply(document, change.operations(current))
    assert patched["metadata"].get("finalizers") == after


def test_a_native_stage_is_a_stage_beside_those_of_files() -> None:
    def finish(document: dict[str, Any], moment: Moment) -> Step:
        return Step((Patch("merge", {"status": {"phase": "Succeeded", "at": moment.now.year}}, "status"),))

    native = NativeStage(
        "finish",
        POD,
        finish,
        selects=lambda document: document["status"]["phase"] == "Running",
        waits=lambda document, now, random: -1.0,
    )
    lifecycle = Lifecycle([native, stage("file", selector={"matchLabels": {"a": "b"}})])
    document = {"status": {"phase": "Running"}}
    found = lifecycle.choose("v1", "Pod", document, Random())
    assert found is native
    assert found.delay(document, NOW, Random()) == 0.0
    assert found.step(document, MOMENT).patches[0].document == {"status": {"phase": "Succeeded", "at": 2026}}
    assert lifecycle.choose("v1", "Pod", {"status": {"phase": "Failed"}}, Random()) is None


def test_a_native_stage_has_no_negative_weight() -> None:
    with pytest.raises(InvalidDefinition, match="the stage s has the weight -1: it must be at least 0"):
        NativeStage("s", POD, lambda document, moment: Step(()), chance=-1)
