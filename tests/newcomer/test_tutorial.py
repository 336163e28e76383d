"""A newcomer follows the tutorial, from an empty folder to a real kube-apiserver, and sees what it shows.

There is no controller manager beside the kube-apiserver: that objects are deleted with their owner is shown by the
tests of the project, on the embedded server.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster

from .page import Command, File, missing, steps

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
WORDS_A_MINUTE = 60  # technical text, read and understood
LINES_A_MINUTE = 8  # typed; most people paste
ALLOWED_SECONDS = 120


@pytest.mark.cluster
def test_the_tutorial_works_from_an_empty_folder_to_a_cluster(tmp_path: Path, real_control_plane: RealCluster) -> None:
    folder, spent = tmp_path, 0.0
    kubeconfig = tmp_path / "kubeconfig"
    shutil.copy(real_control_plane.kubeconfig, kubeconfig)
    path = [Path(sys.executable).parent, real_control_plane.kubectl.parent, Path("/usr/bin"), Path("/bin")]
    environment = {"PATH": ":".join(map(str, path)), "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)}
    for step in steps(PAGE):
        if isinstance(step, File):
            assert (folder / step.path).exists(), f"{step.path} should have been generated"
            (folder / step.path).write_text(step.content)
        elif step.line.startswith("cd "):
            folder /= step.line.removeprefix("cd ")
        else:
            spent += _run(step, folder, environment)
    print(f"{spent:7.1f} s  in all")
    assert spent < ALLOWED_SECONDS


def _run(command: Command, folder: Path, environment: dict[str, str]) -> float:
    """Run a command line as a shell does; the CPU seconds that it took, which other processes do not change much."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        ["/bin/sh", "-c", command.line],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=250,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{seconds:7.1f} s  {command.line}")
    assert ran.returncode == 0, ran.stdout
    assert missing(command, ran.stdout) == [], ran.stdout
    return seconds


@pytest.mark.cluster
def test_the_project_of_the_tutorial_has_no_findings(tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    folder = tmp_path / "websites"
    for line in ("pilotage init websites", "cd websites && pilotage create api Website --short-names site"):
        subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, env=environment, check=True, capture_output=True)
    for step in steps(PAGE):
        if isinstance(step, File):
            (folder / step.path).write_text(step.content)
    for line in ("ruff format --check", "ruff check", "mypy"):
        ran = subprocess.run(line.split(), cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout


def test_the_tutorial_takes_at_most_an_hour() -> None:
    text = PAGE.read_text()
    blocks = re.findall(r"^```.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    typed = [line for block in blocks for line in block.splitlines() if line.strip() and not _is_output(line, block)]
    words = len(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split())
    assert words / WORDS_A_MINUTE + len(typed) / LINES_A_MINUTE + ALLOWED_SECONDS / 60 <= 60


def _is_output(line: str, block: str) -> bool:
    return "$ " in block and not line.startswith("$ ")
