"""A certificate for a server that nobody else vouches for: made at start, trusted through the kubeconfig."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pilotage.errors import MissingExtra

if TYPE_CHECKING:
    from cryptography import x509


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM of a certificate and its key."""

    certificate: bytes
    key: bytes = field(repr=False)


def self_signed(host: str, *, days: int = 365) -> Certificate:
    """A certificate for `host` and for loopback that is its own authority."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
    except ImportError:
        raise MissingExtra("making a certificate for the HTTPS server", "serve") from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pilotage")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Certificate(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _names(host: str) -> list[x509.GeneralName]:
    from cryptography import x509

    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    for text in dict.fromkeys((host, "127.0.0.1", "::1")):
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(text)))
        except ValueError:
            names.append(x509.DNSName(text))
    return names


def _usage() -> x509.KeyUsage:
    from cryptography import x509

    on = ("digital_signature", "key_cert_sign")
    off = (
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**dict.fromkeys(on, True), **dict.fromkeys(off, False))
