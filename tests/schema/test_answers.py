"""Our verdicts against those of a real kube-apiserver 1.36, which `answers/*.json` holds case by case."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pilotage.errors import Cause
from pilotage.schema.definition import apply_definition_defaults, definition_causes
from pilotage.schema.structural import StructuralSchema

ANSWERS = Path(__file__).parent / "answers"


@cache
def read(name: str) -> tuple[Any, list[Any]]:
    content = json.loads((ANSWERS / f"{name}.json").read_text())
    return content["schema"], content["cases"]


def cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["title"]) for case in read(name)[1]]


def rows(found: list[Cause]) -> list[list[str]]:
    return sorted([cause.reason, cause.field, cause.message] for cause in found)


@pytest.fixture(scope="module")
def compiled() -> dict[str, StructuralSchema]:
    return {name: StructuralSchema.compile(read(name)[0]) for name in ("objects", "rules", "ratcheting")}


@pytest.mark.parametrize("case", cases("objects"))
def test_a_document_gets_the_causes_that_kubernetes_gives(case: Any, compiled: dict[str, StructuralSchema]) -> None:
    document = copy.deepcopy(case["document"])
    schema = compiled["objects"]
    schema.prune(document)
    schema.default(document)
    assert rows(schema.validate(document)) == case["causes"]
    if "after" in case:
        assert document["spec"] == case["after"]


@pytest.mark.parametrize("case", cases("rules"))
def test_rules_say_what_they_say_in_kubernetes(case: Any, compiled: dict[str, StructuralSchema]) -> None:
    schema = compiled["rules"]
    document = copy.deepcopy(case["document"])
    schema.prune(document)
    schema.default(document)
    assert rows(schema.validate(document, case.get("old"))) == case["causes"]


@pytest.mark.parametrize("case", cases("ratcheting"))
def test_an_update_may_keep_what_it_did_not_change(case: Any, compiled: dict[str, StructuralSchema]) -> None:
    found = compiled["ratcheting"].validate(case["document"], case["old"])
    assert rows(found) == case["causes"]


@pytest.mark.parametrize("name", ["estimates", "usual_rules"])
def test_rules_with_wrong_types_or_high_costs_are_rejected_where_kubernetes_rejects_them(name: str) -> None:
    base, cases = read(name)
    different = {case["title"]: found for case in cases if (found := rejections(base, case)) != case["causes"]}
    assert different == {}
    assert cases


def rejections(base: Any, case: Any) -> list[list[str | None]]:
    """What a definition with the rules of a case is rejected for."""
    spec = {**base, "x-kubernetes-validations": case.get("rules")}
    schema = case.get("schema") or {"type": "object", "properties": {"spec": spec}}
    definition = copy.deepcopy(read("definitions")[1][0]["definition"])
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    apply_definition_defaults(definition)
    # The messages of the compilers differ in words. Those of the costs have the factor, and are the same.
    return [
        [reason, field, message if reason == "FieldValueForbidden" else None]
        for reason, field, message in rows(definition_causes(definition))
    ]


@pytest.mark.parametrize("case", cases("definitions"))
def test_a_definition_gets_the_causes_that_kubernetes_gives(case: Any) -> None:
    definition = copy.deepcopy(case["definition"])
    apply_definition_defaults(definition)
    assert rows(definition_causes(definition)) == case["causes"]
