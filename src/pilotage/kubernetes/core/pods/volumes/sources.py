"""The sources of volumes, by the name of their field in a volume. Most of them only have required fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.volumes import projected
from pilotage.kubernetes.core.volumes.claims import validate_claim_template
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import fields, numbers, texts

Check = Callable[[Document, str], Iterator[Cause]]
_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_CACHING = ("None", "ReadOnly", "ReadWrite")
_DISKS = ("Dedicated", "Managed", "Shared")
_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_QUALIFIED_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.[a-zA-Z0-9\-.]+:[^,;*&$|\s]+", re.ASCII).fullmatch,
    "eui": re.compile(r"eui.[a-zA-Z0-9]{16}", re.ASCII).fullmatch,
    "naa": re.compile(r"naa.[a-zA-Z0-9]{32}", re.ASCII).fullmatch,
}
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"


def validate_source(kind: str, source: Document, path: str, *, is_pod: bool) -> Iterator[Cause]:
    """One source of a volume; `path` is the path of the volume."""
    if kind == "image":
        yield from _validate_image(source, f"{path}.image", is_pod=is_pod)
    else:
        field = "persistentDisk" if kind == "gcePersistentDisk" else kind  # its name before it had the present one
        yield from SOURCES[kind](source, f"{path}.{field}")


def _needs(*names: str) -> Check:
    """A source that has these fields, and no more rules."""
    return lambda source, path: fields.needed(source, path, *names)


def _validate_empty_directory(source: Document, path: str) -> Iterator[Cause]:
    if (limit := source.get("sizeLimit")) is not None and Quantity(limit) < Quantity(0):
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _validate_host_path(source: Document, path: str) -> Iterator[Cause]:
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from texts.no_backsteps(source["path"], f"{path}.path")
    yield from fields.optional_choice(source.get("type"), f"{path}.type", _HOST_PATHS)


def _validate_repository(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(source, path, "repository")
    yield from texts.relative_path(source.get("directory") or "", f"{path}.directory")


def _validate_disk(name: str) -> Check:
    def check(source: Document, path: str) -> Iterator[Cause]:
        yield from fields.needed(source, path, name)
        if not 0 <= (partition := source.get("partition") or 0) <= 255:
            yield invalid(f"{path}.partition", partition, "must be between 1 and 255, inclusive")

    return check


def _validate_keys_of(name: str) -> Check:
    def check(source: Document, path: str) -> Iterator[Cause]:
        yield from fields.needed(source, path, name)
        yield from projected.validate_mode(source, path, "defaultMode")
        yield from projected.validate_keys(source, path)

    return check


def _validate_nfs(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(source, path, "server", "path")
    exported = source.get("path") or ""
    if not exported.startswith("/"):
        yield invalid(f"{path}.path", exported, "must be an absolute path")


def _validate_iscsi(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(source, path, "targetPortal", "iqn")
    if name := source.get("iqn"):
        yield from _validate_qualified_name(name, f"{path}.iqn")
    yield from numbers.in_range(source.get("lun") or 0, f"{path}.lun", 0, 255)
    authenticated = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if authenticated and source.get("secretRef") is None:
        yield required(f"{path}.secretRef")
    yield from fields.given(source.get("initiatorName"), f"{path}.initiatorname", _validate_qualified_name)


def _validate_qualified_name(name: str, path: str) -> Iterator[Cause]:
    matches = _QUALIFIED_NAMES.get(name[:3])
    if matches is None:
        yield invalid(path, name, "must be valid format starting with iqn, eui, or naa")
    elif not matches(name):
        yield invalid(path, name, "must be valid format")


def _validate_fibre_channel(source: Document, path: str) -> Iterator[Cause]:
    names, identifiers, unit = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    if not names and not identifiers:
        yield required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and identifiers:
        message = "targetWWNs and wwids can not be specified simultaneously"
        yield invalid(f"{path}.targetWWNs", names, message, whole=True)
    if names and unit is None:
        yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif names and unit is not None:
        yield from numbers.in_range(unit, f"{path}.lun", 0, 255)


def _validate_flocker(source: Document, path: str) -> Iterator[Cause]:
    name, identifier = source.get("datasetName") or "", source.get("datasetUUID")
    if not name and not identifier:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and identifier:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(f"{path}.datasetName", name, "must not contain '/'")


def _validate_cinder(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(source, path, "volumeID")
    yield from _validate_secret(source, path)


def _validate_secret(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.given(source.get("secretRef"), f"{path}.secretRef", fields.needed, "name")


def _validate_quobyte(source: Document, path: str) -> Iterator[Cause]:
    registry = source.get("registry") or ""
    if not registry:
        yield required(f"{path}.registry", _PAIRS)
    elif len((source.get("tenant") or "").encode(errors="replace")) >= 65:
        yield required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    elif not all(_is_pair(pair) for pair in registry.split(",")):
        yield invalid(f"{path}.registry", registry, _PAIRS)
    yield from fields.needed(source, path, "volume")


def _is_pair(text: str) -> bool:
    """Whether a text is `host:port`, with brackets around a host that has colons."""
    host, colon, port = text.rpartition(":")
    if host.startswith("["):
        return bool(colon) and host.endswith("]") and "]" not in host[1:-1]
    return bool(colon) and not any(character in host + port for character in ":[]")


def _validate_flex_volume(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(source, path, "driver")
    for key in source.get("options") or ():
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(f"{path}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved")


def _validate_azure_disk(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(source, path, "diskName", "diskURI")
    address, kind, caching = source.get("diskURI") or "", source.get("kind"), source.get("cachingMode")
    yield from fields.optional_choice(caching, f"{path}.cachingMode", _CACHING)
    if kind is None:
        return
    yield from fields.choice(kind, f"{path}.kind", _DISKS)
    if not address.startswith("/subscriptions/" if kind == "Managed" else "https://"):
        yield not_supported(f"{path}.diskURI", address, (_MANAGED if kind == "Managed" else _BLOB,))


def _validate_storageos(source: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(source, path, "volumeName")
    for name in ("volumeName", "volumeNamespace"):
        yield from texts.optional_text(source.get(name), f"{path}.{name}", dns_1123_label)
    yield from _validate_secret(source, path)


def _validate_downward_files(source: Document, path: str) -> Iterator[Cause]:
    yield from projected.validate_mode(source, path, "defaultMode")
    yield from projected.validate_files(source, path)


def _validate_csi(source: Document, path: str) -> Iterator[Cause]:
    yield from texts.driver_name(source.get("driver") or "", f"{path}.driver")
    if (secret := source.get("nodePublishSecretRef")) is not None:
        if name := secret.get("name"):
            yield from texts.text(name, f"{path}.name")
        else:
            yield required(f"{path}.nodePublishSecretRef.name")


def _validate_ephemeral(source: Document, path: str) -> Iterator[Cause]:
    template = source.get("volumeClaimTemplate")
    yield from fields.present(template, f"{path}.volumeClaimTemplate", validate_claim_template)


def _validate_image(source: Document, path: str, *, is_pod: bool) -> Iterator[Cause]:
    if is_pod and not source.get("reference"):
        yield required(f"{path}.reference")
    yield from validate_pull_policy(source.get("pullPolicy") or "", f"{path}.pullPolicy")


def validate_pull_policy(policy: str, path: str) -> Iterator[Cause]:
    """When an image is pulled."""
    yield from fields.required_choice(policy, path, _PULL_POLICIES)


SOURCES: dict[str, Check] = {
    "emptyDir": _validate_empty_directory,
    "hostPath": _validate_host_path,
    "gitRepo": _validate_repository,
    "gcePersistentDisk": _validate_disk("pdName"),
    "awsElasticBlockStore": _validate_disk("volumeID"),
    "secret": _validate_keys_of("secretName"),
    "nfs": _validate_nfs,
    "iscsi": _validate_iscsi,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _validate_flocker,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _validate_cinder,
    "cephfs": _needs("monitors"),
    "quobyte": _validate_quobyte,
    "downwardAPI": _validate_downward_files,
    "fc": _validate_fibre_channel,
    "flexVolume": _validate_flex_volume,
    "configMap": _validate_keys_of("name"),
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _validate_azure_disk,
    "storageos": _validate_storageos,
    "projected": projected.validate_projected,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _validate_csi,
    "ephemeral": _validate_ephemeral,
    "image": _needs(),
}
"""In the order in which the sources of a volume are checked: the first one is used."""
