"""Requests that are legal but rare: fields given twice, odd media types, older versions, paths of few kinds."""

from __future__ import annotations

import base64
from typing import Any

from ..differential import DEFINITIONS, JSON_PATCH, MERGE, STRATEGIC, YAML, Scenario, Step, get, patch, post, put
from .kinds import CONFIG_MAPS, LEASES, WIDGETS, definition, version

_CORE = "/api/v1/namespaces/<namespace>"
_PODS, _SERVICES, _ACCOUNTS = f"{_CORE}/pods", f"{_CORE}/services", f"{_CORE}/serviceaccounts"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/<namespace>/deployments"
_REVIEWS = "/apis/authorization.k8s.io/v1"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_POD: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "tolerations": [], "priority": 0}
_DOUBLED = '{"metadata":{"name":"NAME","x":1},"data":{"k":"1","k":"2"},"foo":1,"data":{"z":"3"}}'
_NESTED = (
    '{"metadata":{"name":"d"},"spec":{"replicas":1,"replicas":2,"foo":1,"selector":{"matchLabels":{"a":"b"}},'
    '"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","image":"j","zz":1}]}}}}'
)
_DEPLOYMENT = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
}
_SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "b"}, "spec": {"replicas": 1}}
_NO_CERTIFICATE = base64.b64encode(
    b"-----BEGIN CERTIFICATE REQUEST-----\neHk=\n-----END CERTIFICATE REQUEST-----\n"
).decode()
_OPERATIONS = (
    '[{"op":"add","path":"/data/k","value":"x","extra":1},{"op":"add","path":"/data/k","path":"/data/q","value":"x"}]'
)


def _strict(what: str, method: str, target: str, body: str, content_type: str = "") -> list[Step]:
    """The same request at each level of field validation."""
    levels = ("Strict", "Warn", "Ignore")
    return [
        Step(f"{what}: {level}", method, f"{target}?fieldValidation={level}", body.replace("NAME", level), content_type)
        for level in levels
    ]


DOUBLED_FIELDS = Scenario(
    "doubled-fields",
    [
        *_strict(
            "a create", "POST", CONFIG_MAPS, _DOUBLED.replace('"NAME"', '"x","name":"a-NAME"').replace("NAME", "n")
        ),
        post("unknown and doubled fields", f"{_DEPLOYMENTS}?fieldValidation=Strict", _NESTED),
        post("a ConfigMap", CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}}),
        *_strict("a merge patch", "PATCH", f"{CONFIG_MAPS}/a", _DOUBLED.replace('"name":"NAME",', ""), MERGE),
        *_strict("a strategic patch", "PATCH", f"{CONFIG_MAPS}/a", _DOUBLED.replace('"name":"NAME",', ""), STRATEGIC),
        *_strict("a JSON patch", "PATCH", f"{CONFIG_MAPS}/a", _OPERATIONS, JSON_PATCH),
        patch("doubled fields without a level", f"{CONFIG_MAPS}/a", '{"data":{"a":"1","a":"2"}}'),
        patch("an operation that is null", f"{CONFIG_MAPS}/a", "[null]", JSON_PATCH),
        patch("no version is left", f"{CONFIG_MAPS}/a", [{"op": "remove", "path": "/apiVersion"}], JSON_PATCH),
        patch("no kind is left", f"{CONFIG_MAPS}/a", [{"op": "remove", "path": "/kind"}], JSON_PATCH),
        patch("all is replaced", f"{CONFIG_MAPS}/a", [{"op": "replace", "path": "", "value": {}}], JSON_PATCH),
    ],
    managed_fields=True,
)
MEDIA_TYPES = Scenario(
    "media-types",
    [
        *(
            Step(f"the content type {media}", "POST", CONFIG_MAPS, f'{{"metadata":{{"name":"n{index}"}}}}', media)
            for index, media in enumerate(
                (
                    "application/json;",
                    "application/json; ;",
                    "application/json;a",
                    "application/json;a=",
                    "application/json;a=b;",
                    "application/json; a=b c",
                    'application/json;a="b"',
                    'application/json;a="b',
                    "Application/Json;Charset=UTF-8",
                )
            )
        ),
        patch("a patch type in capitals", f"{CONFIG_MAPS}/n0", {}, "application/Merge-Patch+json"),
        patch("a patch type with a parameter", f"{CONFIG_MAPS}/n0", {}, f"{MERGE};a"),
        post(
            "a group that is empty", CONFIG_MAPS, {"apiVersion": "/v1", "kind": "ConfigMap", "metadata": {"name": "g"}}
        ),
        post(
            "an older version",
            LEASES,
            {"apiVersion": "coordination.k8s.io/v1beta1", "kind": "Lease", "metadata": {"name": "a"}},
        ),
        post(
            "another version that is served",
            "/apis/autoscaling/v2/namespaces/<namespace>/horizontalpodautoscalers",
            {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}},
        ),
        post("a Lease", LEASES, {"metadata": {"name": "a"}}),
        patch("a patch in an older version", f"{LEASES}/a", {"apiVersion": "coordination.k8s.io/v1beta1"}),
        *(
            post(
                f"a review as {form}",
                f"{_REVIEWS}/selfsubjectaccessreviews",
                {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}},
                accept=accept,
            )
            for form, accept in (("a Table", _TABLE), ("metadata", _PARTIAL))
        ),
        *(
            post(f"YAML: {text}", CONFIG_MAPS, text, content_type=YAML)
            for text in (
                "metadata:\n\tname: a\n",
                "metadata:\n  name: a\n\tx: y\n",
                "metadata:\n  name: 'a\n",
                "metadata:\n name: a\n  x: y\n",
                "metadata: {name: a\n",
                "a: b: c\n",
                "metadata: *x\n",
            )
        ),
        post("a service account", _ACCOUNTS, {"metadata": {"name": "a"}}),
        post("a token as a Table", f"{_ACCOUNTS}/a/token", {"spec": {}}, accept=_TABLE),
    ],
)
RARE_PATHS = Scenario(
    "rare-paths",
    [
        post("a Pod", _PODS, {"metadata": {"name": "a"}, "spec": _POD}),
        post("an eviction without a name", f"{_PODS}/a/eviction", {}),
        post(
            "an eviction of an older version",
            f"{_PODS}/a/eviction",
            {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "a"}},
        ),
        post("a Secret", f"{_CORE}/secrets", {"metadata": {"name": "s"}}),
        post("a service account", _ACCOUNTS, {"metadata": {"name": "a"}}),
        post(
            "a token for another Secret",
            f"{_ACCOUNTS}/a/token",
            {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "x"}}},
        ),
        post(
            "a Service", _SERVICES, {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
        ),
        post("its endpoints", f"{_CORE}/endpoints", {"metadata": {"name": "s"}}),
        post("a local review without a namespace", f"{_REVIEWS}/localsubjectaccessreviews", {}),
        post(
            "a review with an answer",
            f"{_REVIEWS}/selfsubjectaccessreviews",
            {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}, "status": {"allowed": True}},
        ),
        post(
            "a request for a certificate that is none",
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            {
                "metadata": {"name": "a"},
                "spec": {"request": _NO_CERTIFICATE, "signerName": "a.b/c", "usages": ["client auth"]},
            },
        ),
        *(
            post(
                f"the selectable field {path}",
                f"{DEFINITIONS}?dryRun=All",
                definition("gadgets", "Gadget", version(selectableFields=[{"jsonPath": path}])),
            )
            for path in ("..", ".spec.", "spec.size", ".spec.mode.", ".spec.'mode'", ".spec['mode']", ".spec.nope", "]")
        ),
        get("two wrong options", f"{CONFIG_MAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        get("an empty continue token", f"{CONFIG_MAPS}?limit=1&continue=e30"),
        get("a path with two slashes", "//api/v1/namespaces/<namespace>/pods"),
        get("metrics with a slash", "/metrics/"),
        put("a Scale of another name", f"{_DEPLOYMENTS}/a/scale", _SCALE),
        put("a Scale of a missing object", f"{_DEPLOYMENTS}/b/scale", _SCALE),
        post("a Deployment to scale", _DEPLOYMENTS, {"metadata": {"name": "b"}, "spec": _DEPLOYMENT}),
        patch("an unknown field of a Scale", f"{_DEPLOYMENTS}/b/scale?fieldValidation=Strict", {"nope": 1}),
        get("OpenAPI with a slash", "/openapi/v3/"),
        get("the old OpenAPI in another format", "/openapi/v2", accept="text/html"),
        get("the old OpenAPI with a slash", "/openapi/v2/"),
        get("OpenAPI in another format", "/openapi/v3/apis/apps/v1", accept="text/html"),
        *(
            post(
                f"{len(owners)} owners that begin with {owners[0]}",
                WIDGETS,
                {
                    "apiVersion": "<group>/v1",
                    "kind": "Widget",
                    "metadata": {"name": "w", "ownerReferences": owners},
                    "spec": {"size": 1},
                },
            )
            for owners in ([{"kind": "X"}], [None], [{"kind": "X", "apiVersion": "v1", "name": "y"}, {}])
        ),
    ],
    [definition()],
    managed_fields=True,
)
