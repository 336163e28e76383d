"""The Status object, by which an API server reports a failure, and its parts."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # as in the package
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn, Self


class Record:
    """A value with the fields of its class: immutable, compared and shown by them.

    Not a dataclass or a struct, because every program imports this module, and importing their modules takes time.
    """

    __slots__: ClassVar[tuple[str, ...]] = ()

    def replace(self, **changes: Any) -> Self:
        """A copy with other values in some of its fields."""
        return type(self)(**{name: getattr(self, name) for name in self.__slots__} | changes)

    __replace__ = replace  # for `copy.replace` of Python 3.13; these are no dataclasses

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def _set(self, *values: Any) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), self._values()


class Cause(Record):
    """One of the reasons for an error: what is wrong (`message`) and where (`field`)."""

    __slots__ = __match_args__ = ("reason", "message", "field")

    reason: str
    message: str
    field: str

    def __init__(self, reason: str = "", message: str = "", field: str = "") -> None:
        self._set(reason, message, field)


class StatusDetails(Record):
    """What an error is about. `kind` is the plural resource for storage errors and the Kind for validation errors."""

    __slots__ = __match_args__ = ("name", "group", "kind", "uid", "causes", "retry_after_seconds")

    name: str
    group: str
    kind: str
    uid: str
    causes: tuple[Cause, ...]
    retry_after_seconds: int

    def __init__(
        self,
        name: str = "",
        group: str = "",
        kind: str = "",
        uid: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after_seconds: int = 0,
    ) -> None:
        self._set(name, group, kind, uid, causes, retry_after_seconds)


class Status(Record):
    """The Kubernetes Status object: how an API server reports a failure."""

    __slots__ = __match_args__ = ("code", "reason", "message", "details", "continue_token")

    code: int
    reason: str
    message: str
    details: StatusDetails | None
    continue_token: str
    """A continue token, where the one sent has expired."""

    def __init__(
        self, code: int, reason: str, message: str, details: StatusDetails | None = None, continue_token: str = ""
    ) -> None:
        self._set(code, reason, message, details, continue_token)

    def document(self) -> dict[str, Any]:
        """The wire form, as a plain document."""
        metadata = {"continue": self.continue_token} if self.continue_token else {}
        document: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
        document["message"] = self.message
        if self.reason:
            document["reason"] = self.reason
        if self.details is not None:
            document["details"] = _details_document(self.details)
        document["code"] = self.code
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Status:
        """Read a Status leniently: what is missing or of a wrong type counts as absent."""
        details = document.get("details")
        metadata = document.get("metadata")
        return cls(
            code=_integer(document.get("code")) or 500,
            reason=_string(document.get("reason")),
            message=_string(document.get("message")),
            details=_details(details) if isinstance(details, Mapping) else None,
            continue_token=_string(metadata.get("continue")) if isinstance(metadata, Mapping) else "",
        )


def _details_document(details: StatusDetails) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key in ("name", "group", "kind", "uid"):
        if value := getattr(details, key):
            document[key] = value
    if details.causes:
        document["causes"] = [
            {key: value for key in ("reason", "message", "field") if (value := getattr(cause, key))}
            for cause in details.causes
        ]
    if details.retry_after_seconds:
        document["retryAfterSeconds"] = details.retry_after_seconds
    return document


def _details(document: Mapping[str, Any]) -> StatusDetails:
    causes = document.get("causes")
    return StatusDetails(
        name=_string(document.get("name")),
        group=_string(document.get("group")),
        kind=_string(document.get("kind")),
        uid=_string(document.get("uid")),
        causes=tuple(
            Cause(_string(cause.get("reason")), _string(cause.get("message")), _string(cause.get("field")))
            for cause in (causes if isinstance(causes, list) else [])
            if isinstance(cause, Mapping)
        ),
        retry_after_seconds=_integer(document.get("retryAfterSeconds")),
    )


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _integer(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
