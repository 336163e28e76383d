"""TLS contexts for both sides: version 1.2 and up, certificates are verified by default."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path


def server_context(cert_file: str = "", key_file: str = "", *, client_ca_file: str = "") -> ssl.SSLContext:
    """A context for a server with a certificate (chain) and key in PEM files; without them, `load_pair` loads them.

    With `client_ca_file`, clients must present a certificate signed by it; see `Peer.certificate`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if cert_file:
        context.load_cert_chain(cert_file, key_file)
    if client_ca_file:
        context.load_verify_locations(client_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Use a certificate (chain) and its key, given as PEM, for all handshakes from now on.

    Raises ssl.SSLError if they do not belong together, and ValueError if the key is encrypted; the context then has
    those that it had before.
    """
    check = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory(prefix="pilotage-") as folder:  # mode 0700; ssl reads only files
        cert_file, key_file = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        cert_file.write_bytes(certificate)
        key_file.write_bytes(key)
        # A pair that does not match would leave half of it in the context.
        check.load_cert_chain(cert_file, key_file, no_password)
        context.load_cert_chain(cert_file, key_file)


def no_password() -> str:
    """In place of OpenSSL's question on the terminal, which the process would wait for. Raises ValueError."""
    raise ValueError("the key is encrypted, and its password cannot be entered here: decrypt it")


def client_context(
    ca_file: str = "",
    ca_data: str = "",
    *,
    verify: bool = True,
    cert_file: str = "",
    key_file: str = "",
) -> ssl.SSLContext:
    """A context for a client. It trusts the PEM in `ca_file` or `ca_data`, else the system's authorities.

    `verify=False` accepts any certificate and any name. `cert_file` and `key_file` are the client's own.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca_file or ca_data:
        context.load_verify_locations(cafile=ca_file or None, cadata=ca_data or None)
        # Each certificate in it is trusted, also one that is not self-signed, as Go does it: envtest gives webhooks
        # their own certificate as the authority.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if cert_file:
        context.load_cert_chain(cert_file, key_file or None)
    return context
