"""What an error of a write means: the object is gone, or its namespace is being deleted."""

from __future__ import annotations

from pilotage.errors import ApiError, Conflict, NotFound, PilotageError


def is_gone(error: ApiError) -> bool:
    """Whether a write with a uid failed because its object does not exist any more, or another one has its name now."""
    if any(cause.field == "metadata.uid" for cause in error.causes):
        return True  # a patch
    return isinstance(error, NotFound) or (isinstance(error, Conflict) and "UID" in error.status.message)


def is_namespace_terminating(error: ApiError) -> bool:
    """Whether nothing can be created because the namespace is being deleted."""
    return any(cause.reason == "NamespaceTerminating" for cause in error.causes)


def message_of(error: PilotageError) -> str:
    """The words of the server, without the subject that the client adds."""
    return error.status.message if isinstance(error, ApiError) and error.status.message else str(error)
