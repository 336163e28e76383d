"""What is known of the built-in kinds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.types import builtin
from pilotage.types.apps.v1 import Deployment
from pilotage.types.autoscaling.v1 import Scale
from pilotage.types.core.v1 import Pod

DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
PODS = GroupVersionResource("", "v1", "pods")


def test_each_resource_agrees_with_its_type() -> None:
    for mapping in builtin.resources():
        kind = builtin.type_for(mapping.gvk)
        assert kind is not None, mapping
        info = kind.__resource__
        assert (info.gvk, info.plural, info.singular) == (mapping.gvk, mapping.resource.resource, mapping.singular)
        assert (info.short_names, info.categories) == (mapping.short_names, mapping.categories)
        assert (info.namespaced, info.builtin) == (mapping.namespaced, True)
        assert info.status == ("status" in mapping.subresources)
        assert (info.scale is not None) == ("scale" in mapping.subresources)


def test_each_kind_with_a_type_is_found_back_from_it() -> None:
    found = {gvk: builtin.type_for(gvk) for gvk in builtin.kinds()}
    assert all(kind.__resource__.gvk == gvk for gvk, kind in found.items() if kind is not None)
    assert len([kind for kind in found.values() if kind is not None]) > len(builtin.resources())
    assert found[GroupVersionKind("autoscaling", "v1", "Scale")] is Scale


def test_kinds_without_a_type_have_none() -> None:
    assert builtin.type_for(GroupVersionKind("demo.example.com", "v1", "Database")) is None
    assert builtin.type_for(GroupVersionKind("", "v1", "PodList")) is None
    assert builtin.type_for(GroupVersionKind("", "v1", "Status")) is None


def test_the_core_group_is_there_with_verbs_subresources_and_short_names() -> None:
    pods = next(mapping for mapping in builtin.resources() if mapping.resource == PODS)
    assert pods.short_names == ("po",)
    assert pods.categories == ("all",)
    assert {"get", "list", "watch", "deletecollection"} <= set(pods.verbs)
    assert {"log", "exec", "status", "eviction"} <= set(pods.subresources)
    assert builtin.type_for(pods.gvk) is Pod


def test_a_subresource_has_the_kind_of_its_body() -> None:
    deployments = GroupVersionResource("apps", "v1", "deployments")
    scale = next(part for part in builtin.subresources(deployments) if part.name == "scale")
    assert scale.gvk == GroupVersionKind("autoscaling", "v1", "Scale")
    assert scale.verbs == ("get", "patch", "update")
    assert builtin.subresources(GroupVersionResource("x.example.com", "v1", "foos")) == ()


def test_a_schema_is_the_callers_own_and_its_references_resolve() -> None:
    schema = builtin.schema(DEPLOYMENT)
    spec = builtin.definition(schema["properties"]["spec"]["allOf"][0]["$ref"])
    assert spec["required"] == ["selector", "template"]
    schema.clear()
    assert builtin.schema(DEPLOYMENT) == builtin.definition("io.k8s.api.apps.v1.Deployment") != {}
    assert builtin.definition_name(DEPLOYMENT) == "io.k8s.api.apps.v1.Deployment"
    assert builtin.type_for(DEPLOYMENT) is Deployment


def test_what_is_not_built_in_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match=r"Database is not a built-in kind"):
        builtin.schema(GroupVersionKind("demo.example.com", "v1", "Database"))
    with pytest.raises(KeyError, match=r"no built-in definition 'nothing'"):
        builtin.definition("nothing")
    assert builtin.definition_name(GroupVersionKind("", "v1", "Nothing")) is None


def test_every_reference_in_the_definitions_resolves() -> None:
    names = set(builtin.definition_names())
    for name in names:
        assert references(builtin.definition(name)) <= names


def references(node: object) -> set[str]:
    if isinstance(node, list):
        return {name for item in node for name in references(item)}
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"].removeprefix(builtin.REFERENCE)} if isinstance(node.get("$ref"), str) else set()
    return own | {name for item in node.values() for name in references(item)}


def test_the_columns_of_a_table_are_known() -> None:
    columns = builtin.columns(PODS)
    assert [column.name for column in columns][:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert columns[0].format == "name"
    assert columns[-1].priority == 1
    assert builtin.columns(GroupVersionResource("x.example.com", "v1", "foos")) == ()


def test_a_lookup_imports_the_one_module_it_needs() -> None:
    program = (
        "import sys; from pilotage.types import builtin; from pilotage.meta.kinds import GroupVersionKind\n"
        "builtin.resources(); builtin.schema(GroupVersionKind('batch', 'v1', 'Job'))\n"
        "print(sorted(name for name in sys.modules if name.startswith('pilotage.types.') and name.endswith('v1')))\n"
        "builtin.type_for(GroupVersionKind('coordination.k8s.io', 'v1', 'Lease'))\n"
        "print(sorted(name for name in sys.modules if name.startswith('pilotage.types.') and name.endswith('v1')))\n"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["[]", "['pilotage.types.coordination.v1']"]
