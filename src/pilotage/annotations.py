"""Annotations of classes and functions, which Python 3.14 evaluates when they are asked for and not before (PEP 649).

A name in them need not exist then: it may be defined further down, or for type checkers alone. Nothing here evaluates
an annotation that cannot be evaluated yet.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inspect


def annotated_names(namespace: dict[str, Any]) -> Collection[str]:
    """The names that the body of a class annotates, from the namespace that its metaclass is given."""
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:  # it is there by `from __future__`
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    names: Collection[str] = namespace.get("__annotations__", ())
    return names


def signature_of(function: Callable[..., object]) -> inspect.Signature:
    """`inspect.signature`, also of a function whose annotations cannot be evaluated."""
    import inspect  # a program that only defines models loads no such module

    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.STRING)
    return inspect.signature(function)
