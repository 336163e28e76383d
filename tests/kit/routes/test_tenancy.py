"""A tenant is created by what writes objects into it, and by nothing else."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

import pilotage as pt
from pilotage import kit
from pilotage.cli import main
from pilotage.storage import open_storage
from tests.kit.tools import Console, Todo, TodoWebhook, captured, todo_tool
from tests.users import no_superuser

UNKNOWN = 'error: there is no tenant "team-x"; there are: team-a. The commands create and apply create a tenant\n'
COMMANDS = (
    *(
        "get todos",
        "get todos --sort-by=.spec.text",
        "get todos -w",
        "describe todos",
        "explain todos",
        "api-resources",
    ),
    *("events", "logs todo milk", "wait todo/milk --for=delete", "delete todo milk", "reconcile"),
)


@pytest.fixture
def team(todo: Console) -> Console:
    """A storage with one tenant, which is not the default one."""
    todo.output("create", "todo", "milk", "--set", "spec.text=a", "--tenant", "team-a", "--no-reconcile")
    return todo


def tenants(todo: Console) -> str:
    return captured(lambda: main(["tenants", "list", "--storage", todo.tool.storage])).output


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_tenant_is_an_error_that_lists_the_tenants_there_are(team: Console, command: str) -> None:
    ran = team.run(*command.split(), "--tenant", "team-x")
    assert (ran.code, ran.output, ran.errors) == (3, "", UNKNOWN)
    assert tenants(team) == "team-a\n"


def test_the_pilotage_command_refuses_an_unknown_tenant_as_well(team: Console) -> None:
    words = ["get", "todos", "--storage", team.tool.storage, "--tenant", "team-x"]
    ran = captured(lambda: main(words))
    assert (ran.code, ran.errors) == (3, UNKNOWN)


@pytest.mark.parametrize("command", ["get todos", "describe todos", "events"])
def test_a_read_of_the_default_tenant_finds_nothing_and_does_not_create_it(team: Console, command: str) -> None:
    assert team.run(*command.split()).code == 0
    assert tenants(team) == "team-a\n"


@pytest.mark.parametrize("command", ["get todos", "describe todos", "events"])
def test_a_read_creates_no_file(todo: Console, command: str, tmp_path: Path) -> None:
    assert todo.run(*command.split()).code == 0
    ran = todo.run(*command.split(), "--tenant", "team-x")
    assert (ran.code, "the storage is empty" in ran.errors) == (3, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["get todos", "get todos -w", "describe todos", "events", "create todo milk"])
def test_a_storage_that_cannot_be_reached_is_not_an_empty_one(todo: Console, command: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    for path, cause in (
        ("loop", "Too many levels of symbolic links"),
        ("file/a.db", "Not a directory"),
        ("new/", "is the path of a folder"),
    ):
        ran = todo.run(*command.split(), "--storage", f"sqlite:{tmp_path}/{path}")
        assert (ran.code, ran.output, cause in ran.errors) == (1, "", True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "loop"]


def test_the_pilotage_command_does_not_find_an_empty_storage_where_it_cannot_look(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    url = f"sqlite:{tmp_path}/file/a.db"
    for words in (["get", "todos", "--storage", url], ["store", "check", url], ["tenants", "list", "--storage", url]):
        ran = captured(partial(main, words))
        assert (ran.code, ran.output, "Not a directory" in ran.errors) == (1, "", True)


FAILING = (
    *("apply -f nofile", "create -f nofile", "create todo", "create nothing milk"),
    *("create todo milk --set spec.priority=x", "create todo milk --no-reconcile", "create todo milk"),
)
DRY = ("apply -f - --dry-run=client", "apply -f - --dry-run=server", "create -f - --dry-run=client")
MANIFEST = "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {name: milk}, spec: {text: a}}"
INVALID = "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {name: tea}, spec: {}}"


@pytest.mark.parametrize("command", FAILING)
def test_a_create_or_apply_that_fails_creates_neither_tenant_nor_file(
    todo: Console, command: str, tmp_path: Path
) -> None:
    ran = todo.run(*command.split(), "--tenant", "team-x")
    assert ran.code != 0
    assert ran.errors
    assert not list(tmp_path.iterdir())


def test_an_object_that_a_webhook_refuses_creates_neither_tenant_nor_file(tmp_path: Path) -> None:
    def setup(manager: pt.Manager) -> None:
        pt.WebhookBuilder(manager).for_(Todo).with_validator(TodoWebhook()).complete()

    todo = Console(kit.Tool("todo", kinds=[Todo], setup=setup, storage=f"sqlite:{tmp_path}/todo.db"))
    refused = todo.run("create", "todo", "milk", "--set", "spec.text=milk", "--tenant", "team-x")
    assert (refused.code, "must not be the name" in refused.errors) == (1, True)
    assert not list(tmp_path.iterdir())
    todo.output("create", "todo", "milk", "--set", "spec.text=a", "--tenant", "team-x")
    assert tenants(todo) == "team-x\n"


async def test_a_tenant_is_created_in_one_commit_with_its_first_object(tmp_path: Path) -> None:
    todo = Console(todo_tool(tmp_path))
    words = ("create", "todo", "milk", "--set", "spec.text=a", "--tenant", "team-x", "--no-reconcile")
    await asyncio.to_thread(todo.output, *words)
    storage = await open_storage(todo.tool.storage)
    entries = (await storage.list("/team-x/")).entries
    await storage.close()
    assert {entry.revision for entry in entries} == {2}
    keys = {entry.key for entry in entries}
    assert {"/team-x/core/namespaces/default", "/team-x/todo.example.com/todos/default/milk"} <= keys


@pytest.mark.parametrize("command", DRY)
def test_a_dry_run_creates_neither_tenant_nor_file(todo: Console, command: str, tmp_path: Path) -> None:
    ran = todo.run(*command.split(), "--tenant", "team-x", stdin=MANIFEST)
    assert (ran.code, ran.errors) == (0, "")
    assert ran.output.startswith("todo.todo.example.com/milk created (")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command", ["delete todo zz", "patch todo zz --set spec.text=b", "label todo zz a=b", "annotate todo zz a=b"]
)
def test_a_change_of_what_the_default_tenant_cannot_have_does_not_create_it(team: Console, command: str) -> None:
    assert "NotFound" in team.run(*command.split()).errors
    assert tenants(team) == "team-a\n"


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("replace -f - --force", "todos milk -o jsonpath={.spec.text}"),
        ("label namespace default team=a", "namespace default -o jsonpath={.metadata.labels.team}"),
        ("annotate namespace default team=a", "namespace default -o jsonpath={.metadata.annotations.team}"),
        ("patch namespace default --set metadata.labels.team=a", "ns default -o jsonpath={.metadata.labels.team}"),
    ],
)
def test_what_a_command_reports_as_written_is_stored_also_in_a_new_storage(
    todo: Console, command: str, written: str
) -> None:
    for more in ((), ("--no-reconcile",)):
        todo.output(*command.split(), *more, "--storage", f"{todo.tool.storage}{len(more)}", stdin=MANIFEST)
        assert todo.output("get", *written.split(), "--storage", f"{todo.tool.storage}{len(more)}") == "a"


def test_the_pilotage_command_stores_what_it_reports_where_only_other_tenants_exist(team: Console) -> None:
    place = ["--storage", team.tool.storage]
    assert captured(lambda: main(["label", "namespace", "default", "team=a", *place])).code == 0
    shown = captured(lambda: main(["get", "ns", "default", "-o", "jsonpath={.metadata.labels.team}", *place]))
    assert shown.output == "a"
    assert tenants(team) == "default\nteam-a\n"


def test_a_new_tenant_gets_the_objects_that_are_valid_and_each_is_printed_once(todo: Console) -> None:
    line = ("apply", "-f", "-", "--tenant", "team-x", "--no-reconcile")
    ran = todo.run(*line, stdin=f"{INVALID}\n---\n{MANIFEST}")
    assert (ran.code != 0, ran.output) == (True, "todo.todo.example.com/milk created\n")
    assert ran.errors.count("tea") == 1
    assert tenants(todo) == "team-x\n"


def test_the_pilotage_command_creates_no_tenant_either(team: Console) -> None:
    place = ["--storage", team.tool.storage, "--tenant", "team-x"]
    for words in (["apply", "-f", "nofile"], ["create", "namespace", "UPPER"]):
        assert captured(lambda words=words: main([*words, *place])).code != 0  # type: ignore[misc]
    assert captured(lambda: main(["create", "namespace", "shop", "--dry-run=client", *place])).code == 0
    assert "NotFound" in captured(lambda: main(["delete", "namespace", "zz", *place[:2]])).errors
    assert tenants(team) == "team-a\n"


def test_a_read_only_storage_is_read_and_not_written(todo: Console, tmp_path: Path) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=a", "--no-reconcile")
    path = tmp_path / "todo.db"
    path.chmod(0o444)
    todo.run("get", "todos", "--sort-by=.spec.text")  # what is imported on use is loaded before the user changes
    todo.run("create", "todo", "milk", "--set", "spec.text=a", "--no-reconcile")
    before = path.read_bytes()
    with no_superuser(str(path)):
        read = [todo.output("get", "todos", *more).split()[3:5] for more in ((), ("--sort-by=.spec.text",))]
        ran = todo.run("create", "todo", "bread", "--set", "spec.text=b", "--no-reconcile")
    assert read == [["milk", "a"]] * 2
    assert (ran.code, f"{path} is read-only: {path} cannot be written" in ran.errors) == (1, True)
    assert path.read_bytes() == before
