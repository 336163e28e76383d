"""Update, the status subresource, and optimistic concurrency."""

from __future__ import annotations

from ..differential import ABSENT, MERGE, Saved, Scenario, delete, get, patch, post, put
from .kinds import CONFIG_MAPS, LEASES, NO_UID, WIDGETS, definition, widget

ONE = f"{WIDGETS}/one"

UPDATING = Scenario(
    "updating",
    [
        post("to begin with", WIDGETS, widget(metadata={"name": "one", "labels": {"l": "1"}}), save="first"),
        put("the same again keeps the version", ONE, Saved("first")),
        put(
            "a change of spec", ONE, Saved("first", {"spec.size": 2, "metadata.creationTimestamp": None}), save="second"
        ),
        put("stale", ONE, Saved("first", {"spec.size": 3})),
        put("labels make no generation", ONE, Saved("second", {"metadata.labels": {"l": "2"}}), save="third"),
        put("no version", ONE, Saved("third", {"metadata.resourceVersion": ""})),
        put("version 0", ONE, Saved("third", {"metadata.resourceVersion": "0"})),
        put("another name", ONE, Saved("third", {"metadata.name": "other"})),
        put("no name", ONE, Saved("third", {"metadata.name": ""})),
        put("another namespace", ONE, Saved("third", {"metadata.namespace": "other"})),
        put("no namespace", ONE + "?dryRun=All", Saved("third", {"metadata.namespace": ABSENT, "spec.size": 8})),
        put("another uid", ONE, Saved("third", {"metadata.uid": NO_UID})),
        put("no uid", ONE + "?dryRun=All", Saved("third", {"metadata.uid": ABSENT, "spec.size": 8})),
        put("a version that is no number", ONE, Saved("third", {"metadata.resourceVersion": "abc"})),
        put("another kind", ONE, Saved("third", {"kind": "Gizmo"})),
        put("another version of the kind", ONE, Saved("third", {"apiVersion": "<group>/v2"})),
        put(
            "what only the server sets",
            ONE,
            Saved("third", {"metadata.creationTimestamp": "2001-01-01T00:00:00Z", "metadata.generation": 99}),
        ),
        put(
            "nobody can say that it is being deleted",
            ONE,
            Saved("third", {"metadata.deletionTimestamp": "2001-01-01T00:00:00Z"}),
        ),
        put("invalid", ONE, Saved("third", {"spec.size": 0})),
        put("no spec", ONE, Saved("third", {"spec": ABSENT})),
        put("unknown field, strict", ONE + "?fieldValidation=Strict", Saved("third", {"bogus": 1})),
        put("dry run", ONE + "?dryRun=All", Saved("third", {"spec.size": 7})),
        get("nothing has changed", ONE),
        put("the collection", WIDGETS, Saved("third")),
        put("what is not there", WIDGETS + "/missing", Saved("third", {"metadata.name": "missing"})),
        put("bad finalizers", ONE, Saved("third", {"metadata.finalizers": ["a b"]})),
    ],
    [definition()],
)

BUILT_INS = Scenario(
    "built-ins",
    [
        post("to begin with", CONFIG_MAPS, {"metadata": {"name": "one"}, "data": {"k": "v"}}, save="first"),
        put(
            "without a version", CONFIG_MAPS + "/one", {"metadata": {"name": "one"}, "data": {"k": "v2"}}, save="second"
        ),
        put("the same again", CONFIG_MAPS + "/one", {"metadata": {"name": "one"}, "data": {"k": "v2"}}),
        put("stale", CONFIG_MAPS + "/one", Saved("first", {"data.k": "v3"})),
        put("another name", CONFIG_MAPS + "/one", {"metadata": {"name": "zz"}}),
        put("no name", CONFIG_MAPS + "/one", {"metadata": {}}),
        put("another uid", CONFIG_MAPS + "/one", {"metadata": {"name": "one", "uid": NO_UID}}),
        put("no number", CONFIG_MAPS + "/one", {"metadata": {"name": "one", "resourceVersion": "abc"}}),
        put("what is not there", CONFIG_MAPS + "/missing", {"metadata": {"name": "missing"}}),
        put(
            "what is not there, at a version",
            CONFIG_MAPS + "/missing",
            {"metadata": {"name": "missing", "resourceVersion": "5"}},
        ),
        put("the collection", CONFIG_MAPS, {"metadata": {"name": "one"}}),
        put(
            "a Lease is created",
            LEASES + "/l",
            {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x", "leaseDurationSeconds": 15}},
            save="lease",
        ),
        put("a Lease without a version", LEASES + "/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "y"}}),
        put("a Lease at its version", LEASES + "/l", Saved("lease", {"spec.holderIdentity": "z"})),
        put("a Lease that was taken", LEASES + "/l", Saved("lease", {"spec.holderIdentity": "w"})),
        put(
            "a Lease that is not there, at a version",
            LEASES + "/m",
            {"metadata": {"name": "m", "resourceVersion": "5"}, "spec": {}},
        ),
        put("a Lease that is not there, by dry run", LEASES + "/n?dryRun=All", {"metadata": {"name": "n"}, "spec": {}}),
        put("a Lease created under another name", LEASES + "/n", {"metadata": {"name": "other"}, "spec": {}}),
        get("a subresource it does not have", CONFIG_MAPS + "/one/status"),
        post("PUT's other half", CONFIG_MAPS + "/one", {"metadata": {"name": "one"}}),
    ],
)

STATUS = Scenario(
    "status",
    [
        post("to begin with", WIDGETS, widget(metadata={"name": "one", "labels": {"l": "1"}}), save="first"),
        put(
            "only the status is written",
            ONE + "/status",
            Saved("first", {"metadata.labels": {"l": "2"}, "spec.size": 9, "status": {"phase": "Running"}}),
            save="second",
        ),
        put("the same status", ONE + "/status", Saved("second")),
        put("stale", ONE + "/status", Saved("first", {"status": {"phase": "Stale"}})),
        put("no version", ONE + "/status", Saved("second", {"metadata.resourceVersion": ""})),
        put("not there", WIDGETS + "/nope/status", Saved("second", {"metadata.name": "nope"})),
        put("another name", ONE + "/status", Saved("second", {"metadata.name": "nope"})),
        put("main resource cannot change the status", ONE, Saved("second", {"status": {"phase": "Hacked"}})),
        put("main resource cannot drop the status", ONE, Saved("second", {"status": ABSENT})),
        get("read", ONE + "/status"),
        post("create", ONE + "/status", Saved("second")),
        delete("delete", ONE + "/status"),
        patch(
            "patch",
            ONE + "/status",
            {"metadata": {"labels": {"x": "y"}}, "spec": {"size": 3}, "status": {"phase": "Two"}},
        ),
        patch("patch of the main resource with a status", ONE, {"status": {"phase": "Three"}}),
        patch("patch of what is not there", WIDGETS + "/nope/status", {"status": {}}),
        patch("wrong type", ONE + "/status", {"status": {"phase": 1}}),
        patch("unknown field", ONE + "/status", {"status": {"bogus": 1}}),
        patch("unknown field, strict", ONE + "/status?fieldValidation=Strict", {"status": {"bogus": 1}}),
        patch("an invalid spec does not matter", ONE + "/status", {"spec": {"size": 0}, "status": {"phase": "Four"}}),
        patch("dry run", ONE + "/status?dryRun=All", {"status": {"phase": "Five"}}),
        patch("remove", ONE + "/status", {"status": None}),
        get("another subresource", ONE + "/frob"),
        get("scale, which is off", ONE + "/scale"),
        patch("another subresource, patched", ONE + "/frob", {}),
    ],
    [definition()],
)

NO_STATUS = Scenario(
    "no-status",
    [
        post("the status is a field like others", WIDGETS, widget(status={"phase": "x"}), save="first"),
        patch("a change of it is a new generation", ONE, {"status": {"phase": "y"}}),
        get("there is no subresource", ONE + "/status"),
        patch("nor can it be patched", ONE + "/status", {"status": {"phase": "z"}}, MERGE),
        put("nor put", ONE + "/status", Saved("first")),
    ],
    [
        definition(
            "widgets", "Widget", {k: v for k, v in definition()["spec"]["versions"][0].items() if k != "subresources"}
        )
    ],
)
