"""Errors for invalid bodies, with the messages of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import TracebackType

from pilotage.errors import ApiError, BadRequest, Cause, Invalid, StatusDetails
from pilotage.meta.text.jsontext import WRONG_TYPE
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.resources import ResourceInfo

NO_KIND = "Object 'Kind' is missing"
_JSON_TYPES = {"str": "string", "int": "number", "float": "number", "bool": "boolean"}


def with_warnings(warnings: Iterable[str]) -> AbstractContextManager[None]:
    """Errors of the block have these warnings, also those that are added in it."""
    return _WithWarnings(warnings)


class _WithWarnings(AbstractContextManager[None]):
    """Half the time of a generator with `contextmanager`, in each write."""

    __slots__ = ("_warnings",)

    def __init__(self, warnings: Iterable[str]) -> None:
        self._warnings = warnings

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, ApiError):
            error.warnings = (*self._warnings, *error.warnings)


def unhandled(info: ResourceInfo, reason: str, kind: str = "", api_version: str = "") -> BadRequest:
    """The 400 for a body that names the right kind but has invalid content."""
    version = api_version or info.gvk.version
    return BadRequest(
        f'{kind or info.gvk.kind} in version "{version}" cannot be handled as a {info.gvk.kind}: {reason}'
    )


class UndecodablePatch(Invalid):
    """The result of a patch cannot be decoded as its kind."""

    def __init__(self, message: str, reason: str, *, details: StatusDetails | None) -> None:
        super().__init__(message, details=details)
        self.why = reason


def undecodable(info: ResourceInfo, request: APIRequest, reason: str) -> ApiError:
    """The error for content that cannot be decoded as the kind: a 400, or a 422 if it is the result of a patch."""
    if request.verb is not Verb.PATCH:
        return unhandled(info, reason)
    cause = Cause("FieldValueInvalid", f"Invalid value: {reason}", "patch")
    error = info.invalid(request.name, [cause])
    return UndecodablePatch(str(error), reason, details=error.status.details)


def unrecognized(info: ResourceInfo, reason: str, body: bytes) -> BadRequest:
    """The 400 for a body that is not an object. Nothing of a Secret is shown."""
    shown = f" ({_summary(body)})" if info.gvk.kind != "Secret" else ""
    return BadRequest(f"the object provided is unrecognized (must be of type {info.gvk.kind}): {reason}{shown}")


def other_version(api_version: str, info: ResourceInfo) -> BadRequest:
    """The 400 for a body in a version of its kind that is not the one of the path."""
    expected = info.gvk.api_version
    return BadRequest(
        f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
    )


def _summary(body: bytes) -> str:
    if not body or body.startswith(b"{"):
        return excerpt(body, 30)
    return body[:30].hex() + (" ..." if len(body) > 30 else "")


def excerpt(body: bytes, length: int = 200) -> str:
    """The beginning of a body, as messages show it."""
    text = body[: length + 1].decode("utf-8", "replace")
    return (text if len(text) <= length else text[:length] + " ...") or "<empty>"


def mismatch(message: str, root: str = "") -> str:
    """msgspec's message about a value of a wrong type, in terms of the API."""
    match = WRONG_TYPE.fullmatch(message)
    if match is None:
        return f"json: {message.replace('`$', f'`{root}').replace('`', '')}"
    wanted, found, path = match.groups()
    where = f"{root}{path or ''}".lstrip(".").replace("[...]", "")
    names = [_JSON_TYPES.get(name, name) for name in wanted.split(" | ") if name != "null"]
    given = found if found == "bool" else _JSON_TYPES.get(found, found)
    return f"json: cannot unmarshal {given} into field {where} of type {' or '.join(names)}"
