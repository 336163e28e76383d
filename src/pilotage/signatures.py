"""Signatures of functions of users."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable


def signature_of(function: Callable[..., object]) -> inspect.Signature:
    """`inspect.signature`, also of a function with annotations that cannot be evaluated.

    Python 3.14 evaluates annotations when they are asked for (PEP 649), and a name in them may exist for type checkers
    alone.
    """
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.STRING)
    return inspect.signature(function)
