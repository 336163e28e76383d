from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.schema.compatibility.definitions import all_changes, changes
from pilotage.schema.generate.crd import crd, crds
from tests.schema.apis import RIGHT, resources
from tests.schema.apis.backups import Backup, BackupV1Alpha1, BackupV1Beta1
from tests.schema.apis.widgets import Widget

Change = Callable[[dict[str, Any]], object]


def version(document: dict[str, Any], index: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = document["spec"]["versions"][index]
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_what_did_not_change_breaks_nothing(name: str) -> None:
    documents = crds(resources(name))
    assert all_changes(documents, copy.deepcopy(documents)) == []


def serve_less(document: dict[str, Any]) -> None:
    version(document, 1)["served"] = False


def move_storage(document: dict[str, Any]) -> None:
    version(document)["storage"] = False
    version(document, 1)["storage"] = True


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda document: document["spec"].update(scope="Namespaced"), ["break spec.scope"]),
        (lambda document: document["spec"]["names"].update(kind="Copy"), ["break spec.names.kind"]),
        (lambda document: document["spec"]["names"].update(plural="copies"), ["break spec.names.plural"]),
        (lambda document: document["spec"]["versions"].pop(1), ["break spec.versions[v1beta1]"]),
        (serve_less, ["break spec.versions[v1beta1].served"]),
        (move_storage, ["warning spec.versions[v1beta1]"]),
        (lambda document: version(document).update(deprecated=True), ["warning spec.versions[v1].deprecated"]),
        (lambda document: version(document).pop("additionalPrinterColumns"), []),
    ],
)
def test_changes_around_the_schema_are_found(change: Change, expected: list[str]) -> None:
    old = crd(Backup, BackupV1Beta1, BackupV1Alpha1)
    new = copy.deepcopy(old)
    change(new)
    assert [f"{found.level} {found.path}" for found in changes(old, new)] == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda document: version(document)["subresources"].pop("status"),
            ["break spec.versions[v1].subresources.status"],
        ),
        (
            lambda document: version(document)["subresources"].pop("scale"),
            ["break spec.versions[v1].subresources.scale"],
        ),
        (
            lambda document: version(document)["subresources"]["scale"].pop("labelSelectorPath"),
            ["warning spec.versions[v1].subresources.scale"],
        ),
        (lambda document: version(document).pop("selectableFields"), ["break spec.versions[v1].selectableFields"] * 2),
        (lambda document: document["spec"]["names"].update(shortNames=["wd"]), ["warning spec.names.shortNames"]),
    ],
)
def test_lost_ways_to_use_a_kind_are_found(change: Change, expected: list[str]) -> None:
    old = crd(Widget)
    new = copy.deepcopy(old)
    change(new)
    assert [f"{found.level} {found.path}" for found in changes(old, new)] == expected


def test_a_status_that_becomes_a_subresource_breaks_those_who_write_it_with_the_object() -> None:
    old, new = crd(Widget), crd(Widget)
    del version(old)["subresources"]["status"]
    assert [found.level for found in changes(old, new)] == ["break"]


def test_a_stored_version_that_goes_is_found_in_the_status_too() -> None:
    old = crd(Backup, BackupV1Beta1, BackupV1Alpha1) | {"status": {"storedVersions": ["v1alpha1", "v1"]}}
    new = crd(Backup, BackupV1Beta1)
    assert [found.path for found in changes(old, new)] == ["status.storedVersions[v1alpha1]", "spec.versions[v1alpha1]"]


def test_objects_of_the_old_storage_version_must_fit_the_new_one() -> None:
    old = crd(Backup, BackupV1Beta1)
    new = copy.deepcopy(old)
    move_storage(new)
    spec = version(new, 1)["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["days"]
    paths = [found.path for found in changes(old, new) if found.level == "break"]
    assert paths == ["v1 -> v1beta1 .spec.days", "v1beta1 .spec.days"]


def test_a_kind_that_is_gone_loses_its_objects() -> None:
    (change,) = all_changes([crd(Widget)], [])
    assert str(change) == (
        "breaks: widgets.test.pilotage.dev metadata.name: the kind was removed: deleting its CRD deletes all objects"
    )


KEYWORDS = st.sampled_from(
    [
        *(
            "spec",
            "metadata",
            "status",
            "names",
            "versions",
            "name",
            "storage",
            "schema",
            "openAPIV3Schema",
            "properties",
        ),
        *("items", "type", "enum", "minimum", "required", "x-kubernetes-validations", "rule", "subresources", "scale"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=5),
    max_leaves=15,
)


@given(st.dictionaries(KEYWORDS, JSON), st.dictionaries(KEYWORDS, JSON))
def test_documents_of_any_shape_can_be_compared(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert all(isinstance(change.message, str) for change in all_changes([old], [new]))
    assert changes(old, old) == []
