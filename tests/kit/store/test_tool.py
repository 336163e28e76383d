"""The commands that maintain the storage of a tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilotage import kit
from pilotage.types.core.v1 import ConfigMap
from tests.kit.tools import Console, Todo


def test_what_is_exported_is_imported_into_a_new_storage(todo: Console, tmp_path: Path) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=x", "--no-reconcile")
    objects = tmp_path / "objects.yaml"
    objects.write_text(todo.output("export"))
    assert "name: milk" in objects.read_text()
    other = ("--storage", f"sqlite:{tmp_path}/other.db", "--tenant", "team-a")
    assert todo.run("import", str(objects), *other).errors == "applied 2 objects\n"
    assert todo.output("get", "todos", "-o", "name", *other) == "todo.todo.example.com/milk\n"


def test_objects_without_a_namespace_are_imported_into_that_of_the_tool(tmp_path: Path) -> None:
    settings = kit.Tool("settings", kinds=[ConfigMap], storage=f"sqlite:{tmp_path}/s.db", namespace="work")
    tool = Console(settings)
    tool.output("create", "configmap", "one")
    objects = "{apiVersion: v1, kind: ConfigMap, metadata: {name: two}}"
    assert tool.run("import", "-", stdin=objects).code == 0
    assert tool.output("get", "configmaps", "-o", "name") == "configmap/one\nconfigmap/two\n"


def test_a_storage_is_checked_and_copied(todo: Console, tmp_path: Path) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=x", "--no-reconcile")
    assert "no problem found" in todo.run("check").errors
    assert todo.run("backup", f"{tmp_path}/copy").code == 0
    assert (tmp_path / "copy").stat().st_size > 1000
    again = todo.run("backup", f"{tmp_path}/copy")
    assert (again.code, again.errors) == (1, f"error: cannot create {tmp_path}/copy: File exists\n")


@pytest.mark.parametrize("words", ["export", "check", "backup copy", "tenants list", "tenants delete a"])
def test_a_storage_that_does_not_exist_is_not_created(todo: Console, tmp_path: Path, words: str) -> None:
    missing = todo.run(*words.split())
    assert missing.code == 1
    assert missing.errors.startswith(f"error: there is no storage {todo.tool.storage}")
    assert list(tmp_path.glob("*.db")) == []


def test_tenants_are_listed_and_deleted(todo: Console) -> None:
    todo.output("create", "todo", "plan", "--set", "spec.text=x", "--tenant", "team-a", "--no-reconcile")
    assert todo.output("tenants", "list") == "team-a\n"
    assert todo.output("tenants", "delete", "team-a").startswith("tenant team-a deleted")
    missing = todo.run("tenants", "delete", "team-a")
    assert missing.code == 1
    assert "see todo tenants list --storage" in missing.errors


def test_an_import_is_in_the_audit_log_of_the_tool(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    tool = kit.Tool("todo", kinds=[Todo], storage=f"sqlite:{tmp_path}/t.db", audit_log_path=str(log))
    objects = "{apiVersion: v1, kind: Namespace, metadata: {name: work}}"
    assert Console(tool).run("import", "-", stdin=objects).code == 0
    requests = [json.loads(line) for line in log.read_text().splitlines()]
    assert "work" in {request["objectRef"]["name"] for request in requests if request["verb"] == "patch"}
