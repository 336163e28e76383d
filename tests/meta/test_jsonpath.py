from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import InvalidDefinition
from pilotage.meta import jsonpath

DOCUMENT = {
    "metadata": {"name": "a", "labels": {"example.com/tier": "web"}},
    "spec": {"size": 3, "items": [{"name": "x", "n": 1}, {"name": "y", "n": 2}, {"other": True}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".metadata.name", ["a"]),
        ("metadata.name", ["a"]),
        ("$.metadata.name", ["a"]),
        (".spec.missing", []),
        (".missing.deep.down", []),
        (r".metadata.labels.example\.com/tier", ["web"]),
        (".metadata.labels['example.com/tier']", ["web"]),
        ('.metadata["name"]', ["a"]),
        (".spec.items[0].name", ["x"]),
        (".spec.items[-1].other", [True]),
        (".spec.items[0:2].name", ["x", "y"]),
        (".spec.items[*].name", ["x", "y"]),
        (".spec.items[0,1].n", [1, 2]),
        (".metadata['name','labels']", ["a", {"example.com/tier": "web"}]),
        (".spec.items[0:2]['name','n']", ["x", "y", 1, 2]),
        ("['metadata.name','spec.size']", ["a", 3]),
        (r".metadata.labels['example\.com/tier']", ["web"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type != 'Ready')].status", ["False"]),
        (".spec.items[?(@.n > 1)].name", ["y"]),
        (".spec.items[?(@.n <= 1)].name", ["x"]),
        (".spec.items[?(@.other)].other", [True]),
        ("..status", [DOCUMENT["status"], "True", "False"]),
        (".metadata.labels.*", ["web"]),
    ],
)
def test_a_path_selects_values(path: str, found: list[Any]) -> None:
    assert jsonpath.parse(path).find(DOCUMENT) == found


@pytest.mark.parametrize(
    "path", [".spec.size.deep", ".metadata[0]", ".spec.items[9]", ".metadata[?(@.x)]", ".spec[0:1]", ".spec.items[0:9]"]
)
def test_a_step_that_does_not_fit_the_value_is_an_error(path: str) -> None:
    with pytest.raises(jsonpath.UnfitValueError):
        jsonpath.parse(path).find(DOCUMENT)


@pytest.mark.parametrize("path", [".a[", ".a[x]", ".a[?()]", ".a['b]", ".a..", "a b", ".a[?(@.b == zzz)]", ".a" * 65])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidDefinition, match="JSONPath"):
        jsonpath.parse(path)


def test_a_path_that_multiplies_is_stopped() -> None:
    deep: Any = 1
    for _ in range(12):
        deep = [deep] * 4
    with pytest.raises(jsonpath.UnfitValueError, match="more than"):
        jsonpath.parse("[*]" * 12).find(deep)


@given(st.text(alphabet=".[]'\"*?()@=<>:,-0123abc\\ $", max_size=40))
def test_any_text_is_a_path_or_is_refused(text: str) -> None:
    try:
        path = jsonpath.parse(text)
    except InvalidDefinition:
        return
    with suppress(jsonpath.UnfitValueError):
        path.find(DOCUMENT)
