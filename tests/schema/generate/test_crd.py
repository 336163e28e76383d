from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from pilotage.errors import Cause, InvalidDefinition, MissingExtra
from pilotage.meta.markers import Column, Minimum
from pilotage.meta.models import Model, Resource, resource
from pilotage.schema import definition
from pilotage.schema.definition import definition_causes
from pilotage.schema.generate.crd import crd, crds
from pilotage.types.core.v1 import Pod
from tests.schema.apis import backups, database, resources


class Spec(Model):
    size: int = 1
    free: dict[str, Any] = {}


@resource(group="example.com", version="v1", kind="Thing", short_names=["th"], annotations={"a": "1"})
class ThingV1(Resource):
    spec: Spec


@resource(group="example.com", version="v2", kind="Thing", short_names=["tng"], storage=False, annotations={"b": "2"})
class ThingV2(Resource):
    spec: Spec


@resource(group="example.com", version="v2", kind="Thing")
class ThingStoredToo(Resource):
    spec: Spec


@resource(group="example.com", version="v3", kind="Thing", scope="Cluster", storage=False)
class ThingOfTheCluster(Resource):
    spec: Spec


@resource(group="example.com", version="v3", kind="Thing", storage=False, annotations={"a": "2"})
class ThingWithOtherAnnotation(Resource):
    spec: Spec


def test_the_name_is_plural_and_group() -> None:
    assert crd(database.Database)["metadata"]["name"] == "databases.demo.pilotage.dev"


def test_versions_are_in_kubernetes_order_and_skipped_ones_are_left_out() -> None:
    document = crd(*[cls for cls in resources("backups") if cls is not backups.Policy])
    assert [version["name"] for version in document["spec"]["versions"]] == ["v1", "v1beta1", "v1alpha1"]


def test_several_kinds_become_one_crd_each() -> None:
    kinds = [document["spec"]["names"]["kind"] for document in crds(resources("backups"))]
    assert kinds == ["Backup", "BackupPolicy"]


def test_names_and_metadata_of_all_versions_come_together() -> None:
    document = crd(ThingV1, ThingV2)
    assert document["spec"]["names"]["shortNames"] == ["tng", "th"]
    assert document["metadata"]["annotations"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ((ThingV1, ThingStoredToo), "several versions are storage versions"),
        ((ThingV1, ThingV1), "version v1 is defined twice"),
        ((ThingV1, ThingOfTheCluster), "namespaced is True, but False in"),
        ((ThingV1, ThingWithOtherAnnotation), "annotations have another value for 'a'"),
        (
            (ThingV1, database.Database),
            "takes classes of one kind, not of Thing.example.com and Database.demo.pilotage.dev",
        ),
        ((Pod,), "Pod is built into Kubernetes"),
        ((), "a CRD needs at least one class"),
    ],
)
def test_classes_that_do_not_go_together_are_refused(types: tuple[type[Resource], ...], message: str) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        crd(*types)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.size", "integer"),
        (".metadata.creationTimestamp", "date"),
        (".metadata.labels['app']", "string"),
        (".metadata.ownerReferences[0].name", "string"),
        (".spec.free.anything[*].at.all", "string"),
        (".metadata.annotations.example\\.com/owner", "string"),
    ],
)
def test_a_column_has_the_type_of_what_it_shows(path: str, expected: str) -> None:
    @resource(group="example.com", version="v1", columns=[Column("X", path)])
    class Shown(Resource):
        spec: Spec

    (column,) = crd(Shown)["spec"]["versions"][0]["additionalPrinterColumns"]
    assert column == {"name": "X", "type": expected, "jsonPath": path}


def test_a_default_that_the_schema_refuses_is_named_by_its_python_place() -> None:
    with pytest.raises(InvalidDefinition, match=r"tests\.schema\.generate\.test_crd\.Contradiction\.size: "):
        crd(Contradicting)


class Contradiction(Model):
    size: Annotated[int, Minimum(5)] = 1


@resource(group="example.com", version="v1")
class Contradicting(Resource):
    spec: Contradiction


def test_a_definition_with_rules_can_be_written_without_the_extra_that_checks_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without_cel(document: dict[str, Any]) -> list[Cause]:
        if "x-kubernetes-validations" in str(document):
            raise MissingExtra("a rule", "cel")
        return definition_causes(document)

    monkeypatch.setattr(definition, "definition_causes", without_cel)
    assert crd(database.Database)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"]


def test_a_definition_is_the_callers_own_and_follows_the_class() -> None:
    @resource(group="example.com", version="v1")
    class Changed(Resource):
        spec: Spec

    crd(Changed)["spec"]["names"]["plural"] = "mine"
    assert crd(Changed)["spec"]["names"]["plural"] == "changeds"
    Changed.__resource__ = msgspec.structs.replace(Changed.__resource__, plural="others")
    assert crd(Changed)["spec"]["names"]["plural"] == "others"
