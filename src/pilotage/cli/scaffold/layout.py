"""Where the parts of a project are, and the kinds that it has, read without importing its code."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pilotage.cli.program.project import FILE, Project, find_project
from pilotage.cli.program.target import SETUP
from pilotage.cli.scaffold.source import CannotEdit, parsed
from pilotage.kit.console.errors import CommandError
from pilotage.meta.kinds import version_priority


@dataclass(frozen=True, slots=True)
class ClassField:
    """A field of a class: its name, its type and whether it has a default."""

    name: str
    annotation: ast.expr
    required: bool


@dataclass(frozen=True, slots=True)
class ProjectKind:
    """A kind in a module of the project."""

    kind: str
    class_name: str
    group: str
    version: str
    module: str
    path: str
    storage: bool
    namespaced: bool
    definition: ast.ClassDef
    tree: ast.Module

    def fields_of(self, class_name: str) -> list[ClassField] | None:
        """The fields of a class in the module of the kind; None if it has no such class, or one with another base."""
        found = [node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name == class_name]
        if len(found) != 1 or len(found[0].bases) != 1 or _last_name(found[0].bases[0]) not in ("Model", "Resource"):
            return None
        return [
            ClassField(node.target.id, node.annotation, node.value is None)
            for node in found[0].body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        ]


@dataclass(frozen=True)
class Layout:
    """The parts of a project. Paths are relative to its root."""

    project: Project
    source: str
    """The folder of the package: `src/guestbook`."""
    package: str
    operator: str
    """The file of the target: `src/guestbook/operator.py`."""
    setup: str
    """The function of the target."""

    @classmethod
    def find(cls, folder: Path) -> Layout:
        """The layout of the project around a folder. Raises CommandError."""
        project = find_project(folder)
        if project is None:
            raise CommandError(
                f"{folder.resolve()} is not in a project: no {FILE} has a table [tool.pilotage]; start one with "
                "`pilotage init`"
            )
        if project.target is None:
            raise CommandError(
                f'{project.root / FILE} has no target: set target = "PACKAGE.operator:setup" in [tool.pilotage]'
            )
        module, _, name = project.target.partition(":")
        package, _, _ = module.rpartition(".")
        if not package or module.endswith(".py") or "/" in module:
            raise CommandError(f"the target {project.target!r} is not a module in a package; create adds to a package")
        for parent in ("src/", ""):
            path = f"{parent}{module.replace('.', '/')}.py"
            if (project.root / path).is_file():
                return cls(project, path.rpartition("/")[0], package, path, name or SETUP)
        raise CommandError(
            f"the target {project.target!r} has no file: src/{module.replace('.', '/')}.py does not exist"
        )

    @property
    def deploy(self) -> str:
        """The folder of the manifests."""
        return os.path.relpath(self.project.deploy, self.project.root)

    @cached_property
    def kinds(self) -> list[ProjectKind]:
        """The kinds of the package, in the order of files and lines."""
        root = self.project.root
        files = sorted((root / self.source).rglob("*.py"))
        paths = [file.relative_to(root).as_posix() for file in files]
        return [kind for path in paths for kind in self.kinds_in(self._read(path), path)]

    def versions_of(self, kind: str, group: str = "") -> list[ProjectKind]:
        """All versions of a kind, by Kubernetes' priority."""
        found = [each for each in self.kinds if each.kind == kind and group in ("", each.group)]
        return sorted(found, key=lambda each: version_priority(each.version))

    def kinds_in(self, text: str, path: str) -> list[ProjectKind]:
        """The kinds in the text of a module. Raises CommandError."""
        if "resource(" not in text:
            return []
        try:
            tree = parsed(text)
        except CannotEdit as error:
            raise CommandError(f"{path} cannot be read: {error}") from error
        inner = path.removeprefix(f"{self.source}/").removesuffix(".py").removesuffix("/__init__")
        module = f"{self.package}.{inner.replace('/', '.')}"
        classes = [(node, options_of(node)) for node in tree.body if isinstance(node, ast.ClassDef)]
        return [_kind(node, options, tree, module, path) for node, options in classes if options is not None]

    def _read(self, path: str) -> str:
        try:
            return (self.project.root / path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path} cannot be read: {error}") from error


def resource_call(node: ast.ClassDef) -> ast.Call | None:
    """The decorator `@pt.resource(…)` of a class."""
    calls = [each for each in node.decorator_list if isinstance(each, ast.Call) and _last_name(each.func) == "resource"]
    return calls[0] if len(calls) == 1 else None


def options_of(node: ast.ClassDef) -> dict[str, object] | None:
    """The constant options of `@pt.resource(…)`; None if the class has no such decorator with a version."""
    call = resource_call(node)
    if call is None:
        return None
    options: dict[str, object] = {
        each.arg: each.value.value for each in call.keywords if each.arg and isinstance(each.value, ast.Constant)
    }
    return options if isinstance(options.get("version"), str) else None


def _kind(node: ast.ClassDef, options: dict[str, object], tree: ast.Module, module: str, path: str) -> ProjectKind:
    return ProjectKind(
        kind=str(options.get("kind") or node.name),
        class_name=node.name,
        group=str(options.get("group", "")),
        version=str(options["version"]),
        module=module,
        path=path,
        storage=options.get("storage", True) is True,
        namespaced=options.get("scope", "Namespaced") == "Namespaced",
        definition=node,
        tree=tree,
    )


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
