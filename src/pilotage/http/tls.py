"""TLS contexts for both sides: version 1.2 and up, certificates are verified by default."""

from __future__ import annotations

import ssl


def server_context(cert_file: str, key_file: str, *, client_ca_file: str = "") -> ssl.SSLContext:
    """A context for a server with a certificate (chain) and key in PEM files.

    With `client_ca_file`, clients must present a certificate signed by it; see `Peer.certificate`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(cert_file, key_file)
    if client_ca_file:
        context.load_verify_locations(client_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


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
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if cert_file:
        context.load_cert_chain(cert_file, key_file or None)
    return context
