"""Edge cases of paths, reviews, subresources and rarely used kinds, which an independent tester has found."""

from __future__ import annotations

from typing import Any

from ..differential import APPLY, DEFINITIONS, JSON_PATCH, STRATEGIC, Scenario, delete, get, patch, post, put
from .kinds import definition, version

_CORE = "/api/v1/namespaces/<namespace>"
_REVIEWS = "/apis/authorization.k8s.io/v1"
_PODS = {"verb": "list", "resource": "pods"}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_SETS = "/apis/apps/v1/namespaces/<namespace>/statefulsets"
_SET = {
    "metadata": {"name": "s"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}},
    },
}


def _asked(**attributes: object) -> dict[str, object]:
    return {"spec": {"resourceAttributes": _PODS | attributes}}


REVIEWS = Scenario(
    "reviews",
    [
        post("a review with a name", f"{_REVIEWS}/subjectaccessreviews", _asked() | {"metadata": {"name": "x"}}),
        post(
            "a local review of a path",
            f"{_REVIEWS}/namespaces/<namespace>/localsubjectaccessreviews",
            {
                "metadata": {"namespace": "<namespace>"},
                "spec": {"user": "bob", "nonResourceAttributes": {"path": "/a"}},
            },
        ),
        post(
            "both forms of a selector",
            f"{_REVIEWS}/selfsubjectaccessreviews",
            _asked(
                fieldSelector={"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}
            ),
        ),
        post("no form of a selector", f"{_REVIEWS}/selfsubjectaccessreviews", _asked(labelSelector={})),
        post(
            "terms without keys and values",
            f"{_REVIEWS}/selfsubjectaccessreviews",
            _asked(
                labelSelector={"requirements": [{"operator": "In"}]},
                fieldSelector={"requirements": [{"operator": "Exists", "values": ["a"]}]},
            ),
        ),
        post(
            "a selector that cannot be read",
            f"{_REVIEWS}/selfsubjectaccessreviews",
            _asked(labelSelector={"rawSelector": "a=(("}),
        ),
        post(
            "an unknown operator",
            f"{_REVIEWS}/selfsubjectaccessreviews",
            _asked(
                labelSelector={"requirements": [{"key": "k", "operator": "Near"}, {"key": "l", "operator": "Exists"}]}
            ),
        ),
        post("a review as a Table", f"{_REVIEWS}/selfsubjectaccessreviews", _asked(), accept=_TABLE),
        put("an update of a review", f"{_REVIEWS}/selfsubjectaccessreviews/x", {}),
        post(
            "a token review with a prefix",
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"metadata": {"generateName": "x-"}, "spec": {"token": "nope"}},
        ),
        post("an account", f"{_CORE}/serviceaccounts", {"metadata": {"name": "robot"}}),
        post(
            "a token in another namespace", f"{_CORE}/serviceaccounts/robot/token", {"metadata": {"namespace": "other"}}
        ),
    ],
    managed_fields=True,
)

CORNERS = Scenario(
    "corners",
    [
        get("a version that a built-in group has not", "/apis/apps/v9/deployments"),
        get("an empty part of a path", "/api/v1//namespaces"),
        get("a path with two dots", "/api/v1/namespaces/<namespace>/../<namespace>"),
        get("two slashes", "//api/v1"),
        get("the version in YAML", "/version", accept="application/yaml"),
        get("an unknown part of OpenAPI", "/openapi/v3/apis/nope"),
        post("a content type without a name", f"{_CORE}/configmaps", {"metadata": {"name": "f"}}, content_type=";;;"),
        post(
            "an empty key",
            f"{_CORE}/configmaps?dryRun=All",
            {"metadata": {"name": "k"}, "data": {"": "x"}, "binaryData": {"": "AA=="}},
        ),
        post("a set", _SETS, _SET, save="set"),
        delete("the status of a set", f"{_SETS}/s/status"),
        delete("the scale of a set", f"{_SETS}/s/scale"),
        get("the set is still there", f"{_SETS}/s"),
        get("the finalizers of a namespace", "/api/v1/namespaces/<namespace>/finalize"),
        put(
            "a finalizer without a domain",
            "/api/v1/namespaces/<namespace>/finalize",
            {"metadata": {"name": "<namespace>"}, "spec": {"finalizers": ["kubernetes", "bad"]}},
        ),
        delete("a priority class of the system", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"),
        post(
            "an account with an old annotation",
            f"{_CORE}/serviceaccounts?dryRun=All",
            {"metadata": {"name": "a", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}},
        ),
        post(
            "a runtime class with an old label",
            "/apis/node.k8s.io/v1/runtimeclasses?dryRun=All",
            {"metadata": {"name": "r"}, "handler": "h", "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "b"}}},
        ),
        post(
            "a storage class with an old label",
            "/apis/storage.k8s.io/v1/storageclasses?dryRun=All",
            {
                "metadata": {"name": "s"},
                "provisioner": "p",
                "allowedTopologies": [{"matchLabelExpressions": [{"key": "beta.kubernetes.io/arch", "values": ["b"]}]}],
            },
        ),
        post(
            "a capacity with old labels",
            "/apis/storage.k8s.io/v1/namespaces/<namespace>/csistoragecapacities?dryRun=All",
            {
                "metadata": {"name": "c"},
                "storageClassName": "s",
                "nodeTopology": {
                    "matchLabels": {"beta.kubernetes.io/os": "b"},
                    "matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "Exists"}],
                },
            },
        ),
        post(
            "the default class as a Table",
            "/apis/networking.k8s.io/v1/ingressclasses?dryRun=All",
            {
                "metadata": {"name": "i", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
                "spec": {"controller": "a.b/c"},
            },
            accept=_TABLE,
        ),
        post(
            "a slice for all nodes as a Table",
            "/apis/resource.k8s.io/v1/resourceslices?dryRun=All",
            {
                "metadata": {"name": "s"},
                "spec": {
                    "driver": "a.b",
                    "allNodes": True,
                    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                },
            },
            accept=_TABLE,
        ),
        post(
            "a pod", f"{_CORE}/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
        ),
        patch("the address of a pod", f"{_CORE}/pods/p/status", {"status": {"podIP": "1.2.3.4"}}),
        post(
            "an eviction from another namespace",
            f"{_CORE}/pods/p/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "zz"}},
        ),
        post("a binding without a name", f"{_CORE}/bindings", {"metadata": {}, "target": {"name": "m"}}),
    ],
    managed_fields=True,
)


def _defined(**properties: object) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    return definition(
        "things", "Thing", version(schema=schema, subresources={"status": {}, "scale": scale}, deprecated=True)
    )


def _listed(*default: dict[str, object]) -> dict[str, Any]:
    """A list map whose items have a rule about changes, with a default."""
    rule = {"type": "boolean", "x-kubernetes-validations": [{"rule": "!self || !oldSelf"}]}
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"]}
    items = {"type": "object", "properties": {"if": rule, "port": {"type": "integer", "default": 80}}}
    return _defined(l={"type": "array", "items": items, "default": list(default), **keys})


_THINGS = "/apis/<group>/v1/namespaces/<namespace>/things"
_THING = {"apiVersion": "<group>/v1", "kind": "Thing", "metadata": {"name": "t"}}
_NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
_EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
_WITH_EMBEDDED = {"type": "object", "properties": {"n": {"type": "integer"}, "e": _EMBEDDED}}
_ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "one"}}
_NAMED = (
    f"{_CORE}/configmaps?fieldSelector=metadata.name%3Done&limit=1&resourceVersion=<before.metadata.resourceVersion>"
)

FUZZED_CORNERS = Scenario(
    "fuzzed-corners",
    [
        post(
            "a rule that is no condition, for a default",
            f"{DEFINITIONS}?dryRun=All",
            _defined(port={"type": "integer", "default": 80, "x-kubernetes-validations": [{"rule": "1"}]}),
        ),
        post("a default without the key of its list", f"{DEFINITIONS}?dryRun=All", _listed({"if": True})),
        post("a default with the key of its list", f"{DEFINITIONS}?dryRun=All", _listed({"if": True, "port": 80})),
        patch("a thing", f"{_THINGS}/t?fieldManager=one", _THING, APPLY),
        patch("a status of null", f"{_THINGS}/t/status?fieldManager=two", _THING | {"status": None}, APPLY),
        get("an unknown part of a deprecated thing", f"{_THINGS}/t/other"),
        post(
            "unknown fields in their order",
            f"{_THINGS}?fieldValidation=Strict",
            _THING
            | {
                "other": 1,
                "metadata": {"name": "u", "bad": 1},
                "spec": {"x": 1, "e": {"apiVersion": "v1", "kind": "K", "metadata": {"zzz": 1}}, "m": 2},
            },
        ),
        patch(
            "an account",
            f"{_CORE}/serviceaccounts/one?fieldManager=one",
            _ACCOUNT | {"secrets": [{"name": "s"}]},
            APPLY,
        ),
        patch(
            "a secret without a name", f"{_CORE}/serviceaccounts/one", [{"op": "add", "path": "/secrets/0"}], JSON_PATCH
        ),
        patch("no secrets, merged", f"{_CORE}/serviceaccounts/one", {"secrets": []}, STRATEGIC),
        post(
            "a volume for no claim",
            "/api/v1/persistentvolumes?dryRun=All",
            {
                "metadata": {"name": "v"},
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteMany"],
                    "claimRef": {},
                    "csi": {"driver": "a.b", "volumeHandle": "h"},
                },
            },
            accept=_TABLE,
        ),
        post(
            "a node with a wrong network",
            "/api/v1/nodes?dryRun=All",
            {"metadata": {"name": "n"}, "spec": {"podCIDRs": ["x", "10.2.0.0/24"]}},
        ),
        get("before", f"{_CORE}/configmaps?limit=2", save="before"),
        post("after", f"{_CORE}/configmaps", {"metadata": {"name": "one"}}),
        get("one of a page at an older version", _NAMED),
        get("one at exactly an older version", f"{_NAMED}&resourceVersionMatch=Exact"),
    ],
    [_defined(spec=_WITH_EMBEDDED, status=_NUMBER)],
    managed_fields=True,
)
