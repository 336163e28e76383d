"""Cases about which requests webhooks are called for, and about custom resources."""

from __future__ import annotations

from typing import Any

from pilotage.meta.documents import Document
from tests.server.differential import APPLY, MERGE, Step, delete, get, patch, post

from .comparison import Case, configuration, webhook
from .servers import patched

MAPS = "/api/v1/namespaces/<namespace>/configmaps"
SCALERS = "/apis/autoscaling/{}/namespaces/<namespace>/horizontalpodautoscalers"
_SPEC: Document = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "default": 3},
        "color": {"type": "string"},
        "part": {"type": "object", "properties": {"unit": {"type": "string", "default": "cm"}}},
    },
}


def _definition(case: str) -> Document:
    group = f"hooks-{case}.example.com"
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")
            ],
        },
    }


def _condition(name: str, expression: str) -> Document:
    return {"name": name, "expression": expression}


def _conditional(path: str, *expressions: str, **more: Any) -> Document:
    conditions = [_condition(f"c{number}", text) for number, text in enumerate(expressions)]
    return webhook(path, "CREATE UPDATE DELETE", matchConditions=conditions, **more)


CONDITIONS = Case(
    "conditions",
    configurations=[
        configuration(
            "Validating",
            "conditions",
            _conditional("/v-name", "object != null && object.metadata.name.startsWith('a')"),
            _conditional("/v-old", "request.operation == 'DELETE' && oldObject.metadata.name == 'a'"),
            _conditional("/v-user", "request.userInfo.username != ''", "!('nobody' in request.userInfo.groups)"),
            _conditional("/v-mine", "authorizer.requestResource.check('delete').allowed()"),
            _conditional(
                "/v-secrets", "authorizer.group('').resource('secrets').namespace('x').name('y').check('get').allowed()"
            ),
            _conditional("/v-path", "authorizer.path('/healthz').check('get').allowed()"),
            _conditional(
                "/v-other",
                "authorizer.serviceAccount('default', 'default').group('').resource('pods').check('get').allowed()",
            ),
            _conditional("/v-ignored", "object.data.missing == 'x'", failurePolicy="Ignore"),
            _conditional("/v-false-decides", "object.data.missing == 'x'", "false"),
        )
    ],
    steps=[
        post("create a", MAPS, {"metadata": {"name": "a"}}),
        post("create b", f"{MAPS}?dryRun=All", {"metadata": {"name": "b"}}),
        patch("patch a", f"{MAPS}/a", {"data": {"k": "v"}}, MERGE),
        delete("delete a", f"{MAPS}/a"),
    ],
)
CONDITION_ERRORS = Case(
    "condition-errors",
    configurations=[
        configuration(
            "Validating", f"condition-errors-{name}", _conditional(f"/v-{name}", *expressions, resources=kind)
        )
        for name, kind, expressions in (
            ("missing", "configmaps", ("object.data.missing == 'x'",)),
            ("two", "secrets", ("object.spec.x == 1", "object.y == 1")),
            ("null", "services", ("oldObject.metadata.name == 'x'",)),
            ("request", "endpoints", ("request.subResource == ''",)),
            ("number", "podtemplates", ("1 / (size(object.metadata.name) - 1) == 1",)),
            ("index", "limitranges", ("[1][size(object.metadata.name)] == 1",)),
        )
    ],
    steps=[
        post("a missing field", MAPS, {"metadata": {"name": "a"}}),
        post("two errors", "/api/v1/namespaces/<namespace>/secrets", {"metadata": {"name": "a"}}),
        post(
            "no old object",
            "/api/v1/namespaces/<namespace>/services",
            {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}},
        ),
        post("no subresource", "/api/v1/namespaces/<namespace>/endpoints", {"metadata": {"name": "a"}}),
        post(
            "division by zero",
            "/api/v1/namespaces/<namespace>/podtemplates",
            {"metadata": {"name": "a"}, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
        ),
        post("no such index", "/api/v1/namespaces/<namespace>/limitranges", {"metadata": {"name": "a"}}),
    ],
)
SELECTORS = Case(
    "selectors",
    configurations=[
        configuration(
            "Validating",
            "selectors",
            webhook("/v-labelled", objectSelector={"matchLabels": {"pick": "me"}}),
            webhook("/v-other", namespaceSelector={"matchLabels": {"no-such": "label"}}),
            webhook("/v-cluster", resources="configmaps namespaces", rules_scope="Cluster"),
            webhook("/v-namespaced", resources="configmaps namespaces", rules_scope="Namespaced"),
            webhook("/v-status", resources="namespaces/status namespaces/finalize"),
            webhook("/v-all", resources="*", versions=["v1"]),
            webhook("/v-dry", sideEffects="NoneOnDryRun"),
            webhook("/v-beta", "CREATE", admissionReviewVersions=["v9", "v1beta1"]),
        ),
    ],
    steps=[
        post("create", MAPS, {"metadata": {"name": "a"}}),
        patch("it gets the label", f"{MAPS}/a", {"metadata": {"labels": {"pick": "me"}}}, MERGE),
        patch("it loses the label", f"{MAPS}/a", {"metadata": {"labels": None}}, MERGE),
        delete("delete in a dry run", f"{MAPS}/a?dryRun=All"),
        patch("a namespace", "/api/v1/namespaces/<namespace>", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        patch("its status", "/api/v1/namespaces/<namespace>/status", {"metadata": {"labels": {"a": "c"}}}, MERGE),
        post(
            "another namespace",
            "/api/v1/namespaces?dryRun=All",
            {"metadata": {"name": "labelled", "labels": {"kubernetes.io/metadata.name": "<namespace>"}}},
        ),
        post(
            "a configuration is exempt",
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All",
            {"metadata": {"name": "selectors-2"}},
        ),
        post("in no namespace", "/api/v1/namespaces/no-such-namespace/configmaps", {"metadata": {"name": "a"}}),
    ],
)
_RESOURCE = "hooks-custom.example.com:widgets"
_WIDGETS = "/apis/hooks-custom.example.com/{}/namespaces/<namespace>/widgets"


def _widget(version: str, name: str, **more: Any) -> Document:
    return {"apiVersion": f"hooks-custom.example.com/{version}", "kind": "Widget", "metadata": {"name": name}} | more


def _add(path: str, value: Any) -> Any:
    return lambda review: patched(review, {"op": "add", "path": path, "value": value})


CUSTOM = Case(
    "custom",
    definitions=[_definition("custom")],
    configurations=[
        configuration(
            "Mutating",
            "custom",
            webhook("/m-part", "CREATE", _RESOURCE, versions=["v1"]),
            webhook("/m-unknown", "CREATE", _RESOURCE, versions=["v2"]),
        ),
        configuration(
            "Validating",
            "custom",
            webhook("/v", resources=_RESOURCE),
            webhook("/v-exact", resources=_RESOURCE, versions=["v2"], matchPolicy="Exact"),
            webhook("/v-equivalent", resources=_RESOURCE, versions=["v2"]),
        ),
    ],
    behaviours={"/m-part": _add("/spec/part", {}), "/m-unknown": _add("/spec/unknown", {"x": 1})},
    steps=[
        post("create at v1", _WIDGETS.format("v1"), _widget("v1", "a", spec={})),
        post("create at v2", _WIDGETS.format("v2"), _widget("v2", "b", spec={"color": "red"})),
        get("what is stored", f"{_WIDGETS.format('v1')}/b"),
        patch("patch at v1", f"{_WIDGETS.format('v1')}/b", {"spec": {"color": "blue"}}, MERGE),
        patch("apply at v2", f"{_WIDGETS.format('v2')}/b?fieldManager=m", _widget("v2", "b", spec={"size": 7}), APPLY),
        delete("delete at v1", f"{_WIDGETS.format('v1')}/a"),
    ],
)
EQUIVALENT = Case(
    "equivalent",
    configurations=[
        configuration(
            "Mutating",
            "equivalent",
            webhook("/m-v1", "CREATE", "autoscaling:horizontalpodautoscalers", versions=["v1"]),
            webhook("/m-v2", "CREATE", "autoscaling:horizontalpodautoscalers", versions=["v2"]),
        ),
        configuration(
            "Validating",
            "equivalent",
            webhook("/v-v1", resources="autoscaling:horizontalpodautoscalers", versions=["v1"]),
            webhook("/v-exact", resources="autoscaling:horizontalpodautoscalers", versions=["v1"], matchPolicy="Exact"),
        ),
    ],
    behaviours={
        "/m-v1": _add("/spec/targetCPUUtilizationPercentage", 33),
        "/m-v2": lambda review: patched(
            review,
            {"op": "replace", "path": "/spec/metrics/0/resource/target/averageUtilization", "value": 44},
        ),
    },
    steps=[
        Step(
            f"create at {version}",
            "POST",
            SCALERS.format(version),
            {
                "metadata": {"name": f"at-{version}"},
                "spec": {
                    "maxReplicas": 3,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                },
            },
        )
        for version in ("v1", "v2")
    ],
)
ALL = (CONDITIONS, CONDITION_ERRORS, SELECTORS, CUSTOM, EQUIVALENT)
