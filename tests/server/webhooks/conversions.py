"""Cases with conversion webhooks: version v1 of a Widget has a `size`, which is stored, and v2 calls it `length`."""

from __future__ import annotations

import copy
from typing import Any

from pilotage.meta.documents import Document
from tests.server.differential import APPLY, JSON_PATCH, MERGE, Saved, delete, get, patch, post, put

from .comparison import Case, configuration, webhook

_NAMES = {"v1": "size", "v2": "length"}


def _version(name: str) -> Document:
    spec = {
        "type": "object",
        "properties": {_NAMES[name]: {"type": "integer", "default": 3}, "color": {"type": "string"}},
    }
    status = {"type": "object", "properties": {"phase": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": f".spec.{_NAMES[name]}", "statusReplicasPath": ".status.n"},
        },
        "schema": {"openAPIV3Schema": schema},
    }


def definition(case: str) -> Document:
    group = f"hooks-{case}.example.com"
    webhook = {"clientConfig": {"path": "/c"}, "conversionReviewVersions": ["v1", "v1beta1"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "conversion": {"strategy": "Webhook", "webhook": webhook},
            "versions": [_version("v1"), _version("v2")],
        },
    }


def converted(review: Document) -> Document:
    """The answer of a correct conversion webhook, unless the label `lie` of an object names an error."""
    request = review["request"]
    version = request["desiredAPIVersion"].partition("/")[2]
    objects = [_converted(one, request["desiredAPIVersion"], _NAMES[version]) for one in request["objects"]]
    response: Document = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
    answer = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
    for lie in {(one["metadata"].get("labels") or {}).get("lie", "") for one in request["objects"]} - {""}:
        _LIES[lie](answer)
    return answer


def _converted(document: Document, api_version: str, name: str) -> Document:
    result = copy.deepcopy(document) | {"apiVersion": api_version}
    spec = result.get("spec") or {}
    for other in _NAMES.values():
        if other != name and other in spec:
            spec[name] = spec.pop(other)
    return result


def _change(path: str, value: Any) -> Any:
    def change(answer: Document) -> None:
        target: Any = answer
        *parents, last = path.split(".")
        for key in parents:
            target = target[int(key)] if isinstance(target, list) else target[key]
        if value is None:
            target.pop(last)
        else:
            target[last] = value

    return change


_ONE = "response.convertedObjects.0"
_LIES = {
    "uid": _change("response.uid", "other"),
    "failed": _change("response.result", {"status": "Failure", "message": "no way"}),
    "silent": _change("response.result", {"status": "Failure"}),
    "no-result": _change("response.result", None),
    "none": _change("response.convertedObjects", []),
    "no-response": _change("response", None),
    "version": _change(f"{_ONE}.apiVersion", "example.com/v7"),
    "kind": _change(f"{_ONE}.kind", "Gadget"),
    "name": _change(f"{_ONE}.metadata.name", "other"),
    "namespace": _change(f"{_ONE}.metadata.namespace", "other"),
    "object-uid": _change(f"{_ONE}.metadata.uid", "other"),
    "no-metadata": _change(f"{_ONE}.metadata", None),
    "labels": _change(f"{_ONE}.metadata.labels", {"Bad Key": "x"}),
    "label-type": _change(f"{_ONE}.metadata.labels", {"a": 1}),
    "finalizers": _change(f"{_ONE}.metadata.finalizers", ["example.com/x"]),
    "annotations": _change(f"{_ONE}.metadata.annotations", {"by": "conversion"}),
    "unknown": _change(f"{_ONE}.spec", {"what": "ever"}),
    "review-kind": _change("kind", "Other"),
}


def _widgets(version: str, case: str) -> str:
    return f"/apis/hooks-{case}.example.com/{version}/namespaces/<namespace>/widgets"


def _widget(version: str, name: str, case: str, **more: Any) -> Document:
    head = {"apiVersion": f"hooks-{case}.example.com/{version}", "kind": "Widget"}
    return head | {"metadata": {"name": name} | more.pop("metadata", {})} | more


def _conversion() -> Case:
    name = "conversion"
    v1, v2 = _widgets("v1", name), _widgets("v2", name)
    return Case(
        name,
        definitions=[definition(name)],
        behaviours={"/c": converted},
        configurations=[
            configuration(
                "Validating",
                "conversion",
                webhook("/v", resources=f"hooks-{name}.example.com:widgets", versions=["v2"]),
            )
        ],
        steps=[
            post("create at the stored version", v1, _widget("v1", "a", name, spec={"size": 1})),
            get("get at the stored version", f"{v1}/a"),
            get("get", f"{v2}/a", save="a"),
            post("create", v2, _widget("v2", "b", name, spec={"length": 2, "what": 1})),
            get("get what was created", f"{v1}/b"),
            post("create with a default", v2, _widget("v2", "c", name, spec={})),
            get("list", v2),
            get("list at the stored version", v1),
            put("update", f"{v2}/a", Saved("a", {"spec.length": 5})),
            patch("merge patch", f"{v2}/a", {"spec": {"color": "red"}}, MERGE),
            patch("patch that changes nothing", f"{v2}/a", {"spec": {"color": "red"}}, MERGE),
            patch("JSON patch", f"{v2}/a", [{"op": "replace", "path": "/spec/length", "value": 6}], JSON_PATCH),
            patch("patch at the stored version", f"{v1}/a", {"spec": {"size": 7}}, MERGE),
            patch("status", f"{v2}/a/status", {"status": {"phase": "Ready"}}, MERGE),
            patch("scale", f"{v2}/a/scale", {"spec": {"replicas": 9}}, MERGE),
            patch(
                "apply",
                f"{v2}/a?fieldManager=applier&force=true",
                _widget("v2", "a", name, spec={"length": 8}),
                APPLY,
            ),
            patch(
                "apply at the stored version",
                f"{v1}/a?fieldManager=applier",
                _widget("v1", "a", name, spec={"size": 8, "color": "blue"}),
                APPLY,
            ),
            patch(
                "apply that creates",
                f"{v2}/d?fieldManager=applier",
                _widget("v2", "d", name, spec={"length": 1}),
                APPLY,
            ),
            get("metadata", f"{v2}/a", accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"),
            get("watch", f"{v2}?watch=true&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Db"),
            post("create in a dry run", f"{v2}?dryRun=All", _widget("v2", "e", name, spec={"length": 2})),
            delete("delete", f"{v2}/b"),
            delete("delete collection", v2),
        ],
    )


def _failures() -> Case:
    name = "lies"
    v1, v2 = _widgets("v1", name), _widgets("v2", name)
    steps = []
    for lie in _LIES:
        widget = _widget("v1", lie, name, metadata={"labels": {"lie": lie}}, spec={"size": 1})
        steps += [post(f"create {lie}", v1, widget), get(f"get {lie}", f"{v2}/{lie}")]
    steps.append(delete("delete", f"{v2}/uid"))
    steps.append(post("create", v2, _widget("v2", "a", name, metadata={"labels": {"lie": "failed"}})))
    steps.append(get("nothing is stored", f"{v1}/a"))
    return Case(name, definitions=[definition(name)], behaviours={"/c": converted}, steps=steps)


CONVERSION = _conversion()
LIES = _failures()
