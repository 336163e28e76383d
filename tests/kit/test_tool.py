"""A tool on its own storage: what a command writes is reconciled when it ends."""

from __future__ import annotations

import argparse
import base64
import json
import re
import shlex
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from pilotage import cli, kit
from pilotage.kit.routes import opening
from pilotage.types.core.v1 import Secret
from tests import forked
from tests.kit.tools import ChangedTodo, CleaningReconciler, Console, Result, Todo, TodoWebhook, captured, todo_tool

ROOT = Path(__file__).parents[2]


def test_the_contract_program_is_used_as_its_docstring_describes(tmp_path: Path) -> None:
    def todo(*words: str) -> str:
        environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        ran = forked.run(str(ROOT / "examples" / "todo.py"), *words, folder=tmp_path, environment=environment)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    (tmp_path / "todos.yaml").write_text(
        "apiVersion: todo.pilotage.dev/v1\nkind: Todo\nmetadata: {name: eggs}\nspec: {text: eggs}\n"
    )
    assert todo("create", "todo", "milk", "--set", "spec.text=buy milk") == "todo.todo.pilotage.dev/milk created\n"
    assert todo("apply", "-f", "todos.yaml") == "todo.todo.pilotage.dev/eggs created\n"
    assert todo("patch", "todo", "milk", "--set", "spec.done=true") == "todo.todo.pilotage.dev/milk patched\n"
    assert todo("get", "todos") == "NAME   TEXT       PHASE\neggs   eggs       Open\nmilk   buy milk   Done\n"
    assert (tmp_path / ".local/share/todo/todo.db").stat().st_mode & 0o077 == 0


def test_a_command_that_writes_reconciles(todo: Console) -> None:
    assert (
        todo.output("create", "todo", "milk", "--set", "spec.text=buy milk") == "todo.todo.example.com/milk created\n"
    )
    assert todo.output("get", "todos", "-o", "jsonpath={.items[*].status.phase}") == "Open"
    todo.output("patch", "todo", "milk", "--set", "spec.done=true")
    assert todo.output("get", "todos") == "NAME   TEXT       PHASE\nmilk   buy milk   Done\n"


def test_without_reconcile_the_write_waits_for_the_next_one(todo: Console) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=x", "--no-reconcile")
    assert todo.output("get", "todo/milk", "-o", "jsonpath={.status}") == ""
    assert todo.output("reconcile") == ""
    assert todo.output("get", "todo/milk", "-o", "jsonpath={.status.phase}") == "Open"


def test_a_reconcile_that_fails_has_a_line_and_an_exit_code_and_the_write_stays(
    todo: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilotage.kit.routes.reconciling.FAILING_SECONDS", 0.1)
    failed = todo.run("create", "todo", "moon", "--set", "spec.text=impossible")
    assert (failed.code, failed.output) == (5, "todo.todo.example.com/moon created\n")
    line = "error: the changes are stored, but not reconciled: todo default/moon: ValueError: this cannot be done"
    place = r"\((\S+/)?tests/kit/tools\.py:\d+ in reconcile\)\n"
    assert re.fullmatch(re.escape(line) + " " + place, failed.errors)
    assert todo.output("get", "todo/moon", "-o", "name") == "todo.todo.example.com/moon\n"
    assert todo.run("reconcile").code == 5


def test_a_reconcile_that_fails_until_a_short_timeout_has_the_same_line(todo: Console) -> None:
    failed = todo.run("create", "todo", "moon", "--set", "spec.text=impossible", "--reconcile-timeout", "0.3")
    assert failed.code == 5
    assert "todo default/moon: ValueError: this cannot be done (" in failed.errors
    assert "tools.py:" in failed.errors


def test_a_command_does_not_wait_for_many_reconciles_that_all_fail(
    todo: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilotage.kit.routes.reconciling.FAILING_SECONDS", 0.1)
    kind = "apiVersion: todo.example.com/v1, kind: Todo"
    many = "\n---\n".join(f"{{{kind}, metadata: {{name: t{n}}}, spec: {{text: impossible}}}}" for n in range(12))
    failed = todo.run("apply", "-f", "-", "--reconcile-timeout", "0", stdin=many)  # else it would never end
    assert failed.code == 5
    assert failed.errors.endswith("; and 7 more\n")


class RegionalRequest(pt.Request, frozen=True):
    region: str = "eu"

    def __str__(self) -> str:
        return f"{self.region}:{self.name}"


async def fail_everywhere(request: RegionalRequest) -> None:
    raise ValueError("this cannot be done")


def fail_for_each_region(manager: pt.Manager) -> None:
    def regional(todo: Todo) -> list[RegionalRequest]:
        return [RegionalRequest(todo.metadata.name)]

    pt.ControllerBuilder(manager).named("regions").watches(Todo, pt.enqueue_requests_from(regional)).complete(
        fail_everywhere
    )


def test_a_reconcile_that_fails_for_a_request_of_its_own_is_reported(
    todo: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilotage.kit.routes.reconciling.FAILING_SECONDS", 0.1)
    todo.tool.setup = fail_for_each_region
    failed = todo.run("create", "todo", "moon", "--set", "spec.text=x")
    assert (failed.code, "regions eu:moon: ValueError: this cannot be done" in failed.errors) == (5, True)


def test_reconcile_does_what_is_due_and_no_more_unless_it_is_asked_to(todo: Console) -> None:
    def reconciled() -> int:
        return len(todo.output("logs", "todo", "milk").splitlines())

    todo.output("create", "todo", "milk", "--set", "spec.text=x")
    before = reconciled()
    todo.output("reconcile")
    assert reconciled() == before
    todo.output("reconcile", "--all")
    assert reconciled() > before


def test_a_reconcile_that_is_not_retried_is_an_error_at_once(todo: Console) -> None:
    failed = todo.run("create", "todo", "moon", "--set", "spec.text=never")
    assert failed.code == 5
    assert "this is never done" in failed.errors


def test_the_storage_is_of_the_option_or_of_the_variable(
    todo: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TODO_STORAGE", f"sqlite:{tmp_path}/variable.db")
    todo.output("create", "todo", "one", "--set", "spec.text=x")
    other = ("--storage", f"sqlite:{tmp_path}/option.db")
    todo.output("create", "todo", "two", "--set", "spec.text=x", *other)
    assert todo.output("get", "td", "-o", "name") == "todo.todo.example.com/one\n"
    assert todo.output("get", "td", "-o", "name", *other) == "todo.todo.example.com/two\n"
    assert not (tmp_path / "todo.db").exists()


def test_a_read_of_the_storage_of_the_variable_opens_no_server(todo: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setenv("TODO_STORAGE", todo.tool.storage)
    todo.output("create", "todo", "milk", "--set", "spec.text=x")
    monkeypatch.setattr(opening, "embedded", fail)
    assert [todo.run(*words).code for words in (["events"], ["logs", "todo", "milk"])] == [0, 0]


def test_tenants_of_one_file_do_not_see_each_other(todo: Console) -> None:
    todo.output("create", "todo", "one", "--set", "spec.text=x", "--tenant", "a")
    todo.output("create", "todo", "two", "--set", "spec.text=x", "--tenant", "b")
    assert todo.output("get", "todos", "--tenant", "b", "-o", "name") == "todo.todo.example.com/two\n"
    assert todo.output("get", "todos", "--tenant", "a", "-o", "name") == "todo.todo.example.com/one\n"


def test_a_read_of_an_empty_storage_finds_nothing(todo: Console) -> None:
    empty = todo.run("get", "todos")
    assert (empty.code, empty.output, empty.errors) == (0, "", "No resources found in default namespace.\n")


def test_a_read_starts_no_reconciler(tmp_path: Path) -> None:
    def fail(manager: object) -> None:
        raise AssertionError

    todo = Console(todo_tool(tmp_path))
    todo.output("create", "todo", "milk", "--set", "spec.text=x")
    todo.tool.setup = fail
    assert todo.output("get", "todos", "-o", "name") == "todo.todo.example.com/milk\n"


def test_an_application_puts_single_commands_into_its_own_command_line(tmp_path: Path) -> None:
    root = argparse.ArgumentParser(prog="app")
    commands = root.add_subparsers()
    todo_tool(tmp_path).add_commands(commands.add_parser("todos").add_subparsers(), ["get", "create"])
    options = root.parse_args(["todos", "create", "todo", "milk", "--set", "spec.text=x"])
    assert options.run(options) == 0
    with pytest.raises(SystemExit):
        root.parse_args(["todos", "delete", "todo", "milk"])


def test_an_application_of_click_passes_words_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    testing = pytest.importorskip("click.testing")
    monkeypatch.setenv("SETTINGS_STORAGE", f"sqlite:{tmp_path}/settings.db")
    section = (ROOT / "docs" / "kit.md").read_text().partition("## In an application")[2]
    module: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", section, re.DOTALL)[1], module)

    def run(*words: str) -> tuple[int, str]:
        ran = testing.CliRunner().invoke(module["app"], words)
        return ran.exit_code, ran.output

    assert run("settings", "create", "cm", "web", "--set", "data.colour=blue") == (0, "configmap/web created\n")
    assert run("settings", "get", "cm/web", "-o", "jsonpath={.data.colour}") == (0, "blue")
    assert run("settings", "get", "cm", "none")[0] == 3
    assert "usage: app settings get" in run("settings", "get", "--help")[1]
    assert run("settings", "gte")[1].startswith('app settings: error: unknown command "gte"; did you mean "get"?')


def test_a_changed_kind_is_installed(todo: Console) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=x")
    new = Console(kit.Tool("todo", kinds=[ChangedTodo], storage=todo.tool.storage))
    assert new.output("get", "todo/milk", "-o", "jsonpath={.spec.size}") == "3"


def test_two_tools_on_one_file_see_each_others_writes(tmp_path: Path) -> None:
    """A watch of one process prints what another one writes."""
    program = f"from tests.kit.tools import *; todo_tool(Path({str(tmp_path)!r})).main()"
    todo_tool(tmp_path).run(["create", "todo", "first", "--set", "spec.text=one"])
    command = [sys.executable, "-c", program, "get", "todos", "-w", "-o", "name"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        try:
            assert watching.stdout.readline() == "todo.todo.example.com/first\n"
            Console(todo_tool(tmp_path)).output("create", "todo", "second", "--set", "spec.text=two")
            assert watching.stdout.readline() == "todo.todo.example.com/second\n"
        finally:
            watching.send_signal(signal.SIGINT)
        assert watching.wait(100) == 130


def test_the_help_of_a_command_has_examples_with_a_type_of_the_tool(todo: Console) -> None:
    helped = todo.run("get", "--help").output
    assert "  todo get todos\n  todo get todos -o yaml -l team=a\n" in helped
    assert "namespaces -o" not in helped


@pytest.mark.parametrize("before", [False, True], ids=["new tenant", "existing tenant"])
def test_the_namespace_of_a_tool_exists_from_the_first_write_on(tmp_path: Path, before: bool) -> None:
    storage = f"sqlite:{tmp_path}/prod.db"
    if before:
        Console(kit.Tool("other", kinds=[Todo], storage=storage)).output("create", "ns", "other")
    prod = Console(kit.Tool("prod", kinds=[Todo], setup=todo_tool(tmp_path).setup, storage=storage, namespace="prod"))
    words = ("create", "todo", "milk", "--set", "spec.text=milk")
    if not before:
        assert prod.output(*words, "--dry-run=server").endswith("created (server dry run)\n")
        assert not (tmp_path / "prod.db").exists()
    assert prod.output(*words) == "todo.todo.example.com/milk created\n"
    assert prod.output("get", "todos", "-A", "-o", "jsonpath={.items[*].metadata.namespace}") == "prod"
    assert prod.output("get", "ns", "prod", "-o", "name") == "namespace/prod\n"


def test_a_dry_run_works_before_the_namespace_of_a_tool_exists_and_creates_nothing(tmp_path: Path) -> None:
    storage = f"sqlite:{tmp_path}/prod.db"
    Console(kit.Tool("other", kinds=[Todo], storage=storage)).output("create", "todo", "old", "--set", "spec.text=old")
    prod = Console(kit.Tool("prod", kinds=[Todo], setup=todo_tool(tmp_path).setup, storage=storage, namespace="prod"))
    todo = "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {name: %s}, spec: {text: buy milk}}"
    before = prod.output("get", "todos,ns", "-A", "-o", "yaml")
    shown = prod.run("diff", "-f", "-", stdin=todo % "milk")
    assert (shown.code, shown.errors) == (1, "")
    assert shown.output.startswith("--- LIVE/todo.example.com.v1.Todo.prod.milk\n")
    assert "\n+  text: buy milk\n" in shown.output
    assert "\n-" not in shown.output
    existing = prod.run("diff", "-f", "-", "--force-conflicts", stdin=todo % "old, namespace: default")
    assert "\n-  text: old\n+  text: buy milk\n" in existing.output
    assert prod.output("apply", "-f", "-", "--dry-run=server", stdin=todo % "milk").endswith(
        "created (server dry run)\n"
    )
    assert prod.output("get", "todos,ns", "-A", "-o", "yaml") == before


def test_an_error_of_several_lines_is_one_line_of_the_report(tmp_path: Path) -> None:
    async def reconcile(request: pt.Request) -> None:
        raise pt.TerminalError("first\n  second\nthird")

    def fails(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Todo).complete(reconcile)

    console = Console(kit.Tool("todo", kinds=[Todo], setup=fails, storage=f"sqlite:{tmp_path}/todo.db"))
    ran = console.run("create", "todo", "milk", "--set", "spec.text=one")
    assert (ran.code, len(ran.errors.splitlines())) == (5, 1)
    assert "first second third" in ran.errors


def test_a_reconciler_that_triggers_itself_is_reported_as_such(tmp_path: Path) -> None:
    def loops(manager: pt.Manager) -> None:
        async def reconcile(request: pt.Request) -> None:
            todo = await manager.client.get(Todo, request)
            await manager.client.patch(todo, {"spec": {"priority": todo.spec.priority + 1}})

        pt.ControllerBuilder(manager).for_(Todo).complete(reconcile)

    console = Console(kit.Tool("todo", kinds=[Todo], setup=loops, storage=f"sqlite:{tmp_path}/todo.db"))
    ran = console.run("create", "todo", "milk", "--set", "spec.text=one", "--reconcile-timeout", "1")
    assert ran.code == 5
    assert re.search(r"default/milk was reconciled \d{2,} times in this run and is queued again", ran.errors)
    assert "triggers itself: write only differences" in ran.errors
    assert "has been running for" not in ran.errors


def test_help_is_printed_without_a_command(todo: Console) -> None:
    shown = todo.output()
    assert shown.startswith("usage: todo")
    assert "run the reconcilers until they are idle" in shown


@pytest.mark.parametrize(("page", "name"), [("docs/howto/command-line-tool.md", "chores"), ("README.md", "notes")])
def test_the_session_in_the_documentation_is_what_the_program_prints(tmp_path: Path, page: str, name: str) -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    (program,) = (text for language, text in blocks if language == "python" and f'kit.Tool("{name}"' in text)
    (session,) = (text for language, text in blocks if language == "console" and f"$ python {name}.py " in text)
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(program, f"{name}.py", "exec", dont_inherit=True), module.__dict__)
        module.tool.storage = f"sqlite:{tmp_path}/{name}.db"
        for text in session.split(f"$ python {name}.py ")[1:]:
            line, _, expected = text.partition("\n")
            result = Console(module.tool).run(*shlex.split(line))
            assert result.output + result.errors == expected
    finally:
        del sys.modules[name]


def test_pilotage_reads_and_writes_the_storage_of_a_tool(todo: Console) -> None:
    def pilotage(*words: str) -> Result:
        return captured(lambda: cli.main([*words, "--storage", todo.tool.storage]))

    assert pilotage("get", "todos").errors == (
        f"error: there is no storage {todo.tool.storage}; `pilotage create`, `apply`, `run` or `serve` creates it, "
        "or a tool\n"
    )
    todo.output("create", "todo", "milk", "--set", "spec.text=x")
    assert pilotage("get", "todos").output == "NAME   TEXT   PHASE\nmilk   x      Open\n"
    assert pilotage("create", "configmap", "settings", "--set", "data.a=1").output == "configmap/settings created\n"
    assert pilotage("get", "configmap/settings", "-o", "jsonpath={.data.a}").output == "1"
    assert "  data\t<map[string]string>\n" in pilotage("explain", "configmap").output
    assert pilotage("delete", "todo", "milk").code == 0


def test_webhooks_of_the_tool_check_what_its_commands_write(todo: Console) -> None:
    def setup(manager: pt.Manager) -> None:
        pt.WebhookBuilder(manager).for_(Todo).with_validator(TodoWebhook()).complete()

    todo.tool.setup = setup
    refused = todo.run("create", "todo", "milk", "--set", "spec.text=milk")
    assert refused.code == 1
    assert 'spec.text: Invalid value: "milk": must not be the name' in refused.errors
    warned = todo.run("create", "todo", "milk", "--set", "spec.text=x", "--set", "spec.priority=9")
    assert (warned.code, warned.output) == (0, "todo.todo.example.com/milk created\n")
    assert warned.errors == "Warning: it is urgent\n"


def test_a_delete_waits_until_the_finalizers_of_the_tool_are_done(todo: Console) -> None:
    reconcilers: list[CleaningReconciler] = []

    def setup(manager: pt.Manager) -> None:
        reconcilers.append(CleaningReconciler(manager))
        pt.ControllerBuilder(manager).for_(Todo).complete(reconcilers[-1])

    todo.tool.setup = setup
    todo.output("create", "todo", "milk", "--set", "spec.text=x")
    todo.output("delete", "todo", "milk")
    assert reconcilers[-1].cleaned == ["milk"]
    assert todo.run("get", "todo", "milk").code == 3


def test_a_name_that_cannot_be_a_command_is_refused() -> None:
    with pytest.raises(pt.InvalidDefinition, match="lower-case letters"):
        kit.Tool("My Tool", kinds=[Todo], storage="memory:")


def test_pilotage_without_a_server_prints_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "PILOTAGE_STORAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    refused = captured(lambda: cli.main(["get", "pods"]))
    assert refused.code == 1
    assert refused.errors.startswith("error: no server: give --storage sqlite:PATH for a storage, or --kubeconfig FILE")
    both = captured(lambda: cli.main(["get", "pods", "--storage", "memory:", "--context", "a"]))
    assert both.errors == "error: --storage is a storage, --kubeconfig and --context are a server: give one\n"


def test_the_storage_of_pilotage_may_be_a_variable(todo: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=x", "--no-reconcile")
    monkeypatch.setenv("PILOTAGE_STORAGE", todo.tool.storage)
    assert captured(lambda: cli.main(["get", "todos", "-o", "name"])).output == "todo.todo.example.com/milk\n"


def test_secrets_are_encrypted_with_the_keys_of_the_tool_its_variable_or_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"key1:{base64.b64encode(bytes(range(32))).decode()}\n")
    storage = f"sqlite:{tmp_path}/vault.db"
    vault = Console(kit.Tool("vault", kinds=[Secret], storage=storage, encryption_keys=str(keys)))
    vault.output("create", "secret", "door", "--set", "data.key=c2VjcmV0")
    assert vault.output("get", "secret", "door", "-o", "jsonpath={.data.key}") == "c2VjcmV0"

    other = Console(kit.Tool("vault", kinds=[Secret], storage=storage))
    words = ("get", "secret", "door", "-o", "jsonpath={.data.key}")
    refused = other.run(*words)
    assert (refused.code, refused.output) == (1, "")
    assert "is encrypted with the key 'key1': give the keys (--encryption-keys)" in refused.errors
    assert other.output(*words, "--encryption-keys", str(keys)) == "c2VjcmV0"
    monkeypatch.setenv("VAULT_ENCRYPTION_KEYS", str(keys))
    assert other.output(*words) == "c2VjcmV0"
    assert b"c2VjcmV0" not in b"".join(file.read_bytes() for file in tmp_path.glob("vault.db*"))


def test_the_pilotage_command_reads_encrypted_secrets_and_writes_none_without_the_keys(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(f"key1:{base64.b64encode(bytes(range(32))).decode()}\n")
    place = ["--storage", f"sqlite:{tmp_path}/vault.db", "--encryption-keys", str(keys)]
    Console(kit.Tool("vault", kinds=[Secret], storage="sqlite:")).output(
        "create", "secret", "door", "--set", "data.key=c2VjcmV0", *place
    )
    ran = captured(lambda: cli.main(["get", "secret", "door", "-o", "jsonpath={.data.key}", *place]))
    assert (ran.code, ran.output) == (0, "c2VjcmV0")
    ran = captured(lambda: cli.main(["create", "secret", "b", "--set", "stringData.x=plain", *place[:2]]))
    assert (ran.code, ran.output) == (1, "")
    assert "has encrypted Secrets: give the keys (--encryption-keys, encryption_keys=)" in ran.errors


def test_a_tool_logs_its_requests_if_it_has_an_audit_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    tool = kit.Tool("todo", kinds=[Todo], storage=f"sqlite:{tmp_path}/todo.db", audit_log_path=str(path))
    console = Console(tool)
    for words, verb in (
        ("create todo milk --set spec.text=a", "create"),
        ("get todos", "list"),
        ("delete todo milk", "delete"),
    ):
        path.write_text("")
        console.output(*words.split())
        found = [json.loads(line) for line in path.read_text().splitlines()]
        assert verb in {each["verb"] for each in found if each["objectRef"]["resource"] == "todos"}


@pytest.mark.parametrize("before", [False, True])
def test_the_audit_log_of_a_dry_run_has_no_namespace_that_is_not_stored(tmp_path: Path, before: bool) -> None:
    path, storage = tmp_path / "audit.log", f"sqlite:{tmp_path}/prod.db"
    if before:
        Console(kit.Tool("other", kinds=[Todo], storage=storage)).output("create", "ns", "other")
    prod = Console(kit.Tool("prod", kinds=[Todo], storage=storage, namespace="prod", audit_log_path=str(path)))
    todo = "{apiVersion: todo.example.com/v1, kind: Todo, metadata: {name: milk}, spec: {text: a}}"
    assert prod.run("diff", "-f", "-", stdin=todo).code == 1
    prod.output("apply", "-f", "-", "--dry-run=server", stdin=todo)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert "patch" in {each["verb"] for each in found if each["objectRef"]["resource"] == "todos"}
    assert {each["verb"] for each in found if each["objectRef"]["resource"] == "namespaces"} <= {"get"}
    prod.output("apply", "-f", "-", stdin=todo)
    assert '"verb":"create"' in path.read_text()


def test_help_is_a_command_and_has_the_commands_in_groups(todo: Console) -> None:
    listed = todo.output("help")
    assert listed == todo.output("--help")
    headings = re.findall(r"^  (\w[\w ]+):$", listed, re.MULTILINE)
    assert headings == ["read objects", "write objects", "maintain the storage", "the command line"]
    assert todo.output("help", "get") == todo.output("get", "--help")
    assert todo.output("help", "tenants", "delete") == todo.output("tenants", "delete", "--help")
    unknown = todo.run("help", "gett")
    assert (unknown.code, unknown.errors.splitlines()[0]) == (
        2,
        'todo: error: unknown command "gett"; did you mean "get"?',
    )


def test_the_version_is_that_of_the_tool_and_that_of_pilotage(tmp_path: Path) -> None:
    tool = kit.Tool("todo", kinds=[Todo], storage=f"sqlite:{tmp_path}/t.db", version="1.2")
    assert re.fullmatch(r"todo 1\.2 \(pilotage .+\)\n", Console(tool).output("--version"))
