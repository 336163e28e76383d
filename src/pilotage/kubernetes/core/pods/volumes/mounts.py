"""Where the volumes of a pod are in the file system of a container: mounts and block devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, invalid, not_found, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, texts

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(container: Document, path: str, volumes: Mapping[str, Document]) -> Iterator[Cause]:
    """The mounts of a container, then its devices."""
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices") or ()
    mounted = _Taken(mounts, "mountPath")
    attached = _Taken(devices, "devicePath")
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        yield from _validate_mount(mount, f"{path}.volumeMounts[{index}]", volumes, attached, seen)
        yield from _validate_mount_options(mount, container, f"{path}.volumeMounts", index)
    if devices:
        yield from _validate_devices(container, f"{path}.volumeDevices", volumes, mounted)


class _Taken:
    """The names and paths that a list of mounts or devices takes."""

    def __init__(self, items: Iterable[Document], key: str) -> None:
        paths = {item.get("name") or "": item.get(key) or "" for item in items}
        self.names = paths.keys()
        self.paths = set(paths.values())


def _validate_mount(
    mount: Document, path: str, volumes: Mapping[str, Document], attached: _Taken, seen: set[str]
) -> Iterator[Cause]:
    name, mount_path = mount.get("name") or "", mount.get("mountPath") or ""
    if not name:
        yield required(f"{path}.name")
    if name not in volumes:
        yield not_found(f"{path}.name", name)
    if not mount_path:
        yield required(f"{path}.mountPath")
    if mount_path in seen:
        yield invalid(f"{path}.mountPath", mount_path, "must be unique")
    seen.add(mount_path)
    if name in attached.names:
        yield invalid(f"{path}.name", name, "must not already exist in volumeDevices")
    if mount_path in attached.paths:
        yield invalid(f"{path}.mountPath", mount_path, "must not already exist as a path in volumeDevices")


def _validate_mount_options(mount: Document, container: Document, path: str, index: int) -> Iterator[Cause]:
    # The paths do not say which mount it is, except for one.
    if below := mount.get("subPath"):
        yield from texts.relative_path(below, f"{path}.subPath")
    if expression := mount.get("subPathExpr"):
        if below:
            message = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{path}[{index}].subPathExpr", expression, message)
        yield from texts.relative_path(expression, f"{path}.subPathExpr")
    if (propagation := mount.get("mountPropagation")) is not None:
        yield from fields.choice(propagation, f"{path}.mountPropagation", _PROPAGATIONS)
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            message = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(f"{path}.mountPropagation", message)
    yield from fields.given(mount.get("recursiveReadOnly"), f"{path}.recursiveReadOnly", _validate_recursive, mount)


def _validate_recursive(recursive: str, path: str, mount: Document) -> Iterator[Cause]:
    yield from fields.choice(recursive, path, _RECURSIVE)
    if recursive in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            yield forbidden(path, "may only be specified when mountPropagation is None or not specified")


def _validate_devices(
    container: Document, path: str, volumes: Mapping[str, Document], mounted: _Taken
) -> Iterator[Cause]:
    names: set[str] = set()
    device_paths: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        at, name, device_path = f"{path}[{index}]", device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            yield required(f"{at}.name")
        if name in names:
            yield invalid(f"{at}.name", name, "must be unique")
        if volume is None:
            yield not_found(f"{at}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            message = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{at}.name", name, message)
        if not device_path:
            yield required(f"{at}.devicePath")
        if device_path in device_paths:
            yield invalid(f"{at}.devicePath", device_path, "must be unique")
        if ".." in device_path.split("/"):
            yield invalid(f"{at}.devicePath", device_path, "can not contain backsteps ('..')")
        else:
            device_paths.add(device_path)
        if name in mounted.names:
            yield invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if device_path in mounted.paths:
            yield invalid(f"{at}.devicePath", device_path, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)
