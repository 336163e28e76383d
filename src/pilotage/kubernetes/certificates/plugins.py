"""Plugins about requests for certificates: which users may approve and sign them, and for which signers."""

from __future__ import annotations

import base64
import binascii

from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, forbidden, section

_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
_MASTERS = b"system:masters"


class _SignerPlugin(Plugin):
    """Users need a permission for the signer of a request."""

    async def check(self, attributes: Attributes, verb: str) -> None:
        """Raise Forbidden unless the user may `approve` or `sign` for the signer; in process there is no user."""
        user, authorizer = attributes.user, self.context.authorizer
        if not user.name or authorizer is None:
            return
        signer = str(section(attributes.old, "spec").get("signerName", ""))
        for name in (signer, f"{signer.partition('/')[0]}/*"):
            wanted = AccessAttributes(user, verb, "certificates.k8s.io", "signers", name=name)
            if (await authorizer.authorize(wanted)).allowed:
                return
        raise forbidden(attributes, f'user not permitted to {verb} requests with signerName "{signer}"')


class CertificateApproval(_SignerPlugin):
    """Only users with the permission `approve` for a signer approve or deny its requests."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource == "approval" and attributes.operation is Operation.UPDATE:
            await self.check(attributes, "approve")


class CertificateSigning(_SignerPlugin):
    """Only users with the permission `sign` for a signer write certificates and conditions of its requests."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource != "status" or attributes.operation is not Operation.UPDATE:
            return
        new, old = section(attributes.new, "status"), section(attributes.old, "status")
        if any(new.get(field) != old.get(field) for field in ("certificate", "conditions")):
            await self.check(attributes, "sign")


class CertificateSubjectRestriction(Plugin):
    """No user may request a client certificate of the group that may do everything."""

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.operation is not Operation.CREATE:
            return
        spec = section(attributes.new, "spec")
        if spec.get("signerName") == _CLIENT_SIGNER and _requests_masters(str(spec.get("request", ""))):
            raise forbidden(attributes, f"use of {_CLIENT_SIGNER} signer with system:masters group is not allowed")


def _requests_masters(request: str) -> bool:
    """Whether a certificate request (PEM in base64) has the organization `system:masters` in its subject."""
    try:
        pem = base64.b64decode(request, validate=True).split(b"-----")
        der = base64.b64decode(b"".join(pem[2].split())) if len(pem) > 2 else b""
    except (binascii.Error, ValueError):
        return False  # validation refuses it
    # An organization is the object identifier 2.5.4.10 and a text (UTF8String, PrintableString), each with its length.
    organization, length = b"\x06\x03\x55\x04\x0a", bytes([len(_MASTERS)])
    return any(organization + tag + length + _MASTERS in der for tag in (b"\x0c", b"\x13", b"\x14", b"\x16"))
