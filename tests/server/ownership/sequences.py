"""Random sequences of writes by several managers, as data; and their answers in a form that two servers agree on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

GROUP = "sequences.pilotage.dev"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

_list_map = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "required": ["port"],
        "properties": {
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "name": {"type": "string"},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        },
    },
}
_texts = {"type": "object", "additionalProperties": {"type": "string"}}
_open = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_spec: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "defaulted": {"type": "integer", "default": 7},
        "labels": _texts,
        "atomicMap": _texts | {"x-kubernetes-map-type": "atomic"},
        "atomicList": {"type": "array", "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ports": _list_map,
        "open": _open,
        "either": {"x-kubernetes-int-or-string": True},
        "nested": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
    },
}
_scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
_other_spec = _spec | {"properties": _spec["properties"] | {"set": {"type": "array", "items": {"type": "string"}}}}
"""In version v2 the set is an atomic list."""
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"parts.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "parts", "kind": "Part"},
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": _open}}},
                "subresources": {"status": {}, "scale": _scale},
            }
            for name, spec in (("v1", _spec), ("v2", _other_spec))
        ],
    },
}


@dataclass(frozen=True)
class Call:
    """One request; the body of an update is the last answer with some fields changed."""

    method: str
    query: str
    content_type: str = "application/json"
    body: Any = None
    subresource: str = ""
    change: Any = None
    version: str = ""


@dataclass
class Sequence:
    """The requests to one object."""

    kind: Kind
    name: str
    calls: list[Call] = field(default_factory=list)

    def target(self, namespace: str, call: Call) -> str:
        prefix = f"/apis/{call.version}" if "/" in call.version else f"/api/{call.version}"
        collection = f"{prefix}/namespaces/{namespace}/{self.kind.resource}"
        path = collection if call.method == "POST" else f"{collection}/{self.name}"
        return f"{path}{'/' + call.subresource if call.subresource else ''}?{call.query}"


@dataclass(frozen=True)
class Kind:
    """A kind and how its documents are made up."""

    api_version: str
    name: str
    resource: str
    content: Callable[[Random], dict[str, Any]]
    """Some fields of an object, each of which may be there or not."""
    status: bool = False
    versions: tuple[str, ...] = ()
    """Other versions at which requests are sent."""

    @property
    def label(self) -> str:
        """The kind, in names of objects and of tests."""
        return f"{self.name}-versions" if self.versions else self.name

    def document(self, name: str, version: str, content: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": name} | content.pop("metadata", {})
        return {"apiVersion": version, "kind": self.name, "metadata": metadata} | content


def _some(chance: Random, **choices: Callable[[], Any]) -> dict[str, Any]:
    return {name: make() for name, make in choices.items() if chance.random() < 0.4}


def _words(chance: Random) -> list[str]:
    return chance.sample(["a", "b", "c", "d"], chance.randint(0, 3))


def _map(chance: Random) -> dict[str, str]:
    return {word: chance.choice(["1", "2"]) for word in _words(chance)}


def some_metadata(chance: Random) -> dict[str, Any]:
    made = _some(
        chance,
        labels=lambda: _map(chance),
        annotations=lambda: _map(chance),
        finalizers=lambda: [f"x.dev/{word}" for word in _words(chance)],
    )
    # kube-apiserver stores an empty map in the metadata of a custom resource, and does not show it.
    return {name: part for name, part in made.items() if part}


def _config_map(chance: Random) -> dict[str, Any]:
    found = _some(chance, data=lambda: _map(chance), metadata=lambda: some_metadata(chance))
    return found | ({"binaryData": {"z": "AAAA"}} if chance.random() < 0.2 else {})


def _part(chance: Random) -> dict[str, Any]:
    def port() -> dict[str, Any]:
        return {"port": chance.randint(1, 2)} | _some(
            chance,
            protocol=lambda: chance.choice(["TCP", "UDP"]),
            name=lambda: chance.choice(["a", "b"]),
            tags=lambda: _words(chance),
        )

    def ports() -> list[Any]:
        made = {(each["port"], each.get("protocol", "TCP")): each for each in (port() for _ in range(3))}
        return list(made.values())[: chance.randint(0, 3)]

    def anything() -> Any:
        return chance.choice([1, True, "x", _words(chance), _map(chance), {"deep": _map(chance)}])

    spec = _some(
        chance,
        size=lambda: chance.randint(0, 2),
        defaulted=lambda: chance.choice([7, 8]),
        labels=lambda: _map(chance),
        atomicMap=lambda: _map(chance),
        atomicList=lambda: _words(chance),
        set=lambda: _words(chance),
        ports=ports,
        open=lambda: {word: anything() for word in _words(chance)},
        either=lambda: chance.choice([1, "1"]),
        nested=lambda: _some(chance, a=lambda: chance.choice("ab"), b=lambda: chance.randint(0, 1)),
    )
    found: dict[str, Any] = {"spec": spec} if chance.random() < 0.9 else {}
    return found | _some(
        chance, metadata=lambda: some_metadata(chance), status=lambda: {"phase": chance.choice("xy"), "n": anything()}
    )


def _deployment(chance: Random) -> dict[str, Any]:
    def container(name: str) -> dict[str, Any]:
        return {"name": name, "image": chance.choice(["i:1", "i:2"])} | _some(
            chance,
            env=lambda: [{"name": word, "value": chance.choice("xy")} for word in _words(chance)],
            ports=lambda: [{"containerPort": chance.choice([80, 81])} | _some(chance, name=lambda: "p")],
            args=lambda: _words(chance),
            resources=lambda: {"limits": {"cpu": chance.choice(["1", "500m"])}},
        )

    pod = {"containers": [container(name) for name in chance.sample(["a", "b"], chance.randint(1, 2))]}
    pod |= _some(
        chance,
        nodeSelector=lambda: _map(chance),
        terminationGracePeriodSeconds=lambda: chance.choice([10, 30]),
        volumes=lambda: [{"name": word, "emptyDir": {}} for word in _words(chance)],
    )
    template = {"metadata": {"labels": {"app": "x"} | _map(chance)}, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    spec |= _some(
        chance,
        replicas=lambda: chance.randint(1, 3),
        strategy=lambda: {"type": "Recreate"},
        minReadySeconds=lambda: chance.randint(0, 2),
    )
    return {"spec": spec} | _some(
        chance,
        metadata=lambda: some_metadata(chance),
        status=lambda: {"replicas": chance.randint(0, 2), "observedGeneration": 1},
    )


def _service(chance: Random) -> dict[str, Any]:
    def ports() -> list[Any]:
        numbers = chance.sample([80, 81, 82], chance.randint(1, 3))
        return [{"name": f"p{number}", "port": number} | _some(chance, targetPort=lambda: 8080) for number in numbers]

    spec = {"ports": ports(), "clusterIP": "None"} | _some(
        chance, selector=lambda: {"app": chance.choice("xy")}, sessionAffinity=lambda: "None"
    )
    return {"spec": spec} | _some(chance, metadata=lambda: some_metadata(chance))


def _secret(chance: Random) -> dict[str, Any]:
    return _some(
        chance,
        data=lambda: dict.fromkeys(_words(chance), "YQ=="),
        stringData=lambda: _map(chance),
        metadata=lambda: some_metadata(chance),
        type=lambda: "Opaque",
    )


KINDS = (
    Kind("v1", "ConfigMap", "configmaps", _config_map),
    Kind(f"{GROUP}/v1", "Part", "parts", _part, status=True),
    Kind(f"{GROUP}/v1", "Part", "parts", _part, status=True, versions=(f"{GROUP}/v2",)),
    Kind("apps/v1", "Deployment", "deployments", _deployment, status=True),
    Kind("v1", "Service", "services", _service),
    Kind("v1", "Secret", "secrets", _secret),
)


def sequence(kind: Kind, seed: int, length: int = 9) -> Sequence:
    """The sequence of a seed."""
    chance = Random(f"{kind.label}-{seed}")
    made = Sequence(kind, f"{kind.label.lower()}-{seed}")
    for number in range(length):
        made.calls.append(_call(chance, made, first=number == 0))
    return made


def _call(chance: Random, made: Sequence, *, first: bool) -> Call:
    manager = chance.choice(["one", "two", "three"])
    query = f"fieldManager={manager}"
    status = made.kind.status and not first and chance.random() < 0.2
    subresource = "status" if status else ""
    version = chance.choice((made.kind.api_version, *made.kind.versions))
    document = made.kind.document(made.name, version, made.kind.content(chance))
    roll = chance.random()
    if first and roll < 0.5:
        return Call("POST", query, body=document, version=version)
    if first or roll < 0.5:
        force = "&force=true" if chance.random() < 0.4 else ""
        return Call("PATCH", query + force, APPLY, document, subresource, version=version)
    content = {name: part for name, part in document.items() if name not in ("apiVersion", "kind")}
    if roll < 0.65:
        return Call("PUT", query, change=content, subresource=subresource, version=version)
    if roll < 0.9 or not document["metadata"].get("labels"):
        builtin = GROUP not in version
        kind = STRATEGIC if builtin and chance.random() < 0.5 else MERGE
        return Call("PATCH", query, kind, content, subresource, version=version)
    operations: list[Any] = [{"op": "add", "path": "/metadata/labels", "value": document["metadata"]["labels"]}]
    if chance.random() < 0.2:
        operations = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    return Call("PATCH", query, JSON_PATCH, operations, version=version)


def body_of(call: Call, last: Any) -> bytes:
    """The body of a request, given the last answer that was an object."""
    if call.change is None:
        return json.dumps(call.body).encode()
    document = dict(last or {}) | {"apiVersion": call.version}
    document |= call.change | {"metadata": document.get("metadata", {}) | call.change.get("metadata", {})}
    return json.dumps(document).encode()


class Masked:
    """Answers of one server about one object, without what differs from server to server."""

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}

    def answer(self, code: int, document: Any) -> Any:
        if document.get("kind") == "Status":
            return {"code": code, "message": _message(document), "causes": _causes(document)}
        metadata = dict(document["metadata"])
        for name in ("uid", "creationTimestamp", "namespace"):
            metadata[name] = f"<{name}>" if name in metadata else None
        version = metadata.get("resourceVersion", "")
        metadata["resourceVersion"] = self._versions.setdefault(version, len(self._versions))
        metadata.pop("generation", None)
        metadata["managedFields"] = sorted(
            ({**entry, "time": "time" in entry} for entry in metadata.get("managedFields", ())),
            key=lambda entry: json.dumps(entry, sort_keys=True),
        )
        return {"code": code} | document | {"metadata": metadata}


def _causes(document: Any) -> Any:
    causes = (document.get("details") or {}).get("causes") or []
    return sorted((cause.get("field", ""), cause.get("reason", "")) for cause in causes)


def _message(document: Any) -> str:
    message = str(document.get("message", ""))
    return message if message.startswith("Apply failed") else str(document.get("reason", ""))
