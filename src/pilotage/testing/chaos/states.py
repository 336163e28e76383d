"""The end state of a run by what means something: objects by their roles, without uids, versions and times."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.values import Value
from pilotage.storage.interface import Entry
from pilotage.testing.chaos.injection.storage import resource_of

Path = tuple[str, ...]
Flat = dict[Path, Any]
"""The scalars of a document, by their paths."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")
_ADDRESS = re.compile(r"10\.244\.\d+\.\d+$")
"""Of a simulated Pod: it depends on how many Pods there were before."""
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VOLATILE = frozenset(("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"))
_NOT_COMPARED = frozenset(("customresourcedefinitions.apiextensions.k8s.io",))
_OF_CONTROLLERS = frozenset(("ReplicaSet", "ControllerRevision", "EndpointSlice", "Endpoints", "Pod"))
"""Kinds whose objects the controllers of Kubernetes make and replace: of these the Pods alone are counted."""
_ASSIGNED: Mapping[str, frozenset[Path]] = {
    "Service": frozenset((("spec", "clusterIP"), ("spec", "clusterIPs"))),
    "Node": frozenset(("status", name) for name in ("conditions", "images", "allocatable", "volumesAttached")),
    "Pod": frozenset(
        (
            *(("status", name) for name in ("podIP", "podIPs", "hostIP", "hostIPs", "containerStatuses")),
            ("status", "initContainerStatuses"),
            ("spec", "nodeName"),
        )
    ),
}
"""Fields that the server, the scheduler and nodes fill in the order in which objects are made."""
_REVISION = "deployment.kubernetes.io/revision"
_NAMES = ("type", "name", "containerPort", "port", "uid")
"""Fields that identify the items of a list, whatever their order."""


class Names(Value, frozen=True):
    """Which names are the same in each run, and which are generated."""

    fixed: frozenset[str] = frozenset()
    generated: frozenset[str] = frozenset()
    """Kinds and namespaces with names that differ from seed to seed."""

    def role(self, document: Document) -> str:
        """What an object is for: `Secret default/main`; `Pod default/web-*` where its name is generated."""
        title = title_of(document)
        if title in self.fixed:
            return title
        if prefix := document["metadata"].get("generateName"):
            return f"{_place(document)}{prefix}*"
        return f"{_place(document)}*" if _place(document) in self.generated else title


class State:
    """The objects in the end of a run, by role."""

    def __init__(self, entries: Sequence[Entry], names: Names) -> None:
        documents = [*_documents(entries)]
        self.names = names
        self.roles = {one["metadata"]["uid"]: names.role(one) for one in documents}
        """The roles of the objects, by uid."""
        self.objects: dict[str, list[Flat]] = defaultdict(list)
        for one in documents:
            if not _is_left_out(one):
                self.objects[names.role(one)].append(flat(one, self.roles))
        for found in self.objects.values():
            found.sort(key=_text)


def names_of(first: Iterable[Sequence[Entry]], second: Iterable[Sequence[Entry]]) -> Names:
    """The names that two runs with different seeds have in common, each given as its states."""
    titles = [
        {title_of(one): _place(one) for state in states for one in _documents(state)} for states in (first, second)
    ]
    fixed = titles[0].keys() & titles[1].keys()
    generated = {place for found in titles for title, place in found.items() if title not in fixed}
    return Names(frozenset(fixed), frozenset(generated))


def title_of(document: Document) -> str:
    """`Secret default/main`."""
    return f"{_place(document)}{document['metadata'].get('name', '')}"


def flat(document: Document, roles: Mapping[str, str]) -> Flat:
    """The scalars of an object. Uids are roles, and times are only times."""
    metadata = document["metadata"]
    kept = {name: value for name, value in metadata.items() if name not in _VOLATILE}
    if kept.get("generateName"):
        kept.pop("name", None)
    if "annotations" in kept:
        kept["annotations"] = {name: text for name, text in kept["annotations"].items() if name != _REVISION}
    found: Flat = {}
    _flatten({**document, "metadata": kept}, (), found, roles, metadata.get("generation"))
    paths = _ASSIGNED.get(document["kind"], ())
    return {path: value for path, value in found.items() if path[:2] not in paths} if paths else found


def decoded(entry: Entry) -> Document | None:
    """The object of an entry; None where it is none that is compared."""
    return next(_documents((entry,)), None)


def path_text(path: Path) -> str:
    return ".".join(path).replace(".[", "[")


def is_time(value: object) -> bool:
    return isinstance(value, str) and _TIME.match(value) is not None


def _documents(entries: Iterable[Entry]) -> Iterator[Document]:
    for entry in entries:
        if resource_of(entry.key) in _NOT_COMPARED or not entry.value.startswith(b'{"apiVersion"'):
            continue
        document = _decode(entry.value)
        if isinstance(document.get("metadata"), dict):
            yield document


def _place(document: Document) -> str:
    namespace = document["metadata"].get("namespace", "")
    return f"{document['kind']} {namespace}/" if namespace else f"{document['kind']} "


def _is_left_out(document: Document) -> bool:
    owners = document["metadata"].get("ownerReferences") or ()
    controlled = any(owner.get("controller") for owner in owners)
    return controlled and document["kind"] in _OF_CONTROLLERS and document["kind"] != "Pod" and _is_builtin(owners)


def _is_builtin(owners: Sequence[Document]) -> bool:
    groups = {owner.get("apiVersion", "").partition("/")[0] for owner in owners}
    return bool(groups & {"apps", "batch", "v1"})


def _flatten(value: Any, path: Path, found: Flat, roles: Mapping[str, str], generation: object) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _flatten(each, (*path, name), found, roles, generation)
    elif isinstance(value, list):
        for name, each in _named(value):
            _flatten(each, (*path, f"[{name}]"), found, roles, generation)
    elif path[-1] == "observedGeneration":
        found[path] = "current" if value == generation else value
    else:
        found[path] = _scalar(value, roles, is_owner=path[-1] == "uid" and "ownerReferences" in path)


def _named(items: list[Any]) -> Iterator[tuple[str, Any]]:
    """The items of a list with the names that they have in it."""
    for field in _NAMES:
        names = [str(item[field]) if isinstance(item, dict) and field in item else "" for item in items]
        if all(names) and len(set(names)) == len(names):
            if field == "uid":
                break
            yield from zip(names, items, strict=True)
            return
    yield from ((str(number), item) for number, item in enumerate(items))


def _scalar(value: Any, roles: Mapping[str, str], *, is_owner: bool) -> Any:
    if not isinstance(value, str):
        return value
    if _TIME.match(value):
        return "(a time)"
    if _ADDRESS.match(value):
        return "(an address of a Pod)"
    found = _UID.search(value) if len(value) >= 36 else None
    if found is None or (found[0] not in roles and not is_owner):
        return value
    return value.replace(found[0], f"(uid of {roles.get(found[0], 'an object that does not exist')})")


def _text(found: Flat) -> str:
    return repr(sorted((path, str(value)) for path, value in found.items()))
