"""Names of what a tool is made of, by import path: `inventory.kinds:Item,Category`. Loaded when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from pilotage.errors import InvalidDefinition, PilotageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def module_of(reference: str) -> str:
    """The module of a reference. Raises InvalidDefinition if it is not one."""
    module, colon, names = reference.partition(":")
    if not colon or not module or module.startswith(".") or not all(names.split(",")):
        raise InvalidDefinition(f'{reference!r} is not MODULE:NAME, such as "inventory.kinds:Item,Category"')
    return module


def load(reference: str) -> list[Any]:
    """What a reference names. Raises InvalidDefinition if the module does not have it."""
    name = module_of(reference)
    try:
        module = import_module(name)
    except PilotageError:
        raise
    except Exception as error:
        from pilotage.telemetry.console import place_in_program

        place = f" ({line})" if (line := place_in_program(error)) else ""
        raise InvalidDefinition(
            f"the module {name} of {reference!r} cannot be imported: {type(error).__name__}: {error}{place}"
        ) from error
    found: list[Any] = []
    for each in reference.partition(":")[2].split(","):
        if not hasattr(module, each):
            raise InvalidDefinition(f"{reference!r}: the module {name} ({module.__file__}) has no {each}")
        found.append(getattr(module, each))
    return found


def origins(references: Sequence[str]) -> list[str]:
    """The files of the modules of references, found as an import would find them; empty if one is not found.

    No module is imported: one in a package that is not imported is not found.
    """
    found: list[str] = []
    for reference in references:
        name = module_of(reference)
        package = name.rpartition(".")[0]
        if package and package not in sys.modules:
            return []
        path = getattr(sys.modules[package], "__path__", None) if package else None
        specs = (finder.find_spec(name, path, None) for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next((each for each in specs if each is not None), None)
        if spec is None or not spec.has_location or not spec.origin:
            return []
        found.append(spec.origin)
    return found
