"""Certificates signed by our own certificate authority, which clients get in a kubeconfig or a CA bundle."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pilotage.errors import MissingExtra

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

AUTHORITY_DAYS = 3650
"""How long an authority is valid. Its clients need a new kubeconfig after that; kubeadm's are valid as long."""
SERVING_DAYS = 365
"""How long a certificate of a server is valid. Clients do not notice its renewal."""
_CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM of a certificate and its key."""

    certificate: bytes
    key: bytes = field(repr=False)


def check_available(extra: str = "serve") -> None:
    """Raise MissingExtra, with the name of the extra to install, if certificates cannot be created."""
    try:
        import cryptography.x509  # noqa: F401  # whether it can be imported
    except ImportError:
        raise MissingExtra("making a certificate for an HTTPS server", extra) from None


def self_signed(host: str) -> Certificate:
    """A certificate for `host` and for loopback that is its own authority."""
    now = datetime.now(UTC)
    return _issue("pilotage", None, (host,), now, now + timedelta(days=SERVING_DAYS))


def authority(now: datetime, validity: timedelta = timedelta(days=AUTHORITY_DAYS)) -> Certificate:
    """A new certificate authority, valid from `now`."""
    return _issue("pilotage-ca", None, (), now, now + validity)


def issue(
    issuer: Certificate,
    host: str,
    now: datetime,
    *,
    names: Sequence[str] = (),
    validity: timedelta = timedelta(days=SERVING_DAYS),
) -> Certificate:
    """A certificate of the authority `issuer` for a server at `host`, at other `names` and on loopback.

    It is valid for `validity`, but not longer than its issuer.
    """
    return _issue("pilotage", issuer, (host, *names), now, min(now + validity, expiry(issuer)))


def expiry(certificate: Certificate) -> datetime:
    """When the certificate expires. ValueError if it is not a certificate."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(certificate.certificate).not_valid_after_utc


def start(certificate: Certificate) -> datetime:
    """When it was issued. ValueError if it is not a certificate."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(certificate.certificate).not_valid_before_utc + _CLOCK_SKEW


def hosts(certificate: Certificate) -> frozenset[str]:
    """The names and addresses that the certificate is for."""
    from cryptography import x509

    extensions = x509.load_pem_x509_certificate(certificate.certificate).extensions
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(name.value) for name in names)


def check_pair(certificate: Certificate) -> None:
    """Raise ValueError unless it is a certificate and the key that belongs to it."""
    from cryptography import x509

    loaded = x509.load_pem_x509_certificate(certificate.certificate)
    if loaded.public_key() != _load_key(certificate).public_key():
        raise ValueError("the key does not match the certificate")


def _issue(name: str, issuer: Certificate | None, names: Sequence[str], now: datetime, until: datetime) -> Certificate:
    """Create a key and its certificate: signed by `issuer`, else self-signed and itself an authority."""
    check_available()
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    signer = key if issuer is None else _load_key(issuer)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer_name = subject if issuer is None else x509.load_pem_x509_certificate(issuer.certificate).subject
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), True)
        .add_extension(_usage(authority=issuer is None), True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(_names(names)), False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
    return Certificate(
        builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _load_key(certificate: Certificate) -> ec.EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = serialization.load_pem_private_key(certificate.key, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key is not an elliptic curve key")
    return key


def _names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    from cryptography import x509

    names: list[x509.GeneralName] = []
    for text in dict.fromkeys(("localhost", *hosts, "127.0.0.1", "::1")):
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(text)))
        except ValueError:
            names.append(x509.DNSName(text))
    return names


def _usage(*, authority: bool) -> x509.KeyUsage:
    from cryptography import x509

    off = (
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(digital_signature=True, key_cert_sign=authority, **dict.fromkeys(off, False))
