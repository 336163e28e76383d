"""The objects that files name, for commands that read or delete them."""

from __future__ import annotations

import argparse

from pilotage.cli.errors import CommandError
from pilotage.cli.kit.selection import SelectedObjects
from pilotage.cli.kit.session import CommandSession, gvk_of
from pilotage.cli.manifestfiles import Manifest, read_manifests
from pilotage.errors import NoMatch
from pilotage.meta.mapping.mapper import RESTMapping


async def selected_by_files(session: CommandSession, options: argparse.Namespace) -> list[SelectedObjects]:
    """The objects of `-f`, by their names."""
    found = []
    for manifest in manifests_of(options):
        mapping = await placed(session, manifest, options)
        metadata = manifest.document["metadata"]
        found.append(SelectedObjects(mapping, metadata["name"], metadata.get("namespace") or "", manifest.source))
    return found


def manifests_of(options: argparse.Namespace, *, named: bool = True) -> list[Manifest]:
    """The objects of `-f`, which are read once: one of the files may be standard input. Raises CommandError."""
    if not hasattr(options, "manifests"):
        recursive = getattr(options, "recursive", False)
        options.manifests = read_manifests(options.filename, recursive=recursive, named=named)
    found: list[Manifest] = options.manifests
    return found


def check(options: argparse.Namespace) -> None:
    """Read the objects of `-f`, if there are any. Raises CommandError."""
    if options.filename:
        manifests_of(options)


async def placed(session: CommandSession, manifest: Manifest, options: argparse.Namespace) -> RESTMapping:
    """The resource of an object, whose namespace is filled in. Raises CommandError."""
    document = manifest.document
    try:
        mapping = await session.mapping(gvk_of(document))
    except NoMatch as error:
        metadata = document["metadata"]
        raise CommandError(
            f'resource mapping not found for name: "{metadata.get("name") or ""}" namespace: '
            f'"{metadata.get("namespace") or ""}" from "{manifest.source}": {error}\nensure CRDs are installed first'
        ) from None
    metadata = document["metadata"]
    if not mapping.namespaced:
        metadata.pop("namespace", None)
        return mapping
    given = metadata.get("namespace")
    if given and getattr(options, "namespace", "") and given != options.namespace:
        raise CommandError(
            f'the namespace from the provided object "{given}" does not match the namespace "{options.namespace}". '
            f"You must pass '--namespace={given}' to perform this operation."
        )
    metadata["namespace"] = given or session.namespace
    return mapping
