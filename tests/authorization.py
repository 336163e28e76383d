"""Waiting until an API server decides by new roles and bindings: a real one reads them from a cache."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from pilotage.client import Client
from pilotage.meta.documents import Document
from pilotage.types.authorization.v1 import (
    NonResourceAttributes,
    ResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)

from .environments import WITHIN

Attributes = NonResourceAttributes | ResourceAttributes


async def wait_decided(
    client: Client, user: str, attributes: Attributes, *, allowed: bool = True, groups: Sequence[str] = ()
) -> None:
    """Wait until the API server allows a user to do something, or refuses it."""
    spec = SubjectAccessReviewSpec(user=user, groups=list(groups))
    if isinstance(attributes, ResourceAttributes):
        spec.resource_attributes = attributes
    else:
        spec.non_resource_attributes = attributes
    async with asyncio.timeout(WITHIN):
        while True:
            review = await client.create(SubjectAccessReview(spec=spec))
            assert review.status is not None
            if review.status.allowed is allowed:
                return
            await asyncio.sleep(0.02)


async def wait_granted(client: Client, user: str, roles: Iterable[Document]) -> None:
    """Wait until a user may do all that the roles among some documents allow; they are bound to the user."""
    for role in roles:
        for attributes in permitted(role):
            await wait_decided(client, user, attributes)


def permitted(role: Document) -> Iterator[ResourceAttributes]:
    """What the rules of a role allow, one by one; nothing if the document is not a role."""
    for rule in role.get("rules", ()):
        for verb in rule["verbs"]:
            for group in rule.get("apiGroups", ()):
                for resource in rule.get("resources", ()):
                    plural, _, subresource = resource.partition("/")
                    yield ResourceAttributes(
                        verb=verb,
                        group=group,
                        resource=plural,
                        subresource=subresource,
                        name=next(iter(rule.get("resourceNames", ())), ""),
                        namespace=role["metadata"].get("namespace", ""),
                    )
