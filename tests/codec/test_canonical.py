from __future__ import annotations

import random

import pytest

from pilotage.codec.canonical import canonical_form
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import GroupVersionKind
from tests.kubernetes.mutations import mutated
from tests.server.recordings.cases import load_bases

BASES = {name: base for name, base in load_bases().items() if "object" in base}
POLICY = GroupVersionKind("networking.k8s.io", "v1", "NetworkPolicy")


def gvk_of(base: Document) -> GroupVersionKind:
    return GroupVersionKind(base["group"], base["version"], base["kind"])


@pytest.mark.parametrize("name", BASES)
def test_the_form_of_a_form_is_the_same(name: str) -> None:
    given = copied(BASES[name]["object"])
    form = canonical_form(gvk_of(BASES[name]), given)
    assert form is not None
    assert given == BASES[name]["object"], "the document itself is left alone"
    assert canonical_form(gvk_of(BASES[name]), form) == form


@pytest.mark.parametrize("name", BASES)
def test_no_document_is_an_error(name: str) -> None:
    chance = random.Random(name)
    for _ in range(20):
        canonical_form(gvk_of(BASES[name]), mutated(BASES[name]["object"], chance))


@pytest.mark.parametrize(
    ("gvk", "spec"),
    [
        (GroupVersionKind("example.com", "v1", "Widget"), {}),
        (POLICY, {"ofANewerRelease": 1}),
        (POLICY, {"ingress": "x"}),
    ],
)
def test_a_kind_or_a_field_that_is_not_known_has_no_form(gvk: GroupVersionKind, spec: Document) -> None:
    assert canonical_form(gvk, {"metadata": {"name": "a"}, "spec": spec}) is None
