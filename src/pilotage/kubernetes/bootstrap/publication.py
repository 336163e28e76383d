"""What a server over HTTPS publishes in its own objects: certificate authorities."""

from __future__ import annotations

from pilotage.kubernetes.bootstrap import authentication
from pilotage.kubernetes.core.loops.contents import ContentsCreator
from pilotage.kubernetes.core.namespacecontents import NamespaceContents
from pilotage.server.registry import Registry


async def publish_root_ca(registry: Registry, certificate: str) -> None:
    """Publish the certificate authority of a server, in PEM, in each namespace."""
    contents = registry.context.contents
    if isinstance(contents, NamespaceContents):
        contents.root_ca = certificate
        await ContentsCreator(registry.context, registry.note, contents).prepare()


async def publish_authentication(registry: Registry, client_ca: str) -> None:
    """Publish in `kube-system` how a server authenticates: the authorities of client certificates, in PEM."""
    if registry.context.contents is not None:
        await authentication.publish(registry.context, client_ca)
