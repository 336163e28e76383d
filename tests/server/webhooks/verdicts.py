"""Cases about what webhooks answer: refusals, wrong answers, patches. The name of an object selects the answer."""

from __future__ import annotations

import base64
from typing import Any

from pilotage.meta.documents import Document
from tests.server.differential import JSON_PATCH, Step, delete, patch, post, put

from .comparison import Case, configuration, webhook
from .servers import Behaviour, allowed, denied, patched

NAMESPACED = "/api/v1/namespaces/<namespace>"
MAPS = f"{NAMESPACED}/configmaps"
PODS = f"{NAMESPACED}/pods"


def _by_name(behaviours: dict[str, Behaviour]) -> Behaviour:
    return lambda review: behaviours.get(review["request"]["name"], allowed)(review)


def _creates(path: str, names: Any) -> list[Step]:
    return [post(name, path, {"metadata": {"name": name}}) for name in names]


def _raw_patch(text: str, kind: str | None = "JSONPatch") -> Behaviour:
    patch = base64.b64encode(text.encode()).decode()
    return lambda review: allowed(review, patch=patch, **({} if kind is None else {"patchType": kind}))


def _patch(*operations: Document) -> Behaviour:
    return lambda review: patched(review, *operations)


def _add(path: str, value: Any) -> Behaviour:
    return _patch({"op": "add", "path": path, "value": value})


_CAUSES = [{"reason": "FieldValueInvalid", "message": "m", "field": "spec.x"}]
REFUSALS: dict[str, Behaviour] = {
    "denied": denied,
    "denied-message": lambda review: denied(review, message="no way"),
    "denied-reason": lambda review: denied(review, reason="Because"),
    "denied-code": lambda review: denied(
        review, code=422, reason="Invalid", message="bad", details={"name": "n", "kind": "k", "causes": _CAUSES}
    ),
    "denied-success": lambda review: denied(review, code=200, status="Success"),
    "denied-teapot": lambda review: denied(review, code=418, message="teapot"),
    "denied-600": lambda review: denied(review, code=600),
    "denied-999": lambda review: denied(review, code=999, message="the largest"),
    "denied-99": lambda review: denied(review, code=99),
    "denied-large-code": lambda review: denied(review, code=99999999999),
    "denied-fraction": lambda review: denied(review, code=403.5),
    "denied-text-code": lambda review: denied(review, code="403"),
    "denied-true": lambda review: denied(review, code=True),
    "denied-number": lambda review: denied(review, code=403, message=7),
    "denied-late": lambda review: denied(review, code=429, details={"retryAfterSeconds": 99999999999}),
    "denied-early": lambda review: denied(review, code=429, details={"retryAfterSeconds": -4}),
    "denied-retry": lambda review: denied(review, code=429, message="later", details={"retryAfterSeconds": 3}),
    "denied-warned": lambda review: allowed(review, allowed=False, warnings=["first", "second", "first", ""]),
    "warned": lambda review: allowed(review, warnings=["one", "bad\nline", "ü" * 300]),
    "warned-much": lambda review: allowed(review, warnings=[f"{number}" * 500 for number in range(10)]),
    "annotated": lambda review: allowed(review, auditAnnotations={"a": "b"}),
    "absent": lambda review: {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"},
    "not-allowed": lambda review: {**allowed(review), "response": {"uid": review["request"]["uid"]}},
    "wrong-uid": lambda review: allowed(review, uid="other"),
    "no-uid": lambda review: {**allowed(review), "response": {"allowed": True}},
    "wrong-kind": lambda review: allowed(review) | {"kind": "Other"},
    "wrong-version": lambda review: allowed(review) | {"apiVersion": "admission.k8s.io/v1beta1"},
    "wrong-group": lambda review: allowed(review) | {"apiVersion": "example.com/v1"},
    "no-kind": lambda review: {"response": {"uid": review["request"]["uid"], "allowed": True}},
    "wrong-type": lambda review: allowed(review, allowed="yes"),
    "wrong-warnings": lambda review: allowed(review, warnings="one"),
    "unknown-field": lambda review: allowed(review, other=1),
    "validating-patch": lambda review: patched(review, {"op": "remove", "path": "/data"}),
}
_OWNERS = {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"}] * 2}
PATCHES: dict[str, Behaviour] = {
    "empty-patch": _raw_patch("[]"),
    "no-patch-type": _raw_patch("[]", None),
    "only-patch-type": lambda review: allowed(review, patchType="JSONPatch"),
    "empty-patch-type": _raw_patch('[{"op": "test", "path": "/kind", "value": "ConfigMap"}]', ""),
    "other-patch-type": _raw_patch('[{"op": "remove", "path": "/data"}]', "MergePatch"),
    "undecodable-patch": _raw_patch("{}"),
    "no-json-patch": _raw_patch("nonsense"),
    "missing-path": _patch({"op": "remove", "path": "/data"}),
    "missing-parent": _add("/data/a/b", "x"),
    "failed-test": _patch({"op": "test", "path": "/kind", "value": "Secret"}),
    "wrong-operation": _patch({"op": "upsert", "path": "/data", "value": {}}),
    "unknown-data": _add("/unknown", {"a": 1}),
    "other-name": _add("/metadata/name", "renamed"),
    "other-namespace": _add("/metadata/namespace", "elsewhere"),
    "no-change": _patch({"op": "test", "path": "/kind", "value": "ConfigMap"}),
    "invalid-label": _add("/metadata/labels", {"Bad Key": "x"}),
    "set-uid": _add("/metadata/uid", "11111111-1111-1111-1111-111111111111"),
    "deleted": _add("/metadata/deletionTimestamp", "2020-01-01T00:00:00Z"),
    "deleted-soon": _add("/metadata/deletionGracePeriodSeconds", 30),
    "created": _add("/metadata/creationTimestamp", "2020-01-01T00:00:00Z"),
    "version": _add("/metadata/resourceVersion", "7"),
    "generation": _add("/metadata/generation", 7),
    "no-managers": _patch({"op": "remove", "path": "/metadata/managedFields"}),
    "null-labels": _add("/metadata/labels", None),
    "broken-managers": _add("/metadata/managedFields", [{"manager": "m", "operation": "Destroy"}]),
    "binary": _add("/binaryData", {"a": "bm90IGJhc2U2NA=="}),
    "not-binary": _add("/binaryData", {"a": "?"}),
    "owners": _add("/metadata/ownerReferences", _OWNERS["ownerReferences"]),
}

UPDATED = ("deleted", "deleted-soon", "created", "version", "generation", "set-uid", "other-name", "other-namespace")
"""The patches of `PATCHES` that are tried on updates, too."""

VERDICTS = Case(
    "verdicts",
    configurations=[
        configuration("Validating", "verdicts", webhook("/v", "CREATE")),
        configuration(
            "Validating", "verdicts-ignored", webhook("/v-ignored", "CREATE", "secrets", failurePolicy="Ignore")
        ),
    ],
    behaviours={"/v": _by_name(REFUSALS), "/v-ignored": _by_name(REFUSALS)},
    steps=[
        *_creates(MAPS, REFUSALS),
        *(
            post(f"ignored: {name}", "/api/v1/namespaces/<namespace>/secrets", {"metadata": {"name": name}})
            for name in ("absent", "wrong-uid", "wrong-kind", "wrong-type", "denied")
        ),
    ],
)
MUTATED = Case(
    "mutated",
    configurations=[
        configuration("Mutating", "mutated", webhook("/m", "CREATE")),
        configuration(
            "Mutating", "mutated-ignored", webhook("/m-ignored", "CREATE", "secrets", failurePolicy="Ignore")
        ),
        configuration("Mutating", "mutated-delete", webhook("/m-delete", "DELETE")),
        configuration("Mutating", "mutated-name", webhook("/m-name", "CREATE", "serviceaccounts")),
        configuration("Mutating", "mutated-status", webhook("/m-status", "CREATE", "pods")),
    ],
    behaviours={
        "/m": _by_name(PATCHES),
        "/m-ignored": _by_name(PATCHES),
        "/m-delete": _add("/metadata/labels", {"a": "b"}),
        "/m-name": _add("/metadata/name", "named"),
        "/m-status": _add("/status", {"phase": "Failed"}),
    },
    steps=[
        *_creates(MAPS, PATCHES),
        delete("patch of a delete", f"{MAPS}/empty-patch"),
        post(
            "a name instead of a generated one", f"{NAMESPACED}/serviceaccounts", {"metadata": {"generateName": "g-"}}
        ),
        post(
            "a status of a create",
            PODS,
            {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        ),
        *(
            post(f"ignored: {name}", "/api/v1/namespaces/<namespace>/secrets", {"metadata": {"name": name}})
            for name in ("undecodable-patch", "missing-path", "other-patch-type")
        ),
    ],
)
REPLACED = Case(
    "replaced",
    configurations=[configuration("Mutating", "replaced", webhook("/m", "UPDATE"))],
    behaviours={"/m": _by_name(PATCHES)},
    steps=[
        *(
            step
            for name in (*UPDATED, "owners")
            for step in (
                post(f"create {name}", MAPS, {"metadata": {"name": name}}),
                put(f"update {name}", f"{MAPS}/{name}", {"metadata": {"name": name}, "data": {"a": "b"}}),
                patch(f"patch {name}", f"{MAPS}/{name}", {"data": {"a": "c"}}),
                patch(f"patch {name} with the same", f"{MAPS}/{name}", {"data": {"a": "c"}}),
            )
        ),
        put("update owners with duplicates", f"{MAPS}/owners", {"metadata": {"name": "owners"} | _OWNERS}),
        patch("patch owners with duplicates", f"{MAPS}/owners", {"metadata": _OWNERS}),
        post("create without a webhook", MAPS, {"metadata": {"name": "plain"}}),
        put("duplicates without a webhook", f"{MAPS}/plain", {"metadata": {"name": "plain"} | _OWNERS}),
        patch("the same in a patch", f"{MAPS}/plain", {"metadata": _OWNERS}),
        patch(
            "the same in a JSON patch",
            f"{MAPS}/plain",
            [{"op": "add", "path": "/metadata/ownerReferences", "value": _OWNERS["ownerReferences"]}],
            JSON_PATCH,
        ),
    ],
)
