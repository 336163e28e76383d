"""Installs kinds: applies their CRDs and waits until they are served, on every API server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from pilotage.client.client import Client
from pilotage.client.conflicts import PATIENT, retry_on_conflict
from pilotage.errors import AlreadyExists, Conflict, NoMatch, Timeout
from pilotage.meta.bounds.backoff import backoff
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import Unstructured
from pilotage.schema.generate.crd import crds
from pilotage.schema.generate.merging import merged

DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
FIELD_OWNER = "pilotage"
WAIT_SECONDS = 30.0
_FIRST_LOOK, _LONGEST_LOOK = 0.02, 0.5


async def install(
    client: Client, types: Sequence[type[Resource]], conversions: Mapping[str, Document] | None = None
) -> None:
    """Apply the CRDs of `types` and wait until they are served. Installing what is there already changes nothing.

    `conversions` is the `spec.conversion` of definitions by their names.
    """
    documents = crds(types)
    for document in documents:
        if conversion := (conversions or {}).get(document["metadata"]["name"]):
            document["spec"]["conversion"] = conversion
    changed = [await _apply(client, document) for document in documents]
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            for document in documents:
                await _wait_established(client, document["metadata"]["name"])
            for kind in types:
                if kind.__resource__.served:
                    await _wait_served(client, kind)
            if any(changed):
                await client.rest_mapper.discover()
            for kind in types:
                if kind.__resource__.served:
                    await _wait_discovered(client, kind)
    except TimeoutError:
        names = ", ".join(document["metadata"]["name"] for document in documents)
        raise Timeout(
            f"CustomResourceDefinitions are not served {WAIT_SECONDS:.0f} s after they were applied: {names}; see "
            "their conditions (kubectl describe crd), and retry when the API server serves them"
        ) from None


async def apply_manifests(client: Client, manifests: Iterable[Mapping[str, Any]]) -> None:
    """Apply objects in their order, by server-side apply: fields that other programs have set are kept."""
    for document in manifests:
        await client.apply(Unstructured(copied(dict(document))), field_owner=FIELD_OWNER, force=True)


async def _apply(client: Client, document: dict[str, Any]) -> bool:
    """Create or update the definition; returns whether anything was written."""

    async def attempt() -> bool:
        found = await client.find(DEFINITION, document["metadata"]["name"])
        if found is None:
            await client.create(Unstructured(document))
            return True
        if (spec := merged(found.document["spec"], document["spec"])) == found.document["spec"]:
            return False
        found["spec"] = spec
        await client.update(found)
        return True

    return await retry_on_conflict(attempt, PATIENT, also=(AlreadyExists,))  # others may install it at the same time


async def _wait_established(client: Client, name: str) -> None:
    for looks in count():
        document = (await client.get(DEFINITION, name)).document
        conditions = {one["type"]: one for one in document.get("status", {}).get("conditions") or ()}
        if conditions.get("Established", {}).get("status") == "True":
            return
        accepted = conditions.get("NamesAccepted", {})
        if accepted.get("status") == "False":
            raise Conflict(f"{name} cannot be served: {accepted.get('reason')}: {accepted.get('message')}")
        await asyncio.sleep(backoff(looks, _FIRST_LOOK, _LONGEST_LOOK))


async def _wait_served(client: Client, kind: type[Resource]) -> None:
    for looks in count():
        try:
            await client.list(kind, limit=1)
            return
        except NoMatch:
            await asyncio.sleep(backoff(looks, _FIRST_LOOK, _LONGEST_LOOK))


async def _wait_discovered(client: Client, kind: type[Resource]) -> None:
    """Wait until the REST mapper has it: a server may serve a kind before its discovery lists it."""
    for looks in count():
        if client.rest_mapper.known(kind.__resource__.gvk) is not None:
            return
        with suppress(NoMatch):
            await client.rest_mapper.lookup(kind.__resource__.gvk)
            return
        await asyncio.sleep(backoff(looks, _FIRST_LOOK, _LONGEST_LOOK))
