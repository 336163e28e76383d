"""Warnings about things in a pod that hide each other: files in volumes, ports of containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pilotage.kubernetes.core.pods.surroundings import containers_of
from pilotage.meta.documents import Document

_File = tuple[str, str]
"""The path of a file, and what it comes from."""
_KINDS = {
    "configMap": ("ConfigMap", "name"),
    "secret": ("Secret", "secretName"),
    "downwardAPI": ("DownwardAPI", ""),
    "projected": ("Projected", ""),
}
"""How a warning calls the volumes that have files, and which field has the name of the object that they come from."""
_MAX_COMPARED = 500
"""The maximum number of files, or of similar ports, that are compared, because each is compared with all others."""


def overlap_warnings(volumes: Iterable[Document]) -> Iterator[str]:
    """Files in one volume that are below another file, or the same."""
    left = _MAX_COMPARED
    for volume in volumes:
        for kind, (word, key) in _KINDS.items():
            if (source := volume.get(kind)) is None:
                continue
            about = f'volume "{volume.get("name") or ""}" ({word}' + (f' "{source.get(key) or ""}")' if key else ")")
            if kind == "projected":
                yield from (f"{about} has no sources provided" for each in source.get("sources") or () if not each)
            files = (_projected_files(source) if kind == "projected" else _files(source, ""))[:left]
            yield from _overlaps(files, about)
            left -= len(files)


def port_warnings(spec: Document, path: str) -> Iterator[str]:
    """Ports of containers that are the same, or nearly."""
    known: dict[tuple[int, str], list[tuple[str, Document]]] = {}
    for container, where in containers_of(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            at = f"{where}.ports[{index}]"
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{at}: hostIP set without hostPort: {_port_shown(port)}"
            others = known.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), [])
            for other_at, other in others:
                if kind := _conflict(port, other):
                    yield f"{at}: {kind} port definition with {other_at}"
            if len(others) < _MAX_COMPARED:
                others.append((at, port))
    names: dict[str, str] = {}
    for container, where in containers_of(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            if not (name := port.get("name")):
                continue
            at, first = f"{where}.ports[{index}]", names.setdefault(name, f"{where}.ports[{index}]")
            if first != at:
                text = f"services and probes that select ports by name will use {first}"
                yield f'{at}: duplicate port name "{name}" with {first}, {text}'


def _conflict(port: Document, other: Document) -> str:
    address, number = port.get("hostIP") or "", port.get("hostPort") or 0
    other_address, other_number = other.get("hostIP") or "", other.get("hostPort") or 0
    if (address, number) == (other_address, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    return "dangerously ambiguous" if number == other_number and bool(address) != bool(other_address) else ""


def _port_shown(port: Document) -> str:
    """A port as Go prints a structure."""
    fields = (("Name", "name"), ("HostPort", "hostPort"), ("ContainerPort", "containerPort"))
    shown = [f"{name}:{port.get(key) or ('' if key == 'name' else 0)}" for name, key in fields]
    return f"{{{' '.join(shown)} Protocol:{port.get('protocol') or ''} HostIP:{port.get('hostIP') or ''}}}"


def _projected_files(volume: Document) -> list[_File]:
    files: list[_File] = []
    for source in volume.get("sources") or ():
        if (token := source.get("serviceAccountToken")) is not None:
            files.append((token.get("path") or "", "ServiceAccountToken"))
            continue
        for kind, word in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
            if (part := source.get(kind)) is not None and part.get("items"):
                files += _files(part, word if kind == "downwardAPI" else f'{word} "{part.get("name") or ""}"')
                break
    return files


def _files(source: Document, origin: str) -> list[_File]:
    return [(item.get("path") or "", origin) for item in source.get("items") or ()]


def _overlaps(files: list[_File], about: str) -> Iterator[str]:
    seen: list[_File] = []
    for path, origin in files:
        file = path.rstrip("/"), origin
        for other in seen:
            if file[0] and other[0] and _overlap(file[0], other[0]):
                yield f"{about}: overlapping paths: {_file_shown(file)} with {_file_shown(other)}"
        seen.append(file)


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _file_shown(file: _File) -> str:
    return f'"{file[0]}" ({file[1]})' if file[1] else f'"{file[0]}"'
