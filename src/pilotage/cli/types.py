"""`pilotage types`: Python classes for existing CustomResourceDefinitions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.errors import InvalidDefinition, NotFound
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags import add_path, add_switch, storages
from pilotage.kit.console.help import add_command

if TYPE_CHECKING:
    from pilotage.meta.documents import Document
    from pilotage.meta.models import Resource
    from pilotage.schema.source.resource import Version


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "types",
        "convert CustomResourceDefinitions into Python classes",
        "Write a module of Python classes for existing CustomResourceDefinitions. The definitions that the "
        "module gives accept and reject the same objects, which the command checks.",
        "pilotage types crds/ > api.py",
        "pilotage types certificates.cert-manager.io --output-dir api",
        run=run,
    )
    command.add_argument(
        "definitions",
        nargs="+",
        metavar="CRD",
        help="a file, a folder, - for standard input, or the name of a definition in the cluster",
    )
    command.add_argument("--version", default="", help="one version of each kind (default: all)")
    where = command.add_mutually_exclusive_group()
    add_path(where, "-o --output", "FILE", "write to FILE instead of standard output")
    add_path(where, "--output-dir", "DIR", "write a module for each version into DIR")
    add_switch(command, "--external", "the kinds belong to another program: leave them out of the CRDs of this one")
    add_switch(command, "--force", "overwrite files that exist")
    storages.add_kubeconfig(command)


def run(options: argparse.Namespace) -> int:
    """Write the modules and return the exit code."""
    from pilotage.schema.source.module import versions_of

    documents = _read(options)
    versions = [version for document in documents for version in versions_of(document)]
    if options.version:
        versions = [version for version in versions if version.version["name"] == options.version]
        if not versions:
            raise CommandError(f"no definition has the version {options.version}")
    if options.output_dir is None:
        _write({options.output: versions}, options)
    else:
        names = sorted({version.version["name"] for version in versions})
        files = {name: [each for each in versions if each.version["name"] == name] for name in names}
        _write({options.output_dir / f"{name}.py": files[name] for name in names}, options)
    return 0


def _read(options: argparse.Namespace) -> list[Document]:
    """The definitions of all arguments, each once."""
    from pilotage.cli.definitions import parse_definitions, read_definitions

    found: dict[str, Document] = {}
    names = []
    for argument in options.definitions:
        if argument == "-":
            documents = parse_definitions(sys.stdin.buffer.read(), "standard input")
        elif Path(argument).exists():
            documents = read_definitions(Path(argument))
        elif "/" in argument or "." not in argument or argument.endswith((".yaml", ".yml", ".json")):
            raise CommandError(f"{argument} does not exist; give a file, a folder, - or the name of a definition")
        else:
            names.append(argument)
            continue
        found |= {document["metadata"]["name"]: document for document in documents}
    if names:
        found |= {document["metadata"]["name"]: document for document in _from_cluster(names, options)}
    return list(found.values())


def _from_cluster(names: Sequence[str], options: argparse.Namespace) -> list[Document]:
    import asyncio

    from pilotage.cli.definitions import checked
    from pilotage.cluster import Cluster
    from pilotage.kit.console.terminal import standard_error
    from pilotage.meta.kinds import GroupVersionKind
    from pilotage.meta.objects import document_of

    kind = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

    async def read() -> list[Document]:
        async with Cluster.connect(kubeconfig=options.kubeconfig or "", context=options.context or "") as cluster:
            return [document_of(await cluster.client.get(kind, name)) for name in names]

    try:
        with standard_error().working("Reading CustomResourceDefinitions from the cluster"):
            return checked(asyncio.run(read()), "the cluster")
    except NotFound as error:
        raise CommandError(f"{error}; it is neither a file nor a folder, and the cluster has no such name") from error


def _write(modules: dict[Path | None, list[Version]], options: argparse.Namespace) -> None:
    """Make all modules, then write them."""
    from pilotage.kit.console.files import write_files
    from pilotage.schema.source.module import module_of

    made: dict[Path | None, str] = {}
    lost = []
    for path, versions in modules.items():
        names = ", ".join(dict.fromkeys(version.definition["metadata"]["name"] for version in versions))
        try:
            made[path] = module_of(versions, f"Classes for {names}.", external=options.external)
            lost += _lost(made[path], versions)
        except InvalidDefinition as error:
            raise CommandError(f"cannot generate a module: {error}") from error
    existing = [path for path in made if path is not None and path.exists()]
    if existing and not options.force:
        raise CommandError(f"{existing[0]} exists; nothing was written, overwrite it with --force")
    for path, text in made.items():
        if path is None:
            sys.stdout.write(text)
        else:
            write_files(path.parent, {path.name: text})
    for line in lost:
        print(f"pilotage: the module cannot express {line}", file=sys.stderr)


def _lost(text: str, versions: Sequence[Version]) -> list[str]:
    """What differs between the definitions and those that a module gives."""
    from pilotage.schema.source.comparison import differences

    with _loaded(text) as classes:
        found = {(cls.__resource__.gvk.group_kind, cls.__resource__.gvk.version): cls for cls in classes}
        pairs = [(version, found[version.group_kind, version.version["name"]]) for version in versions]
        return [line for version, cls in pairs for line in differences(version, cls)]


@contextmanager
def _loaded(text: str) -> Iterator[list[type[Resource]]]:
    """The resource classes of a module. It is loaded from a file, because descriptions are read from its source."""
    import importlib.util
    import tempfile  # it loads the compressors, and this module is loaded for the help of all commands

    from pilotage.cli.program.modules import is_resource

    name = "_pilotage_types"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        specification = importlib.util.spec_from_file_location(name, path)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        try:
            specification.loader.exec_module(module)
            yield [value for value in vars(module).values() if is_resource(value)]
        finally:
            del sys.modules[name]
