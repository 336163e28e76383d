"""When a command waits for reconcilers, and when it does not start them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.kit.console.signals.deadline import ExitDeadline
from pilotage.kit.routes import reconciling
from pilotage.manager import lifecycle
from pilotage.manager.shutdown import Grace
from tests.forked import ForkedProcess
from tests.kit.tools import Console, Todo, TodoReconciler, TodoWebhook, captured

OBJECT = "apiVersion: todo.example.com/v1\nkind: Todo\nmetadata: {{name: {name}}}\nspec: {{text: {text}}}\n"


class Reconciler:
    """Records what it reconciles. An object with the text `hang` is reconciled for ever."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.cut: list[str] = []

    def setup(self, manager: pt.Manager) -> None:
        inner = TodoReconciler(manager)

        async def reconcile(request: pt.Request) -> pt.Result:
            self.seen.append(request.name)
            todo = await inner.client.get(Todo, request)
            if todo.spec.text == "hang":
                try:
                    await asyncio.Event().wait()
                finally:
                    self.cut.append(request.name)
            return await inner.reconcile(request)

        pt.ControllerBuilder(manager).for_(Todo).complete(reconcile)
        pt.WebhookBuilder(manager).for_(Todo).with_validator(TodoWebhook()).complete()


@pytest.fixture
def reconciler(todo: Console, monkeypatch: pytest.MonkeyPatch) -> Reconciler:
    reconciler = Reconciler()
    todo.tool.setup = reconciler.setup
    monkeypatch.setattr(reconciling, "GRACE_SECONDS", 0.01)
    return reconciler


@pytest.fixture
def graces(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How many seconds each shutdown may take."""
    found: list[float] = []

    def recorded(seconds: float) -> Grace:
        found.append(seconds)
        return Grace(seconds)

    monkeypatch.setattr(lifecycle, "Grace", recorded)
    return found


@pytest.mark.parametrize("where", ["client", "server"])
@pytest.mark.parametrize(
    "words",
    [
        ("label", "todo", "milk", "a=b"),
        ("annotate", "todo", "milk", "a=b"),
        ("patch", "todo", "milk", "--set", "spec.text=b"),
        ("delete", "todo", "milk"),
        ("create", "todo", "eggs", "--set", "spec.text=b"),
        ("apply", "-f", "-"),
    ],
    ids=lambda words: words[0],
)
def test_a_dry_run_starts_no_reconciler(
    todo: Console, reconciler: Reconciler, words: tuple[str, ...], where: str
) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=a", "--no-reconcile")
    before = todo.output("get", "todos", "-o", "yaml")
    todo.output(*words, f"--dry-run={where}", stdin=OBJECT.format(name="milk", text="b"))
    assert reconciler.seen == []
    assert todo.output("get", "todos", "-o", "yaml") == before
    todo.output("reconcile")
    assert set(reconciler.seen) == {"milk"}  # it is still due


def test_a_list_of_labels_starts_no_reconciler(todo: Console, reconciler: Reconciler) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=a", "--no-reconcile")
    assert todo.output("label", "todo", "milk", "--list") == ""
    assert reconciler.seen == []
    assert todo.output("label", "todo", "milk", "a=b", "--list") == "a=b\n"  # as in kubectl, it writes nothing
    assert reconciler.seen == []
    assert todo.output("label", "todo", "milk", "--list") == ""


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("patch", "todo", "milk"), 2, "error: must specify one of -p"),
        (("patch", "todo", "milk", "-p", "{"), 1, 'error: unable to parse "{"'),
        (("patch", "todo", "milk", "--patch-file", "missing.yaml"), 1, "error: unable to read patch file"),
        (("label", "todo", "milk"), 2, "error: at least one label update is required"),
        (("annotate", "todo", "milk", "a=b", "c"), 2, "error: all resources must be specified before"),
        (("edit", "todo", "milk", "-o", "name"), 1, "error: -o name: the file to edit is yaml or json"),
        (("create", "todo", "eggs", "-o", "yml"), 1, "error: unable to match a printer"),
        (("scale", "todo", "milk", "--replicas=1", "-o", "yml"), 1, "error: unable to match a printer"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_a_mistake_in_the_arguments_starts_no_reconciler(
    todo: Console, words: tuple[str, ...], code: int, error: str
) -> None:
    managers: list[pt.Manager] = []
    todo.output("create", "todo", "milk", "--set", "spec.text=a", "--no-reconcile")
    todo.tool.setup = managers.append
    refused = todo.run(*words)
    assert (refused.code, refused.errors.startswith(error), managers) == (code, True, [])


def test_a_command_on_one_object_needs_its_name(todo: Console, reconciler: Reconciler) -> None:
    for command in (("edit", "todos"), ("patch", "todos", "--set", "spec.text=b")):
        refused = todo.run(*command)
        assert (refused.code, refused.errors) == (2, f"error: give the name of the object to {command[0]}\n")


def test_the_webhooks_check_a_dry_run_of_the_server(todo: Console, reconciler: Reconciler) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=a")
    refused = todo.run("create", "todo", "eggs", "--set", "spec.text=eggs", "--dry-run=server")
    assert (refused.code, "must not be the name" in refused.errors) == (1, True)


def test_a_command_ends_at_its_timeout(todo: Console, reconciler: Reconciler, graces: list[float]) -> None:
    ran = todo.run("create", "todo", "milk", "--set", "spec.text=hang", "--reconcile-timeout", "0.1")
    assert (ran.code, ran.output) == (5, "todo.todo.example.com/milk created\n")
    assert ran.errors.splitlines()[-1].startswith("error: the changes are stored, but not reconciled: ")
    assert "todo default/milk" in ran.errors
    assert (reconciler.cut, graces) == (["milk"], [reconciling.GRACE_SECONDS])


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("delete", "todo", "nope"), 3, 'Error from server (NotFound): todos.todo.example.com "nope" not found\n'),
        (
            ("create", "todo", "milk", "--set", "spec.text=a"),
            4,
            'Error from server (AlreadyExists): todos.todo.example.com "milk" already exists\n',
        ),
    ],
)
def test_a_command_that_has_written_nothing_does_not_wait_for_reconcilers(
    todo: Console, reconciler: Reconciler, graces: list[float], words: tuple[str, ...], code: int, error: str
) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=hang", "--no-reconcile")
    ran = todo.run(*words, "--reconcile-timeout", "0")  # no limit
    assert (ran.code, ran.output, ran.errors) == (code, "", error)
    assert graces == [reconciling.GRACE_SECONDS]


def test_an_error_of_a_command_is_printed_before_reconcilers_are_waited_for(
    todo: Console, reconciler: Reconciler
) -> None:
    files = OBJECT.format(name="milk", text="hang") + "---\n" + OBJECT.format(name="Bad_Name", text="a")
    ran = todo.run("apply", "-f", "-", "--reconcile-timeout", "0.1", stdin=files)
    assert (ran.code, ran.output) == (1, "todo.todo.example.com/milk created\n")
    first, *_, last = ran.errors.splitlines()
    assert first.startswith('The Todo "Bad_Name" is invalid: metadata.name')
    assert last.startswith("error: the changes are stored, but not reconciled: ")


@pytest.mark.parametrize(
    "words", [("apply",), ("create",), ("delete",), ("label", "a=b"), ("annotate", "a=b"), ("patch", "--set", "a=b")]
)
def test_nothing_is_started_for_files_that_cannot_be_read(
    todo: Console, reconciler: Reconciler, graces: list[float], words: tuple[str, ...]
) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=hang", "--no-reconcile")
    ran = todo.run(*words, "-f", "-", stdin="a: [")
    assert (ran.code, ran.output) == (1, "")
    assert ran.errors.startswith("error: error parsing STDIN: ")
    assert (reconciler.seen, graces) == ([], [])


@pytest.mark.parametrize(
    ("words", "code"), [(("reconcile", "--reconcile-timeout", "0.1"), 5), (("delete", "todo", "no"), 3)]
)
def test_the_process_of_an_application_does_not_end_with_a_command(
    todo: Console, reconciler: Reconciler, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(ExitDeadline, "set_over", lambda self, code, report: ended.append(code))
    todo.output("create", "todo", "milk", "--set", "spec.text=hang", "--no-reconcile")
    assert (todo.run(*words).code, ended) == (code, [])
    monkeypatch.setattr("pilotage.kit.console.signals.deadline.exit_after_program", lambda code: None)
    assert captured(lambda: todo.tool.main(words)).code == code
    assert ended == [code]


PROGRAM = """
import asyncio, sys, time
import pilotage as pt
from pilotage import kit
from pilotage.kit.console.signals import deadline

deadline.EXIT_SECONDS = 0.5

class TaskSpec(pt.Model):
    text: str = ""

@pt.resource(group="stuck.example.com", version="v1")
class Task(pt.Resource):
    spec: TaskSpec

def setup(manager):
    async def reconcile(request):
        await asyncio.to_thread(time.sleep, 3600)
    pt.ControllerBuilder(manager).for_(Task).complete(reconcile)

kit.Tool("stuck", kinds=[Task], setup=setup, storage="sqlite:stuck.db").main(sys.argv[1:])
"""


def test_a_process_ends_although_a_reconcile_runs_in_a_thread_after_the_timeout(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(PROGRAM)
    words = ("create", "task", "a", "--set", "spec.text=a", "--reconcile-timeout", "0.1")
    with ForkedProcess("stuck.py", *words, folder=tmp_path) as process:
        output, errors = process.communicate(100)
    assert (process.returncode, output) == (5, "task.stuck.example.com/a created\n")
    assert "error: the changes are stored, but not reconciled: " in errors
