"""`pilotage crd`: CustomResourceDefinitions, their reference page, and a check for breaking changes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import write_files
from pilotage.kit.console.flags import add_path, add_switch
from pilotage.kit.console.help import add_command

if TYPE_CHECKING:
    from pilotage.meta.documents import Document
    from pilotage.meta.models import Resource


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = add_command(
        subparsers,
        "crd",
        "generate CustomResourceDefinitions from Resource classes",
        "Generate the CustomResourceDefinitions of the Resource classes that a module defines, as YAML on "
        "standard output. The module is imported: code that runs it as a program belongs under "
        "`if __name__ == '__main__':`.",
        "pilotage crd myoperator/api.py > crds.yaml",
        "pilotage crd myoperator.api --against deploy/crds.yaml",
        run=run,
    )
    parser.add_argument(
        "modules",
        nargs="+",
        metavar="MODULE[:CLASS]",
        help="a module by name (myoperator.api) or by file (myoperator/api.py); with :CLASS, one class of it",
    )
    add_path(parser, "--output-dir", "DIR", "write one file per kind into DIR instead of standard output")
    mode = parser.add_mutually_exclusive_group()
    add_switch(mode, "--docs", "write an API reference page in Markdown instead of CRDs")
    add_path(
        mode,
        "--against",
        "OLD.yaml",
        "compare with OLD.yaml and list every change that breaks stored objects or clients; exit code 1 if there "
        "is one",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from pilotage.schema.generate.crd import crds

    documents = crds(resources(options.modules))
    if options.against is not None:
        whole = not any(_class_name(module) for module in options.modules)
        return _compare(options.against, documents, whole)
    texts = _pages(documents) if options.docs else _yaml(documents)
    if options.output_dir is not None:
        write_files(options.output_dir, texts)
        return 0
    if options.docs:
        from pilotage.schema.reference import reference

        sys.stdout.write(reference(documents))
    else:
        sys.stdout.write("---\n".join(texts.values()))
    return 0


def resources(names: Sequence[str]) -> list[type[Resource]]:
    """The Resource classes defined in the named modules, each once. Imported classes are left out."""
    from pilotage.cli.program.modules import load

    found: dict[type[Resource], None] = {}
    for name in names:
        class_name = _class_name(name)
        module = load(name.removesuffix(f":{class_name}") if class_name else name)
        found |= dict.fromkeys(_one(module, class_name) if class_name else _all(module))
    return list(found)


def _class_name(name: str) -> str:
    _, colon, class_name = name.rpartition(":")
    return class_name if colon and class_name.isidentifier() else ""


def _all(module: ModuleType) -> list[type[Resource]]:
    from pilotage.cli.program.modules import is_of, is_resource

    found = [value for value in vars(module).values() if is_resource(value) and is_of(value, module)]
    if not found:
        raise CommandError(
            f"{module.__name__} does not define a kind: it has no subclass of pt.Resource with @pt.resource(…)"
        )
    return found


def _one(module: ModuleType, name: str) -> list[type[Resource]]:
    from pilotage.cli.program.modules import is_resource

    value = getattr(module, name, None)
    if value is None:
        raise CommandError(f"{module.__name__} has no class {name!r}")
    if not is_resource(value):
        raise CommandError(
            f"{module.__name__}.{name} is not a kind: it must be a subclass of pt.Resource with @pt.resource(…)"
        )
    return [value]


def _yaml(documents: Sequence[Document]) -> dict[str, str]:
    from pilotage.meta.text import yamltext

    return {f"{_file_stem(document)}.yaml": yamltext.write(document) for document in documents}


def _pages(documents: Sequence[Document]) -> dict[str, str]:
    from pilotage.schema.reference import reference

    return {f"{_file_stem(document)}.md": reference([document]) for document in documents}


def _file_stem(document: Document) -> str:
    return f"{document['spec']['group']}_{document['spec']['names']['plural']}"


def _compare(path: Path, documents: Sequence[Document], whole: bool) -> int:
    """Print the changes since the file was written. A missing kind is a change only if `whole` modules are compared."""
    from pilotage.cli.definitions import read_definitions
    from pilotage.kit.console.terminal import RED, YELLOW, standard_output
    from pilotage.schema.compatibility.definitions import all_changes

    old = read_definitions(path)
    if not whole:
        names = {document["metadata"]["name"] for document in documents}
        old = [document for document in old if document["metadata"]["name"] in names]
    changes = all_changes(old, documents)
    output = standard_output()
    for change in changes:
        output.line(output.accented(str(change), RED if change.level == "break" else YELLOW))
    breaking = sum(change.level == "break" for change in changes)
    if breaking:
        print(f"{breaking} {'change breaks' if breaking == 1 else 'changes break'} stored objects or clients.")
        return 1
    print(f"No change since {path} breaks stored objects or clients.")
    return 0
