"""What is wrong with an applied document, in the words of kube-apiserver 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.fields import typecheck

from .types import TYPE


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"size": 1, "labels": None, "nested": {"a": None}}, ""),
        ({"size": 1.5}, ""),
        ({"size": "x"}, ".size: expected numeric (int or float), got string"),
        ({"labels": {"a": 1}}, ".labels.a: expected string, got &value.valueUnstructured{Value:1}"),
        ({"labels": "x"}, ".labels: expected map, got &{x}"),
        ({"nested": {"c": 1}}, ".nested.c: field not declared in schema"),
        ({"set": {"a": "b"}}, ".set: expected list, got &{map[a:b]}"),
        ({"set": ["a", "a"]}, '.set: duplicate entries for key [="a"]'),
        ({"set": [None]}, ".set: element 0: associative list without keys has an element that's an explicit null"),
        ({"ports": [{"port": 1}, {"port": 1}]}, '.ports: duplicate entries for key [port=1,protocol="TCP"]'),
        ({"ports": [3]}, ".ports: element 0: associative list with keys may not have non-map elements"),
        (
            {"size": True, "labels": 3},
            "errors:\n  .size: expected numeric (int or float), got bool\n  .labels: expected map, got &{3}",
        ),
    ],
    ids=str,
)
def test_what_does_not_fit(document: Any, problem: str) -> None:
    assert typecheck.problem(TYPE, document) == problem


def test_a_document_that_is_wrong_everywhere_has_a_bounded_error() -> None:
    many = {"labels": {str(number): number for number in range(10_000)}, "atomicList": [["x" * 5000] * 100] * 50}
    assert len(typecheck.problem(TYPE, many)) < 100_000
