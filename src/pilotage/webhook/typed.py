"""Webhooks for objects of one class: `CustomDefaulter` fills in fields, `CustomValidator` accepts or refuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol, TypeAlias, TypeVar

from pilotage.errors import ApiError, DecodeError, InvalidDefinition, UnplacedItems
from pilotage.meta import objects
from pilotage.meta.documents import Document
from pilotage.meta.forms import KindOf, O
from pilotage.meta.models import Resource
from pilotage.meta.patches import json_diff
from pilotage.meta.unstructured import Unstructured
from pilotage.webhook.admission import (
    CONNECT,
    CREATE,
    DELETE,
    UPDATE,
    AdmissionRequest,
    AdmissionResponse,
    allowed,
    denied,
    errored,
)
from pilotage.webhook.functions import method

T_contra = TypeVar("T_contra", contravariant=True)
Warnings: TypeAlias = Iterable[str] | None


class CustomDefaulter(Protocol[T_contra]):
    """Changes an object that is being written, in place. It is not called for deletes.

    To refuse the request, raise `Invalid` or another ApiError; the text of a ValueError is a 403. A method with a
    parameter `request` is given the AdmissionRequest by that name: the user, the operation, whether it is a dry run.
    """

    def default(self, obj: T_contra, /) -> Awaitable[None] | None: ...


class CustomValidator(Protocol[T_contra]):
    """Accepts or refuses what is being written. Each method returns warnings, or raises as in `CustomDefaulter`."""

    def validate_create(self, obj: T_contra, /) -> Awaitable[Warnings] | Warnings: ...
    def validate_update(self, old: T_contra, new: T_contra, /) -> Awaitable[Warnings] | Warnings: ...
    def validate_delete(self, obj: T_contra, /) -> Awaitable[Warnings] | Warnings: ...


class DefaulterWithRequest(Protocol[T_contra]):
    """A CustomDefaulter whose method is given the AdmissionRequest, too."""

    def default(self, obj: T_contra, /, *, request: AdmissionRequest) -> Awaitable[None] | None: ...


class _Check(Protocol[T_contra]):
    def __call__(self, obj: T_contra, /) -> Awaitable[Warnings] | Warnings: ...


class _CheckWithRequest(Protocol[T_contra]):
    def __call__(self, obj: T_contra, /, *, request: AdmissionRequest) -> Awaitable[Warnings] | Warnings: ...


class _Comparison(Protocol[T_contra]):
    def __call__(self, old: T_contra, new: T_contra, /) -> Awaitable[Warnings] | Warnings: ...


class _ComparisonWithRequest(Protocol[T_contra]):
    def __call__(
        self, old: T_contra, new: T_contra, /, *, request: AdmissionRequest
    ) -> Awaitable[Warnings] | Warnings: ...


class AnyValidator(Protocol[T_contra]):
    """A CustomValidator, any of whose methods may be given the AdmissionRequest, too."""

    @property
    def validate_create(self) -> _Check[T_contra] | _CheckWithRequest[T_contra]: ...
    @property
    def validate_update(self) -> _Comparison[T_contra] | _ComparisonWithRequest[T_contra]: ...
    @property
    def validate_delete(self) -> _Check[T_contra] | _CheckWithRequest[T_contra]: ...


AnyDefaulter: TypeAlias = CustomDefaulter[O] | DefaulterWithRequest[O]
TypedHandler: TypeAlias = Callable[[AdmissionRequest], Awaitable[AdmissionResponse]]


def defaulting(kind: KindOf[O], defaulter: AnyDefaulter[O], *, remove_unknown_fields: bool = False) -> TypedHandler:
    """A mutating handler that sends what the defaulter has changed.

    Fields that the class does not know are kept, unless `remove_unknown_fields` removes them.
    """
    default = method(defaulter, "default", "defaulter")

    async def handle(request: AdmissionRequest) -> AdmissionResponse:
        if request.operation == DELETE:  # there is no new state to change
            return allowed()
        try:
            obj = request.decode(kind)
        except DecodeError as error:
            return errored(400, error)
        before = objects.encode(obj)
        try:
            returned = await default(request, obj)
        except (ApiError, ValueError) as error:
            return refusal(error)
        if returned is not None:
            raise InvalidDefinition(
                f"{type(defaulter).__name__}.default returned {type(returned).__name__}: it must change the object "
                "that it is given, and return None"
            )
        if objects.encode(obj) == before and not remove_unknown_fields:
            return allowed()
        try:
            return AdmissionResponse(True, allowed().status, _patches(request, obj, remove_unknown_fields))
        except UnplacedItems as error:
            return errored(500, error)

    return handle


def validating(kind: KindOf[O], validator: AnyValidator[O]) -> TypedHandler:
    """A validating handler that calls the method of the operation. CONNECT is allowed."""
    create, update, delete = (
        _validation(validator, name) for name in ("validate_create", "validate_update", "validate_delete")
    )

    async def handle(request: AdmissionRequest) -> AdmissionResponse:
        try:
            if request.operation == CREATE:
                return await create(request, request.decode(kind))
            if request.operation == UPDATE:
                new = request.decode(kind)
                return await update(request, request.decode_old(kind), new)
            if request.operation == DELETE:
                return await delete(request, request.decode_old(kind))
        except DecodeError as error:
            return errored(400, error)
        if request.operation == CONNECT:
            return allowed()
        return errored(400, f'unknown operation "{request.operation}"')

    return handle


def refusal(error: ApiError | ValueError) -> AdmissionResponse:
    """The answer for an error that a handler raised on purpose: the Status of an ApiError, else 403 with the text."""
    return AdmissionResponse(False, error.status) if isinstance(error, ApiError) else denied(str(error))


def _validation(validator: object, name: str) -> Callable[..., Awaitable[AdmissionResponse]]:
    """The answer by one method of a validator, given a request and the states of the object."""
    validate = method(validator, name, "validator")

    async def answer(request: AdmissionRequest, *states: object) -> AdmissionResponse:
        try:
            warnings = await validate(request, *states)
        except (ApiError, ValueError) as error:
            given = error.warnings if isinstance(error, ApiError) else ()
            return refusal(error).with_warnings(*given)
        if warnings is None:
            return allowed()
        if isinstance(warnings, str) or not isinstance(warnings, Iterable):
            what = f"{type(validator).__name__}.{name} returned {warnings!r}"
            raise InvalidDefinition(f"{what}: it must return a list of warnings, or None")
        return allowed().with_warnings(*warnings)

    return answer


def _patches(request: AdmissionRequest, obj: Any, remove_unknown_fields: bool) -> list[dict[str, Any]]:
    before: Document = request.object or {}
    if isinstance(obj, Unstructured):
        return json_diff(before, obj.document)
    assert isinstance(obj, Resource)
    if remove_unknown_fields:
        return json_diff(before, objects.document_of(obj))
    after = objects.read(objects.updated(obj))
    kept = (before.get("metadata") or {}).get("managedFields")
    if kept and obj.metadata.managed_fields:  # `updated` leaves them out where they are unchanged
        after["metadata"].setdefault("managedFields", kept)
    return json_diff(before, after)
