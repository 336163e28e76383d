"""Who may use a server of `pilotage serve`: the user of its kubeconfig, users of a token file, of certificates."""

from __future__ import annotations

import ssl

from pilotage.cli.serve.options import ServeOptions
from pilotage.errors import InvalidDefinition
from pilotage.kit.console.errors import CommandError
from pilotage.server.access.authentication import ADMIN, Authenticator, read_token_file
from pilotage.server.context import RegistryContext


def authenticator(options: ServeOptions, token: str, context: RegistryContext) -> Authenticator:
    """Identifies the users of requests. `token` is the token in the kubeconfig."""
    users = {token: ADMIN}
    if options.token_auth_file is not None:
        try:
            users |= read_token_file(options.token_auth_file)
        except (OSError, UnicodeDecodeError, InvalidDefinition) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise CommandError(f"cannot read the token file {options.token_auth_file}: {reason}") from error
    return Authenticator(users, context.service_accounts, anonymous=options.anonymous_auth)


def client_authorities(options: ServeOptions) -> str:
    """The authorities of client certificates, in PEM; empty if there are none."""
    return "" if options.client_ca_file is None else options.client_ca_file.read_text(encoding="utf-8")


def trust_clients(context: ssl.SSLContext, options: ServeOptions) -> None:
    """Accept client certificates of the authorities in the options; a client may still connect without one."""
    if options.client_ca_file is None:
        return
    try:
        context.load_verify_locations(str(options.client_ca_file))
    except (OSError, ssl.SSLError) as error:
        raise CommandError(
            f"cannot read certificate authorities from {options.client_ca_file}: {error.strerror or error}; "
            "the file must have certificates in PEM format"
        ) from error
    context.verify_mode = ssl.CERT_OPTIONAL
