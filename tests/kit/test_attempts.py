"""Commands that write many objects: what stops them, and what they report then."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import (
    ApiError,
    ConnectionLost,
    Forbidden,
    InternalError,
    Invalid,
    PilotageError,
    ServiceUnavailable,
    StorageBroken,
    StorageFull,
    Unauthorized,
)
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.console.errors import CommandError
from pilotage.kit.exits import SeveralErrors
from pilotage.storage.interface import Operation
from pilotage.storage.sqlite import DirectSqliteStorage
from tests.kit.tools import Console

TODOS = "---\n".join(
    f"apiVersion: todo.example.com/v1\nkind: Todo\nmetadata: {{name: t{number}}}\nspec: {{text: t}}\n"
    for number in range(9)
)
NAMES = [f"todo/t{number}" for number in range(9)]
COUNTS = "stopped, because further objects would fail in the same way: {} of 9 objects done, 1 failed, {} not tried\n"


def caused(error: ApiError, cause: Exception) -> ApiError:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        ServiceUnavailable("no space"),
        Unauthorized("the token has expired"),
        caused(InternalError("the file was removed"), StorageBroken("the file was removed")),
        StorageFull("no space"),
        ConnectionLost("connection refused"),
    ],
)
def test_an_error_that_others_would_share_stops_the_command(error: PilotageError) -> None:
    attempts = Attempts([], 9)
    with attempts.one():
        pass
    with pytest.raises(SeveralErrors) as raised, attempts.one():
        raise error
    assert raised.value.errors[0] is error
    assert "1 of 9 objects done, 1 failed, 7 not tried" in str(raised.value.errors[1])


@pytest.mark.parametrize(
    "error", [Invalid("spec.text"), Forbidden("you may not"), InternalError("a webhook"), CommandError("no kind")]
)
def test_an_error_of_one_object_does_not_stop_the_others(error: PilotageError) -> None:
    errors: list[PilotageError] = []
    with Attempts(errors, 9).one():
        raise error
    assert errors == [error]


def test_the_error_of_a_single_object_has_no_counts() -> None:
    with pytest.raises(StorageFull), Attempts([], 1).one():
        raise StorageFull("no space")


class FullDisk:
    """A disk with space for so many commits of Todos."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, commits: int) -> None:
        self.left = commits
        self.refused = 0
        self._commit: Any = DirectSqliteStorage.commit
        monkeypatch.setattr(DirectSqliteStorage, "commit", lambda *arguments: self.commit(*arguments))

    async def commit(self, storage: DirectSqliteStorage, *operations: Operation) -> Any:
        if any("/todos/" in operation.key for operation in operations):
            if not self.left:
                self.refused += 1
                raise StorageFull("no space is left on the device")
            self.left -= 1
        return await self._commit(storage, *operations)


def test_on_a_full_disk_a_command_prints_one_error_and_how_far_it_got(
    todo: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    todo.tool.setup = None
    todo.output("create", "todo", "first", "--set", "spec.text=first")
    disk = FullDisk(monkeypatch, 3)
    ran = todo.run("apply", "-f", "-", stdin=TODOS)
    assert (ran.code, disk.refused) == (1, 1)
    assert ran.output.splitlines() == [f"todo.todo.example.com/t{number} created" for number in range(3)]
    assert ran.errors.splitlines(keepends=True) == [
        'Error from server (ServiceUnavailable): error when applying "STDIN": the object was not stored: '
        "no space is left on the device\n",
        f"error: {COUNTS.format(3, 5)}",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["create", "-f", "-"],
        ["apply", "-f", "-"],
        ["replace", "-f", "-"],
        ["delete", "--wait=false", *NAMES],
        ["label", *NAMES, "a=b"],
        ["annotate", *NAMES, "a=b"],
        ["patch", *NAMES, "--set", "spec.text=more"],
    ],
)
def test_each_command_that_writes_many_objects_stops(
    words: list[str], todo: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    todo.tool.setup = None
    todo.output("create", "todo", "first", "--set", "spec.text=first")
    if words[0] != "create":
        todo.output("create", "-f", "-", stdin=TODOS)
    disk = FullDisk(monkeypatch, 2)
    ran = todo.run(*words, stdin=TODOS.replace("spec: {", "spec: {done: true, "))
    assert disk.refused == 1
    assert ran.errors.endswith(COUNTS.format(2, 6)), ran.errors
