from __future__ import annotations

import base64
from typing import Any

import pytest

from pilotage.meta.documents import Document
from pilotage.rest.request import User

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("certificatesigningrequests.certificates.k8s.io")

SHA_1_REQUEST = b"""\
-----BEGIN CERTIFICATE REQUEST-----
MIIByjCCATMCAQAwgYkxCzAJBgNVBAYTAlVTMRMwEQYDVQQIEwpDYWxpZm9ybmlh
MRYwFAYDVQQHEw1Nb3VudGFpbiBWaWV3MRMwEQYDVQQKEwpHb29nbGUgSW5jMR8w
HQYDVQQLExZJbmZvcm1hdGlvbiBUZWNobm9sb2d5MRcwFQYDVQQDEw53d3cuZ29v
Z2xlLmNvbTCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEApZtYJCHJ4VpVXHfV
IlstQTlO4qC03hjX+ZkPyvdYd1Q4+qbAeTwXmCUKYHThVRd5aXSqlPzyIBwieMZr
WFlRQddZ1IzXAlVRDWwAo60KecqeAXnnUK+5fXoTI/UgWshre8tJ+x/TMHaQKR/J
cIWPhqaQhsJuzZbvAdGA80BLxdMCAwEAAaAAMA0GCSqGSIb3DQEBBQUAA4GBAIhl
4PvFq+e7ipARgI5ZM+GZx6mpCz44DTo0JkwfRDf+BtrsaC0q68eTf2XhYOsq4fkH
Q0uA0aVog3f5iJxCa3Hp5gxbJQ6zV6kJ0TEsuaaOhEko9sdpCoPOnRBm2i/XRD2D
6iNh8f8z0ShGsFqjDgFHyF3o+lUyj+UC6H1QW7bn
-----END CERTIFICATE REQUEST-----
"""
"""`cryptography` signs nothing with SHA-1."""


@pytest.fixture(scope="module")
def request_text() -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "one")])
    signed = x509.CertificateSigningRequestBuilder().subject_name(name)
    key = ec.generate_private_key(ec.SECP256R1())
    return base64.b64encode(signed.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)).decode()


def signing(request_text: str, **spec: Any) -> Document:
    return {"request": request_text, "signerName": "example.com/s", "usages": ["client auth"]} | spec


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, []),
        ({"request": "eA=="}, ["spec.request"]),
        ({"usages": []}, ["spec.usages"]),
        ({"usages": ["any", "any", "magic"]}, ["spec.usages[2]", "spec.usages[1]"]),
        ({"signerName": "plain"}, ["spec.signerName"]),
        ({"signerName": "kubernetes.io/legacy-unknown"}, ["spec.signerName"]),
        ({"signerName": "com/x"}, ["spec.signerName"]),
        ({"expirationSeconds": 599}, ["spec.expirationSeconds"]),
    ],
)
def test_what_is_wrong_with_a_signing_request(request_text: str, spec: dict[str, Any], wrong: list[str]) -> None:
    assert fields(created(STRATEGY, spec=signing(request_text, **spec))[1]) == wrong


@pytest.mark.parametrize(("replaced", "wrong"), [(b"", []), (b"QW7bn", ["spec.request"])])
def test_a_signature_with_sha_1_is_verified(replaced: bytes, wrong: list[str]) -> None:
    pem = SHA_1_REQUEST.replace(replaced, b"QW7bm") if replaced else SHA_1_REQUEST
    text = base64.b64encode(pem).decode()
    assert fields(created(STRATEGY, spec=signing(text))[1]) == wrong


def test_the_requester_is_the_user_of_the_request() -> None:
    document: Document = {"spec": {"username": "somebody-else", "groups": ["system:masters"]}}
    STRATEGY.set_requester(document, User("admin", ("g",), uid="u"))
    assert document["spec"] == {"username": "admin", "uid": "u", "groups": ["g"]}


def test_an_update_keeps_spec_and_status(request_text: str) -> None:
    old, _ = created(STRATEGY, spec=signing(request_text))
    document, causes = updated(STRATEGY, old, spec={"signerName": "example.com/t"}, status={"certificate": "eA=="})
    assert not causes
    assert (document["spec"], document.get("status")) == (old["spec"], old.get("status"))


def test_a_decision_is_made_by_approval_only(request_text: str) -> None:
    old, _ = created(STRATEGY, spec=signing(request_text))
    status = {"conditions": [{"type": "Approved", "status": "True"}]}
    assert fields(status_written(STRATEGY, old, status=status)[1]) == ["status.conditions"]
    approved = STRATEGY.prepare_for_subresource_update("approval", old | {"status": status}, old)
    assert not list(STRATEGY.validate_subresource_update("approval", approved, old))
    assert approved["status"]["conditions"][0].keys() == {"type", "status", "lastUpdateTime", "lastTransitionTime"}
    both = {"conditions": [*status["conditions"], {"type": "Denied", "status": "True"}]}
    document = STRATEGY.prepare_for_subresource_update("approval", old | {"status": both}, old)
    assert fields(STRATEGY.validate_subresource_update("approval", document, old)) == ["status.conditions"]


def test_a_certificate_is_one_and_stays(request_text: str) -> None:
    old, _ = created(STRATEGY, spec=signing(request_text))
    assert fields(status_written(STRATEGY, old, status={"certificate": "eA=="})[1]) == ["status.certificate"]
    issued = old | {"status": {"certificate": "eA=="}}
    assert fields(status_written(STRATEGY, issued, status={"certificate": ""})[1]) == ["status.certificate"]
