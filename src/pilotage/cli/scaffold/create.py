"""The changes of `pilotage create`: a kind, a controller or webhooks, added to a project.

Each function adds to `ProjectChanges` what is missing. A file that cannot be extended safely raises `ByHand`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pilotage.cli.scaffold.changes import ProjectChanges
from pilotage.cli.scaffold.imports import import_block, with_import
from pilotage.cli.scaffold.kinds import Subject
from pilotage.cli.scaffold.layout import Layout, ProjectKind
from pilotage.cli.scaffold.lines import Import
from pilotage.cli.scaffold.source import (
    CannotEdit,
    alias_of,
    bound_names,
    calls_name,
    parsed,
    with_arguments,
    with_definitions,
    with_line_before,
    with_methods,
    with_statement,
)
from pilotage.cli.scaffold.texts import api, controller, webhook
from pilotage.cli.scaffold.versions import copied
from pilotage.kit.console.errors import CommandError


class ByHand(CommandError):
    """A file cannot be edited safely: the user adds the lines."""

    def __init__(self, path: str, reason: str, lines: list[str]) -> None:
        super().__init__(
            f"{path} cannot be edited safely: {reason}. Nothing was written; add the lines above to it, and run the "
            "command again for the rest"
        )
        self.lines = lines


def add_kind(changes: ProjectChanges, layout: Layout, new: api.NewKind) -> bool:
    """Add a kind that the project does not have; False if it has it. Raises CommandError."""
    known = layout.versions_of(new.kind, new.group)
    for each in known:
        if each.version == new.version:
            changes.there.append(f"{each.path} has {new.kind} {new.version}")
            return False
    if (elsewhere := layout.versions_of(new.kind)) and not known:
        raise CommandError(
            f"{elsewhere[0].path} has {new.kind} in the group {elsewhere[0].group}; kinds of two groups in one project "
            "cannot have the same name"
        )
    if known:
        _add_version(changes, layout, new, _hub(known))
    else:
        path = f"{layout.source}/api/{new.version}.py"
        _create_package(changes, layout, "api", "The kinds, one module for each version.")
        _add_definitions(changes, layout, path, new.version, api.definitions(new), new.classes, [])
        changes.create(_sample_path(layout, new.kind, new.version), api.sample(new))
    return True


def _hub(versions: list[ProjectKind]) -> ProjectKind:
    stored = [each for each in versions if each.storage]
    if len(stored) != 1:
        which = ", ".join(each.version for each in stored) or "none"
        raise CommandError(
            f"{versions[0].kind} has no single storage version ({which}): set storage=False on the others"
        )
    return stored[0]


def _add_version(changes: ProjectChanges, layout: Layout, new: api.NewKind, hub: ProjectKind) -> None:
    """Another version, with conversions, and a test of them."""
    text = changes.text(hub.path)
    assert text is not None
    try:
        copy = copied(hub, text, new.version)
    except CannotEdit as error:
        raise CommandError(
            f"{new.kind} cannot be copied from {hub.path}: {error}; write {layout.source}/api/{new.version}.py by hand"
        ) from error
    package, _, module = hub.module.rpartition(".")
    imports = [*copy.imports, "from typing import Self", f"from {package} import {module}"]
    path = f"{layout.source}/api/{new.version}.py"
    _add_definitions(changes, layout, path, new.version, copy.definitions, copy.classes, imports)
    sample = changes.text(_sample_path(layout, hub.kind, hub.version)) or ""
    if f"apiVersion: {new.group}/{hub.version}\n" in sample and "  name: example\n" in sample:
        copied_sample = sample.replace(f"{new.group}/{hub.version}\n", f"{new.group}/{new.version}\n")
        copied_sample = copied_sample.replace("  name: example\n", f"  name: example-{new.version}\n")
        changes.create(_sample_path(layout, new.kind, new.version), copied_sample)
    names = Subject(hub.class_name, hub.module, hub.namespaced, hub).names
    changes.create(
        f"tests/test_{names.module}_conversion.py",
        api.conversion_test(hub, f"{layout.package}.api", new.version),
    )


def _sample_path(layout: Layout, kind: str, version: str) -> str:
    return f"{layout.deploy}/samples/{kind.lower()}-{version}.yaml"


def _add_definitions(
    changes: ProjectChanges,
    layout: Layout,
    path: str,
    version: str,
    definitions: str,
    classes: list[str],
    imports: list[str],
) -> None:
    """Add classes to the module of a version, which is created if it does not exist."""
    text = changes.text(path)
    if not (text or "").strip():
        block = import_block(imports or ["import pilotage as pt"], layout.package)
        made = f'"""The kinds of version {version}."""\n\n{block}\n\n{definitions}'
        if text is None:
            changes.create(path, made)
        else:
            changes.edit(path, made)
        return
    assert text is not None
    try:
        for statement in imports:
            text = _with_statement_of_import(text, layout.package, statement)
        if not imports:
            definitions = _with_alias(text, definitions)
        changes.edit(path, with_definitions(text, definitions, classes))
    except CannotEdit as error:
        raise ByHand(path, str(error), [*imports, "", *definitions.split("\n")]) from error


def _with_statement_of_import(text: str, package: str, statement: str) -> str:
    words = statement.split()
    if words[0] == "from":
        return with_import(text, package, Import(words[1], words[3], words[5] if len(words) > 4 else ""))
    if statement not in {line.split("#")[0].rstrip() for line in text.splitlines()}:
        raise CannotEdit(f"it has no line {statement}")
    return text


def _with_alias(text: str, definitions: str) -> str:
    """The definitions with the name that the module has for pilotage."""
    alias = alias_of(parsed(text), "pilotage")
    if alias is None:
        raise CannotEdit("it has no line import pilotage as pt")
    return definitions if alias == "pt" else definitions.replace("pt.", f"{alias}.")


def add_version_import(changes: ProjectChanges, layout: Layout, version: str) -> None:
    """Import a module of kinds in the program, because no controller imports it."""
    imported = Import(f"{layout.package}.api", version, version, "its kinds are part of the program")
    _edit_operator(changes, layout, imported, "")


def add_controller(changes: ProjectChanges, layout: Layout, subject: Subject) -> None:
    """Add a controller with a test, and register it in the operator."""
    names = subject.names
    path = f"{layout.source}/controllers/{names.module}.py"
    _create_module(changes, path, names.reconciler, controller.module(subject))
    _create_package(changes, layout, "controllers", "The controllers, one module for each kind.")
    changes.create(f"tests/test_{names.module}_controller.py", controller.test(subject, layout.package))
    imported = Import(f"{layout.package}.controllers.{names.module}", names.reconciler)
    _edit_operator(changes, layout, imported, f"{names.reconciler}({{0}}).setup_with_manager({{0}})")


def add_webhook(changes: ProjectChanges, layout: Layout, subject: Subject, parts: webhook.Parts) -> None:
    """Add webhooks with a test, and register them in the operator."""
    names = subject.names
    path = f"{layout.source}/webhooks/{names.module}.py"
    if (changes.root / path).exists():
        _extend_webhook(changes, layout, path, subject, parts)
    else:
        project = layout.project
        changes.create(path, webhook.module(subject, parts, project.name))
    _create_package(changes, layout, "webhooks", "The webhooks, one module for each kind.")
    if (text := webhook.test(subject, parts, layout.package)) and (parts.defaulting or parts.validating):
        changes.create(f"tests/test_{names.module}_webhook.py", text)
    imported = Import(f"{layout.package}.webhooks.{names.module}", names.webhook)
    _edit_operator(changes, layout, imported, f"{names.webhook}().setup_with_manager({{0}})")


def _extend_webhook(changes: ProjectChanges, layout: Layout, path: str, subject: Subject, parts: webhook.Parts) -> None:
    """Add the missing handlers to an existing class."""
    text = changes.text(path)
    assert text is not None
    names = subject.names
    missing = webhook.Parts(
        defaulting=parts.defaulting and ".with_defaulter(" not in text,
        validating=parts.validating and ".with_validator(" not in text,
        spokes=tuple(spoke for spoke in parts.spokes if not _converts(text, spoke)),
    )
    if missing == webhook.Parts(False, False):
        changes.there.append(path)
        return
    try:
        for spoke in missing.spokes:
            text = with_import(text, layout.package, spoke)
        if missing.spokes and ".with_conversion(" in text:
            text = with_arguments(text, "with_conversion", [spoke.alias for spoke in missing.spokes])
            missing = replace(missing, spokes=())
        if handlers := webhook.methods(subject, missing, layout.project.name):
            text = with_methods(text, names.webhook, "setup_with_manager", handlers.removesuffix("\n"))
        for line in webhook.registration(missing):
            text = with_line_before(text, "builder.complete()", line)
    except CannotEdit as error:
        lines = [spoke.line for spoke in missing.spokes]
        lines += [*webhook.methods(subject, missing, layout.project.name).split("\n"), *webhook.registration(missing)]
        raise ByHand(path, str(error), lines) from error
    changes.edit(path, text)


def _converts(text: str, spoke: Import) -> bool:
    """Whether a module uses the class of a version, as `GuestbookV2` or as `v2.Guestbook`."""
    dotted = rf"\b{spoke.module.rpartition('.')[2]}\.{spoke.name}\b"
    return calls_name(text, spoke.alias) or re.search(dotted, text) is not None


def _create_module(changes: ProjectChanges, path: str, class_name: str, text: str) -> None:
    """Create a module; one that exists must have the class."""
    existing = changes.text(path)
    if existing is not None:
        try:
            known = class_name in bound_names(parsed(existing))
        except CannotEdit as error:
            raise CommandError(f"{path} cannot be read: {error}") from error
        if not known:
            raise CommandError(f"{path} exists and does not define {class_name}; nothing was written, rename the file")
    changes.create(path, text)


def _create_package(changes: ProjectChanges, layout: Layout, name: str, text: str) -> None:
    if not (changes.root / layout.source / name / "__init__.py").exists():
        changes.create(f"{layout.source}/{name}/__init__.py", f'"""{text}"""\n')


def _edit_operator(changes: ProjectChanges, layout: Layout, imported: Import, statement: str) -> None:
    """Add an import and a statement in `setup`. `{0}` in the statement is the manager."""
    path = layout.operator
    text = changes.text(path)
    assert text is not None
    try:
        made = with_import(text, layout.package, imported)
        if statement and not calls_name(made, imported.name):
            made = with_statement(made, layout.setup, statement)
    except CannotEdit as error:
        lines = [imported.line]
        if statement:
            lines += ["", f"# in {layout.setup}:", statement.format("manager")]
        raise ByHand(path, str(error), lines) from error
    if made == text:
        changes.there.append(f"{path} has {imported.name}")
    else:
        changes.edit(path, made)
