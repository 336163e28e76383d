"""The page of public names, written from what the packages export: `make reference`.

A name that `pilotage` exports is listed there, and every other one with its package.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pilotage

PACKAGES = {
    "cache": "caches, informers, listers",
    "client": "clients of an API server, and helpers for writes",
    "cluster": "API servers as a program sees them",
    "controller": "controllers: sources, handlers, predicates, reconcilers",
    "device": "the Device API: its client, its server, providers of GPUs",
    "errors": "errors by what a caller can do about them",
    "history": "causes, reads, writes and results of reconciles",
    "kit": "tools over resources, for authors of command-line tools",
    "manager": "the manager: election, shutdown, work, several processes",
    "markers": "markers of fields and classes, for schemas",
    "meta": "pure data: metadata, conditions, kinds, selectors, documents",
    "rest": "the REST API without I/O",
    "storage": "storages: in memory, SQLite, etcd",
    "testing": "the test kit",
    "webhook": "admission, authentication and conversion webhooks",
    "workloads": "simulated workloads",
    "workqueue": "the work queue and its rate limiters",
}
MODULES = {"cli": "programs: how they are found and run", "telemetry": "logs and traces", "types": PACKAGES["meta"]}
"""Packages of which `pilotage` exports names, and whose other names are not public."""
_BASES = ("Identified", "Record")
"""Base classes of errors, which programs have no use for."""


def exported(package: ModuleType) -> list[str]:
    """The public names of a package: its exports, or what it defines."""
    names = getattr(package, "__all__", None) or [
        name
        for name, value in vars(package).items()
        if inspect.isclass(value) and value.__module__.startswith(package.__name__) and not name.startswith("_")
    ]
    return [name for name in names if name not in {*PACKAGES, *_BASES}]


def page() -> str:
    """The page as Markdown."""
    first = exported(pilotage)
    groups: dict[str, list[str]] = defaultdict(list)
    for name in first:
        groups[_group(name)].append(name)
    lines = [
        "# Public names",
        "",
        "`import pilotage as pt` has the names that most programs use. Every other public name is in one package,",
        "which is an attribute of `pt` if the heading below begins with `pt`: `pt.errors.Timeout` is",
        "`pilotage.errors.Timeout`. Packages and names are loaded when they are first used. The built-in types are in",
        "`pilotage.types`, generators and validators of schemas in `pilotage.schema`.",
        "",
        "## pt",
        "",
        "| group | names |",
        "|---|---|",
        *(f"| {group} | {_listed(groups[group])} |" for group in sorted(groups, key=str.lower)),
    ]
    for package, about in PACKAGES.items():
        module = import_module(f"pilotage.{package}")
        others = [name for name in exported(module) if getattr(pilotage, name, None) is not getattr(module, name)]
        heading = f"pt.{package}" if package in pilotage.__all__ else f"pilotage.{package}"
        lines += ["", f"## {heading}", "", f"{about[0].upper()}{about[1:]}.", "", f"{_listed(others)}."]
    return "\n".join([*lines, ""])


def _group(name: str) -> str:
    for package, about in PACKAGES.items():
        if getattr(import_module(f"pilotage.{package}"), name, None) is getattr(pilotage, name):
            return about
    return (MODULES | PACKAGES)[_module_of(name).split(".")[1]]


def _module_of(name: str) -> str:
    """The module from which `pilotage` imports a name."""
    stub = Path(str(pilotage.__file__)).with_name("__init__.pyi").read_text()
    (line,) = (line for line in stub.splitlines() if line.endswith(f" as {name}"))
    return line.split()[1]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names, key=str.lower))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
