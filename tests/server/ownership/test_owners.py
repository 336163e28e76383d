from __future__ import annotations

from pilotage.kubernetes.core.namespacecontents import NamespaceContents
from pilotage.server.ownership.owners import set_owner

from ..registries import CONFIG_MAPS, opened


def test_a_manager_owns_all_that_an_object_has() -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "aggregationRule": {"clusterRoleSelectors": []},
        "rules": [],
    }
    set_owner(role, "kube-apiserver", "now")
    assert role["metadata"]["managedFields"] == [  # type: ignore[index]
        {
            "manager": "kube-apiserver",
            "operation": "Update",
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "time": "now",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:x": {}}},
                "f:aggregationRule": {".": {}, "f:clusterRoleSelectors": {}},
                "f:rules": {},
            },
        }
    ]


async def test_the_certificate_authority_of_a_namespace_belongs_to_the_controller_manager() -> None:
    async with opened(contents=NamespaceContents("PEM")) as api:
        found = await api.get(CONFIG_MAPS, "kube-root-ca.crt", "default")
        [entry] = found["metadata"]["managedFields"]
        assert (entry["manager"], entry["fieldsV1"]["f:data"]) == (
            "kube-controller-manager",
            {".": {}, "f:ca.crt": {}},
        )
