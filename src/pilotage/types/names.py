"""The names of the built-in resources. Light to import: a command that reads a custom resource looks here first."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def builtin_names() -> frozenset[str]:
    """Every name of every built-in resource: plural, singular, short names and kind, in lower case."""
    with open(f"{os.path.dirname(__file__)}/data/resources.json", "rb") as file:
        resources: list[dict[str, Any]] = json.load(file)
    return frozenset(
        name.lower()
        for each in resources
        for name in (each["resource"], each["singular"], each["kind"], *each["shortNames"])
    )
