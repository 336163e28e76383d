from __future__ import annotations

import pytest

from pilotage.errors import Invalid
from pilotage.kubernetes.resource.claims import ADMIN_ACCESS
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource

from .registries import NAMESPACES, opened

CLAIMS = GroupVersionResource("resource.k8s.io", "v1", "resourceclaims")
TEMPLATES = GroupVersionResource("resource.k8s.io", "v1", "resourceclaimtemplates")
SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}]}}
CLAIM: Document = {"metadata": {"name": "c"}, "spec": SPEC}
TEMPLATE: Document = {"metadata": {"name": "t"}, "spec": {"spec": SPEC}}


@pytest.mark.parametrize(("resource", "document"), [(CLAIMS, CLAIM), (TEMPLATES, TEMPLATE)])
async def test_admin_access_to_devices_needs_a_label_of_the_namespace(
    resource: GroupVersionResource, document: Document
) -> None:
    async with opened() as api:
        with pytest.raises(Invalid) as raised:
            await api.create(resource, document, "default")
        assert [(cause.reason, cause.field) for cause in raised.value.causes] == [
            ("FieldValueForbidden", "spec.devices.requests[0].adminAccess")
        ]
        await api.create(NAMESPACES, {"metadata": {"name": "admin", "labels": {ADMIN_ACCESS: "true"}}})
        await api.create(resource, document, "admin")


async def test_a_claim_without_admin_access_needs_no_label() -> None:
    exactly = {"deviceClassName": "gpu"}
    async with opened() as api:
        await api.create(
            CLAIMS, CLAIM | {"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}, "default"
        )
