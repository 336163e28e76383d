"""Installs kinds: applies their CRDs and waits until they are served, on every API server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from pilotage.client.client import Client
from pilotage.client.conflicts import PATIENT, retry_on_conflict
from pilotage.client.desired import is_equivalent
from pilotage.errors import AlreadyExists, Conflict, Forbidden, InvalidDefinition, NoMatch, Timeout
from pilotage.meta.bounds.backoff import backoff
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import DEFINITION_OWNER, GroupVersionKind
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import Unstructured
from pilotage.schema.generate.crd import check_crds, unchecked_crds
from pilotage.schema.generate.merging import merged

DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
FIELD_OWNER = "pilotage"
WAIT_SECONDS = 30.0
_FIRST_LOOK, _LONGEST_LOOK = 0.02, 0.5
_PROBE = "pilotage-probe"
"""The name of an object that does not exist."""


async def install(
    client: Client, types: Sequence[type[Resource]], conversions: Mapping[str, Document] | None = None
) -> None:
    """Apply the CRDs of `types` and wait until they are served. Installing what is there already changes nothing.

    `conversions` is the `spec.conversion` of definitions by their names; an empty one belongs to another program.
    """
    documents, conversions = unchecked_crds(types), conversions or {}
    for document in documents:
        name = document["metadata"]["name"]
        if conversion := conversions.get(name):
            document["spec"]["conversion"] = conversion
        elif name in conversions:
            await _check_converted(client, name)
    changed = [await _apply(client, document, types) for document in documents]
    await wait_served(client, types, discover=any(changed))


async def wait_served(client: Client, types: Sequence[type[Resource]], *, discover: bool = False) -> None:
    """Wait until the CRDs of `types` are served; another process may apply them meanwhile. With `discover`, the REST
    mapper reads all that is served. Raises Timeout after 30 s."""
    documents = unchecked_crds(types)
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            for document in documents:
                await _wait_established(client, document["metadata"]["name"])
            for kind in types:
                if kind.__resource__.served:
                    await _wait_served(client, kind)
            if discover:
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


async def _check_converted(client: Client, name: str) -> None:
    """Refuse a definition whose objects nothing would convert: fields that the other version does not have are lost."""
    found = await client.find(DEFINITION, name)
    if found is None or found.nested("spec", "conversion", "strategy", default="") != "Webhook":
        raise InvalidDefinition(
            f"{name} cannot be installed: its versions are converted by a webhook, and the webhook server of this "
            "program is disabled; enable it (WebhookServerOptions.port, --webhook-bind-address), or first apply the "
            "manifests of a deployed program, which then converts them"
        )


async def apply_manifests(client: Client, manifests: Iterable[Mapping[str, Any]]) -> None:
    """Apply objects in their order, by server-side apply: fields that other programs have set are kept."""
    for document in manifests:
        await client.apply(Unstructured(copied(dict(document))), field_owner=FIELD_OWNER, force=True)


async def _apply(client: Client, document: dict[str, Any], types: Sequence[type[Resource]]) -> bool:
    """Create or update the definition; returns whether anything was written. What the API server has accepted is not
    validated here once more. Before the first write all types are: none is written if one is invalid."""

    async def attempt() -> bool:
        found = await client.find(DEFINITION, document["metadata"]["name"])
        if found is None:
            check_crds(types)
            await client.create(Unstructured(document), field_owner=DEFINITION_OWNER)
            return True
        spec = merged(found.document["spec"], document["spec"])
        if is_equivalent(found, found.document, found.document | {"spec": spec}):
            return False
        check_crds(types)
        found["spec"] = spec
        await client.update(found, field_owner=DEFINITION_OWNER)
        return True

    return await retry_on_conflict(attempt, PATIENT, also=(AlreadyExists,))  # others may install it at the same time


async def _wait_established(client: Client, name: str) -> None:
    for looks in count():
        found = await client.find(DEFINITION, name)
        document = found.document if found is not None else {}
        conditions = {one["type"]: one for one in document.get("status", {}).get("conditions") or ()}
        if conditions.get("Established", {}).get("status") == "True":
            return
        accepted = conditions.get("NamesAccepted", {})
        if accepted.get("status") == "False":
            raise Conflict(f"{name} cannot be served: {accepted.get('reason')}: {accepted.get('message')}")
        await asyncio.sleep(backoff(looks, _FIRST_LOOK, _LONGEST_LOOK))


async def _wait_served(client: Client, kind: type[Resource]) -> None:
    """Wait until requests are answered. An object that does not exist is asked for, because a list would convert the
    objects that do, and the webhook that converts them may not run."""
    namespace = "default" if kind.__resource__.namespaced else ""
    for looks in count():
        try:
            await client.find(kind, _PROBE, namespace=namespace)
            return
        except Forbidden:  # discovery, which every user may read, has to suffice
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
