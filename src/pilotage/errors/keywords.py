"""Checks keyword arguments that a function passes on, so that a mistake is reported for the function that was
called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

_LONGEST = 100
"""Characters of an argument that a message has."""


def check_keywords(function: Callable[..., object], given: Collection[str], known: frozenset[str]) -> None:
    """Raise TypeError, with the valid options, for a keyword of `function` that is not `known`."""
    if known.issuperset(given):
        return
    import inspect  # only for the message: a read loads no such module

    unknown = next(name for name in given if name not in known)
    parameters = inspect.signature(function).parameters.values()
    own = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    options = ", ".join(sorted(own | known))
    raise TypeError(f"{function.__name__}() has no option {unknown!r}: its options are {options}")


def refuse_positional(
    name: str,
    arguments: Sequence[object],
    misplaced: Sequence[object],
    keywords: Sequence[str] = ("namespace",),
) -> None:
    """Raise TypeError for keyword arguments that were given by position, with the call that was meant."""
    if not misplaced:
        return
    call = [
        *map(_shown, arguments),
        *(f"{key}={_shown(value)}" for key, value in zip(keywords, misplaced, strict=False)),
    ]
    what = " and ".join(f"the {key}" for key in keywords)
    whose = "its name" if len(keywords) == 1 else "their names"
    raise TypeError(f"{name}() takes {what} by {whose}: {name}({', '.join(call)})")


def _shown(argument: object) -> str:
    text = getattr(argument, "__name__", None) or repr(argument)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
