"""`get` from the file itself prints the same as the client and the server, byte for byte, or falls back to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pilotage import cli, kit
from pilotage.cluster.light import run_now
from pilotage.kit import direct, execution
from pilotage.meta.scalars import times
from pilotage.server import records
from pilotage.storage import Put
from pilotage.storage.sqlite import DirectSqliteStorage
from pilotage.types import builtin
from pilotage.types.names import builtin_names
from tests.kit.tools import ChangedTodo, Console, Result, captured, plan_with_loop

Document = dict[str, Any]
NOW = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
PATHS = (
    *(".spec.text", ".spec.size", ".spec.inner.deep", ".status.at", ".status", ".spec.missing", ".metadata.name"),
    *(".metadata.resourceVersion", ".metadata.labels.a", ".metadata.creationTimestamp", ".spec.list[0]"),
    *(".spec.list[*]", '.spec.list[?(@.type=="x")].status', "..deep", ".spec['text']", ".spec.text.more", "{.broken"),
)


def definition(plural: str, kind: str, columns: Sequence[Document], **more: Any) -> Document:
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "shortNames": [plural[:2]]}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "additionalPrinterColumns": columns}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com", "creationTimestamp": "2026-01-01T00:00:00Z", "uid": plural},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version], **more},
        "status": {
            "acceptedNames": names,
            "conditions": [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")],
            "storedVersions": ["v1"],
        },
    }


def store(path: Path, *documents: Document) -> str:
    """A storage with these objects, each written by a commit of its own, in this order."""
    storage = DirectSqliteStorage(str(path))
    for document in documents:
        metadata = document["metadata"]
        resource = {"CustomResourceDefinition": "apiextensions.k8s.io/customresourcedefinitions"}.get(document["kind"])
        resource = resource or f"example.com/{document['kind'].lower()}s/{metadata['namespace']}"
        run_now(storage.commit(Put(f"/default/{resource}/{metadata['name']}", records.encode(document))))
    storage.close_now()
    return f"sqlite:{path}"


def both(monkeypatch: pytest.MonkeyPatch, words: Sequence[str], run: Any = cli.main) -> tuple[Result, Result | None]:
    """What the whole client and server print, and what is printed from the file, if it is."""
    codes: list[int | None] = []
    original = direct.get

    def get(*arguments: Any) -> int | None:
        codes.append(original(*arguments))
        return codes[-1]

    with monkeypatch.context() as patch:
        patch.setattr(times, "system_clock", lambda: NOW)
        patch.setattr(direct, "get", get)
        shown = captured(lambda: run(words))
        patch.setattr(execution, "plan", plan_with_loop)
        whole = captured(lambda: run(words))
    return whole, shown if codes and codes[0] is not None else None


texts = st.text(st.sampled_from('abc xyz"\\<>&\n\t\x1b\r\f\u2028é漢😀=,/'), max_size=12)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
moments = st.sampled_from(["2026-03-01T12:30:10Z", "2024-02-29T00:00:00.5+02:00", "2026-02-30T00:00:00Z", "now"])
values = st.recursive(
    st.none() | st.booleans() | numbers | texts | moments,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["deep", "type", "status", "text", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)
columns = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["Text", "Größe", "A b"]), "jsonPath": st.sampled_from(PATHS)},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "boolean", "date"]),
            "priority": st.sampled_from([0, 1]),
        },
    ),
    max_size=6,
)
objects = st.lists(
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["Widget", "Gadget"]), "namespace": st.sampled_from(["default", "other"])},
        optional={
            "labels": st.dictionaries(st.sampled_from(["a", "b.c/d"]), st.sampled_from(["", "1", "x-y"]), max_size=2),
            "spec": st.dictionaries(st.sampled_from(["text", "size", "list", "inner", "deep"]), values, max_size=4),
            "status": st.dictionaries(st.sampled_from(["at", "deep"]), values, max_size=2) | values,
        },
    ),
    min_size=3,
    max_size=8,
)
flags = st.lists(
    st.sampled_from(
        [
            *(["-A"], ["-n", "other"], ["-o", "wide"], ["-o", "name"], ["-o", "json"], ["--no-headers"]),
            *(["--show-labels"], ["--show-kind"], ["-L", "a,b.c/d"], ["--chunk-size=2"], ["--ignore-not-found"]),
            *(
                ["-l", "a=1"],
                ["--show-managed-fields"],
                ["--sort-by=.metadata.name"],
                ["-o", "yaml"],
                ["-o", "jsonpath={.items[*].spec}"],
            ),
            *(["-o", "custom-columns=A:.metadata.labels,B:.spec,C:.status.at"], ["-l", "a in (1,x-y)"]),
        ]
    ),
    max_size=3,
)
types = st.sampled_from(
    [
        *(["widgets"], ["Widget"], ["wi"], ["widgets,gadgets"], ["gadgets,widgets"], ["widgets,widgets"]),
        *(
            ["widgets", "o0"],
            ["widget/o0", "gadget/o1"],
            ["widget/o0", "wi/o2"],
            ["widgets.example.com"],
            ["ga", "o1", "o9"],
        ),
    ]
)


def made(number: int, drawn: Document) -> Document:
    metadata = {"name": f"o{number}", "namespace": drawn["namespace"], "creationTimestamp": "2026-02-27T09:08:07Z"}
    metadata |= {"labels": drawn["labels"]} if drawn.get("labels") else {}
    metadata |= {"managedFields": [{"manager": "m"}], "uid": str(number), "generation": 1}
    rest: Document = {key: drawn[key] for key in ("spec", "status") if key in drawn}
    return {"apiVersion": "example.com/v1", "kind": drawn["kind"], "metadata": metadata, **rest}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns, objects, types, flags)
def test_both_print_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    columns: list[Document],
    objects: list[Document],
    types: list[str],
    flags: list[list[str]],
) -> None:
    for leftover in tmp_path.glob("*.db*"):
        leftover.unlink()
    kinds = definition("widgets", "Widget", columns), definition("gadgets", "Gadget", [])
    storage = store(tmp_path / "a.db", *kinds, *(made(number, drawn) for number, drawn in enumerate(objects)))
    drawn = [*types, *(word for each in flags for word in each)]
    for words in (["widgets,gadgets", "-A", "-o", "wide"], ["widgets,gadgets", "-A", "-o", "json"], drawn):
        whole, shown = both(monkeypatch, ["get", *words, "--storage", storage])
        assert shown == whole or (shown is None and words is drawn)


@pytest.mark.parametrize(
    "words",
    [
        *("widgets", "wi", "WIDGET", "widgets -A", "widgets -o wide", "widgets -o name", "widgets -o json"),
        *(
            "widgets --no-headers --show-labels",
            "widgets -L a",
            "widgets o1 o0",
            "widget/o1 gadget/o2",
            "gadget/o2 -o json",
        ),
        *("widgets -o yaml", "widgets -o jsonpath={.items}", "widget/o1 -o jsonpath={.metadata}", "widgets -l a=1,!b"),
        *("widgets -o custom-columns=N:.metadata.name,S:.spec", "widgets o0 o1 -o yaml"),
        *("widgets,gadgets", "widgets -n other", "widgets --show-kind --ignore-not-found", "widgets --chunk-size=1"),
    ],
)
def test_a_plain_read_comes_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    storage = store(tmp_path / "a.db", *KINDS, *OBJECTS)
    whole, shown = both(monkeypatch, ["get", *words.split(), "--storage", storage])
    assert whole.code == 0
    assert shown == whole


@pytest.mark.parametrize(
    "words",
    [
        *("widgets -l a=2", "widgets -l a=(", "widgets o1 -l a=1", "widgets --sort-by=.metadata.name"),
        *("widgets --field-selector=metadata.name=o1", "widgets o9", "widgets/o9/x", "nothing", "widgets -n empty", ""),
        *(
            "widgets o1 -A",
            "widgets,widgets",
            "widgets.example.com",
            "namespaces",
            "widgets -n ../x",
            "widgets -o nope",
        ),
        *("gadgets --tenant other", "widgets --tenant a/b", "crd"),
    ],
)
def test_what_takes_more_is_left_to_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    storage = store(tmp_path / "a.db", *KINDS, *OBJECTS)
    _, shown = both(monkeypatch, ["get", *words.split(), "--storage", storage])
    assert shown is None


COLUMNS = [{"name": "Text", "type": "string", "jsonPath": ".spec.text"}]
KINDS = definition("widgets", "Widget", COLUMNS), definition("gadgets", "Gadget", [])
OBJECTS = [
    made(number, {"kind": kind, "namespace": namespace, "labels": {"a": "1"}, "spec": {"text": f"{number}"}})
    for number, (kind, namespace) in enumerate(
        [("Widget", "default")] * 2 + [("Gadget", "default"), ("Widget", "other")]
    )
]


@pytest.mark.parametrize("change", ["older objects", "two versions", "another group's plural", "not established"])
def test_definitions_that_a_server_must_read_are_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    widgets, documents = definition("widgets", "Widget", COLUMNS), [*OBJECTS]
    match change:
        case "older objects":  # they may lack values for which the schema has a default by now
            stored = [*documents, widgets]
        case "two versions":
            widgets["spec"]["versions"].append({**widgets["spec"]["versions"][0], "name": "v2", "storage": False})
            stored = [widgets, *documents]
        case "another group's plural":
            other = json.loads(json.dumps(widgets).replace("example.com", "example.org"))
            stored = [widgets, other, *documents]
        case _:
            widgets["status"]["conditions"] = []
            stored = [widgets, *documents]
    storage = store(tmp_path / "a.db", *stored)
    _, shown = both(monkeypatch, ["get", "widgets", "--storage", storage])
    assert shown is None


def test_a_kind_whose_columns_have_changed_is_installed_first(todo: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=x", "--no-reconcile")
    whole, shown = both(monkeypatch, ["get", "todos"], todo.tool.run)
    assert shown == whole
    later = kit.Tool("todo", kinds=[ChangedTodo], storage=todo.tool.storage)
    whole, shown = both(monkeypatch, ["get", "todos"], later.run)
    assert shown is None
    assert whole.output.split()[:2] == ["NAME", "AGE"]


def test_the_names_of_built_in_resources_are_those_that_a_mapper_finds() -> None:
    named = {
        name.lower()
        for each in builtin.resources()
        for name in (each.resource.resource, each.singular, each.gvk.kind, *each.short_names)
    }
    assert builtin_names() == named
