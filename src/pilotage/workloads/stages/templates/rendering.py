"""One rendering of a template: its variables, its functions, the text so far and how much it may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pilotage.workloads.stages.templates.functions import Function
from pilotage.workloads.stages.templates.limits import RenderError, Steps, check_length


class Rendering:
    """The state of one rendering. `functions` are in order: the first mapping that has a name decides."""

    def __init__(self, data: Any, functions: tuple[Mapping[str, Function], ...]) -> None:
        self.variables: list[tuple[str, Any]] = [("$", data)]
        self.steps = Steps()
        self.calls = 0
        """How many templates within templates are rendered now."""
        self._functions = functions
        self._parts: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        """What was written so far."""
        return "".join(self._parts)

    def write(self, text: str) -> None:
        """Add to the text. Raises RenderError if it is too long."""
        self._length += len(text)
        check_length(self._length)
        self._parts.append(text)

    def variable(self, name: str) -> Any:
        """The value of a variable."""
        return next(value for known, value in reversed(self.variables) if known == name)

    def set(self, name: str, value: Any, *, is_new: bool) -> None:
        """Declare a variable, or change the innermost one of this name."""
        places = (at for at in reversed(range(len(self.variables))) if self.variables[at][0] == name)
        at = len(self.variables) if is_new else next(places)
        self.variables[at : at + 1] = [(name, value)]

    def call(self, name: str, arguments: list[Any]) -> Any:
        """The result of a function. Raises RenderError."""
        self.steps.take()
        found = next((functions[name] for functions in self._functions if name in functions), None)
        if found is None:
            raise RenderError(f'function "{name}" is not defined')
        result = found.call(name, arguments)
        self.steps.check(result)
        return result
