"""Get and list: versions, pages, selectors, forms."""

from __future__ import annotations

import base64
import json
from typing import Any

from ..differential import Scenario, get, post
from .kinds import CONFIG_MAPS, GROUP_VERSION, WIDGETS, definition, version, widget

ONE = f"{WIDGETS}/one"
MAP = f"{CONFIG_MAPS}/one"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def token(**content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


READING = Scenario(
    "reading",
    [
        post("one", WIDGETS, widget(), save="one"),
        post("a ConfigMap", CONFIG_MAPS, {"metadata": {"name": "one"}}),
        get("it", ONE),
        get("what is not there", WIDGETS + "/nope"),
        get("any version", ONE + "?resourceVersion=0"),
        get("its version", ONE + "?resourceVersion=<one.metadata.resourceVersion>"),
        get("a version that is no number", ONE + "?resourceVersion=abc"),
        get("a ConfigMap's version that is no number", MAP + "?resourceVersion=abc"),
        get("a future version", MAP + "?resourceVersion=99999999"),
        get("a list in the future", CONFIG_MAPS + "?resourceVersion=99999999"),
        get("a list exactly in the future", CONFIG_MAPS + "?resourceVersion=99999999&resourceVersionMatch=Exact"),
        get("a list at no number", WIDGETS + "?resourceVersion=abc"),
        get("a list of ConfigMaps at no number", CONFIG_MAPS + "?resourceVersion=abc"),
        get("a list at a negative number", WIDGETS + "?resourceVersion=-1"),
        get("exactly, but at which version", WIDGETS + "?resourceVersionMatch=Exact"),
        get("not older, but than which version", WIDGETS + "?resourceVersionMatch=NotOlderThan"),
        get("exactly at any", WIDGETS + "?resourceVersionMatch=Exact&resourceVersion=0"),
        get("an unknown match", WIDGETS + "?resourceVersionMatch=Nope&resourceVersion=5"),
        get("not older than any", WIDGETS + "?resourceVersionMatch=NotOlderThan&resourceVersion=0"),
        get("exactly there", WIDGETS + "?resourceVersionMatch=Exact&resourceVersion=<one.metadata.resourceVersion>"),
        get("not older than there", WIDGETS + "?resourceVersion=<one.metadata.resourceVersion>"),
        get("initial events of a list", CONFIG_MAPS + "?sendInitialEvents=true"),
        get("a list of ConfigMaps", CONFIG_MAPS),
        get("a list in no namespace", f"{GROUP_VERSION}/namespaces/nowhere/widgets"),
        get("a list of all namespaces", f"{GROUP_VERSION}/widgets"),
        get("metadata alone", ONE, accept=PARTIAL + ",application/json"),
        get("a list of metadata", WIDGETS, accept=PARTIAL_LIST + ",application/json"),
        get("one's form for a list", WIDGETS, accept=PARTIAL),
        get("a list's form for one", ONE, accept=PARTIAL_LIST),
        post("metadata of what is created", CONFIG_MAPS + "?dryRun=All", {"metadata": {"name": "pm"}}, accept=PARTIAL),
        get("an unknown form", MAP, accept="application/xml"),
        get("any form", MAP, accept="application/xml,*/*;q=0.1"),
        get(
            "an unknown transformation, then JSON",
            MAP,
            accept="application/json;as=Nope;v=v1;g=meta.k8s.io,application/json",
        ),
    ],
    [definition()],
)


def numbered(number: int) -> dict[str, Any]:
    name = f"w{number}"
    return widget(name, metadata={"name": name, "labels": {"n": str(number), "even": str(number % 2 == 0).lower()}})


PAGES = Scenario(
    "pages",
    [
        *[post(f"number {number}", WIDGETS, numbered(number)) for number in range(5)],
        get("the first page", WIDGETS + "?limit=2", save="page"),
        post("written meanwhile", WIDGETS, numbered(9)),
        get("the second page", WIDGETS + "?limit=2&continue=<page.metadata.continue>", save="second"),
        get("the last page", WIDGETS + "?limit=2&continue=<second.metadata.continue>"),
        get("all of the rest", WIDGETS + "?continue=<page.metadata.continue>"),
        get("continue at a version", WIDGETS + "?limit=2&resourceVersion=5&continue=<page.metadata.continue>"),
        get("continue at any", WIDGETS + "?limit=1&resourceVersion=0&continue=<page.metadata.continue>"),
        get(
            "continue exactly",
            WIDGETS + "?limit=2&resourceVersionMatch=Exact&resourceVersion=5&continue=<page.metadata.continue>",
        ),
        get(
            "continue exactly, nowhere",
            WIDGETS + "?limit=2&resourceVersionMatch=Exact&continue=<page.metadata.continue>",
        ),
        get("a token that is none", WIDGETS + "?limit=2&continue=abc"),
        get("a token of another version", WIDGETS + "?limit=2&continue=" + token(v="x", rv=5, start="a")),
        get("a token at no version", WIDGETS + "?limit=2&continue=" + token(v="meta.k8s.io/v1", rv=0, start="a")),
        get("a token from nowhere", WIDGETS + "?limit=2&continue=" + token(v="meta.k8s.io/v1", rv=5, start="")),
        get("a token that climbs", WIDGETS + "?limit=2&continue=" + token(v="meta.k8s.io/v1", rv=5, start="../../x")),
        get("a limit that is no number", WIDGETS + "?limit=x"),
        get("a negative limit", WIDGETS + "?limit=-1"),
        get("a limit with any version is no limit", WIDGETS + "?limit=1&resourceVersion=0"),
        get("a page of what is selected", WIDGETS + "?limit=1&labelSelector=even%3Dtrue", save="even"),
        get("its second", WIDGETS + "?limit=1&labelSelector=even%3Dtrue&continue=<even.metadata.continue>"),
        get("a page that just fits", WIDGETS + "?limit=6"),
        get("a page at a version", WIDGETS + "?limit=2&resourceVersion=<page.metadata.resourceVersion>"),
        get("metadata by pages", WIDGETS + "?limit=1", accept=PARTIAL_LIST),
    ],
    [definition()],
)

SELECTABLE = version(selectableFields=[{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.size"}])

SELECTING = Scenario(
    "selecting",
    [
        post(
            "red",
            WIDGETS,
            widget("red", spec={"size": 1, "colour": "red"}, metadata={"name": "red", "labels": {"a": "1"}}),
        ),
        post(
            "blue",
            WIDGETS,
            widget(
                "blue", spec={"size": 2, "colour": "blue"}, metadata={"name": "blue", "labels": {"a": "20", "b": ""}}
            ),
        ),
        post("plain", WIDGETS, widget("plain")),
        *[
            get(f"labels {text}", f"{WIDGETS}?labelSelector={text}", accept=PARTIAL_LIST)
            for text in (
                "a",
                "!a",
                "a%3D1",
                "a%3D%3D1",
                "a!%3D1",
                "a+in+(1,20)",
                "a+notin+(1)",
                "a%3E5",
                "a%3C5",
                "a,b",
                "b%3D",
                "a%3D1,!b",
                "a+in+(1),a+notin+(20)",
                "",
                ",",
            )
        ],
        *[
            get(f"bad labels {text}", f"{WIDGETS}?labelSelector={text}")
            for text in (
                "a%20b",
                "a%20in%20b",
                "a%3Dx%20y",
                "-a%3Dx",
                "%3D%3D",
                "a%3Ex",
                "a+in+()",
                "a+in+(1",
                "a%3D1%3D2",
                "!",
                "a+b+c",
                "a%3D%2F",
                "a%2Fb%2Fc",
            )
        ],
        *[
            get(f"fields {text}", f"{WIDGETS}?fieldSelector={text}", accept=PARTIAL_LIST)
            for text in (
                "metadata.name%3Dred",
                "metadata.name!%3Dred",
                "metadata.name%3Dred,metadata.namespace!%3Dx",
                "spec.colour%3Dred",
                "spec.colour%3D",
                "spec.size%3D2",
                "metadata.name%3Dred,",
                "metadata.name%3D%3Dred",
                "spec.colour!%3Dred,spec.size!%3D1",
                "metadata.namespace%3D<namespace>",
                "metadata.namespace%3Dother",
                "metadata.name%3Dred%5C%2Cblue",
            )
        ],
        *[
            get(f"bad fields {text}", f"{WIDGETS}?fieldSelector={text}")
            for text in (
                "abc",
                "spec.mode%3D1",
                "metadata.labels%3D1",
                "%3D",
                "metadata.name%3Ca",
                "metadata.name%3D%5Cx",
            )
        ],
        get("unknown field of ConfigMaps", CONFIG_MAPS + "?fieldSelector=data%3D1"),
        get("unknown field of Pods", "/api/v1/namespaces/<namespace>/pods?fieldSelector=spec.x%3D1"),
        get("a namespace out of all", f"{GROUP_VERSION}/widgets?fieldSelector=metadata.namespace%3Dnowhere"),
        post(
            "not everywhere",
            SECRETS := "/api/v1/namespaces/<namespace>/secrets",
            {"metadata": {"name": "s"}, "type": "example.com/t"},
        ),
        get("a Secret's type", SECRETS + "?fieldSelector=type%3Dexample.com/t", accept=PARTIAL_LIST),
        get("another type", SECRETS + "?fieldSelector=type!%3Dexample.com/t", accept=PARTIAL_LIST),
    ],
    [definition("widgets", "Widget", SELECTABLE)],
)
