"""Rules of built-in kinds: Secrets, ConfigMaps, Events, Leases and others."""

from __future__ import annotations

from ..differential import Saved, Scenario, delete, get, patch, post, put
from .kinds import CONFIG_MAPS, EVENTS, LEASES, NEW_EVENTS, SECRETS

SUBJECT = {"kind": "Pod", "name": "x", "namespace": "<namespace>"}

DOCKER = "kubernetes.io/dockerconfigjson"

SECRET_RULES = Scenario(
    "secrets",
    [
        post("text becomes data", SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": "b", "é": "ü"}}),
        post(
            "text becomes data, really",
            SECRETS,
            {"metadata": {"name": "s"}, "stringData": {"a": "bü"}, "data": {"a": "YQ==", "z": "eg=="}},
        ),
        post("bad base64", SECRETS, {"metadata": {"name": "s2"}, "data": {"a": "!!"}}),
        patch("another type", SECRETS + "/s", {"type": "other"}),
        patch("data", SECRETS + "/s", {"data": {"b": "Yg=="}}),
        patch("text again", SECRETS + "/s", {"stringData": {"b": "c"}}),
        post("TLS without keys", SECRETS, {"metadata": {"name": "s3"}, "type": "kubernetes.io/tls"}),
        post("basic auth without keys", SECRETS, {"metadata": {"name": "s3"}, "type": "kubernetes.io/basic-auth"}),
        post(
            "docker config without keys",
            SECRETS,
            {"metadata": {"name": "s3"}, "type": "kubernetes.io/dockerconfigjson"},
        ),
        post("SSH without keys", SECRETS, {"metadata": {"name": "s3"}, "type": "kubernetes.io/ssh-auth"}),
        post(
            "a token without an account",
            SECRETS,
            {"metadata": {"name": "s3"}, "type": "kubernetes.io/service-account-token"},
        ),
        post("a bad key", SECRETS, {"metadata": {"name": "s4"}, "data": {"a b": ""}}),
        post("immutable", SECRETS, {"metadata": {"name": "im"}, "immutable": True, "data": {"a": "YQ=="}}),
        patch("its data", SECRETS + "/im", {"data": {"a": "Yg=="}}),
        patch("its mark", SECRETS + "/im", {"immutable": None}),
        patch("its labels can change", SECRETS + "/im", {"metadata": {"labels": {"x": "y"}}}),
        post("empty", SECRETS, {"metadata": {"name": "empty"}}),
        post("text that is a bool", SECRETS, {"metadata": {"name": "t"}, "stringData": {"enabled": True}}),
        post("text that is a number", SECRETS, {"metadata": {"name": "t"}, "stringData": {"a": 7}}),
        post("text that is an object", SECRETS, {"metadata": {"name": "t"}, "stringData": {"a": {"b": "c"}}}),
        post("texts that are a text", SECRETS, {"metadata": {"name": "t"}, "stringData": "x"}),
        post("texts that are a list", SECRETS, {"metadata": {"name": "t"}, "stringData": ["x"]}),
        post(
            "data that are a list beside texts",
            SECRETS,
            {"metadata": {"name": "t"}, "data": ["x"], "stringData": {"a": "b"}},
        ),
        post("no texts", SECRETS, {"metadata": {"name": "none"}, "stringData": None}),
        post("empty texts", SECRETS, {"metadata": {"name": "none-either"}, "stringData": {}}),
        patch("a bool as text", SECRETS + "/s", {"stringData": {"a": True}}),
        post("data that are a number", SECRETS, {"metadata": {"name": "t"}, "data": {"a": 7}}),
        post("base64 with a character too many", SECRETS, {"metadata": {"name": "t"}, "data": {"a": "eA==x"}}),
        post("base64 without padding", SECRETS, {"metadata": {"name": "t"}, "data": {"a": "eHh4eA"}}),
        post("base64 in two lines", SECRETS, {"metadata": {"name": "lines"}, "data": {"a": "eHh4\neHh4\n"}}),
        *(
            post(what, SECRETS, {"metadata": {"name": "docker"}, "type": kind, "stringData": {key: text}})
            for what, kind, key, text in (
                ("a docker config that is text", DOCKER, ".dockerconfigjson", "other"),
                ("a docker config that is cut off", DOCKER, ".dockerconfigjson", '{"auths": {'),
                ("a docker config that is empty", DOCKER, ".dockerconfigjson", ""),
                ("a docker config that is a list", DOCKER, ".dockerconfigjson", "[]"),
                ("a docker config that is a text in JSON", DOCKER, ".dockerconfigjson", '"x"'),
                ("a docker config with a word too many", DOCKER, ".dockerconfigjson", "{} x"),
                ("a docker config without quotes", DOCKER, ".dockerconfigjson", "{auths: {}}"),
                ("a docker config without a colon", DOCKER, ".dockerconfigjson", '{"auths" {}}'),
                ("an old docker config that is text", "kubernetes.io/dockercfg", ".dockercfg", "other"),
                ("a docker config", DOCKER, ".dockerconfigjson", '{"auths": {"a": {"auth": "eA=="}}}'),
            )
        ),
        patch("a docker config that is broken later", SECRETS + "/docker", {"stringData": {".dockerconfigjson": "x"}}),
    ],
)

CONFIG_MAP_RULES = Scenario(
    "config-maps",
    [
        post("immutable", CONFIG_MAPS, {"metadata": {"name": "im"}, "immutable": True, "data": {"a": "b"}}),
        patch("its data", CONFIG_MAPS + "/im", {"data": {"a": "c"}}),
        patch("its binary data", CONFIG_MAPS + "/im", {"binaryData": {"a": "YQ=="}}),
        patch("its mark", CONFIG_MAPS + "/im", {"immutable": False}),
        patch("its labels can change", CONFIG_MAPS + "/im", {"metadata": {"labels": {"x": "y"}}}),
        post("a bad key", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"a b": ""}}),
        post("a dot as key", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"..": "", "..a": ""}}),
        post("a long key", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"a" * 254: ""}}),
        post("a key that is not ASCII", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"é": ""}}),
        post("bad base64", CONFIG_MAPS, {"metadata": {"name": "b"}, "binaryData": {"a": "!!"}}),
        post("base64 in two lines", CONFIG_MAPS, {"metadata": {"name": "lines"}, "binaryData": {"a": "eHh4\neHh4"}}),
        post("a key in both", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"a": ""}, "binaryData": {"a": "YQ=="}}),
        post("too much data", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"a": "x" * (1 << 20) + "y"}}),
        post(
            "a body that is too large",
            CONFIG_MAPS,
            {"metadata": {"name": "b"}, "data": {"a": "x" * (3 * 1024 * 1024 + 10)}},
        ),
        post("bad binary data", CONFIG_MAPS, {"metadata": {"name": "b"}, "binaryData": {"a": "!!"}}),
        post("null data", CONFIG_MAPS + "?dryRun=All", {"metadata": {"name": "b"}, "data": None}),
        post("a null value", CONFIG_MAPS + "?dryRun=All", {"metadata": {"name": "b"}, "data": {"a": None}}),
    ],
)

EVENT_RULES = Scenario(
    "events",
    [
        post(
            "an event",
            EVENTS,
            {
                "metadata": {"name": "e1"},
                "involvedObject": SUBJECT,
                "reason": "R",
                "message": "m",
                "type": "Normal",
                "count": 2,
            },
        ),
        post(
            "about another namespace",
            EVENTS,
            {"metadata": {"name": "e2"}, "involvedObject": SUBJECT | {"namespace": "other"}},
        ),
        post(
            "about no namespace", EVENTS, {"metadata": {"name": "e3"}, "involvedObject": {"kind": "Node", "name": "x"}}
        ),
        get("in its new form", NEW_EVENTS + "/e1"),
        get("listed in its new form", NEW_EVENTS),
        get("by what it is about", EVENTS + "?fieldSelector=involvedObject.name%3Dx,reason%3DR"),
        get("by what it is about, new", NEW_EVENTS + "?fieldSelector=regarding.name%3Dx"),
        get("by another type", EVENTS + "?fieldSelector=type%3DWarning"),
        post("a new one that lacks all", NEW_EVENTS, {"metadata": {"name": "e4"}, "regarding": SUBJECT}),
        post(
            "a new one",
            NEW_EVENTS,
            {
                "metadata": {"name": "e5"},
                "eventTime": "2024-01-02T03:04:05.123456Z",
                "type": "Warning",
                "reason": "R",
                "action": "A",
                "reportingController": "c.example.com/x",
                "reportingInstance": "i",
                "regarding": SUBJECT,
                "note": "n",
            },
            save="new",
        ),
        post(
            "a new one with old fields and a bad controller",
            NEW_EVENTS,
            {
                "metadata": {"name": "e7"},
                "eventTime": "2024-01-02T03:04:05.123456Z",
                "type": "Odd",
                "reportingController": "a b",
                "reportingInstance": "i" * 129,
                "deprecatedCount": 1,
                "regarding": SUBJECT,
                "note": "n" * 1025,
            },
        ),
        post(
            "an old one with a time",
            EVENTS,
            {"metadata": {"name": "e8"}, "eventTime": "2024-01-02T03:04:05.123456Z", "involvedObject": SUBJECT},
        ),
        post(
            "a time to the second",
            EVENTS,
            {"metadata": {"name": "e8"}, "eventTime": "2024-01-02T03:04:05Z", "involvedObject": SUBJECT},
        ),
        put("a bad series", NEW_EVENTS + "/e5", Saved("new", {"series": {"count": 1}})),
        get("in its old form", EVENTS + "/e5"),
        put(
            "its series",
            NEW_EVENTS + "/e5",
            Saved("new", {"series": {"count": 2, "lastObservedTime": "2024-01-02T03:04:06.000000Z"}}),
        ),
        patch("its note cannot change", NEW_EVENTS + "/e5", {"note": "other"}),
        patch("an old one counts", EVENTS + "/e1", {"count": 3, "lastTimestamp": "2024-01-02T03:04:05Z"}),
        put("a PUT creates", EVENTS + "/e6", {"metadata": {"name": "e6"}, "involvedObject": SUBJECT}),
        delete("gone in both", NEW_EVENTS + "/e1"),
        get("gone in both, indeed", EVENTS + "/e1"),
    ],
)

LEASE_RULES = Scenario(
    "leases",
    [
        post(
            "times to the microsecond",
            LEASES,
            {
                "metadata": {"name": "mt"},
                "spec": {
                    "holderIdentity": "x",
                    "leaseDurationSeconds": 15,
                    "acquireTime": "2024-01-02T03:04:05.123456Z",
                    "renewTime": "2024-01-02T03:04:05.000000Z",
                    "leaseTransitions": 1,
                },
            },
        ),
        post(
            "times to the second", LEASES, {"metadata": {"name": "ts"}, "spec": {"renewTime": "2024-01-02T03:04:05Z"}}
        ),
        post(
            "no duration",
            LEASES,
            {"metadata": {"name": "bd"}, "spec": {"holderIdentity": "x", "leaseDurationSeconds": 0}},
        ),
        post("negative transitions", LEASES, {"metadata": {"name": "bd"}, "spec": {"leaseTransitions": -1}}),
        post("a bad time", LEASES, {"metadata": {"name": "bm"}, "spec": {"acquireTime": "yesterday"}}),
        post("empty", LEASES, {"metadata": {"name": "empty"}}),
        post("an account", "/api/v1/namespaces/<namespace>/serviceaccounts", {"metadata": {"name": "sa"}}),
    ],
)
