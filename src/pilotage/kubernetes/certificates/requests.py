"""CertificateSigningRequests."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pilotage.errors import Cause
from pilotage.kubernetes.certificates import der, pem
from pilotage.meta.causes import duplicate, forbidden, invalid, required, too_long
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.meta.validation.names import dns_1123_label, dns_1123_subdomain
from pilotage.rest.request import User
from pilotage.rest.users import user_info
from pilotage.server.strategies.checks import fields, items
from pilotage.server.strategies.strategy import Strategy, copy_field

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_DECISIONS = ("Approved", "Denied")
_FINAL = (*_DECISIONS, "Failed")
"""Conditions that are true or absent, and stay."""
_STATUSES = ("False", "True", "Unknown")
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_NO_REQUEST = "PEM block type must be CERTIFICATE REQUEST"
_HEADER = re.compile(rb"^[^\r\n:]+:", re.MULTILINE)


class CertificateSigningRequestStrategy(Strategy):
    """The spec of a signing request is immutable; its approval and its certificate are written once."""

    def set_requester(self, document: Document, user: User) -> None:
        spec = document["spec"]
        for key in ("username", "uid", "groups", "extra"):
            spec.pop(key, None)
        spec |= user_info(user)

    def prepare_for_update(self, document: Document, old: Document) -> None:
        for part in ("spec", "status"):
            copy_field(document, old, part)

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        result = super().prepare_for_status_update(document, old)
        status = result.setdefault("status", {})
        conditions, before = status.get("conditions") or [], old.get("status", {}).get("conditions") or []
        for kind in _DECISIONS:
            _keep_conditions(conditions, before, kind)
        _set_times(conditions, before)
        return result

    def prepare_for_subresource_update(self, subresource: str, document: Document, old: Document) -> Document:
        """Approval: only the conditions are written."""
        conditions = document.get("status", {}).get("conditions") or []
        before = old.get("status", {})
        _set_times(conditions, before.get("conditions") or [])
        status = before | {"conditions": conditions} if conditions else dict(before)
        return old | {"metadata": document["metadata"], "status": status}

    def validate(self, document: Document) -> Iterator[Cause]:
        return _validate(document, {})

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_change(document, old, decision=False, certificate=False)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_change(document, old, decision=False, certificate=True)

    def validate_subresource_update(self, subresource: str, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_change(document, old, decision=True, certificate=False)


def _keep_conditions(conditions: list[Document], before: Sequence[Document], kind: str) -> None:
    """Keep conditions of a type unchanged if their number is the same; else validation reports the added ones."""
    new = [index for index, condition in enumerate(conditions) if condition.get("type") == kind]
    old = [condition for condition in before if condition.get("type") == kind]
    if len(new) == len(old):
        for index, condition in zip(new, old, strict=True):
            conditions[index] = condition


def _set_times(conditions: Sequence[Document], before: Sequence[Document]) -> None:
    now = times.format(times.now())
    known = {(each.get("type"), each.get("status")): each.get("lastTransitionTime") for each in reversed(before)}
    for condition in conditions:
        condition.setdefault("lastUpdateTime", now)
        was = known.get((condition.get("type"), condition.get("status")))
        condition.setdefault("lastTransitionTime", was or now)


def _validate(document: Document, old: Document) -> Iterator[Cause]:
    spec, was = document["spec"], old.get("spec", {})
    if problem := _request_problem(spec.get("request") or ""):
        yield invalid("spec.request", spec.get("request"), problem)
    yield from _validate_usages(spec.get("usages") or (), was.get("usages") or ())
    signer = spec.get("signerName", "")
    if signer == _LEGACY_SIGNER and was.get("signerName") != _LEGACY_SIGNER:
        yield invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version")
    else:
        yield from validate_signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        message = "may not specify a duration less than 600 seconds (10 minutes)"
        yield invalid("spec.expirationSeconds", seconds, message)
    status, before = document.get("status", {}), old.get("status", {})
    yield from _validate_conditions(status.get("conditions") or (), before.get("conditions") or ())
    certificate = status.get("certificate") or ""
    unchanged = bool(old) and certificate == (before.get("certificate") or "")
    if not unchanged and (problem := _certificate_problem(certificate)):
        yield invalid("status.certificate", "<certificate data>", problem)


def _validate_usages(usages: Sequence[str], before: Sequence[str]) -> Iterator[Cause]:
    if not usages:
        yield required("spec.usages")
    if all(usage in _USAGES for usage in before):
        yield from items.each(usages, "spec.usages", fields.choice, _USAGES)
    if len(set(before)) == len(before):
        yield from (duplicate(f"spec.usages[{index}]", usage) for index, usage in items.repeated(usages))


def validate_signer_name(name: str, path: str) -> Iterator[Cause]:
    """A domain and a path: `example.com/signer`."""
    if not name:
        yield required(path)
        return
    if name.count("/") != 1:
        yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    domain, _, rest = name.partition("/")
    if len(domain) > 253:
        yield too_long(path, 253)
    labels = domain.split(".")
    yield from _validate_labels(labels, domain, path, subdomains=False)
    if len(labels) < 2:
        yield invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _validate_labels(rest.split("."), rest, path, subdomains=True)
    if len(name) > 253 + 253 + 63 + 2:
        yield too_long(path, 253 + 253 + 63 + 2)


def _validate_labels(labels: Sequence[str], value: str, path: str, *, subdomains: bool) -> Iterator[Cause]:
    rule = dns_1123_subdomain if subdomains else dns_1123_label
    for label in labels:
        if problems := rule(label):
            yield from (invalid(path, value, f'validating label "{label}": {problem}') for problem in problems)
            return


def _validate_conditions(conditions: Sequence[Document], before: Sequence[Document]) -> Iterator[Cause]:
    path, kinds = "status.conditions", [condition.get("type", "") for condition in conditions]
    known = [condition.get("type", "") for condition in before]
    decided, unique = set(_DECISIONS) <= set(known), len(set(known)) == len(known)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind, status = kinds[index], condition.get("status", "")
        if not kind and "" not in known:
            yield required(f"{path}[{index}].type")
        allowed = ("True",) if kind in _FINAL else _STATUSES
        yield from fields.required_choice(status, f"{path}[{index}].status", allowed)
        opposite = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if opposite in seen and not decided:
            yield invalid(path, kind, "Approved and Denied conditions are mutually exclusive")
        if kind in seen and unique:
            yield duplicate(f"{path}[{index}].type", kind)
        seen.add(kind)


def _validate_change(document: Document, old: Document, *, decision: bool, certificate: bool) -> Iterator[Cause]:
    yield from _validate(document, old)
    status, before = document.get("status", {}), old.get("status", {})
    for kind in _FINAL:
        new, was = (_of_kind(each.get("conditions") or (), kind) for each in (status, before))
        if len(new) < len(was):
            yield forbidden("status.conditions", f'updates may not remove a condition of type "{kind}"')
    for kind in () if decision else _DECISIONS:
        new, was = (_of_kind(each.get("conditions") or (), kind) for each in (status, before))
        if len(new) > len(was):
            yield forbidden("status.conditions", f'updates may not add a condition of type "{kind}"')
        elif len(new) == len(was) and new != was:
            yield forbidden("status.conditions", f'updates may not modify a condition of type "{kind}"')
    issued = before.get("certificate") or ""
    if (status.get("certificate") or "") != issued:
        if not certificate:
            yield forbidden("status.certificate", "updates may not set certificate content")
        elif issued:
            yield forbidden("status.certificate", "updates may not modify existing certificate content")


def _of_kind(conditions: Sequence[Document], kind: str) -> list[Document]:
    return [condition for condition in conditions if condition.get("type") == kind]


def _request_problem(encoded: str) -> str:
    """Why base64 text is not a signed request for a certificate; without `cryptography` only its form is known."""
    block = next(pem.blocks(base64.b64decode(encoded)), None)
    if block is None or block.label != b"CERTIFICATE REQUEST":
        return _NO_REQUEST
    try:
        text = block.content.rpartition(b"\n\n")[2] if _HEADER.search(block.content) else block.content
        content = base64.b64decode(b"".join(text.split()), validate=True)
    except ValueError:
        return _NO_REQUEST
    if problem := der.sequences_problem(content, ("certificateRequest", "tbsCertificateRequest")):
        return problem
    try:
        from cryptography import x509
    except ImportError:
        return ""
    try:
        request = x509.load_pem_x509_csr(block.whole + b"\n")
        return "" if _is_signed(request) else "x509: signature verification failed"
    except ValueError as error:
        return f"x509: malformed certificate request: {error}"


def _is_signed(request: CertificateSigningRequest) -> bool:
    """Whether the signature is valid. Go accepts SHA-1 signatures, which `cryptography` rejects, so these count as
    valid."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.hashes import SHA1

    key = request.public_key()
    if not (isinstance(request.signature_hash_algorithm, SHA1) and isinstance(key, RSAPublicKey)):
        return request.is_signature_valid
    try:
        key.verify(request.signature, request.tbs_certrequest_bytes, PKCS1v15(), SHA1())  # noqa: S303 - what the client signed with
    except InvalidSignature:
        return False
    return True


def _certificate_problem(encoded: str) -> str:
    """Why base64 text is not a chain of certificates."""
    if not encoded:
        return ""
    blocks = list(pem.blocks(base64.b64decode(encoded)))
    for block in blocks:
        if block.label != b"CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.label.decode()}"'
        if _HEADER.search(block.content):
            return "no PEM block headers are permitted"
        if problem := _block_problem(block.whole):
            return problem
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _block_problem(block: bytes) -> str:
    try:
        from cryptography import x509
    except ImportError:
        return ""
    try:
        x509.load_pem_x509_certificate(block)
    except ValueError as error:
        return f"x509: malformed certificate: {error}"
    return ""
