"""`pilotage why` with programs that run in processes of their own: how it finds them, and what it prints."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from pilotage.history.why.answer import Answer
from pilotage.history.why.reasons import Reason
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse
from pilotage.http.server import serve_on
from tests import forked
from tests.cli.run.greetings import write_object, write_operator
from tests.forked import ForkedProcess

BEGAN = re.compile("existed at the start, last written by|was created by")
"""The object is applied before the controller has listed the objects, or after it."""
WAITED = re.compile(", after .* on the queue")
CLOCK = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?|\d[\d.e-]* (ms|s)|version \d+")


@pytest.fixture(autouse=True)
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the sockets, with a short path."""
    with tempfile.TemporaryDirectory(prefix="pt") as place:
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)
        monkeypatch.setenv("TMPDIR", place)
        yield Path(place) / "pilotage"


def why(*words: str) -> subprocess.CompletedProcess[str]:
    return forked.run("-m", "pilotage.cli", "why", *words)


def failure(*words: str) -> str:
    ran = why(*words)
    assert (ran.returncode, ran.stdout) == (1, "")
    return ran.stderr


class Program:
    """A program that runs, with an object `world` that it has reconciled."""

    def __init__(self, folder: Path, *more: str) -> None:
        write_operator(folder)
        write_object(folder)
        words = ("hello.py", "--storage", "memory:", "-f", "world.yaml", *more)
        self.process = ForkedProcess("-m", "pilotage.cli", "run", *words, folder=folder)
        assert self.process.stdout.readline() == "greeted world\n"

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *error: object) -> None:
        self.end(signal.SIGTERM)

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.communicate(100)


def test_a_running_program_is_found_and_prints_the_story_of_an_object(tmp_path: Path, sockets: Path) -> None:
    with Program(tmp_path) as program:
        (path,) = sockets.iterdir()
        assert path.name == f"{program.process.pid}-hello.sock"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        printed = WAITED.sub("", BEGAN.sub("_", why("greeting/world", "--limit", "1").stdout))
        lines = CLOCK.sub("_", printed).splitlines()
        assert lines == [
            "_  greeting default/world  #1",
            "  because  Greeting default/world _ pilotage-run",
            "  read     Greeting default/world (cache, _)",
            "  read     ConfigMap default/world (cache): not found",
            "  wrote    create ConfigMap default/world: data.text: 'hello'",
            "  result   success in _",
            "",
            "Greeting default/world",
            "  now      nothing is pending: the last reconcile (#1) ended with success, and no change has arrived "
            "since",
        ]
        assert why("greetings", "world", "-n", "default", "--limit", "1").returncode == 0
        field = why("configmap/world", "--field", "data.text").stdout.splitlines()
        assert field[0] == "ConfigMap default/world: data.text is 'hello'"
        assert field[1].startswith("  wrote    by reconcile #1 of greeting default/world at ")
    assert [*sockets.iterdir()] == []


def test_the_answer_is_json_for_programs(tmp_path: Path) -> None:
    with Program(tmp_path):
        ran = why("greeting/world", "-o", "json")
        found = msgspec.json.decode(ran.stdout, type=Answer)
        assert [(each.number, each.result) for each in found.reconciles] == [(1, "success")]
        assert [type(reason) for reason in found.reasons] == [Reason]
        assert json.loads(ran.stdout)["reasons"][0]["code"] == "last"


def test_of_several_programs_one_must_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with Program(tmp_path) as one, Program(tmp_path / "other") as two:
        error = failure("greeting/world")
        assert error.startswith("pilotage: there are 2 running programs: hello (pid ")
        assert error.endswith("; choose one with --pid or --address\n")
        for program in (one, two):
            assert str(program.process.pid) in error
            assert why("greeting/world", "--pid", str(program.process.pid)).returncode == 0
        assert failure("greeting/world", "--pid", "1").startswith(
            "pilotage: no running program has the pid 1; there are:"
        )


def test_each_process_of_a_program_has_a_socket(tmp_path: Path, sockets: Path) -> None:
    write_operator(tmp_path)
    write_object(tmp_path)
    words = ("hello.py", "--storage", "sqlite:demo.db", "--processes", "2", "-f", "world.yaml")
    process = ForkedProcess("-m", "pilotage.cli", "run", *words, folder=tmp_path)
    try:
        assert process.stdout.readline() == "greeted world\n"
        names = {path.name.partition("-")[2] for path in sockets.iterdir()}
        assert names <= {"hello-1.sock", "hello-2.sock"}
        assert names
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(100)
    assert [*sockets.iterdir()] == []


async def test_the_process_that_works_on_the_object_answers(sockets: Path) -> None:
    here = Answer(kind="A", name="a", reasons=(Reason("queued", "it is on the queue"),))
    elsewhere = Answer(kind="A", name="a", reasons=(Reason("shard", "another replica works on it"),))
    async with AsyncExitStack() as exits:
        for number, found in enumerate((elsewhere, here, elsewhere), 1):
            listener = _listener(sockets / f"{number}-hello-{number}.sock")
            await exits.enter_async_context(serve_on(listener, _answering(msgspec.json.encode(found))))
        ran = await asyncio.to_thread(why, "a/a")
        assert ran.stdout == "A a\n  now      it is on the queue\n"
        one = await asyncio.to_thread(why, "a/a", "--pid", "1")
        assert one.stdout == "A a\n  now      another replica works on it\n"


def _listener(path: Path) -> socket.socket:
    path.parent.mkdir(exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def _answering(body: bytes) -> Handler:
    async def handler(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(200, (), body)

    return handler


async def test_an_answer_of_another_version_or_a_hostile_one_is_an_error_or_is_escaped(sockets: Path) -> None:
    answers = [b"{}", b"not json", msgspec.json.encode(Answer(kind="A", name="\x1b[31mred\r"))]
    errors = ["another version of Pilotage", "another version of Pilotage", ""]
    for number, (body, error) in enumerate(zip(answers, errors, strict=True)):
        async with serve_on(_listener(sockets / f"{number}-hello.sock"), _answering(body)):
            ran = await asyncio.to_thread(why, "a/a", "--pid", str(number))
        assert (error in ran.stderr, "\x1b" in ran.stdout) == (True, False)


def test_a_program_that_was_killed_is_not_found(tmp_path: Path, sockets: Path) -> None:
    Program(tmp_path).end(signal.SIGKILL)
    assert len([*sockets.iterdir()]) == 1
    error = failure("greeting/world")
    assert error.startswith(
        "pilotage: no running program was found: start one with `pilotage run`. A program that starts "
    )
    assert 'needs ManagerOptions(debug_bind_address="127.0.0.1:6060"), and `--address 127.0.0.1:6060` here' in error
    assert [*sockets.iterdir()] == []


def test_a_program_is_asked_at_its_debug_address_or_socket(tmp_path: Path, sockets: Path) -> None:
    with Program(tmp_path, "--debug-bind-address", "127.0.0.1:0") as program:
        while "Starting debug server" not in (line := program.process.stderr.readline()):
            assert line, "it ended"
        address = line.rpartition("bind_address=")[2].strip()
        (path,) = sockets.iterdir()
        for place in (address, f"http://{address}", str(path), f"unix://{path}"):
            assert "greeting default/world  #1" in why("greeting/world", "--address", place).stdout
        unknown = 'the server doesn\'t have a resource type "foo"'
        known = "the controllers of this program are greeting (Greeting)"
        assert failure("foo/world") == f"pilotage: the program cannot answer: {unknown}; {known}\n"
    assert failure("greeting/world", "--address", address).startswith("pilotage: cannot ask the program: ")


def test_a_program_without_a_folder_for_its_socket_runs_without_it(
    tmp_path: Path, sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets.symlink_to(tmp_path)
    write_operator(tmp_path)
    words = ("hello.py", "--storage", "memory:", "--until-idle")
    ran = forked.run("-m", "pilotage.cli", "run", *words, folder=tmp_path)
    assert ran.returncode == 0
    assert "`pilotage why` and `pilotage ui` cannot find this program" in ran.stderr
    assert f"{sockets} is not a folder of uid {os.geteuid()}" in ran.stderr


@pytest.mark.parametrize("words", [["greeting"], ["greeting/a/b"], ["a", "b", "c"], ["greeting/a", "b"], ["/a"]])
def test_one_object_must_be_named(words: list[str]) -> None:
    assert failure(*words).endswith("is not one object: give TYPE/NAME or TYPE NAME, as greeting/hello\n")


def test_places_exclude_each_other() -> None:
    assert "give one" in failure("a/b", "--pid", "1", "--address", "127.0.0.1:1")
    assert "give one" in failure("a/b", "--pid", "1", "--storage", "sqlite:a.db")
