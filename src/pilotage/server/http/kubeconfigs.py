"""The kubeconfig that leads clients to a server: its address, its certificate and a token."""

from __future__ import annotations

import base64

from pilotage.meta.text import yamltext


def document(url: str, certificate: bytes, token: str) -> str:
    """A kubeconfig as YAML text, with one cluster, one user and one context, all called `pilotage`."""
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(certificate).decode()}
    return yamltext.write(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "pilotage", "cluster": cluster}],
            "users": [{"name": "pilotage", "user": {"token": token}}],
            "contexts": [
                {"name": "pilotage", "context": {"cluster": "pilotage", "user": "pilotage", "namespace": "default"}}
            ],
            "current-context": "pilotage",
        }
    )
