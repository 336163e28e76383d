"""A small tool for tests, and one whose reconcilers fail."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pilotage as pt
from pilotage import kit
from pilotage.kit.arguments import Command
from pilotage.kit.arguments.flags import Arguments
from pilotage.kit.arguments.planning import Facts, Plan, plan
from pilotage.kit.console import terminal


class TodoSpec(pt.Model):
    text: str
    done: bool = False
    priority: int = 0
    """How soon it is due."""
    tags: list[str] = []


class TodoStatus(pt.Model):
    phase: str = "Open"


@pt.resource(
    group="todo.example.com",
    version="v1",
    short_names=["td"],
    categories=["work"],
    status=True,
    columns=[
        pt.Column("Text", ".spec.text"),
        pt.Column("Phase", ".status.phase"),
        pt.Column("Priority", ".spec.priority", type="integer", priority=1),
    ],
)
class Todo(pt.Resource):
    """Something to do."""

    spec: TodoSpec
    status: TodoStatus | None = None


class LargerSpec(pt.Model):
    text: str
    size: int = 3


@pt.resource(group="todo.example.com", version="v1", kind="Todo", short_names=["td"], status=True)
class ChangedTodo(pt.Resource):
    """The same kind in a later version of the program."""

    spec: LargerSpec
    status: TodoStatus | None = None


log = pt.logger("todo")


class TodoReconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> pt.Result:
        todo = await self.client.get(Todo, request.name, namespace=request.namespace)
        if todo.spec.text == "impossible":
            raise ValueError("this cannot be done")
        if todo.spec.text == "never":
            raise pt.TerminalError("this is never done")
        log.info("Reconciled", text=todo.spec.text)
        await self.client.patch_status(todo, {"status": {"phase": "Done" if todo.spec.done else "Open"}})
        return pt.Result()


def setup(manager: pt.Manager) -> None:
    pt.ControllerBuilder(manager).for_(Todo).complete(TodoReconciler(manager))


@dataclass(frozen=True)
class Result:
    code: int
    output: str
    errors: str


def captured(run: Callable[[], int], stdin: str = "") -> Result:
    """What a command line does in this process."""
    with _streams(stdin) as (output, errors):
        try:
            code = run()
        except SystemExit as error:
            code = int(error.code or 0)
    return Result(code, output.getvalue(), errors.getvalue())


class Console:
    """Runs command lines of a tool, as a terminal would, in this process."""

    def __init__(self, tool: kit.Tool) -> None:
        self.tool = tool

    def run(self, *words: str, stdin: str = "") -> Result:
        return captured(lambda: self.tool.run(words), stdin)

    def output(self, *words: str, stdin: str = "") -> str:
        """What a command prints that succeeds."""
        result = self.run(*words, stdin=stdin)
        assert (result.code, result.errors) == (0, ""), result
        return result.output


@contextmanager
def _streams(stdin: str) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    output, errors = io.StringIO(), io.StringIO()
    own, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin.encode()))
    # On busy cores a command may take longer than a second, and would print that it is working.
    shown, terminal.SHOW_AFTER_SECONDS = terminal.SHOW_AFTER_SECONDS, 3600.0
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            yield output, errors
    finally:
        sys.stdin, terminal.SHOW_AFTER_SECONDS = own, shown


def todo_tool(folder: Path) -> kit.Tool:
    return kit.Tool("todo", kinds=[Todo], setup=setup, storage=f"sqlite:{folder}/todo.db")


class TodoWebhook:
    """Refuses what the schema cannot express."""

    async def validate_create(self, todo: Todo) -> list[str]:
        if todo.spec.text == todo.metadata.name:
            raise pt.Invalid.of(todo, pt.field.invalid("spec.text", todo.spec.text, "must not be the name"))
        return ["it is urgent"] if todo.spec.priority > 8 else []

    async def validate_update(self, old: Todo, todo: Todo) -> list[str]:
        return []

    async def validate_delete(self, todo: Todo) -> list[str]:
        return []


class CleaningReconciler:
    """Has a finalizer: something outside of the storage is cleaned up before an object is deleted."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.finalizers: pt.Finalizers[Todo] = pt.Finalizers()
        self.finalizers.register("todo.example.com/cleaning", self.clean)
        self.cleaned: list[str] = []

    async def clean(self, todo: Todo) -> None:
        self.cleaned.append(todo.metadata.name)

    async def reconcile(self, request: pt.Request) -> pt.Result:
        todo = await self.client.get(Todo, request)
        if (await self.finalizers.finalize(todo)).updated:
            await self.client.update(todo)
        return pt.Result()


def plan_with_loop(command: Command, options: Arguments, facts: Facts) -> Plan:
    """The plan of a command in a place where all requests go to a server, with an event loop."""
    return plan(
        command, options, Facts(facts.where, reconcilers=facts.reconcilers, namespace=facts.namespace, audited=True)
    )
