"""The pages that map other projects' names: each of ours on them exists."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pilotage
from hack.docs import names
from pilotage.cli import parser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / name for name in ("names.md", "from-controller-runtime.md")]


def ours() -> Iterator[str]:
    """The code in the second column, and what begins like a name of ours elsewhere."""
    for line in (line for page in PAGES for line in page.read_text().splitlines()):
        if line.startswith("| ") and not line.startswith("| there"):
            _, here, remark = line.strip("|").split("|")
            yield from re.findall(r"`([^`]+)`", here)
            yield from re.findall(r"`(pt\.\w[\w.]*|examples/\w+\.py)`", remark)
        else:
            yield from re.findall(r"(?<!`)`(pt\.\w[\w.]*|examples/\w+(?:\.py)?)`", line)


def found(name: str) -> Any:
    """What a dotted name stands for; raises AttributeError or ImportError."""
    first, *rest = name.split(".")
    value: Any = {"pt": pilotage, "pilotage": pilotage}[first]
    for part in rest:
        value = _member(value, part)
    return value


def _member(value: Any, name: str) -> Any:
    if inspect.ismodule(value):
        return getattr(value, name, None) or importlib.import_module(f"{value.__name__}.{name}")
    if inspect.isclass(value) and not hasattr(value, name):
        assert re.search(rf"self\.{name}\b.* = ", inspect.getsource(value)), f"{value.__name__} has no {name}"
        return None  # set when an object is made
    return getattr(value, name)


NAMES = sorted(set(ours()))


def test_the_page_has_names_of_all_three() -> None:
    assert {
        "pilotage.device.connect",
        "pt.Informer.add_event_handler",
        "pt.manager.WorkTracker",
        "pt.intercept",
    } <= set(NAMES)


TELEMETRY_SERVICE = "pilotage.device.v1alpha1.TelemetryService"
"""A service of gRPC, not a class."""


def test_a_name_of_ours_on_any_page_exists() -> None:
    source = "".join(file.read_text() for file in (ROOT / "src" / "pilotage").rglob("*.py"))
    others = {*re.findall(r'logger\("(pilotage\.[\w.]+)"', source), TELEMETRY_SERVICE}
    for page in (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        named = set(re.findall(r"`((?:pt|pilotage)\.\w[\w.]*)(?:\([^`]*\))?`", text)) - others
        assert (page.name, [name for name in sorted(named) if not exists(name)]) == (page.name, [])


def exists(name: str) -> bool:
    try:
        found(name)
    except (AttributeError, ImportError, AssertionError):
        return False
    return True


def test_the_names_of_ours_exist() -> None:
    for name in NAMES:
        check(name)


def check(name: str) -> None:
    if name.startswith("examples/"):
        assert (ROOT / name).exists(), name
    elif " " in name:
        with pytest.raises(SystemExit) as ended:
            parser().parse_args([*name.split()[1:], "--help"])
        assert ended.value.code == 0, name
    else:
        found(name)


def test_the_readme_states_the_maturity_of_this_version() -> None:
    readme = (ROOT / "README.md").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (status,) = (one for one in project["classifiers"] if one.startswith("Development Status"))
    assert f"**{status.rpartition(' - ')[2]}.** This is version {pilotage.__version__}" in readme


def test_a_name_that_does_not_exist_is_noticed() -> None:
    for name in ("pt.Informer.add_handler", "pt.Nothing", "pilotage.device.Config.nothing"):
        with pytest.raises((AttributeError, ImportError, AssertionError)):
            found(name)


def test_the_page_of_public_names_is_what_the_packages_export() -> None:
    assert (ROOT / "docs" / "public-names.md").read_text() == names.page(), (
        "an export has changed: run `make reference`"
    )


def test_every_public_name_has_one_home() -> None:
    homes: dict[int, list[str]] = {}
    for package in names.PACKAGES:
        module = importlib.import_module(f"pilotage.{package}")
        for name in names.exported(module):
            homes.setdefault(id(getattr(module, name)), []).append(f"{package}.{name}")
    assert [home for home in homes.values() if len(home) > 1] == []
