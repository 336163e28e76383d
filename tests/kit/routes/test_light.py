"""Commands that write need no event loop, unless reconcilers run, or there is something to wait for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml

from pilotage import cli
from pilotage.kit import execution
from pilotage.kit.arguments.planning import Where
from pilotage.kit.routes import light
from pilotage.meta.documents import Document
from tests.kit.tools import Console, Todo, captured, plan_with_loop, todo_tool

ROOT = Path(__file__).parents[3]
PROGRAM = """
import _thread, sys
sys.path.insert(0, sys.argv[1])
from notes import tool
code = tool.run(sys.argv[2:])
print(_thread._count(), *sys.modules)
sys.exit(code)
"""
NOTES = """
import pilotage as pt
from pilotage import kit

class NoteSpec(pt.Model):
    text: str

@pt.resource(group="notes.example.com", version="v1", columns=[pt.Column("Text", ".spec.text")])
class Note(pt.Resource):
    spec: NoteSpec

tool = kit.Tool("notes", kinds=[Note], storage="sqlite:notes.db")
"""
WEBHOOK = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: checks.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [todo.example.com], apiVersions: [v1], operations: [CREATE], resources: [todos]}]
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
"""
LINES = (
    "create todo milk --set spec.text=a",
    "create todo milk --set spec.text=again",
    "create todo bread --set spec.text=b --set spec.priority=many",
    "apply -f -",
    "apply -f -",
    "diff -f -",
    "patch todo milk --set spec.done=true",
    "label todo milk eggs team=a",
    "annotate todo milk note=b --overwrite",
    "label todo milk team-",
    "label todo milk --list",
    "scale todo milk --replicas 2",
    "patch todo missing --set spec.done=true",
    "delete todo eggs --wait=false",
    "describe todo milk",
    "get todos -o wide",
)
EGGS = """
apiVersion: todo.example.com/v1
kind: Todo
metadata: {name: eggs}
spec: {text: eggs, tags: [food]}
"""


def test_a_write_without_reconcilers_loads_no_event_loop_and_starts_no_thread(tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(NOTES, encoding="utf-8")

    def run(*words: str) -> tuple[list[str], set[str]]:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path), *words]
        ran = subprocess.run(
            command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, timeout=60, check=True
        )
        *lines, last = ran.stdout.splitlines()
        threads, *modules = last.split()
        assert threads == "0"
        return lines, set(modules)

    run("create", "note", "first", "--set", "spec.text=a")  # creates the file, with the loops of a server
    for words, printed in (
        (("create", "note", "second", "--set", "spec.text=b"), "note.notes.example.com/second created"),
        (("patch", "note", "second", "--set", "spec.text=c"), "note.notes.example.com/second patched"),
        (
            ("delete", "note", "second", "--wait=false"),
            'note.notes.example.com "second" deleted from default namespace',
        ),
    ):
        lines, modules = run(*words)
        assert lines == [printed]
        assert modules & {"asyncio", "ssl", "pilotage.cluster.cluster", "pilotage.server.loops.background"} == set()


def test_pilotage_reads_built_in_kinds_without_an_event_loop(tmp_path: Path) -> None:
    program = "import sys; from pilotage import cli; code = cli.main(); print(*sys.modules); sys.exit(code)"

    def run(*words: str) -> tuple[list[str], set[str]]:
        command = [sys.executable, "-c", program, *words, "--storage", "sqlite:pilotage.db"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
        *lines, modules = ran.stdout.splitlines()
        return lines, set(modules.split())

    run("create", "configmap", "settings", "--set", "data.color=red")
    for words in (["get", "configmaps"], ["get", "endpoints,services", "-A"]):
        lines, modules = run(*words)
        assert "NAME" in lines[0]
        assert modules & {"asyncio", "ssl"} == set()


def test_commands_print_and_store_the_same_with_an_event_loop_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    for name in ("light", "whole"):
        folder = tmp_path / name
        folder.mkdir()
        todo = Console(todo_tool(folder))
        todo.output("create", "todo", "first", "--set", "spec.text=a")
        todo.tool.setup = None
        if name == "whole":
            monkeypatch.setattr(execution, "plan", plan_with_loop)
        results = [todo.run(*line.split(), stdin=EGGS) for line in LINES]
        stored = json.loads(todo.output("get", "todos", "-o", "json", "--show-managed-fields"))["items"]
        shown.append(([_without_identity(str(each)) for each in results], [_content(each) for each in stored]))
    assert shown[0] == shown[1]
    assert {each.code for each in results} == {0, 1, 3, 4}


def _without_identity(text: str) -> str:
    """A text without the lines of what no two objects share."""
    words = ("uid:", "timestamp", "resourceversion", "resource version")
    return "\n".join(line for line in text.split("\\n") if not any(word in line.lower() for word in words))


def _content(document: Document) -> Document:
    """An object without what no two objects share; managed fields, which are in the order of their times, as a set."""
    metadata = document["metadata"]
    managed = [json.dumps(entry | {"time": ""}, sort_keys=True) for entry in metadata["managedFields"]]
    own = ("uid", "creationTimestamp", "resourceVersion")
    kept = {key: value for key, value in metadata.items() if key not in own}
    return document | {"metadata": kept | {"managedFields": sorted(managed)}}


def test_a_write_that_may_call_a_webhook_has_an_event_loop(todo: Console) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=a")
    place = Where(todo.tool.storage), (Todo,)
    with light.writing(*place) as cluster:
        assert cluster is not None
    applied = captured(lambda: cli.main(["apply", "-f", "-", "--storage", todo.tool.storage]), WEBHOOK)
    assert applied.output == "validatingwebhookconfiguration.admissionregistration.k8s.io/checks created\n"
    with light.writing(*place) as cluster:
        assert cluster is None


@pytest.mark.parametrize("missing", ["file", "tenant", "namespace"])
def test_what_a_write_has_to_create_first_is_left_to_a_server(todo: Console, missing: str) -> None:
    if missing != "file":
        todo.output("create", "todo", "milk", "--set", "spec.text=a")
    tenant, namespace = ("other" if missing == "tenant" else "default"), "web" if missing == "namespace" else "default"
    with light.writing(Where(todo.tool.storage, tenant), (Todo,), namespace) as cluster:
        assert cluster is None


@pytest.mark.parametrize("options", [[], ["--wait=false"]])
@pytest.mark.parametrize("by_tool", [True, False])
def test_dependents_are_deleted_before_a_delete_ends(todo: Console, options: list[str], by_tool: bool) -> None:
    todo.output("create", "todo", "list", "--set", "spec.text=a")
    uid = todo.output("get", "todo", "list", "-o", "jsonpath={.metadata.uid}")
    owner = f"{{apiVersion: todo.example.com/v1, kind: Todo, name: list, uid: {uid}}}"
    applied = "\n---\n".join(
        f"{{apiVersion: todo.example.com/v1, kind: Todo, metadata: {{name: n{number}, ownerReferences: [{owner}]}}, "
        "spec: {text: a}}"
        for number in range(100)
    )
    todo.output("apply", "-f", "-", "--no-reconcile", stdin=applied)
    assert todo.output("get", "todos", "-o", "name").count("/n") == 100
    if by_tool:
        todo.output("delete", "todo", "list", "--no-reconcile", *options)
    else:
        deleted = captured(lambda: cli.main(["delete", "todo", "list", *options, "--storage", todo.tool.storage]))
        assert deleted.errors == ""
    left = todo.run("get", "todos", "-o", "name")
    assert left.output == ""


def test_pilotage_creates_a_storage_by_create_and_apply_only(tmp_path: Path) -> None:
    file = tmp_path / "new.db"
    place = ["--storage", f"sqlite:{file}"]
    manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
    for line in (
        "get configmaps",
        "label configmap a b=c",
        "create configmap a --dry-run=server",
        "diff -f -",
    ):
        refused = captured(partial(cli.main, [*line.split(), *place]), manifest)
        assert refused.errors == (
            f"error: there is no storage sqlite:{file}; `pilotage create`, `apply`, `run` or `serve` creates it, "
            "or a tool\n"
        )
        assert not file.exists()
    assert captured(lambda: cli.main(["create", "configmap", "a", *place])).output == "configmap/a created\n"
    found = yaml.safe_load(captured(lambda: cli.main(["get", "configmap", "a", "-o", "yaml", *place])).output)
    assert found["metadata"]["name"] == "a"
