"""What the pages show of `pilotage dev` is what it prints: the examples are run, and the change on the page is made."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import forked
from tests.forked import ForkedProcess

from .page import File, steps

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL, RUN = DOCS / "tutorial.md", DOCS / "howto" / "run.md"
REPORT = re.compile(r"^( *)```text\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
DIFF = re.compile(r"^```diff\n-(.*)\n\+(.*)\n```", re.MULTILINE)
SECONDS = re.compile(r"[\d.]+ s after")
RECONCILES = re.compile(r"after \d+ reconciles?")
PROGRAM = re.compile(r"^```(python|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@contextmanager
def dev(folder: Path, *words: str) -> Iterator[ForkedProcess]:
    """The command, once everything is reconciled."""
    process = ForkedProcess("-m", "pilotage.cli", "dev", "--no-simulate-workloads", *words, folder=folder)
    try:
        read(process, "Ready; save a file")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(100)


def read(process: ForkedProcess, text: str) -> list[str]:
    """The lines that it prints, up to one with a text."""
    lines: list[str] = []
    while not lines or text not in lines[-1]:
        line = process.stderr.readline()
        assert line, "".join(lines)
        lines.append(line)
    return lines


def save(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def report_of(page: Path) -> list[str]:
    """The report that a page shows."""
    indent, text = REPORT.findall(page.read_text())[0]
    return [masked(line.removeprefix(indent)) for line in text.splitlines()]


def masked(line: str) -> str:
    """A line without what depends on the machine."""
    return RECONCILES.sub("after N reconciles", SECONDS.sub("N s after", line.rstrip()))


def test_the_tutorial_shows_what_a_save_changes(tmp_path: Path) -> None:
    folder = tmp_path / "websites"
    for words, place in (("init websites", tmp_path), ("create api Website", folder)):
        assert forked.run("-m", "pilotage.cli", *words.split(), folder=place).returncode == 0
    for step in steps(TUTORIAL):
        if isinstance(step, File):
            (folder / step.path).write_text(step.content)
    ((old, new),) = DIFF.findall(TUTORIAL.read_text())
    with dev(folder) as process:
        save(folder / "src" / "websites" / "controllers" / "website.py", old, new)
        assert [masked(line) for line in read(process, "after the save")] == report_of(TUTORIAL)


def test_the_guide_shows_what_is_no_longer_written(tmp_path: Path) -> None:
    found = dict(reversed(PROGRAM.findall(RUN.read_text())))
    (tmp_path / "greetings.py").write_text(found["python"])
    (tmp_path / "world.yaml").write_text(found["yaml"])
    with dev(tmp_path, "greetings.py", "-f", "world.yaml") as process:
        save(tmp_path / "greetings.py", '{"text": greeting', '{"greeting": greeting')
        lines = [line for line in read(process, "after the save") if "Wrote the ConfigMap" not in line]
        assert [masked(line) for line in lines] == report_of(RUN)


def test_the_command_ends_within_its_time(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("def setup(manager):\n    pass\n")
    with dev(tmp_path, "empty.py") as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(100) == 0
