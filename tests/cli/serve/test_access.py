"""Users of `pilotage serve`: by tokens and by client certificates."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from .processes import Running, failure, serving


def code_of(running: Running, target: str, context: ssl.SSLContext, **headers: str) -> int:
    request = urllib.request.Request(running.url + target, headers=headers)
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def client_certificate(folder: Path, name: str, organization: str) -> ssl.SSLContext:
    """A context with a certificate for a user, signed by itself; `clients.crt` has the authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [(NameOID.ORGANIZATION_NAME, organization), (NameOID.COMMON_NAME, name)]
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, no_password = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "clients.crt").write_bytes(certificate.public_bytes(pem))
    (folder / "client.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, no_password))
    context = unverified()
    context.load_cert_chain(folder / "clients.crt", folder / "client.key")
    return context


def test_users_of_a_token_file_and_of_certificates_have_the_rights_of_their_groups(tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text('t1,alice,1\nt2,root,2,"system:masters"\n')
    certified = client_certificate(tmp_path, "carol", "system:masters")
    options = ("--token-auth-file", "tokens.csv", "--client-ca-file", "clients.crt")
    with serving(tmp_path, *options) as running:
        plain = unverified()
        assert code_of(running, "/api/v1/namespaces", plain, authorization="Bearer t1") == 403
        assert code_of(running, "/api/v1/namespaces", plain, authorization="Bearer t2") == 200
        assert code_of(running, "/api/v1/namespaces", plain, authorization="Bearer t3") == 401
        assert code_of(running, "/api/v1/namespaces", plain) == 401
        assert code_of(running, "/api/v1/namespaces", certified) == 200


def test_a_token_file_that_cannot_be_read_is_named_with_the_line(tmp_path: Path) -> None:
    assert "cannot read the token file none.csv: No such file" in failure(tmp_path, "--token-auth-file", "none.csv")
    (tmp_path / "tokens.csv").write_text("only-a-token\n")
    assert "tokens.csv, line 1" in failure(tmp_path, "--token-auth-file", "tokens.csv")
    assert "cannot read certificate authorities from tokens.csv" in failure(tmp_path, "--client-ca-file", "tokens.csv")
