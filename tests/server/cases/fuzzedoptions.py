"""What random sequences with all sorts of options have found, as small cases; with managed fields."""

from __future__ import annotations

from typing import Any

from ..differential import APPLY, DEFINITIONS, MERGE, STRATEGIC, Saved, Scenario, delete, get, patch, post, put
from .kinds import definition

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_CORE = "/api/v1/namespaces/<namespace>"
_MAPS = _CORE + "/configmaps"
_CLAIMS = _CORE + "/persistentvolumeclaims"
_JOBS = "/apis/batch/v1/namespaces/<namespace>/jobs"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/<namespace>/leases"
_ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/<namespace>/roles"
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/<namespace>/endpointslices"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/<namespace>/deployments"
_SETS = "/apis/apps/v1/namespaces/<namespace>/replicasets"
_EVENTS = "/events.k8s.io/v1/namespaces/<namespace>/events"
_WIDGETS = "/apis/<group>/{}/namespaces/<namespace>/widgets"


def _version(name: str, rules: list[Any], **fields: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": fields}
    schema = {"type": "object", "properties": {"spec": spec}, "x-kubernetes-validations": rules}
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}


def _widget(version: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"<group>/{version}", "kind": "Widget", "metadata": {"name": name}, **fields}


def _map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def _claimed(name: str, group: str) -> dict[str, Any]:
    source = {"apiGroup": group, "kind": "VolumeSnapshot", "name": "a"}
    return {"metadata": {"name": name}, "spec": {**_CLAIM["spec"], "dataSource": source}}


def _webhook(url: str) -> dict[str, Any]:
    config = {"clientConfig": {"url": url}, "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    return {"name": f"a{len(url)}.example.com", **config}


_V1 = _version(
    "v1",
    [],
    size={"type": "integer"},
    old={"type": "string"},
    shape={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    host={"type": "string", "format": "hostname"},
    number={"type": "number", "x-kubernetes-validations": [{"rule": "self < 1.5"}]},
)
_V2 = _version(
    "v2",
    [{"rule": "self.spec.size < 9"}],
    size={"type": "integer"},
    new={"type": "string"},
    shape={"type": "string"},
)
_V1["subresources"] = {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}}
_V2["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "self.size < 8"}]
_CLAIM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "one"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
_JOB = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "x"}]}}}}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
_PORT = {"containerPort": 80}
_CONTAINER = {"name": "a", "image": "x", "ports": [_PORT, _PORT]}
_PORTS = {"metadata": {"name": "one"}, "template": {"spec": {"containers": [_CONTAINER]}}}
_SET = {"metadata": {"name": "one"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}}
_EVENT = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "one", "namespace": "<namespace>"},
    "eventTime": "2020-01-02T03:04:05.000006Z",
    "reportingController": "example.com/a",
    "reportingInstance": "a",
    "action": "Start",
    "reason": "Started",
    "type": "Normal",
    "regarding": {"kind": "Pod", "namespace": "<namespace>", "name": "p"},
}
_OLD_EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "one", "namespace": "<namespace>"},
    "involvedObject": _EVENT["regarding"],
    "firstTimestamp": "2020-01-02T03:04:05Z",
    "count": 2,
    "type": "Normal",
}
_ACCOUNT = {"metadata": {"name": "one", "labels": {"a": "b"}}}
_RULE = {"x-kubernetes-validations": [{"rule": "self"}]}
_WRONG = {"type": "object", "properties": {"b": {"type": "boolean", "default": False, **_RULE}}}
_REQUIRED: dict[str, Any] = {
    "type": "array",
    "items": {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}},
}
_REQUIRED |= {"default": [{}]}
_KEYED = {"type": "object", "additionalProperties": {"type": "string", "minLength": 2}, "default": {"y": "x"}}
_DEFAULTS = {
    "a": {"type": "boolean", "default": True, "x-kubernetes-validations": [{"rule": "!self || !oldSelf"}]},
    "b": {
        "type": "array",
        "maxItems": 2,
        "default": ["x"],
        "items": {"type": "string", "maxLength": 2, "x-kubernetes-validations": [{"rule": "self != 'x'"}]},
    },
}
_SCALED = {"metadata.managedFields": [{}], "spec.replicas": 2}
_VERSION = {"preconditions": {"resourceVersion": ""}}
_DELETED = {"deletionTimestamp": "2024-01-01T00:00:00Z"}
_UID = "33333333-3333-3333-3333-333333333333"
_SELECTABLE = [{"jsonPath": ".spec.size"}]


FUZZED_OPTIONS = Scenario(
    "fuzzed-options",
    [
        # options of writes
        post("two wrong options", _MAPS + "?dryRun=x&fieldValidation=y", _map("one")),
        post("a version, in a dry run", _MAPS + "?dryRun=All", _map("one", resourceVersion="0")),
        post("a version, and a key that is not valid", _MAPS, {**_map("one", resourceVersion="1"), "data": {"/": ""}}),
        post("a version", _MAPS, _map("one", resourceVersion="1")),
        post("what the server sets", _MAPS, _map("one", deletionTimestamp="2024-01-01T00:00:00Z", labels={"a": "b"})),
        put("a link", _MAPS + "/one", _map("one", selfLink="/a")),
        patch("an apply can set it", _MAPS + "/two?fieldManager=a", _map("two", deletionGracePeriodSeconds=5), APPLY),
        # options of reads
        get("no such object, and no such form", _MAPS + "/none?includeObject=x", accept=_TABLE),
        get("no such form", _MAPS + "/one?includeObject=x", accept=_TABLE),
        get("wrong labels, and a wrong match", _MAPS + "?labelSelector=%3D&resourceVersionMatch=x"),
        get("a wrong match, and a wrong field", _MAPS + "?fieldSelector=x%3D1&resourceVersionMatch=x"),
        get("a wrong field, and a wrong token", _MAPS + "?fieldSelector=x%3D1&continue=none"),
        get("a wrong token", _MAPS + "?continue=none"),
        get(
            "a watch without a version ends its initial events",
            _MAPS + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=1&labelSelector=none",
        ),
        get(
            "the empty object of a bookmark",
            _CORE + "/limitranges?watch=true&allowWatchBookmarks=true&timeoutSeconds=1",
            accept=_TABLE,
        ),
        get(
            "the empty deployment of a bookmark",
            _DEPLOYMENTS + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=1",
            accept=_TABLE,
        ),
        post("a template with a port twice", _CORE + "/podtemplates", _PORTS),
        patch("it is not mentioned again", _CORE + "/podtemplates/one", {"metadata": {"labels": {"a": "b"}}}),
        # deletion
        delete("an empty version", _MAPS + "/one", _VERSION),
        delete("an empty uid", _MAPS + "/one", {"preconditions": {"uid": ""}}),
        delete("wrong labels, and a wrong policy", _MAPS + "?labelSelector=%3D", {"propagationPolicy": "x"}),
        delete("a wrong policy, and a wrong dry run", _MAPS + "/none", {"propagationPolicy": "x", "dryRun": ["x"]}),
        delete("an empty version of a namespace", "/api/v1/namespaces/<namespace>", _VERSION),
        delete("an empty uid of a definition", f"{DEFINITIONS}/widgets.<group>", {"preconditions": {"uid": ""}}),
        post("a map with a generation", _MAPS, _map("four", generation=7)),
        delete("gets another one", _MAPS + "/four", {"propagationPolicy": "Orphan"}),
        patch("a map that is being deleted", _MAPS + "/three?fieldManager=a", _map("three", **_DELETED), APPLY),
        patch("its time is not changed", _MAPS + "/four", {"metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}}),
        delete("and is deleted in another way", _MAPS + "/three", {"propagationPolicy": "Orphan"}),
        # writes that change nothing
        post("a claim", _CLAIMS, _CLAIM),
        patch("it is stored again", _CLAIMS + "/one", {}),
        patch("and then no more", _CLAIMS + "/one", {}),
        post("a job", _JOBS, {"metadata": {"name": "one"}, **_JOB}),
        patch("it gets its labels", _JOBS + "/one", {}),
        patch("and keeps them", _JOBS + "/one", {}),
        post("a job with labels", _JOBS, {"metadata": {"name": "two", "labels": {"a": "b"}}, **_JOB}),
        patch("has them already", _JOBS + "/two", {}),
        post("a set", _SETS + "?fieldManager=a", _SET),
        get("its scale", _SETS + "/one/scale", save="scale"),
        put("managed fields of its scale", _SETS + "/one/scale", Saved("scale", _SCALED)),
        patch(
            "an unknown field, and no name",
            _SETS + "/one?fieldValidation=Strict",
            {"metadata": None, "unknown": 1},
        ),
        # versions
        post("an event", "/apis" + _EVENTS + "?fieldManager=a", _EVENT),
        patch("in its other group", _CORE + "/events/one?fieldManager=b", {}, MERGE),
        put("a count", _CORE + "/events/one", _OLD_EVENT),
        put("what an event cannot lose", "/apis" + _EVENTS + "/one", _EVENT),
        post("a widget", _WIDGETS.format("v1") + "?fieldManager=a", _widget("v1", "one", spec={"size": 1}), save="one"),
        patch(
            "a field that the version of another manager does not have",
            _WIDGETS.format("v2") + "/one?fieldManager=b",
            _widget("v2", "one", spec={"new": "x"}),
            APPLY,
        ),
        get("a widget in v2", _WIDGETS.format("v2") + "/one", save="two"),
        put("the same in an update", _WIDGETS.format("v2") + "/one", Saved("two", {"spec.new": "x"})),
        post("a shape", _WIDGETS.format("v1"), _widget("v1", "round", spec={"shape": {"kind": "disk"}})),
        get("an object where text belongs is emptied", _WIDGETS.format("v2") + "/round"),
        patch("its managed fields are lost", _WIDGETS.format("v2") + "/round", {}),
        patch(
            "it cannot be applied to",
            _WIDGETS.format("v2") + "/round?fieldManager=a",
            _widget("v2", "round", spec={"size": 1}),
            APPLY,
        ),
        post("a shape without an owner", _WIDGETS.format("v1"), _widget("v1", "bare", spec={"old": "x"})),
        patch(
            "an empty configuration in a version that its owner's object does not fit",
            _WIDGETS.format("v2") + "/bare?fieldManager=a",
            _widget("v2", "bare", spec={"new": "x"}),
            APPLY,
        ),
        patch(
            "the same with fields of the live object",
            _WIDGETS.format("v1") + "/bare?fieldManager=b",
            _widget("v1", "bare", spec={"old": "x"}),
            APPLY,
        ),
        # empty lists that are always written
        post("a role", _ROLES + "?fieldManager=a", {"metadata": {"name": "one"}, "rules": []}),
        patch("its rules, again", _ROLES + "/one?fieldManager=b", {"rules": []}),
        post("no limits", _CORE + "/limitranges?fieldManager=a", {"metadata": {"name": "one"}, "spec": {"limits": []}}),
        post("endpoints", _SLICES + "?fieldManager=a", {"metadata": {"name": "one"}, "addressType": "IPv4"}),
        patch("none of them", _SLICES + "/one?fieldManager=b", {"endpoints": []}),
        # nulls in what replaces something
        post("limits", _CORE + "/limitranges", {"metadata": {"name": "two"}, "spec": {"limits": [{"type": "Pod"}]}}),
        patch(
            "no limit",
            _CORE + "/limitranges/two",
            {"spec": {"limits": [{"type": "Pod", "max": {"cpu": None}}]}},
            STRATEGIC,
        ),
        post("a secret", _CORE + "/secrets", {"metadata": {"name": "two"}, "data": {"a": "e30="}}),
        patch("without its content", _CORE + "/secrets/two", {"data": {"a": None, "$patch": "replace"}}, STRATEGIC),
        # values
        *(
            post(
                f"the host {host!r}", _WIDGETS.format("v1") + "?dryRun=All", _widget("v1", "host", spec={"host": host})
            )
            for host in ("a.b", "a-b", "my-host", "my-host.example", "\u00e4.de", "a..de", "1")
        ),
        post("a whole number", _WIDGETS.format("v1"), _widget("v1", "number", spec={"number": 2.0})),
        put("an endpoint that was never created", _CORE + "/endpoints/one", {"metadata": {"name": "one", "uid": _UID}}),
        post(
            "no request",
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            {"metadata": {"name": "<namespace>"}, "spec": {"request": "", "signerName": "a/b", "usages": ["any"]}},
        ),
        post("a claim of a snapshot", _CLAIMS, _claimed("two", "snapshot.storage.k8s.io")),
        patch("of an odd group", _CLAIMS + "/two", _claimed("two", "50%")),
        post("a secret without a name", _CORE + "/serviceaccounts", {**_ACCOUNT, "secrets": [{}]}),
        post("bytes in a list", _CORE + "/secrets", {"metadata": {"name": "one"}, "data": {"a": [], "b": [104, 105]}}),
        patch("a link that changes nothing", _CORE + "/secrets/one", {"metadata": {"selfLink": "/a"}}),
        post(
            "an address that cannot be parsed",
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All",
            {
                "metadata": {"name": "<namespace>"},
                "webhooks": [_webhook("50%"), _webhook("\0"), _webhook("https://a/%zz1")],
            },
        ),
        post("a lease", _LEASES, {"metadata": {"name": "one"}, "spec": {"preferredHolder": "a"}}),
        # rules
        post("an error in the rule of the root", _WIDGETS.format("v2"), _widget("v2", "two")),
        post("rules are not checked without a name", _WIDGETS.format("v2"), {**_widget("v2", "two"), "metadata": {}}),
        post("a number that breaks a rule of v2", _WIDGETS.format("v1"), _widget("v1", "big", spec={"size": 8})),
        patch("it is tolerated, with a warning", _WIDGETS.format("v2") + "/big", {}),
        post("many parts", _WIDGETS.format("v1"), _widget("v1", "many", spec={"size": 2**31})),
        get("more than fit into a scale", _WIDGETS.format("v1") + "/many/scale"),
        post(
            "a version that cannot be printed",
            "/apis/apiregistration.k8s.io/v1/apiservices?dryRun=All",
            {"metadata": {"name": "<namespace>"}, "spec": {"version": "\0", "group": "a"}},
        ),
        # definitions
        post(
            "selectable fields that all versions have, of different schemas",
            f"{DEFINITIONS}?dryRun=All",
            definition("parts", "Part", *({**version, "selectableFields": _SELECTABLE} for version in (_V1, _V2))),
        ),
        post(
            "selectable fields of one version, of the same schema",
            f"{DEFINITIONS}?dryRun=All",
            definition("parts", "Part", _V1, {**_V1, "name": "v2", "storage": False, "selectableFields": _SELECTABLE}),
        ),
        post(
            "formats that are not known",
            f"{DEFINITIONS}?dryRun=All",
            definition(
                "parts",
                "Part",
                _version("v1", [], a={"type": "string", "format": "x"}, b={"type": "integer", "format": "y"}),
            ),
        ),
        post(
            "a default below additional properties is not checked",
            f"{DEFINITIONS}?dryRun=All",
            definition("parts", "Part", _version("v1", [], a={"type": "object", "additionalProperties": _WRONG})),
        ),
        post(
            "a list as a default without a required field",
            f"{DEFINITIONS}?dryRun=All",
            definition("parts", "Part", _version("v1", [], a=_REQUIRED, b=_KEYED)),
        ),
        post(
            "defaults that break rules",
            f"{DEFINITIONS}?dryRun=All",
            definition("parts", "Part", _version("v1", [], **_DEFAULTS)),
        ),
        post(
            "a rule that does not compile, and a default that is not valid",
            f"{DEFINITIONS}?dryRun=All",
            definition("parts", "Part", _version("v1", [{"rule": "self +"}], a={"type": "integer", "default": "x"})),
        ),
        post(
            "a policy that does not exist",
            "/apis/scheduling.k8s.io/v1/priorityclasses?dryRun=All",
            {"metadata": {"name": "<namespace>"}, "value": 1, "preemptionPolicy": "x"},
        ),
    ],
    [definition("widgets", "Widget", _V1, _V2)],
    managed_fields=True,
)
