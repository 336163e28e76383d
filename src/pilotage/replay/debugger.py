"""Stops in the debugger where a reconcile begins, with its recorded data."""

from __future__ import annotations

import inspect
import pdb
import sys
import threading
from types import CodeType
from typing import Any

from pilotage.controller.controller import Controller
from pilotage.errors import InvalidDefinition


def stop_in(controller: Controller) -> None:
    """Stop at the first line of the reconciler of a controller, whenever that is reached."""
    code = code_of(controller)
    debugger = pdb.Pdb()
    line = min((line for _, _, line in code.co_lines() if line and line > code.co_firstlineno), default=0)
    problem = debugger.set_break(code.co_filename, line or code.co_firstlineno)
    if problem:
        raise InvalidDefinition(f"cannot stop in the reconciler of {controller.name}: {problem}")
    debugger.reset()
    debugger.botframe = sys._getframe()  # else it stops at the next line of any function
    debugger.set_continue()
    threading.settrace(debugger.trace_dispatch)  # a reconciler that is not async runs in a thread
    sys.settrace(debugger.trace_dispatch)


def code_of(controller: Controller) -> CodeType:
    """The code of the function that a controller calls; of one that a wrapper calls, where it can be found."""
    function: Any = controller.reconciler
    function = getattr(function, "reconcile", function)
    function = inspect.unwrap(getattr(function, "__func__", function))
    while (inner := _wrapped(function)) is not None:
        function = inner
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if not isinstance(code, CodeType):
        raise InvalidDefinition(f"the reconciler of {controller.name} is not a Python function")
    return code


def _wrapped(function: Any) -> Any:
    """The function of the program in a closure of Pilotage."""
    if not getattr(function, "__module__", "").startswith("pilotage.controller."):
        return None
    cells = inspect.getclosurevars(function).nonlocals.values()
    return next((value for value in cells if inspect.isroutine(value)), None)
