"""The page "Why does it not reconcile?": twelve mistakes, each found with the one command that the page shows."""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests import forked
from tests.forked import ForkedProcess

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| .+ \| `pilotage (why [^`]+)` \| `(.+)` \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "howto" / "debugging.md").read_text())
CONFIGS = ("fails", "terminal", "later", "loops", "kept", "changed")


def _object(kind: str, name: str, **more: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, **more}


OBJECTS = [
    *(_object("ConfigMap", name, data={"text": "hello"} if name == "changed" else {}) for name in CONFIGS),
    _object("Secret", "hangs"),
    _object("Secret", "waits"),
    _object("Service", "dropped", spec={"ports": [{"port": 80}]}),
    _object(
        "PodTemplate",
        "ignored",
        template={"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
    ),
]


@pytest.fixture(scope="module")
def program() -> Iterator[int]:
    """The pid of the program with the mistakes, after other clients have changed some of its objects."""
    with tempfile.TemporaryDirectory(prefix="pt") as place, pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_RUNTIME_DIR", place)
        environment.setenv("TMPDIR", place)
        folder = Path(place)
        (folder / "mistakes.py").write_text((Path(__file__).parent / "mistakes.py").read_text())
        (folder / "objects.yaml").write_text(yaml.safe_dump_all(OBJECTS))
        storage = ("--storage", "sqlite:objects.db")
        words = ("run", "mistakes.py:setup", *storage, "-f", "objects.yaml", "--graceful-shutdown-timeout", "1")
        process = ForkedProcess("-m", "pilotage.cli", *words, folder=folder)
        line = ""
        while "Hot loop" not in line:  # the last of them: 200 reconciles in a row
            line = process.stderr.readline()
            assert line, "the program has ended"
        for command in (
            ("label", *storage, "service", "dropped", "a=b"),
            ("delete", "--wait=false", *storage, "configmap", "kept"),
            ("patch", *storage, "configmap", "changed", "--set", "data.text=bye"),
        ):
            assert forked.run("-m", "pilotage.cli", *command, folder=folder).returncode == 0
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(100)


def test_the_page_has_twelve_mistakes() -> None:
    assert len(ROWS) == 12


@pytest.mark.parametrize(("command", "answer"), ROWS, ids=[command for command, _ in ROWS])
def test_the_command_of_the_page_finds_the_mistake(command: str, answer: str, program: int) -> None:
    ran = forked.run("-m", "pilotage.cli", *command.split(), "--pid", str(program))
    pattern = ".*".join(map(re.escape, answer.split("…")))
    assert re.search(pattern, ran.stdout), ran.stdout + ran.stderr
