"""Python's names in documents are found where the class at that place knows them, and nowhere else."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from pilotage.meta.markers import PreserveUnknownFields
from pilotage.meta.models import Model, Resource, resource
from pilotage.meta.wirenames import Misnamed, misnamed_fields, misnamed_operations
from pilotage.types.apps.v1 import Deployment


class Page(Model):
    short_title: str = ""
    inner_pages: list[Page] = []


class Loose(Model, markers=[PreserveUnknownFields()]):
    dark_mode: bool = False


class SiteSpec(Model):
    theme_ref: str = ""
    from_: str = msgspec.field(name="from", default="")
    under_score: str = msgspec.field(name="under_score", default="")
    front_page: Page | None = None
    all_pages: list[Page] = []
    by_path: dict[str, Page] = {}
    free_form: dict[str, Any] = {}
    kept: Annotated[Page, PreserveUnknownFields()] | None = None
    loose: Loose | None = None


@resource(group="tests.pilotage.dev", version="v1")
class Site(Resource):
    spec: SiteSpec


@pytest.mark.parametrize(
    ("document", "path", "wire_path"),
    [
        ({"spec": {"theme_ref": "dark"}}, "spec.theme_ref", "spec.themeRef"),
        ({"spec": {"theme_ref": None}}, "spec.theme_ref", "spec.themeRef"),
        ({"spec": {"from_": "here"}}, "spec.from_", "spec.from"),
        ({"spec": {"front_page": {}}}, "spec.front_page", "spec.frontPage"),
        ({"spec": {"frontPage": {"short_title": ""}}}, "spec.frontPage.short_title", "spec.frontPage.shortTitle"),
        (
            {"spec": {"allPages": [{}, {"innerPages": [{"short_title": ""}]}]}},
            "spec.allPages[1].innerPages[0].short_title",
            "spec.allPages[1].innerPages[0].shortTitle",
        ),
        (
            {"spec": {"byPath": {"/a": {"short_title": ""}}}},
            "spec.byPath[/a].short_title",
            "spec.byPath[/a].shortTitle",
        ),
        ({"metadata": {"owner_references": []}}, "metadata.owner_references", "metadata.ownerReferences"),
        ({"api_version": "v1"}, "api_version", "apiVersion"),
    ],
)
def test_a_python_name_is_found_with_its_path(document: dict[str, Any], path: str, wire_path: str) -> None:
    assert misnamed_fields(document, Site) == [Misnamed(path, wire_path)]


@pytest.mark.parametrize(
    "document",
    [
        {"spec": {"themeRef": "dark", "from": "here", "under_score": "the API's own"}},
        {"spec": {"not_ours": 1, "neitherThis": {"theme_ref": 1}}},  # perhaps the server knows it
        {"spec": {"freeForm": {"theme_ref": 1}}},
        {"spec": {"kept": {"short_title": "kept as it is"}}},
        {"spec": {"loose": {"dark_mode": True}}},
        {"metadata": {"labels": {"theme_ref": "a"}, "annotations": {"owner_references": "b"}}},
        {"spec": None},
        {"spec": {"allPages": None, "byPath": "nonsense", "frontPage": ["nonsense"]}},
        {"spec": {"$patch": "replace", "$retainKeys": ["themeRef"]}},
        {"spec": {"frontPage": Page(short_title="a")}},  # encoded under the API's names
    ],
)
def test_other_names_are_left_alone(document: dict[str, Any]) -> None:
    assert misnamed_fields(document, Site) == []


def test_built_in_types_know_their_names() -> None:
    document = {"spec": {"template": {"spec": {"service_account_name": "a", "containers": [{"volume_mounts": []}]}}}}
    assert misnamed_fields(document, Deployment) == [
        Misnamed("spec.template.spec.service_account_name", "spec.template.spec.serviceAccountName"),
        Misnamed("spec.template.spec.containers[0].volume_mounts", "spec.template.spec.containers[0].volumeMounts"),
    ]


@pytest.mark.parametrize(
    ("operation", "path", "wire_path"),
    [
        ({"op": "add", "path": "/spec/theme_ref", "value": "a"}, "/spec/theme_ref", "/spec/themeRef"),
        (
            {"op": "remove", "path": "/spec/all_pages/0/short_title"},
            "/spec/all_pages/0/short_title",
            "/spec/allPages/0/shortTitle",
        ),
        (
            {"op": "remove", "path": "/spec/byPath/~1a/short_title"},
            "/spec/byPath/~1a/short_title",
            "/spec/byPath/~1a/shortTitle",
        ),
        (
            {"op": "move", "from": "/spec/theme_ref", "path": "/spec/from"},
            "/spec/theme_ref",
            "/spec/themeRef",
        ),
        (
            {"op": "add", "path": "/spec/allPages/-", "value": {"short_title": ""}},
            "/spec/allPages/-.short_title",
            "/spec/allPages/-.shortTitle",
        ),
        (
            {"op": "add", "path": "/spec/allPages", "value": [{"short_title": ""}]},
            "/spec/allPages[0].short_title",
            "/spec/allPages[0].shortTitle",
        ),
        ({"op": "replace", "path": "", "value": {"spec": {"theme_ref": ""}}}, "spec.theme_ref", "spec.themeRef"),
    ],
)
def test_a_json_patch_is_searched_in_paths_and_values(operation: dict[str, Any], path: str, wire_path: str) -> None:
    assert misnamed_operations([operation], Site) == [Misnamed(path, wire_path)]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/spec/freeForm/theme_ref", "value": {"short_title": 1}},
        {"op": "add", "path": "/metadata/labels/theme_ref", "value": "a"},
        {"op": "add", "path": "/spec/kept/short_title", "value": "a"},
        {"op": "add", "path": "spec/theme_ref", "value": "no pointer"},
        {"op": "add", "path": 5},
        {"op": "add", "path": "/spec/other_thing/theme_ref", "value": "a"},
        "nonsense",
    ],
)
def test_other_operations_are_left_alone(operation: Any) -> None:
    assert misnamed_operations([operation], Site) == []
