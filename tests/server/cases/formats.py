"""Formats of answers, methods and queries: what each form of a request is answered with."""

from __future__ import annotations

from ..differential import Scenario, Step, delete, get, post
from .kinds import CONFIG_MAPS, GROUP_VERSION, WIDGETS, definition, widget

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
META = "g=meta.k8s.io;v=v1"
PARTIAL = f";as=PartialObjectMetadata;{META}"
PARTIAL_LIST = f";as=PartialObjectMetadataList;{META}"
TABLE = f";as=Table;{META}"
MAP, ONE = f"{CONFIG_MAPS}/a", f"{WIDGETS}/one"
WATCH = "?watch=1&timeoutSeconds=1"

FORMATS = Scenario(
    "formats",
    [
        post("a ConfigMap", CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}),
        post("a widget", WIDGETS, widget()),
        *[
            get(f"{what} of {target.rpartition('/')[2]}", target, accept=accept)
            for target in (MAP, CONFIG_MAPS, ONE, WIDGETS)
            for what, accept in (
                ("anything", "*/*"),
                ("any application", "application/*"),
                ("HTML", "text/html"),
                ("garbage", "garbage"),
                ("CBOR", "application/cbor"),
                ("no quality", "application/json;q=0"),
                ("JSON before YAML", "application/yaml;q=0.5,application/json;q=0.9"),
                ("an unknown form", f"{JSON};as=Foo;{META}"),
                ("half a form", f"{JSON};as=Table"),
                ("an unknown version of a form", f"{JSON}{PARTIAL[:-2]}v9"),
                ("an unknown parameter", f"{JSON};foo=bar"),
                ("a stream", f"{JSON};stream=watch"),
                ("another stream", f"{JSON};stream=other"),
                ("an object's metadata", JSON + PARTIAL),
                ("a list's metadata", JSON + PARTIAL_LIST),
                ("metadata of an older version", f"{JSON}{PARTIAL}beta1,{JSON}{PARTIAL_LIST}beta1"),
                ("a Table as protobuf", PROTOBUF + TABLE),
                ("a Table as protobuf, or JSON", f"{PROTOBUF}{TABLE},{JSON}"),
            )
        ],
        get("an error as YAML", CONFIG_MAPS + "/nope", accept=YAML),
        get("an error as a Table, or YAML", CONFIG_MAPS + "/nope", accept=f"{JSON}{TABLE},{YAML}"),
        get("an error as metadata", CONFIG_MAPS + "/nope", accept=JSON + PARTIAL),
        get("a widget as protobuf", ONE, accept=f"{PROTOBUF},{JSON}"),
        post("created as metadata", CONFIG_MAPS + "?dryRun=All", {"metadata": {"name": "m"}}, accept=JSON + PARTIAL),
        delete("deleted as metadata", MAP + "?dryRun=All", accept=JSON + PARTIAL),
        delete("all deleted as metadata", CONFIG_MAPS + "?dryRun=All", accept=JSON + PARTIAL_LIST),
        delete("all deleted as one's metadata", CONFIG_MAPS + "?dryRun=All", accept=JSON + PARTIAL),
        get("a watch of YAML, or JSON", CONFIG_MAPS + WATCH, accept=f"{YAML},{JSON}"),
        get("a watch of HTML", WIDGETS + WATCH, accept="text/html"),
        get("a watch of any application", WIDGETS + WATCH, accept="application/*"),
        get("a watch of metadata", CONFIG_MAPS + WATCH, accept=JSON + PARTIAL),
        post("text", CONFIG_MAPS, "x", content_type="text/plain"),
        post("text/yaml", CONFIG_MAPS, "metadata: {name: x}", content_type="text/yaml"),
        post("broken protobuf", CONFIG_MAPS, b"hello", content_type=PROTOBUF),
        post("no protobuf", CONFIG_MAPS, b"k8s\0", content_type=PROTOBUF),
        post("cut off protobuf", CONFIG_MAPS, b"k8s\0\x0a\x0f\x0a\x02v1", content_type=PROTOBUF),
        post("protobuf without a kind", CONFIG_MAPS, b"k8s\0\x12\x05\x0a\x03\x0a\x01p", content_type=PROTOBUF),
        delete("a deletion by protobuf", CONFIG_MAPS + "/p", b"k8s\0\x12\x00", content_type=PROTOBUF),
        delete("a deletion by broken protobuf", CONFIG_MAPS + "/p", b"zz", content_type=PROTOBUF),
        delete("a deletion by text", CONFIG_MAPS + "/p", b"zz", content_type="text/plain"),
    ],
    [definition()],
)

QUERIES = Scenario(
    "queries",
    [
        post("a ConfigMap", CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"v": "1"}}}),
        post("another", CONFIG_MAPS, {"metadata": {"name": "b", "labels": {"v": "2"}}}),
        post("a widget", WIDGETS, widget()),
        *[
            get(f"{query} of {target.rpartition('/')[2]}", f"{target}?{query}")
            for target in (CONFIG_MAPS, WIDGETS)
            for query in (
                "limit=",
                "limit=1.5",
                "limit=99999999999999999999",
                "timeoutSeconds=x",
                "sendInitialEvents=",
                "resourceVersion=18446744073709551616",
                "continue=x",
                "continue=x&resourceVersion=1",
                "labelSelector=%zz",
                "limit=1&labelSelector=v%3D1",
                "limit=1&fieldSelector=metadata.name%3Da",
                "watch=f&timeoutSeconds=1",
                "watch=&timeoutSeconds=1",
                "watch=1&timeoutSeconds=1&resourceVersionMatch=Exact",
                "watch=1&timeoutSeconds=1&continue=x",
                "watch=1&timeoutSeconds=1&limit=x",
                "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                "watch=1&timeoutSeconds=5&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999",
            )
        ],
        get("options of a list for one", MAP + "?limit=x&watch=1&labelSelector=(("),
        *[
            Step(f"{method} {target}", method, target)
            for method, target in (
                ("HEAD", MAP),
                ("HEAD", ONE),
                ("HEAD", "/version"),
                ("FROB", ONE),
                ("FROB", "/api/v1/configmaps/a"),
                ("FROB", f"{GROUP_VERSION}/widgets"),
                ("DELETE", "/api/v1"),
                ("POST", "/apis/apps/v1"),
                ("POST", "/apis/apps"),
                ("PUT", "/healthz"),
            )
        ],
        get("more than a subresource", ONE + "/status/and/more"),
        post("two values of dryRun", CONFIG_MAPS + "?dryRun=All&dryRun=x", {"metadata": {"name": "q"}}),
        post("an unprintable manager", CONFIG_MAPS + "?dryRun=All&fieldManager=a%0Ab", {"metadata": {"name": "q"}}),
        post(
            "many warnings",
            CONFIG_MAPS + "?dryRun=All",
            {"metadata": {"name": "w"}} | {f"unknown{number:03}{'x' * 60}": 1 for number in range(60)},
        ),
        post("an error with warnings", CONFIG_MAPS + "?dryRun=All", {"unknown": 1}),
    ],
    [definition()],
)
