"""The session in docs/howto/runs-that-end.md is what the program prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests import forked

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "runs-that-end.md").read_text()

PROGRESS = re.compile(r"^(Waiting until|Connecting to) .* …\n", re.MULTILINE)
"""Lines that are printed if something takes longer than a second."""


def block(language: str) -> str:
    return PAGE.partition(f"```{language}\n")[2].partition("```")[0]


def session() -> list[tuple[str, str]]:
    """The command lines of the page, and what it shows for each."""
    text = "".join(re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL))
    return [(line, shown) for line, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)]


def masked(text: str) -> str:
    """Without what differs from run to run: times, and how many attempts there were."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "<time>", text)
    attempts = r"failed \d+ times|it is being retried$|the next attempt is in [\d.]+ s$"
    return re.sub(attempts, "<attempts>", text, flags=re.MULTILINE).strip()


def test_the_session_of_the_page_is_what_is_printed(tmp_path: Path) -> None:
    (tmp_path / "renew.py").write_text(block("python"))
    (tmp_path / "shop.yaml").write_text(block("yaml"))
    environment: dict[str, str] = {}
    code = 0
    for line, shown in session():
        program, *words = shlex.split(line)
        if program == "export":
            environment |= dict(word.split("=", 1) for word in words)
        elif program == "echo":
            assert shown == f"{code}\n"
        else:
            ran = forked.run("-m", "pilotage.cli", *words, folder=tmp_path, environment=environment)
            code = ran.returncode
            assert masked(ran.stdout + PROGRESS.sub("", ran.stderr)) == masked(shown), line
    assert len(session()) == 12
