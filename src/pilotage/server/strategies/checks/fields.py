"""Fields: required ones, those with a set of allowed values, and immutable ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, not_supported, required
from pilotage.meta.documents import Document

P = ParamSpec("P")
IMMUTABLE = "field is immutable"


def needed(document: Document, path: str, *names: str) -> Iterator[Cause]:
    """Fields of the object at `path` that are neither absent nor empty."""
    for name in names:
        if not document.get(name):
            yield required(f"{path}.{name}")


def given(
    value: Any, path: str, check: Callable[Concatenate[Any, str, P], Iterable[Cause]], *args: P.args, **kwargs: P.kwargs
) -> Iterator[Cause]:
    """What a check finds in a value, unless it is absent."""
    if value is not None:
        yield from check(value, path, *args, **kwargs)


def present(
    value: Any, path: str, check: Callable[Concatenate[Any, str, P], Iterable[Cause]], *args: P.args, **kwargs: P.kwargs
) -> Iterator[Cause]:
    """What a check finds in a value, which must be neither absent nor empty."""
    if value:
        yield from check(value, path, *args, **kwargs)
    else:
        yield required(path)


def immutable(value: Any, old: Any, path: str) -> Iterator[Cause]:
    """The value must not change. An empty structure, or a zero behind a pointer, differs from an absent field."""
    if value != old:
        shown = "" if value is None and isinstance(old, str) else value
        yield invalid(path, shown, IMMUTABLE, whole=True)


def choice(value: Any, path: str, allowed: Sequence[str]) -> Sequence[Cause]:
    """One of the allowed values."""
    return () if value in allowed else (not_supported(path, value, allowed),)


def optional_choice(value: Any, path: str, allowed: Sequence[str]) -> Sequence[Cause]:
    """One of the allowed values, unless it is absent."""
    return () if value is None or value in allowed else (not_supported(path, value, allowed),)


def required_choice(value: Any, path: str, allowed: Sequence[str], detail: str = "") -> Sequence[Cause]:
    """One of the allowed values; required."""
    return choice(value, path, allowed) if value else (required(path, detail),)
