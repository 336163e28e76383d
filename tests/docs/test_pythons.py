"""The Pythons that are supported: one list, and what repeats it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from hack.pythons import SUPPORTED
from pilotage.cli.scaffold.texts.project import PYTHON

ROOT = Path(__file__).parents[2]


def test_the_package_names_the_supported_pythons() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    assert named == list(SUPPORTED)
    assert project["requires-python"] == f">={SUPPORTED[0]}"


def test_a_change_is_tested_on_the_supported_pythons() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yaml").read_text())["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == list(SUPPORTED)


def test_new_projects_and_images_use_the_newest() -> None:
    assert SUPPORTED[-1] == PYTHON
    assert f"FROM python:{PYTHON}-slim\n" in (ROOT / "docs" / "howto" / "deploy.md").read_text()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "Makefile", "docs/tutorial.md"])
def test_the_documentation_names_the_oldest_and_the_newest(page: str) -> None:
    assert f"{SUPPORTED[0]} to {SUPPORTED[-1]}" in (ROOT / page).read_text()
