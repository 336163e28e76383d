"""The signature of a reconciler, checked when its controller is created and not at the first request."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.signatures import signature_of

_ARGUMENT = object()


def check_signature(reconciler: object, function: Callable[..., Any], argument: str = "request: Request") -> None:
    """Raise InvalidDefinition unless `function` can be called with one positional argument, the request.

    A callable that has no signature, such as one written in C, is accepted; a wrong signature is found at its first
    call.
    """
    try:
        signature = signature_of(function)
    except (ValueError, TypeError):
        return
    name, right = _name(function), _right(reconciler, argument)
    try:
        signature.bind(_ARGUMENT)
    except TypeError as error:
        raise InvalidDefinition(
            f"{name}{_parameters(signature)} cannot be called with `{argument}` alone ({error}); the signature of a "
            f"reconciler is `{right}`{_hint(signature)}"
        ) from None
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidDefinition(
            f"{name} has a `yield`, so calling it reconciles nothing; the signature of a reconciler is `{right}`, and "
            "it returns its Result"
        )


def _right(reconciler: object, argument: str) -> str:
    is_object = hasattr(reconciler, "reconcile") or inspect.ismethod(reconciler)
    own = "self, " if is_object else ""
    return f"async def reconcile({own}{argument}) -> Result"


def _name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", type(function).__qualname__)


def _parameters(signature: inspect.Signature) -> str:
    """Names and defaults only: annotations would make the line too long."""
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _hint(signature: inspect.Signature) -> str:
    first = next(iter(signature.parameters), "")
    if first in ("ctx", "context"):
        return "; there is no context parameter: a reconcile that must end is cancelled, as every asyncio task is"
    if first == "self":
        return "; give an instance of the class, not the class or its function"
    return "; other values belong on the object, or in functools.partial"
