"""`pilotage run --record` and `pilotage replay`, as processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotage.cli.replay import DIFFERENT
from tests import forked
from tests.cli.run.greetings import OPERATOR, write_object, write_operator


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.run("-m", "pilotage.cli", *words, folder=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a program and its recording."""
    write_operator(tmp_path)
    write_object(tmp_path)
    words = ("hello.py", "--storage", "memory:", "-f", "world.yaml", "--until-idle", "--record", "history.rec")
    ran = run(tmp_path, "run", *words)
    assert ran.returncode == 0, ran.stderr
    yield tmp_path
    (tmp_path / "history.rec").unlink()  # it is large, and the folder may be in memory


def test_the_program_of_a_recording_is_replayed(folder: Path) -> None:
    ran = run(folder, "replay", "history.rec")
    assert (ran.stdout, ran.returncode) == ("reconciles    1\nidentical     1\n", 0), ran.stderr


def test_a_version_that_writes_something_else_is_compared_by_object(folder: Path) -> None:
    (folder / "louder.py").write_text(OPERATOR.replace('{"text": greeting.spec.text}', '{"text": "HELLO"}'))
    ran = run(folder, "replay", "history.rec", "--with", "louder.py")
    assert ran.returncode == DIFFERENT, ran.stderr
    assert ran.stdout.splitlines() == [
        "reconciles    1",
        "identical     0",
        "different     1",
        "greeting default/world: 1 of its reconciles, first #1 greeting default/world: different: it sends another "
        "create configmaps default/world: data.text: 'hello' → 'HELLO'",
    ]


def test_the_changed_program_itself_differs(folder: Path) -> None:
    write_operator(folder, OPERATOR.replace('{"text": greeting.spec.text}', '{"text": "HELLO"}'))
    ran = run(folder, "replay", "history.rec", "hello.py")
    assert ran.returncode == DIFFERENT
    assert "data.text: 'hello' → 'HELLO'" in ran.stdout
    assert "record other calls with pt.recorded(call)" in ran.stdout


def test_one_reconcile_is_printed(folder: Path) -> None:
    ran = run(folder, "replay", "history.rec", "--at", "1")
    assert ran.returncode == 0
    assert "  because  Greeting default/world existed at the start" in ran.stdout or "was created" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "  replay   identical"


def test_why_answers_from_a_recording(folder: Path) -> None:
    ran = run(folder, "why", "greeting/world", "--recording", "history.rec")
    assert ran.returncode == 0, ran.stderr
    assert "wrote    create ConfigMap default/world: data.text: 'hello'" in ran.stdout
    ran = run(folder, "why", "configmap/world", "--field", "data.text", "--recording", "history.rec")
    assert "by reconcile #1 of greeting default/world" in ran.stdout
    ran = run(folder, "why", "greeting/world", "--recording", "history.rec", "--pid", "1")
    assert (ran.returncode, ran.stderr.count("give one")) == (1, 1)


def test_the_debugger_stops_in_the_reconciler(folder: Path) -> None:
    command = subprocess.run(
        [sys.executable, "-m", "pilotage.cli", "replay", "history.rec", "--at", "1", "--pdb"],
        cwd=folder,
        input="p request.name\nc\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "greeting = await self.client.get(Greeting, request)" in command.stdout
    assert "'world'" in command.stdout
    assert command.returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hello.py",), "hello.py is not a recording of Pilotage"),
        (("history.rec", "--at", "7"), "history.rec has no reconcile 7; it has 1 to 1"),
        (("history.rec", "--pdb"), "--pdb needs --at NUMBER"),
        (("history.rec", "--start", "2"), "--start 2: history.rec has 1 starts of its program"),
        (("history.rec", "missing.py"), "missing.py"),
    ],
)
def test_what_cannot_be_replayed_is_one_line(folder: Path, words: tuple[str, ...], message: str) -> None:
    ran = run(folder, "replay", *words)
    assert ran.returncode == 1
    assert message in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_another_file_is_not_recorded_to(folder: Path) -> None:
    ran = run(folder, "run", "hello.py", "--storage", "memory:", "--until-idle", "--record", "world.yaml")
    assert ran.returncode == 1
    assert "world.yaml is not a recording of Pilotage: give another file" in ran.stderr
