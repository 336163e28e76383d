"""Checks keyword arguments that a function passes on, so that a mistake is reported for the function that was
called."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence


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


def refuse_positional(name: str, arguments: Sequence[object], misplaced: Sequence[object]) -> None:
    """Raise TypeError for a namespace that was given by position, with the call that was meant."""
    if misplaced:
        shown = ", ".join(getattr(each, "__name__", None) or repr(each) for each in arguments)
        raise TypeError(f"{name}() takes the namespace by its name: {name}({shown}, namespace={misplaced[0]!r})")
