"""The design page and the contributing page show the source tree as it is."""

from __future__ import annotations

import ast
import asyncio
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

import pilotage as pt
from pilotage.testing import Environment
from pilotage.types.core.v1 import ConfigMap

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pilotage"
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
DESIGN = (ROOT / "docs" / "design.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def section(title: str) -> str:
    return DESIGN.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def checked_layers(package: str) -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each.get("containers") == [package])
    return list(layers)


def test_the_layers_are_those_that_are_checked() -> None:
    drawn = section("Layers").split("```")[1].strip().splitlines()
    assert [sorted(re.findall(r"\w+", line.replace("(generated)", ""))) for line in drawn] == [
        sorted(re.findall(r"\w+", line)) for line in checked_layers("pilotage")
    ]


@pytest.mark.parametrize("package", ["server", "manager"])
def test_the_layers_within_a_package_are_those_that_are_checked(package: str) -> None:
    table = section("Layers").partition(f"| `{package}` | contents |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()]
    assert rows == [re.findall(r"\w+", line) for line in checked_layers(f"pilotage.{package}")]


SOURCE_OF_KINDS = Path("kubernetes")
"""Its subpackages are API groups, which need no list."""


def test_every_subpackage_is_listed_and_exists() -> None:
    folders = (path.parent.relative_to(SOURCE) for path in SOURCE.glob("*/**/__init__.py"))
    found = {
        folder.as_posix()
        for folder in folders
        if len(folder.parts) > 1 and folder.parts[0] != "types" and folder.parent != SOURCE_OF_KINDS
    }
    listed = re.findall(r"^\| `([\w/]+)` \|", section("The source tree"), re.MULTILINE)
    assert listed == sorted(found, key=lambda folder: folder.split("/"))


def path(number: int) -> list[list[str]]:
    """The files of each step of one of the three paths."""
    text = section("Three paths through the code").split("\n**")[number]
    return [re.findall(r"`([\w/]+\.py)`", step) for step in re.split(r"^\d\. ", text, flags=re.MULTILINE)[1:]]


def test_every_file_of_the_three_paths_exists() -> None:
    files = [file for number in (1, 2, 3) for step in path(number) for file in step]
    assert len(files) > 30
    assert [file for file in files if not (SOURCE / file).is_file()] == []


class Thing(pt.Model):
    text: str = ""


@pt.resource(group="test.example.com", version="v1")
class Widget(pt.Resource):
    spec: Thing = Thing()


def widget(name: str) -> Widget:
    return Widget(metadata=pt.ObjectMeta(name=name, namespace="default"))


@contextmanager
def called_files() -> Iterator[list[str]]:
    """The files of the library in the order in which functions of them are called first in the block."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(SOURCE):
            found[file.relative_to(SOURCE).as_posix()] = None

    names: list[str] = []
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield names
    finally:
        sys.setprofile(before)
        names += found


async def test_a_watch_event_takes_the_first_path(pilotage_env: Environment) -> None:
    async def reconcile(request: pt.Request) -> None:
        if request.name == "a":
            started.set()
        else:
            found = await pilotage_env.manager.client.get(Widget, request)
            await pilotage_env.manager.client.patch(found, {"metadata": {"labels": {"a": "b"}}})
            reconciled.set()

    started, reconciled = asyncio.Event(), asyncio.Event()
    pt.ControllerBuilder(pilotage_env.manager).for_(Widget).complete(reconcile)
    await pilotage_env.given(widget("a"))
    async with pilotage_env.running():
        await started.wait()
        with called_files() as files:
            await pilotage_env.given(widget("b"))
            await reconciled.wait()
    _, reflector, informer, *steps, writer = [step[0] for step in path(1)]  # without a connection over HTTP
    assert [file for file in files if file in steps] == steps
    assert {reflector, informer, writer, "cache/store.py", "cluster/readbarrier.py"} <= set(files)


async def test_a_create_takes_the_second_path(pilotage_env: Environment) -> None:
    client = pilotage_env.cluster.client
    config_maps = [ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default")) for name in "ab"]
    async with client.watch(ConfigMap, namespace="default") as events:
        await client.create(config_maps[0])
        await anext(aiter(events))
        with called_files() as files:
            await client.create(config_maps[1])
            assert (await anext(aiter(events))).object.metadata.name == "b"
    steps = [step[0] for step in path(2)]
    assert [file for file in files if file in steps[:6]] == steps[:6]
    assert set(steps[6:]) <= set(files)


def test_every_source_or_test_file_that_a_page_names_exists() -> None:
    packages = "|".join(path.parent.name for path in SOURCE.glob("*/__init__.py"))
    pattern = re.compile(rf"`(?:src/)?(?:pilotage/)?((?:{packages})/[\w/]+\.pyi?)`")
    for page in (ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md"))):
        named = pattern.findall(page.read_text())
        missing = [file for file in named if not (SOURCE / file).is_file() and not (TESTS / file).is_file()]
        assert (page.name, missing) == (page.name, [])


def test_contributing_shows_every_package() -> None:
    tree = CONTRIBUTING.partition("## Where things are")[2].split("```")[1]
    names = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert names - set(re.findall(r"\w+", tree)) == set()


def test_no_package_is_a_long_flat_list() -> None:
    folders = {path.parent for path in SOURCE.glob("**/*.py")}
    counts = {folder.relative_to(SOURCE).as_posix(): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: count for name, count in counts.items() if count > 21} == {}


def test_the_words_that_had_several_meanings_name_one_class_each() -> None:
    words = {"Change", "Changes", "Entry", "Request", "ResourceInfo", "Rule", "Source", "Writer"}
    classes = re.compile(r"^class (\w+)", re.MULTILINE)
    files = (path for path in SOURCE.glob("**/*.py") if path.relative_to(SOURCE).parts[0] != "types")
    found = [name for path in files for name in classes.findall(path.read_text()) if name in words]
    assert sorted(found) == sorted(set(found))


WITH_CACHED_PROPERTIES = {"FieldType", "Layout", "Node", "_Compiled"}


def test_a_dataclass_has_slots_unless_it_needs_a_dictionary() -> None:
    found = {
        node.name
        for path in SOURCE.glob("**/*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for decorator in map(ast.unparse, node.decorator_list)
        if re.match(r"dataclass\b(?!_)", decorator) and "slots=True" not in decorator
    }
    assert found == WITH_CACHED_PROPERTIES
