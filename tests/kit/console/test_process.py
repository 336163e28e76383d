"""Commands whose output cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.tools import Console, todo_tool

PROGRAM = """
import sys
from pilotage.kit.console.process import piped

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


WRITING = """
import sys
from pathlib import Path
from tests.kit.tools import todo_tool

todo_tool(Path(sys.argv[1])).main(sys.argv[2:])
"""


@pytest.mark.parametrize("words", ["apply -f {0}/all.yaml --no-reconcile", "delete -f {0}/all.yaml --no-reconcile"])
def test_a_command_that_writes_goes_on_when_its_reader_has_gone(tmp_path: Path, words: str) -> None:
    kind = "apiVersion: todo.example.com/v1, kind: Todo"
    documents = [f"{{{kind}, metadata: {{name: t{number}}}, spec: {{text: a}}}}" for number in range(5)]
    (tmp_path / "all.yaml").write_text("\n---\n".join(documents))
    todo = Console(todo_tool(tmp_path))
    if words.startswith("delete"):
        todo.output("apply", "-f", f"{tmp_path}/all.yaml", "--no-reconcile")
    (tmp_path / "program.py").write_text(WRITING)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, f"{tmp_path}/program.py", str(tmp_path), *words.format(tmp_path).split()]
    root = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}"}
    ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, "")
    left = todo.run("get", "todos", "-o", "name").output.split()
    assert len(left) == (5 if words.startswith("apply") else 0)


def test_output_is_utf8_in_every_locale(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM.replace("hello", "K\\u00e4se"))
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout.decode()) == (3, "K\u00e4se\n")
