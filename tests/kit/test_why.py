"""`why` of a tool: what its last commands did, from the file beside the storage."""

from __future__ import annotations

import json
import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from pilotage.cli import main
from pilotage.history.stories import Cause, Reconcile
from pilotage.history.why.answer import Answer
from pilotage.kit.console.errors import CommandError
from pilotage.kit.recorded.historyfile import stories_of
from pilotage.kit.recorded.logfile import MAX_BYTES

from .tools import Console, captured

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_FIRST = [
    "because  Todo default/milk was created by todo",
    "because  Todo default/milk existed at the start, last written by todo",
]
"""The first cause: the command has written before the reconcilers have listed the objects, or after it."""


@pytest.fixture
def filled(todo: Console) -> Console:
    todo.output("create", "todo", "milk", "--set", "spec.text=Milk")
    todo.output("patch", "todo", "milk", "--set", "spec.done=true")
    return todo


def causes(todo: Console, *words: str) -> list[str]:
    lines = todo.output("why", *words).splitlines()
    return [line.strip() for line in lines if line.startswith(("  because", "  wrote"))]


def test_why_has_the_reconciles_of_the_last_commands(filled: Console) -> None:
    filled.output("create", "todo", "eggs", "--set", "spec.text=Eggs")
    found = causes(filled, "todo/milk")
    assert found[0] in _FIRST
    assert found[1] == "wrote    patch status of Todo default/milk: status.phase: (none) → 'Open'"
    assert "wrote    patch status of Todo default/milk: status.phase: 'Open' → 'Done'" in found
    assert causes(filled, "td", "milk", "--limit", "1") == found[-2:]
    assert "eggs" not in "".join(found)


def test_numbers_of_reconciles_rise_over_the_commands(filled: Console) -> None:
    document = json.loads(filled.output("why", "todo/milk", "-o", "json"))
    found = msgspec.convert(document, Answer)
    numbers = [each.number for each in found.reconciles]
    assert numbers == [*range(1, len(numbers) + 1)]
    last = found.reconciles[-1]
    assert last.causes[0].reconcile == last.number - 1


def test_why_answers_who_wrote_a_field(filled: Console) -> None:
    lines = filled.output("why", "todo/milk", "--field", "status.phase").splitlines()
    assert lines[0] == "Todo default/milk: status.phase is 'Done'"
    assert lines[1].startswith("  wrote    by reconcile #")
    lines = filled.output("why", "todo/milk", "--field", "spec.done").splitlines()
    assert re.match("  wrote    by (the field manager todo|another client)", lines[1])


def test_an_object_that_does_not_exist_is_named(filled: Console) -> None:
    found = filled.run("why", "todo/none")
    assert found.output == "No reconciles of Todo default/none are recorded.\n"
    assert found.errors == "todo.todo.example.com/none does not exist now.\n"


def test_the_history_is_readable_by_its_user_alone_and_a_read_does_not_create_it(todo: Console, tmp_path: Path) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=Milk", "--no-reconcile")
    todo.output("get", "todos")
    path = tmp_path / "todo.db.history"
    assert not path.exists()
    todo.output("patch", "todo", "milk", "--set", "spec.done=true")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_is_bounded(filled: Console, tmp_path: Path) -> None:
    path = tmp_path / "todo.db.history"
    path.write_bytes(path.read_bytes() + b"\n" * (MAX_BYTES + 1))
    filled.output("patch", "todo", "milk", "--set", "spec.done=false")
    assert path.stat().st_size < 100_000
    assert (tmp_path / "todo.db.history.1").stat().st_size > MAX_BYTES
    assert causes(filled, "todo/milk")[0] in _FIRST


def test_a_line_that_a_crash_has_cut_is_skipped_and_a_newer_format_is_refused(filled: Console, tmp_path: Path) -> None:
    path = tmp_path / "todo.db.history"
    before = stories_of(str(path))
    with path.open("ab") as file:
        file.write(b'{"number": 1, "contr\n\xff\xfe\n')
    assert stories_of(str(path)) == before
    with path.open("ab") as file:
        file.write(b'{"pilotage_history":99}\n')
    with pytest.raises(CommandError, match=r"was written by a newer version of Pilotage \(format 99, known is 1\)"):
        stories_of(str(path))
    assert filled.run("why", "todo/milk").code == 1


def test_what_a_command_keeps_has_its_causes_with_the_numbers_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.history"
    story = Reconcile(number=2, controller="a", began=_NOW, causes=(Cause(type="retry", at=_NOW, reconcile=1),))
    lines = [b'{"pilotage_history":1}', msgspec.json.encode(story)]
    path.write_bytes(b"\n".join([*lines, *lines, b""]))
    assert [(each.number, each.causes[0].reconcile) for each in stories_of(str(path))] == [(2, 1), (4, 3)]


def test_pilotage_why_reads_the_history_of_a_tool(filled: Console, tmp_path: Path) -> None:
    storage = f"sqlite:{tmp_path}/todo.db"
    found = captured(lambda: main(["why", "todos/milk", "--storage", storage]))
    assert found.code == 0
    assert found.output == filled.output("why", "todo/milk")
    unknown = captured(lambda: main(["why", "foo/milk", "--storage", storage]))
    assert (unknown.code, "they are about: Todo.todo.example.com" in unknown.errors) == (1, True)
    missing = captured(lambda: main(["why", "todo/milk", "--storage", f"sqlite:{tmp_path}/none.db"]))
    assert f"there is no {tmp_path}/none.db.history" in missing.errors


def test_each_tenant_has_a_history_and_its_deletion_removes_it(todo: Console, tmp_path: Path) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=Milk", "--tenant", "team-a")
    path = tmp_path / "todo.db.team-a.history"
    assert path.exists()
    assert "#1" in todo.output("why", "todo/milk", "--tenant", "team-a")
    assert not (tmp_path / "todo.db.history").exists()
    assert captured(lambda: main(["tenants", "delete", "team-a", "--storage", f"sqlite:{tmp_path}/todo.db"])).code == 0
    assert not os.path.exists(path)


def test_why_and_logs_name_each_other(todo: Console) -> None:
    assert "`logs` prints what reconcilers logged" in " ".join(todo.output("why", "--help").split())
    assert "`why` prints what caused the reconciles" in " ".join(todo.output("logs", "--help").split())
