from __future__ import annotations

import pytest

from pilotage.meta.finalizers import add_finalizer, contains_finalizer, remove_finalizer
from pilotage.meta.models import ObjectMeta, Resource
from pilotage.meta.unstructured import Unstructured


@pytest.mark.covers("T170")
def test_adding_returns_whether_something_changed() -> None:
    obj = Resource()
    assert add_finalizer(obj, "example.com/a")
    assert not add_finalizer(obj, "example.com/a")
    assert contains_finalizer(obj, "example.com/a")
    assert obj.metadata.finalizers == ["example.com/a"]


def test_removing_takes_every_equal_one() -> None:
    obj = Resource(metadata=ObjectMeta(finalizers=["a", "b", "a"]))
    assert remove_finalizer(obj, "a")
    assert not remove_finalizer(obj, "a")
    assert obj.metadata.finalizers == ["b"]


def test_documents_have_finalizers_too() -> None:
    obj = Unstructured({"metadata": {"name": "a"}})
    assert add_finalizer(obj, "example.com/a")
    assert obj.document["metadata"]["finalizers"] == ["example.com/a"]
