"""Modules that are made from definitions, loaded as programs load them."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pilotage.cli.program.modules import is_resource
from pilotage.meta.models import Resource
from pilotage.schema.source.comparison import differences
from pilotage.schema.source.module import module_of, versions_of

_NUMBERS = itertools.count()


@contextmanager
def loaded(text: str, folder: Path) -> Iterator[ModuleType]:
    name = f"made_from_definitions_{next(_NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]


def resources(module: ModuleType) -> list[type[Resource]]:
    return [value for value in vars(module).values() if is_resource(value)]


def lost(definitions: Sequence[dict[str, Any]], folder: Path) -> list[str]:
    """What differs between definitions and those that their module gives."""
    versions = [version for definition in definitions for version in versions_of(definition)]
    with loaded(module_of(versions, "Made from definitions."), folder) as module:
        classes = {(cls.__resource__.gvk.group_kind, cls.__resource__.gvk.version): cls for cls in resources(module)}
        pairs = [(version, classes[version.group_kind, version.version["name"]]) for version in versions]
        return [line for version, cls in pairs for line in differences(version, cls)]
