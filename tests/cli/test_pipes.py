"""Commands whose output cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pilotage.cli.pipes import piped

def run():
    print("a warning", file=sys.stderr)
    print("hello")
    return 3

sys.exit(piped(run))
"""


@pytest.mark.parametrize(
    ("redirection", "code", "printed"),
    [
        (">&-", 3, "a warning\n"),
        ("2>&-", 3, "hello\n"),
        (">/dev/full", 1, "a warning\nerror: cannot write the output: No space left on device\n"),
    ],
)
def test_output_that_cannot_be_written_is_no_traceback(
    tmp_path: Path, redirection: str, code: int, printed: str
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = f"{sys.executable} program.py {redirection}"
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout + ran.stderr) == (code, printed)


def test_output_is_utf8_in_every_locale(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("hello", "K\\u00e4se"))
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout.decode()) == (3, "K\u00e4se\n")
