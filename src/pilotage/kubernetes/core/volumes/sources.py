"""The sources of persistent volumes: the sources of pods' volumes, some with secrets of other namespaces."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.volumes.sources import SOURCES as POD_SOURCES
from pilotage.kubernetes.core.pods.volumes.sources import Check
from pilotage.kubernetes.core.pods.volumes.volumes import validate_portal
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import fields, texts

_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def validate_volume_source(spec: Document, path: str, name: str) -> Iterator[Cause]:
    """A volume has one source. `name` is the name of the volume."""
    given = [kind for kind in SOURCES if spec.get(kind) is not None]
    for index, kind in enumerate(given):
        if index and kind != "flexVolume":  # which the real server does not count as a second one
            shown = "cephFS" if kind == "cephfs" else kind
            yield forbidden(f"{path}.{shown}", "may not specify more than 1 volume type")
            continue
        place = "persistentDisk" if kind == "gcePersistentDisk" else kind
        yield from SOURCES[kind](spec[kind], f"{path}.{place}")
        if kind == "iscsi":
            portal = spec[kind].get("targetPortal") or ""
            yield from validate_portal(spec[kind], name, f"{path}.iscsi.targetportal", portal)
        elif kind == "local" and spec.get("nodeAffinity") is None:
            yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    if not given:
        yield required(path, "must specify a volume type")


def _validate_csi(source: Document, path: str) -> Iterator[Cause]:
    yield from texts.driver_name(source.get("driver") or "", f"{path}.driver")
    yield from fields.needed(source, path, "volumeHandle")
    for key in _SECRETS:
        secret = source.get(key)
        if secret is not None:
            yield from texts.required_text(secret.get("name"), f"{path}.{key}.name")
            yield from texts.required_text(secret.get("namespace"), f"{path}.{key}.namespace", dns_1123_label)


def _validate_local(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.present(source.get("path"), f"{path}.path", texts.no_backsteps)


def _validate_azure_file(source: Document, path: str) -> Iterator[Cause]:
    yield from POD_SOURCES["azureFile"](source, path)
    if source.get("secretNamespace") == "":
        yield required(f"{path}.secretNamespace")


def _validate_glusterfs(source: Document, path: str) -> Iterator[Cause]:
    yield from POD_SOURCES["glusterfs"](source, path)
    namespace = source.get("endpointsNamespace")
    if namespace == "":
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        yield invalid(f"{path}.endpointsNamespace", namespace, detail)
    elif namespace is not None:
        yield from texts.text(namespace, f"{path}.endpointsNamespace", dns_1123_label)


def _with_secret_namespace(kind: str) -> Check:
    """The source of a pod's volume, whose secret has a namespace."""

    def check(source: Document, path: str) -> Iterator[Cause]:
        yield from POD_SOURCES[kind](source, path)
        yield from fields.given(source.get("secretRef"), f"{path}.secretRef", fields.needed, "namespace")

    return check


SOURCES: dict[str, Check] = {
    "hostPath": POD_SOURCES["hostPath"],
    "gcePersistentDisk": POD_SOURCES["gcePersistentDisk"],
    "awsElasticBlockStore": POD_SOURCES["awsElasticBlockStore"],
    "glusterfs": _validate_glusterfs,
    "flocker": POD_SOURCES["flocker"],
    "nfs": POD_SOURCES["nfs"],
    "rbd": POD_SOURCES["rbd"],
    "quobyte": POD_SOURCES["quobyte"],
    "cephfs": POD_SOURCES["cephfs"],
    "iscsi": POD_SOURCES["iscsi"],
    "cinder": _with_secret_namespace("cinder"),
    "fc": POD_SOURCES["fc"],
    "flexVolume": POD_SOURCES["flexVolume"],
    "azureFile": _validate_azure_file,
    "vsphereVolume": POD_SOURCES["vsphereVolume"],
    "photonPersistentDisk": POD_SOURCES["photonPersistentDisk"],
    "portworxVolume": POD_SOURCES["portworxVolume"],
    "azureDisk": POD_SOURCES["azureDisk"],
    "scaleIO": POD_SOURCES["scaleIO"],
    "local": _validate_local,
    "storageos": _with_secret_namespace("storageos"),
    "csi": _validate_csi,
}
"""In the order in which the sources of a volume are checked: the first one is used."""
