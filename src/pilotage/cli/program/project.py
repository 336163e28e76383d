"""The settings of a project: the table `[tool.pilotage]` of its `pyproject.toml`."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pilotage.kit.console.errors import CommandError
from pilotage.meta.paths import value_at

FILE = "pyproject.toml"
_KEYS = ("target", "name", "namespace", "image", "deploy", "group")


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a `pyproject.toml` that has a table `[tool.pilotage]`."""

    root: Path
    """The folder of the `pyproject.toml`."""
    name: str
    """The prefix of the names of objects on a cluster; the name of the Python project by default."""
    target: str | None
    """What `pilotage run`, `manifests` and `rbac` use if no target is given: `guestbook.operator:setup`."""
    namespace: str
    """Where the program runs on a cluster; `{name}-system` by default."""
    image: str
    """The container image of the program; `{name}:latest` by default."""
    deploy: Path
    """The folder of the manifests; `deploy` by default."""
    group: str | None
    """The API group of kinds that `pilotage create api` adds."""


def find_project(folder: Path) -> Project | None:
    """The project of the nearest `pyproject.toml` with a table `[tool.pilotage]`, in `folder` or above it.

    Raises `CommandError` if that file cannot be read or has wrong settings.
    """
    for each in (folder.resolve(), *folder.resolve().parents):
        path = each / FILE
        if path.is_file():
            document = _read(path)
            table = value_at(document, ("tool", "pilotage"))
            if table is not None:
                return _project(path, document, table)
    return None


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} is not valid TOML: {error}") from error


def _project(path: Path, document: dict[str, Any], table: Any) -> Project:
    _check_table(path, table)
    name = _label(path, "name", table["name"]) if "name" in table else _python_name(path, document)
    if "group" in table:
        _check_group(path, table["group"])
    return Project(
        root=path.parent,
        name=name,
        target=table.get("target"),
        namespace=_label(path, "namespace", table.get("namespace", f"{name}-system")),
        image=table.get("image", f"{name}:latest"),
        deploy=path.parent / table.get("deploy", "deploy"),
        group=table.get("group"),
    )


def _check_table(path: Path, table: Any) -> None:
    if not isinstance(table, dict):
        raise CommandError(f"{path}: tool.pilotage is not a table; write [tool.pilotage] and its settings below")
    for key, value in table.items():
        if key not in _KEYS:
            raise CommandError(f"{path}: [tool.pilotage] has an unknown key {key!r}; the keys are: {', '.join(_KEYS)}")
        if not isinstance(value, str):
            raise CommandError(f"{path}: {key} in [tool.pilotage] is {_type(value)}; it must be a string")
        if not value.strip():
            raise CommandError(f"{path}: {key} in [tool.pilotage] is empty; give it a value or remove it")


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return "an array" if isinstance(value, list) else "a table" if isinstance(value, dict) else "a date or time"


def _python_name(path: Path, document: dict[str, Any]) -> str:
    """The name of the Python project, as a name of objects: `My_Operator` is `my-operator`."""
    name = value_at(document, ("project", "name"))
    if not isinstance(name, str):
        raise CommandError(f"{path} has no name; set name in [project], or in [tool.pilotage]")
    return _label(path, "name", object_name(name), of="derived from [project]")


def chosen_target(given: str, folder: Path) -> tuple[str, Project | None]:
    """The target that is given, else the target of the project of a folder, whose modules are then importable from
    anywhere in it. Raises CommandError if there is neither."""
    project = find_project(folder)
    if given:
        return given, project
    if project is None:
        raise CommandError(
            f"no TARGET is given, such as guestbook.operator or greetings.py, and no {FILE} here or above has a table "
            "[tool.pilotage]"
        )
    if not project.target:
        raise CommandError(f"no TARGET is given, and {project.root / FILE} has no target in [tool.pilotage]")
    if project.root != folder.resolve():
        sys.path[:0] = [str(project.root), str(project.root / "src")]
    return project.target, project


def program_name(target: str) -> str:
    """The name of a program without a project: of `src/guestbook/operator.py:setup`, operator; of `guestbook.operator`,
    guestbook."""
    module = target.partition(":")[0]
    stem = Path(module).stem if module.endswith(".py") else module.partition(".")[0]
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:40].rstrip("-") or "pilotage"


def object_name(name: str) -> str:
    """The name of a Python project in the characters of an object's name."""
    return name.strip().lower().replace("_", "-").replace(".", "-")


def _label(path: Path, key: str, value: str, of: str = "in [tool.pilotage]") -> str:
    from pilotage.meta.validation.names import dns_1123_label

    if problems := dns_1123_label(value):
        raise CommandError(f"{path}: {key} {value!r} {of} is invalid: {problems[0]}")
    return value


def _check_group(path: Path, group: str) -> None:
    from pilotage.meta.validation.names import dns_1123_subdomain

    problems = dns_1123_subdomain(group) or ([] if "." in group else ["must contain a dot, such as apps.example.com"])
    if problems:
        raise CommandError(f"{path}: group {group!r} in [tool.pilotage] is invalid: {problems[0]}")
