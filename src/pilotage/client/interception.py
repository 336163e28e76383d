"""Interception: functions that are called in place of the methods of a client, for tests of failures and for wrappers.

async def refused(client: pt.Client, obj: pt.Resource, **options: Any) -> None:
    raise pt.Conflict("written by another client")

client = pt.intercept(client, pt.client.Interceptor(update=refused))
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeAlias, TypeVar

from pilotage.client.client import Client
from pilotage.client.subresources import SubresourceClient
from pilotage.errors import InvalidDefinition
from pilotage.meta.text.articles import of_type

Function: TypeAlias = Callable[..., Any]
"""Called with the original client, then the arguments of the call. It returns what the method returns."""

C = TypeVar("C", bound=Client)

_WATCH = "decorate it with @asynccontextmanager, and yield the iterator of the events"


@dataclass(frozen=True, slots=True)
class Interceptor:
    """The functions. A method without one works as before.

    A call with a subresource, such as `update_status`, calls the function for subresources, with the name of the
    subresource after the client.
    """

    get: Function | None = None
    """Also of `find`."""
    list: Function | None = None
    watch: Function | None = None
    create: Function | None = None
    update: Function | None = None
    patch: Function | None = None
    apply: Function | None = None
    delete: Function | None = None
    delete_all_of: Function | None = None
    subresource_get: Function | None = None
    subresource_create: Function | None = None
    subresource_update: Function | None = None
    """Also of `update_status`."""
    subresource_patch: Function | None = None
    """Also of `patch_status`."""
    subresource_apply: Function | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            if inspect.isasyncgenfunction(getattr(self, each.name)):
                remedy = _WATCH if each.name == "watch" else "return the object instead"
                raise InvalidDefinition(
                    f"Interceptor({each.name}=…): the function yields, and returns what {each.name} does not: {remedy}"
                )


def intercept(client: C, interceptor: Interceptor) -> C:
    """A client whose calls are passed to the functions. Clients that are derived from it are intercepted, too."""
    kind: Any = type(client)
    made = copy.copy(client)
    made.__class__ = _intercepted(kind)
    made.__dict__["_interceptor"] = interceptor
    return made


_WITH_SUBRESOURCE = ("update", "patch", "apply")


@cache
def _intercepted(base: Any) -> Any:
    names = [each.name for each in fields(Interceptor) if not each.name.startswith("subresource_")]
    methods: dict[str, Any] = {name: _method(base, name) for name in names}
    methods["subresource"] = _subresource(base)
    methods["api_reader"] = property(lambda self: _api_reader(base, self))
    return type(f"Intercepted{base.__name__}", (base,), methods)


def _method(base: type[Client], name: str) -> Function:
    original = getattr(base, name)

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        function = name
        leading: list[Any] = [_unwrapped(base, self)]
        if name in _WITH_SUBRESOURCE and options.get("subresource"):
            function = f"subresource_{name}"
            leading.append(options.pop("subresource"))
        found = getattr(self._interceptor, function)
        if found is not None:
            return _checked(function, found(*leading, *arguments, **options))
        return original(self, *arguments, **options, **({"subresource": leading[1]} if len(leading) > 1 else {}))

    call.__name__, call.__doc__ = name, original.__doc__
    return call


def _checked(name: str, result: Any) -> Any:
    """What a function returned, if the caller can use it: await it, or enter it as the block of a watch."""
    is_watch = name == "watch"
    if hasattr(result, "__aenter__") if is_watch else inspect.isawaitable(result):
        return result
    if inspect.iscoroutine(result):
        result.close()  # else Python warns that it was never awaited
    remedy = _WATCH if is_watch else "write `async def`"
    raise InvalidDefinition(f"Interceptor({name}=…): the function returned {of_type(result)}: {remedy}")


def _subresource(base: type[Client]) -> Function:
    def subresource(self: Any, name: str, body: Any = None) -> SubresourceClient[Any]:
        unwrapped = _unwrapped(base, self)
        made = copy.copy(base.subresource(self, name, body))
        for verb in ("get", "create", "update", "patch", "apply"):
            function = getattr(self._interceptor, f"subresource_{verb}")
            if function is not None:
                made.__dict__[verb] = _bound(function, unwrapped, name, verb)
        return made

    return subresource


def _bound(function: Function, client: Client, subresource: str, verb: str) -> Function:
    verb = f"subresource_{verb}"
    return lambda *arguments, **options: _checked(verb, function(client, subresource, *arguments, **options))


def _unwrapped(base: type[C], client: Any) -> C:
    """The same client without the functions."""
    made: C = copy.copy(client)
    made.__class__ = base
    return made


def _api_reader(base: type[Client], client: Any) -> Client:
    return intercept(_unwrapped(base, client).api_reader, client._interceptor)
