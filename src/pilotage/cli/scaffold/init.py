"""The changes of `pilotage init`: a new project."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pilotage.cli.program.project import FILE, find_project, object_name
from pilotage.cli.scaffold.changes import ProjectChanges
from pilotage.cli.scaffold.names import check_group, check_package, check_project_name
from pilotage.cli.scaffold.texts.project import NewProject
from pilotage.kit.console.errors import CommandError
from pilotage.version import installed_source, installed_version


def new_project(folder: Path, name: str = "", package: str = "", group: str = "", domain: str = "") -> NewProject:
    """The project of these options; other settings are derived from the name of the folder. Raises CommandError."""
    chosen = check_project_name(name or object_name(folder.resolve().name))
    return NewProject(
        name=chosen,
        package=check_package(package or chosen.replace("-", "_")),
        group=check_group(group or f"{chosen}.{domain or 'example.com'}"),
        requirement=_requirement(),
        source=installed_source(),
    )


def init_changes(folder: Path, project: NewProject) -> ProjectChanges:
    """The files of the project. Existing files stay as they are. Raises CommandError in a project."""
    changes = ProjectChanges(folder)
    if (folder / FILE).exists():
        known = find_project(folder)
        if known is not None and known.root == folder.resolve():
            raise CommandError(f"{folder / FILE} is a project already; add to it with `pilotage create`")
        raise CommandError(
            f"{folder / FILE} exists; to make it a project, add a table [tool.pilotage] with "
            f"target = {json.dumps(f'{project.package}.operator:setup')}"
        )
    for path, text in project.files().items():
        changes.create(path, text)
    return changes


def _requirement() -> str:
    """The compatible versions: before 1.0 a minor version may break, so only versions with the same minor version are
    compatible."""
    found = re.match(r"([0-9]+)\.([0-9]+)", installed_version())
    return f"~={found[0]}.0" if found else ""
