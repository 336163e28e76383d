"""Paths and discovery: what is served where, and what is not."""

from __future__ import annotations

from ..differential import Scenario, Step, delete, get, post, put
from .kinds import CONFIG_MAPS, GROUP_VERSION, WIDGETS, definition, widget

PATHS = Scenario(
    "paths",
    [
        get("an unknown resource", f"{GROUP_VERSION}/namespaces/<namespace>/gizmos"),
        get("an unknown resource of the core", "/api/v1/namespaces/<namespace>/gizmos"),
        get("an unknown group", "/apis/nope.example.com/v1/namespaces/<namespace>/widgets"),
        get("an unknown version", "/apis/<group>/v9/namespaces/<namespace>/widgets"),
        get("an unknown path", "/foo/bar"),
        get("a cluster's kind in a namespace", "/api/v1/namespaces/<namespace>/nodes"),
        post("a widget without a namespace", f"{GROUP_VERSION}/widgets", widget()),
        get("one widget without a namespace", f"{GROUP_VERSION}/widgets/one"),
        post("a ConfigMap without a namespace", "/api/v1/configmaps", {"metadata": {"name": "q"}}),
        get("one ConfigMap without a namespace", "/api/v1/configmaps/a"),
        get(
            "definitions in a namespace",
            "/apis/apiextensions.k8s.io/v1/namespaces/<namespace>/customresourcedefinitions",
        ),
        put("all widgets", WIDGETS, widget()),
        Step("an unknown method", "FROB", CONFIG_MAPS + "/a"),
        get("the group", "/apis/<group>"),
        get("the group's resources", GROUP_VERSION),
        get("a group that is not there", "/apis/nope.example.com"),
        get("a version that is not there", "/apis/<group>/v9"),
        get("the versions of the core", "/api"),
        get("health", "/healthz"),
        get("readiness", "/readyz"),
        get("liveness", "/livez"),
        get("a subresource of a subresource", WIDGETS + "/one/status/more"),
        get("a name that is encoded", CONFIG_MAPS + "/%61"),
        get("a name with a slash", CONFIG_MAPS + "/a%2Fb"),
        delete("a name that cannot be", CONFIG_MAPS + "/A_b"),
    ],
    [definition(names={"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]})],
)

UNREADABLE_PATHS = Scenario(
    "unreadable-paths",
    [
        get("a watch of nothing", "/api/v1/watch"),
        get("a watch of nothing, with a query", "/apis/apps/v1/watch/?x=1&y=%3Cb%3E"),
        post("a watch of nothing in an unknown group", "/apis/nope.example.com/v1/watch", {}),
        get("a proxy of nothing", "/api/v1/proxy"),
        get("a watch without a version", "/api/watch"),
        get("a name that is not UTF-8", f"{CONFIG_MAPS}/%ff"),
        put("an update with a name that is not UTF-8", f"{CONFIG_MAPS}/a%ffb", {"metadata": {"name": "x"}}),
        get("a namespace that is not UTF-8", "/api/v1/namespaces/%ff/configmaps"),
        get("a resource that is not UTF-8", "/api/v1/%ff"),
    ],
)

_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_OTHER = "/apis/other.<group>"
REMOTE_GROUPS = Scenario(
    "remote-groups",
    [
        get("before there is an APIService", f"{_OTHER}/v1/things"),
        post(
            "an APIService",
            _SERVICES,
            {
                "metadata": {"name": "v1.other.<group>"},
                "spec": {
                    "group": "other.<group>",
                    "version": "v1",
                    "groupPriorityMinimum": 100,
                    "versionPriority": 10,
                    "insecureSkipTLSVerify": True,
                    "service": {"name": "s", "namespace": "default"},
                },
            },
        ),
        get("known", f"{_OTHER}/v1/things", until={"status": 503}),
        get("its resources", f"{_OTHER}/v1"),
        get("a list", f"{_OTHER}/v1/things"),
        get("one of them", f"{_OTHER}/v1/namespaces/<namespace>/things/a?x=1"),
        post("a create", f"{_OTHER}/v1/namespaces/<namespace>/things", {"a": 1}),
        get("another version", f"{_OTHER}/v2/things"),
        delete("the APIService", f"{_SERVICES}/v1.other.<group>"),
        get("forgotten", f"{_OTHER}/v1/things", until={"status": 404}),
        get("after it is deleted", f"{_OTHER}/v1/things"),
    ],
)
