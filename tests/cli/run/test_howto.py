"""The commands of docs/howto/run.md do what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from pilotage.cli import parser
from tests import forked

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "run.md").read_text()


def block(language: str) -> str:
    return PAGE.partition(f"```{language}\n")[2].partition("```")[0]


def command_lines() -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)]


def test_the_program_runs_by_the_command_and_by_itself(tmp_path: Path) -> None:
    (tmp_path / "greetings.py").write_text(block("python"))
    (tmp_path / "world.yaml").write_text(block("yaml"))
    lines = [words for words in command_lines() if "--until-idle" in words]
    assert [words[0] for words in lines] == ["pilotage", "python"]
    for program, *arguments in lines:
        command = ["-m", "pilotage.cli", *arguments] if program == "pilotage" else arguments
        ran = forked.run(*command, folder=tmp_path)
        assert ran.returncode == 0, ran.stderr
        assert "Wrote the ConfigMap" in ran.stderr
        assert "name=world" in ran.stderr


def test_each_command_line_parses() -> None:
    own = [words[1:] for words in command_lines() if words[0] == "pilotage"]
    assert len(own) == 5
    for words in own:
        parser().parse_args(words)
