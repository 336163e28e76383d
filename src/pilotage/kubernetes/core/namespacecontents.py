"""The objects that each namespace has from its creation on: the service account `default`, and the certificate
authority of the server.

In a cluster, controllers create both a moment after the namespace. Here they are part of the commit that creates the
namespace, so that no program has to wait for them and no revision is used for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.controllers import ALL, SERVICE_ACCOUNT
from pilotage.server.controllers import ROOT_CA as ROOT_CA_CONTROLLER
from pilotage.server.ownership.owners import set_owner
from pilotage.storage.interface import Put, Storage

SERVICE_ACCOUNTS = "core/serviceaccounts/"
CONFIG_MAPS = "core/configmaps/"
ROOT_CA = "kube-root-ca.crt"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


@dataclass(slots=True)
class NamespaceContents:
    """Creates the default objects of namespaces."""

    root_ca: str = ""
    """The certificate authority of the server, in PEM; empty for a server without HTTPS, which needs none."""
    controllers: frozenset[str] = ALL
    """The controllers that run, of which two create these objects in a cluster."""

    def keys(self, namespace: str) -> tuple[str, ...]:
        """The keys of the objects, below the prefix of the tenant."""
        found = [f"{SERVICE_ACCOUNTS}{namespace}/default"] if SERVICE_ACCOUNT in self.controllers else []
        if self.root_ca and ROOT_CA_CONTROLLER in self.controllers:
            found.append(f"{CONFIG_MAPS}{namespace}/{ROOT_CA}")
        return tuple(found)

    async def missing(
        self, storage: Storage, prefix: str, namespace: str, *, now: str, uid: Callable[[], str]
    ) -> list[Put]:
        """The writes that create the missing objects of a namespace, and that replace the certificate authority of an
        earlier start."""
        puts: list[Put] = []
        for key in self.keys(namespace):
            try:
                entry = await storage.get(prefix + key)
            except records.UnreadableObject:  # it is named in the log, and created again when it is deleted
                continue
            if entry is None:
                document = self._document(key)
                if key.startswith(CONFIG_MAPS):
                    set_owner(document, "kube-controller-manager", now)
                document["metadata"] |= {"namespace": namespace, "uid": uid(), "creationTimestamp": now}
                puts.append(Put(prefix + key, records.encode(document), expected=0))
            elif key.startswith(CONFIG_MAPS):
                found = records.decode(entry.value)
                if found.get("data") != self._data and not records.terminating(entry.value):
                    value = records.encode(found | {"data": self._data})
                    puts.append(Put(entry.key, value, expected=entry.revision))
        return puts

    @property
    def _data(self) -> Document:
        return {"ca.crt": self.root_ca}

    def _document(self, key: str) -> Document:
        if key.startswith(SERVICE_ACCOUNTS):
            return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        metadata = {"name": ROOT_CA, "annotations": {"kubernetes.io/description": _DESCRIPTION}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": self._data}
