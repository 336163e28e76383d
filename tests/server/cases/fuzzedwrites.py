"""What later random sequences have found, as small cases: versions, scales, deletions and definitions."""

from __future__ import annotations

from typing import Any

from ..differential import APPLY, DEFINITIONS, STRATEGIC, Saved, Scenario, Step, delete, get, patch, post, put
from .kinds import definition

_CORE = "/api/v1/namespaces/<namespace>"
_MAPS = _CORE + "/configmaps"
_CONTROLLERS = _CORE + "/replicationcontrollers"
_EVENTS = _CORE + "/events"
_BUDGETS = "/apis/policy/v1/namespaces/<namespace>/poddisruptionbudgets"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/<namespace>/deployments"
_WIDGETS = "/apis/<group>/{}/namespaces/<namespace>/widgets"
_NUMBER = {"type": "integer"}
_TEXT = {"type": "string"}
_DURATION = {"type": "string", "format": "duration"}
_OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def _ruled(schema: dict[str, Any], *rules: str) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def _version(name: str, **fields: Any) -> dict[str, Any]:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.size"}
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": _object(spec=_object(**fields), status={"type": "object", **_OPEN})},
        "subresources": {"status": {}, "scale": scale},
    }


def _widget(version: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"<group>/{version}", "kind": "Widget", "metadata": {"name": name}, **fields}


def _created(name: str, **spec: Any) -> Step:
    return post(f"create {name}", _WIDGETS.format("v1"), _widget("v1", name, spec=spec))


def _defined(what: str, **fields: Any) -> Step:
    return post(what, f"{DEFINITIONS}?dryRun=All", definition("parts", "Part", _version("v1", **fields)))


_V1 = _version(
    "v1",
    replicas={**_NUMBER, "default": 1},
    text=_TEXT,
    time=_ruled(_DURATION, "self < duration('48h')"),
    times=_ruled({"type": "array", "items": _DURATION}, "self.all(x, x < duration('1h'))"),
    rate={"type": "number", "default": 2.0},
    level=_TEXT,
    levels={"type": "array", "items": _TEXT},
    kept=_TEXT,
)
_OPTIONAL = {"rule": "!oldSelf.hasValue() || oldSelf.value() == self", "optionalOldSelf": True}
_V2 = _version(
    "v2",
    replicas={**_NUMBER, "default": 1},
    text=_TEXT,
    extra={**_TEXT, "default": "x"},
    level=_ruled(_NUMBER, "self > 3", "self == oldSelf"),
    levels=_ruled({"type": "array", "items": _NUMBER}, "self.all(x, x > 0)"),
    kept={**_NUMBER, "x-kubernetes-validations": [_OPTIONAL]},
)
_PORTS = {"image": "i", "ports": [{"containerPort": 80}]}
_CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": _CONTAINERS},
    },
}


def _containers(items: list[Any]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": items}}}}


def _terminating(name: str, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "deletionTimestamp": "2024-01-01T00:00:00Z", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


_LABELS = {"metadata": {"labels": {"a": "b"}}}
_LABELLED = {"metadata": {"name": "one", "labels": {"/": ""}}}

FUZZED_WRITES = Scenario(
    "fuzzed-writes",
    [
        # versions that are not stored
        _created("a", replicas=2, text="t"),
        patch("a write through a version with other defaults", _WIDGETS.format("v2") + "/a", {"spec": {"text": "t"}}),
        patch("a scale gets no defaults of it", _WIDGETS.format("v2") + "/a/scale", {"spec": {"replicas": 2}}),
        patch("nor does a status", _WIDGETS.format("v2") + "/a/status", {"status": {}}),
        patch(
            "applied",
            _WIDGETS.format("v2") + "/e?fieldManager=one",
            _widget("v2", "e", spec={"text": "t"}),
            APPLY,
        ),
        patch(
            "nor an apply that changes nothing",
            _WIDGETS.format("v2") + "/e?fieldManager=one",
            _widget("v2", "e", spec={"text": "t"}),
            APPLY,
        ),
        _created("i", text="t"),
        get("a default without a fraction", _WIDGETS.format("v1") + "/i", save="i"),
        put("is an integer", _WIDGETS.format("v1") + "/i", Saved("i")),
        # rules for values that are not of the type of this version
        *(
            step
            for name, spec in (("j", {"level": "x"}), ("k", {"levels": ["x"]}), ("l", {"kept": "x"}))
            for step in (
                _created(name, **spec),
                patch(f"labels of {name}", _WIDGETS.format("v2") + f"/{name}", _LABELS),
            )
        ),
        # durations in words
        _created("b", time="1 day"),
        _created("c", time="3 days"),
        _created("d", time="1.5 h", times=["1 min", "59m"]),
        _created("f", times=["2 Hours"]),
        _created("g", time="in 1 day and 3 hours"),
        _created("h", time="3 moons"),
        # scales and patches
        post("a deployment", _DEPLOYMENTS, _DEPLOYMENT),
        get("its scale", _DEPLOYMENTS + "/d/scale", save="scale"),
        put(
            "an invalid scale with an old version",
            _DEPLOYMENTS + "/d/scale",
            Saved("scale", {"spec.replicas": -1, "metadata.resourceVersion": "1"}),
        ),
        put("an old scale", _DEPLOYMENTS + "/d/scale", Saved("scale", {"metadata.resourceVersion": "1"})),
        patch("a text in a list of objects", _DEPLOYMENTS + "/d", _containers(["c"]), STRATEGIC),
        patch("an object without its merge key", _DEPLOYMENTS + "/d", _containers([{"image": "x"}]), STRATEGIC),
        post("a controller", _CONTROLLERS, {"metadata": {"name": "r"}, "spec": {"template": _TEMPLATE}}),
        patch(
            "an update warns of the template that it replaces",
            _CONTROLLERS + "/r",
            {"spec": {"template": {"spec": {"containers": [{"name": name, **_PORTS} for name in ("c", "d")]}}}},
            STRATEGIC,
        ),
        patch("so that a later one warns", _CONTROLLERS + "/r", {"spec": {"replicas": 3}}, STRATEGIC),
        # metadata is checked last
        post("an event with two errors", _EVENTS, _LABELLED),
        post("an event with one", _EVENTS, {**_LABELLED, "involvedObject": {"namespace": "<namespace>"}}),
        post("a budget with two errors", _BUDGETS, {**_LABELLED, "spec": {"minAvailable": -1}}),
        # deletion
        post("a namespace", "/api/v1/namespaces", {"metadata": {"name": "<namespace>-x"}}),
        delete("its dependents are not orphaned", "/api/v1/namespaces/<namespace>-x", {"orphanDependents": False}),
        patch(
            "applied with a grace period",
            _MAPS + "/b?fieldManager=m",
            _terminating("b", finalizers=["a.b/c"], deletionGracePeriodSeconds=4),
            APPLY,
        ),
        delete("which only pods have", _MAPS + "/b"),
        patch("its last finalizer", _MAPS + "/b", {"metadata": {"finalizers": None}}),
        patch("applied without a finalizer", _MAPS + "/c?fieldManager=m", _terminating("c"), APPLY),
        patch("any write removes it", _MAPS + "/c", {}),
        get("it is removed", _MAPS + "/c"),
        # definitions
        _defined("a rule for a part without a type", a=_ruled({"properties": {"b": _TEXT}, **_OPEN}, "true")),
        _defined(
            "a rule that does not compile, for no part of a default",
            a={**_object(b=_ruled(_TEXT, "self +")), "default": {}},
        ),
        _defined(
            "a rule that does not compile, for a part of a default",
            a={**_object(b=_ruled(_TEXT, "self +"), c={"type": "array", "items": _TEXT}), "default": {"b": "x"}},
        ),
        _defined(
            "rules are compiled unless something is wrong in the part that they are for",
            a=_ruled(_TEXT, "self +"),
            b=_ruled(_object(c={**_TEXT, "x-kubernetes-list-type": "set"}), "self +"),
        ),
        _defined("a default is checked by the rules that compile", a={**_ruled(_NUMBER, "", "self > 1"), "default": 1}),
        _defined("also beside one that does not", a={**_ruled(_NUMBER, "selff", "self > 1"), "default": 1}),
        _defined(
            "unknown fields that are not kept", a={"default": {"b": 1}, "x-kubernetes-preserve-unknown-fields": False}
        ),
        post(
            "two versions of one name",
            f"{DEFINITIONS}?dryRun=All",
            definition("parts", "Part", _version("v1", a=_TEXT), _version("v1", a=_TEXT)),
        ),
    ],
    [definition("widgets", "Widget", _V1, _V2)],
    managed_fields=True,
)
