"""What `init` and `create` write is formatted, linted, typed and tested, and runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pilotage import cli

from ... import forked

PROJECTS = {
    "empty": [],
    "kind": ["api Guestbook --short-names gb,book"],
    "webhook": ["api Guestbook", "webhook Guestbook --defaulting --validating", "webhook Pod --validating"],
    "builtin": ["controller apps/v1 Deployment", "controller Namespace"],
    "versions": [
        "api Guestbook",
        "api Guestbook --version v2",
        "api Guestbook --version v1beta1",
        "webhook Guestbook --conversion --validating",
    ],
    "names": [  # kinds whose names Python, pytest or the templates use for something else
        "api Environment --cluster-scoped",
        "api Request",
        "api Class --no-controller",
        "controller Class",
        "webhook Request --defaulting",
        "api List --plural lists",
        "api AVeryLongKindNameThatHasFortyCharactersX",
        "webhook AVeryLongKindNameThatHasFortyCharactersX --defaulting --validating",
    ],
}
"""The `create` commands of each project."""


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects")
    with pytest.MonkeyPatch.context() as patch:
        for name, commands in PROJECTS.items():
            assert cli.main(["init", str(folder / name), "--package", f"{name}_operator"]) == 0
            patch.chdir(folder / name)
            for command in commands:
                assert cli.main(["create", *command.split()]) == 0
    return folder


def run(*command: str, folder: Path, **environment: str) -> None:
    made = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr


def test_the_projects_are_formatted(projects: Path) -> None:
    run("ruff", "format", "--check", "--diff", folder=projects)


def test_the_projects_pass_the_linter(projects: Path) -> None:
    run("ruff", "check", folder=projects)


def test_the_tests_of_the_projects_pass(projects: Path) -> None:
    """In one process: the packages have different names."""
    folders = [str(projects / name / "tests") for name in PROJECTS]
    sources = " ".join(str(projects / name / "src") for name in PROJECTS)
    options = ["--import-mode=importlib", "-q", "-W", "error", "-p", "no:cacheprovider", "-c", "/dev/null"]
    options += ["-p", "pilotage.testing.plugin", "-o", f"pythonpath={sources}", f"--rootdir={projects}"]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins take time
    made = forked.run("-m", "pytest", *options, *folders, folder=projects, environment=environment)
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.long  # mypy reads all of pilotage: some seconds
def test_the_projects_pass_mypy_strict(projects: Path) -> None:
    """In one run. Tests of two projects have the same names: they are modules of the folders of the projects."""
    assert "strict = true" in (projects / "kind" / "pyproject.toml").read_text()
    sources = [projects / name / "src" for name in PROJECTS]
    path = ":".join(map(str, [projects, *sources]))
    folders = [*map(str, sources), *(str(projects / name / "tests") for name in PROJECTS)]
    options = ["--strict", "--explicit-package-bases", f"--cache-dir={projects / '.mypy_cache'}"]
    run("mypy", *options, *folders, folder=projects, MYPYPATH=path)
