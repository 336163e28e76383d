from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import AsyncMock

import pytest

from pilotage.controller import ControllerBuilder, Request, Result, as_reconciler
from pilotage.errors import InvalidDefinition

from ..fakes import FakeManager, Widget

METHOD = r"`async def reconcile\(self, request: Request\) -> Result`"
FUNCTION = r"`async def reconcile\(request: Request\) -> Result`"


class GoStyle:
    async def reconcile(self, ctx: object, req: Request) -> Result:
        return Result()


class WithoutRequest:
    async def reconcile(self) -> Result:
        return Result()


class SyncWithMore:
    def reconcile(self, request: Request, client: object) -> Result:
        return Result()


class KeywordOnly:
    async def reconcile(self, request: Request, *, client: object) -> Result:
        return Result()


class CalledWithMore:
    async def __call__(self, request: Request, client: object) -> Result:
        return Result()


class Valid:
    async def reconcile(self, request: Request, *, client: object = None) -> Result:
        return Result()

    @staticmethod
    def static(request: Request) -> Result:
        return Result()

    @classmethod
    async def of_class(cls, request: Request, tries: int = 3) -> Result:
        return Result()

    async def __call__(self, *args: Any, **kwargs: Any) -> Result:
        return Result()


async def function(request: Request) -> Result:
    return Result()


async def with_client(client: object, request: Request) -> Result:
    return Result()


def without_parameters() -> Result:
    return Result()


def keyword(*, request: Request) -> Result:
    return Result()


async def yielding(request: Request) -> AsyncIterator[Result]:
    yield Result()


def complete(reconciler: Any) -> None:
    ControllerBuilder(FakeManager()).for_(Widget).complete(reconciler)


@pytest.mark.parametrize(
    ("reconciler", "shown", "right"),
    [
        (GoStyle(), r"GoStyle.reconcile\(ctx, req\)", METHOD),
        (WithoutRequest(), r"WithoutRequest.reconcile\(\)", METHOD),
        (SyncWithMore(), r"SyncWithMore.reconcile\(request, client\)", METHOD),
        (KeywordOnly(), r"KeywordOnly.reconcile\(request, \*, client\)", METHOD),
        (SyncWithMore().reconcile, r"SyncWithMore.reconcile\(request, client\)", METHOD),
        (CalledWithMore(), r"CalledWithMore\(request, client\)", FUNCTION),
        (with_client, r"with_client\(client, request\)", FUNCTION),
        (without_parameters, r"without_parameters\(\)", FUNCTION),
        (keyword, r"keyword\(\*, request\)", FUNCTION),
        (functools.partial(function, Request("a")), r"function\(\)", FUNCTION),
        (functools.partial(with_client, client=None), r"with_client\(\*, client=None, request\)", FUNCTION),
        (lambda ctx, req: Result(), r"<lambda>\(ctx, req\)", FUNCTION),
        (yielding, "yielding has a `yield`", FUNCTION),
    ],
)
def test_complete_refuses_a_wrong_signature_and_shows_the_right_one(reconciler: Any, shown: str, right: str) -> None:
    with pytest.raises(InvalidDefinition, match=f"(?s)^{shown}.*{right}"):
        complete(reconciler)


def test_the_message_explains_what_replaces_the_context_of_go() -> None:
    with pytest.raises(
        InvalidDefinition, match="there is no context parameter: a reconcile that must end is cancelled"
    ):
        complete(GoStyle())


def test_an_unbound_method_is_refused_with_what_to_give_instead() -> None:
    with pytest.raises(InvalidDefinition, match="give an instance of the class"):
        complete(Valid.reconcile)


@pytest.mark.parametrize(
    "reconciler",
    [
        Valid(),
        Valid().reconcile,
        Valid.static,
        Valid.of_class,
        function,
        functools.partial(with_client, None),
        lambda *args: Result(),
        lambda request=None: Result(),
        AsyncMock(),
        {}.get,  # written in C
    ],
)
def test_complete_takes_whatever_can_be_called_with_a_request(reconciler: Any) -> None:
    complete(reconciler)


def test_a_function_of_the_object_is_checked_in_the_same_way() -> None:
    async def reconcile(ctx: object, widget: Widget) -> Result:
        return Result()

    client: Any = None
    with pytest.raises(InvalidDefinition, match=r"`async def reconcile\(obj: Widget\) -> Result`"):
        as_reconciler(client, Widget, reconcile)  # type: ignore[arg-type]  # it is the point
