"""How to reach an API server: its address, the certificate authorities to trust, the credentials; and where these are
found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pilotage.client.credentials.credentials import Credentials, Material, StaticCredentials, TokenFile
from pilotage.errors import InvalidDefinition

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a Pod finds its token, the cluster's CA and its namespace."""


class NotConfigured(InvalidDefinition):
    """There is neither a kubeconfig nor a Pod: no cluster is configured."""


@dataclass(frozen=True, slots=True)
class Config:
    """How to reach an API server. It is immutable; its credentials may be renewed."""

    url: str
    """The address of the API server: `https://HOST:PORT`, with a path where the server is behind one."""
    credentials: Credentials = field(default=StaticCredentials(Material()))
    """Gives the token and the client certificate, and renews them."""
    ca_file: str = ""
    """The file with the certificates of the authorities that are trusted; empty: `ca_data`, else the system's."""
    ca_data: bytes = b""
    """These certificates themselves, as PEM."""
    insecure_skip_tls_verify: bool = False
    """Do not verify the server's certificate. Each use is logged."""
    tls_server_name: str = ""
    """The name that the server's certificate must have, where it is not the host of the URL."""
    proxy_url: str = ""
    """An HTTP proxy to connect through: `http://HOST:PORT`; empty: none."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers that are sent with every request: the user to impersonate."""
    namespace: str = ""
    """The namespace of calls without one; empty: none."""
    source: str = ""
    """Where this was found, for messages."""

    def __repr__(self) -> str:
        return f"Config({without_secrets(self.url)!r}, source={self.source!r})"


def without_secrets(url: str) -> str:
    """A URL as it may be shown: without user, password and query."""
    scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    return scheme + separator + rest.rpartition("@")[2].partition("?")[0]


def load(
    kubeconfig: str = "",
    context: str = "",
    *,
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Config:
    """Find out how to reach the cluster: the kubeconfig that is named, else those in KUBECONFIG, else the service
    account if this runs in a Pod, else `~/.kube/config`. A `context` means one of a kubeconfig."""
    from pilotage.client.credentials.kubeconfig import Kubeconfig  # imported on use, because YAML is

    environment = os.environ if environment is None else environment
    if kubeconfig:
        return Kubeconfig.load(kubeconfig).config(context)
    listed = [path for path in environment.get("KUBECONFIG", "").split(os.pathsep) if path]
    if listed:
        return Kubeconfig.load(*listed, optional=True).config(context)
    if not context and (found := in_cluster(environment, service_account)) is not None:
        return found
    usual = (home or Path.home()) / ".kube" / "config"
    if not usual.exists():
        raise NotConfigured(
            f"no cluster is configured: there is no {usual}, KUBECONFIG is not set, and this is not a Pod; "
            "name a kubeconfig or a url, or use Cluster.embedded(), which needs no cluster"
        )
    return Kubeconfig.load(str(usual)).config(context)


def in_cluster(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Config | None:
    """The config of a Pod, with its service account; None outside of a Pod, or without a service account."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    token = folder / "token"
    if not host or not port or not token.is_file():
        return None
    namespace = folder / "namespace"
    return Config(
        url=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        credentials=TokenFile(str(token)),
        ca_file=str(folder / "ca.crt") if (folder / "ca.crt").is_file() else "",
        namespace=namespace.read_text().strip() if namespace.is_file() else "",
        source="the Pod's service account",
    )
