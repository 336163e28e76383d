"""A small program with an owner, owned objects, failures and a predicate."""

from __future__ import annotations

from collections.abc import Mapping

import pilotage as pt
from pilotage.dashboard.dashboard import Dashboard
from pilotage.dashboard.query import Query
from pilotage.testing import Environment
from pilotage.types.core.v1 import ConfigMap

GROUP = "books.pilotage.dev"
KIND = f"Book.{GROUP}"


class BookSpec(pt.Model):
    title: str = ""


@pt.resource(group=GROUP, version="v1")
class Book(pt.Resource):
    spec: BookSpec = BookSpec()


class BookReconciler:
    """Writes the title to a ConfigMap; a book without one fails."""

    def __init__(self, client: pt.Client) -> None:
        self.client = client

    async def reconcile(self, request: pt.Request) -> None:
        book = await self.client.get(Book, request.name, namespace=request.namespace)
        if not book.spec.title:
            raise RuntimeError("the book has no title")
        meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
        await pt.create_or_patch(self.client, ConfigMap(metadata=meta, data={"title": book.spec.title}), owner=book)


def new_book(name: str = "a", title: str = "Ulysses") -> Book:
    return Book(metadata=pt.ObjectMeta(name=name, namespace="default"), spec=BookSpec(title=title))


async def set_up(env: Environment) -> Dashboard:
    """The views of a program that reconciles books."""
    await env.cluster.install(Book)
    manager = env.manager
    reconciler = BookReconciler(manager.client)
    pt.ControllerBuilder(manager).for_(Book).owns(ConfigMap).named("books").complete(reconciler.reconcile)
    return Dashboard(env._manager.sources())


def query(**values: str) -> Query:
    """The parameters of a request, already decoded; `since` is `from`."""
    from urllib.parse import urlencode

    named: Mapping[str, str] = {{"since": "from"}.get(name, name): value for name, value in values.items()}
    return Query(urlencode(named), tuple(named))
