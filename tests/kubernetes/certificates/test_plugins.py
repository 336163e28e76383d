from __future__ import annotations

import base64
from typing import Any

import pytest

from pilotage.errors import Forbidden
from pilotage.kubernetes.certificates.plugins import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, User, Verb
from pilotage.server.access.rbac import Authorizer
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import PluginContext
from pilotage.storage.interface import Put
from pilotage.storage.memory import MemoryStorage

REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
SIGNER = "example.com/one"
ANN = User("ann")


def writing(subresource: str, new: Document, old: Document, user: User = ANN) -> Attributes:
    request = APIRequest(Verb.UPDATE, REQUESTS, name="a", subresource=subresource, user=user)
    return Attributes(Operation.UPDATE, request, new, old)


def request(**status: Any) -> Document:
    return {"metadata": {"name": "a"}, "spec": {"signerName": SIGNER}, "status": status}


async def allowed(verb: str, name: str) -> PluginContext:
    """A context in which ann may do this for signers of this name."""
    storage, prefix = MemoryStorage(), "/t/rbac.authorization.k8s.io/"
    rule = (
        f'{{"verbs":["{verb}"],"apiGroups":["certificates.k8s.io"],"resources":["signers"],"resourceNames":["{name}"]}}'
    )
    head = '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"%s","metadata":{"name":"r"},'
    role = (head % "ClusterRole") + f'"rules":[{rule}]}}'
    subject = '{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"ann"}'
    reference = '{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r"}'
    binding = (head % "ClusterRoleBinding") + f'"subjects":[{subject}],"roleRef":{reference}}}'
    await storage.commit(
        Put(prefix + "clusterroles/r", role.encode()), Put(prefix + "clusterrolebindings/r", binding.encode())
    )
    return PluginContext(storage, "/t/", str, Authorizer(storage, "/t/"))


@pytest.mark.parametrize("name", [SIGNER, "example.com/*"])
async def test_the_permission_is_for_a_signer_or_for_all_of_its_domain(name: str) -> None:
    await CertificateApproval(await allowed("approve", name)).validate(writing("approval", request(), request()))


async def test_without_the_permission_a_request_is_not_approved() -> None:
    plugin = CertificateApproval(await allowed("approve", "example.com/other"))
    reason = f'user not permitted to approve requests with signerName "{SIGNER}"'
    with pytest.raises(Forbidden, match=reason):
        await plugin.validate(writing("approval", request(), request()))
    await plugin.validate(writing("", request(), request()))
    await plugin.validate(writing("approval", request(), request(), User()))


async def test_only_who_may_sign_writes_a_certificate() -> None:
    plugin = CertificateSigning(await allowed("approve", SIGNER))
    await plugin.validate(writing("status", request(), request()))
    with pytest.raises(Forbidden, match="not permitted to sign"):
        await plugin.validate(writing("status", request(certificate="x"), request()))
    await CertificateSigning(await allowed("sign", SIGNER)).validate(
        writing("status", request(certificate="x"), request())
    )


@pytest.mark.parametrize(("group", "refused"), [(b"system:masters", True), (b"system:nodes", False)])
async def test_no_client_certificate_is_for_masters(group: bytes, refused: bool) -> None:
    der = b"\x30\x20\x06\x03\x55\x04\x0a\x0c" + bytes([len(group)]) + group
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.b64encode(der) + b"\n-----END CERTIFICATE REQUEST-----\n"
    spec = {"signerName": "kubernetes.io/kube-apiserver-client", "request": base64.b64encode(pem).decode()}
    document = {"metadata": {"name": "a"}, "spec": spec}
    attributes = Attributes(Operation.CREATE, APIRequest(Verb.CREATE, REQUESTS), document, None)
    plugin = CertificateSubjectRestriction(PluginContext(MemoryStorage(), "/t/", str))
    if refused:
        with pytest.raises(Forbidden, match="system:masters group is not allowed"):
            await plugin.validate(attributes)
    else:
        await plugin.validate(attributes)
