"""Type parameters that may be left out: `Event` is `Event[Any]`, also for a strict type checker.

PEP 696 gives type parameters defaults. Type checkers support them for every Python, `typing` only from 3.13 on: the
default is left out at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["T", "T_co", "TypeVar"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    import typing

    def TypeVar(name: str, *, default: object = None, **options: Any) -> typing.TypeVar:  # noqa: N802 - stands for it
        return typing.TypeVar(name, **options)


T = TypeVar("T", default=Any)
"""The type of an object."""

T_co = TypeVar("T_co", covariant=True, default=Any)
"""The same, of values that only give objects."""
