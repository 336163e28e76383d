"""What the expressions of MutatingAdmissionPolicies construct: `Object{spec: Object.spec{replicas: 1}}`, `JSONPatch{}`.

The engine does not have these types. They are written as functions of a name and a map, which are declared to return
them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from pilotage.schema.cel.admission.unevaluated import CONSTRUCTORS
from pilotage.schema.cel.costs.estimate import WrongTypes
from pilotage.schema.cel.expression import CompileError, diagnosis
from pilotage.schema.cel.source import blanked

_TOKEN = re.compile(r"(?<![\w.])(Object|JSONPatch)((?:\.\w+)*)(\s*)\{|[{}()\[\],]")
_KEY = re.compile(r"(\s*\??\s*)(\w+)(?=\s*:)")
_NO_KEY = re.compile(r"\s*(?:\}|$)")
_CLOSING = {"}": "{", ")": "(", "]": "["}
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)\n \| .*\n \| .*")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """An expression with functions in place of the constructions."""

    text: str
    original: str
    places: tuple[tuple[int, int], ...]
    """Where parts of the text begin, there and in the original, in their order."""

    def original_offset(self, offset: int) -> int:
        """Where something in the text is in the original."""
        begin, place = self.places[bisect_right(self.places, (offset, len(self.original))) - 1]
        return min(place + offset - begin, len(self.original))

    def restored(self, message: str) -> str:
        """A message of the compiler about the text, as one about the original."""

        def shown(found: re.Match[str]) -> str:
            line, column, problem = int(found.group(1)), int(found.group(2)), found.group(3)
            before = self.text.split("\n")[: line - 1]
            offset = sum(len(each) + 1 for each in before) + column - 1
            return diagnosis(WrongTypes(problem, self.original_offset(offset)), self.original)

        return _ERROR.sub(shown, message)


def as_functions(text: str) -> Rewritten:
    """An expression with functions in place of the constructions. Raises CompileError for anything else."""
    code, writer, position = blanked(text), _Writer(text), 0
    stack: list[str] = []  # an opening bracket, or the name of the type whose fields are named here
    for token in _TOKEN.finditer(code):
        symbol, name = token.group(0), token.group(1)
        writer.copy(position, token.start())
        position = token.end()
        if name is not None:
            stack.append(name)
            # An error about the construction is one about its brace.
            writer.write(CONSTRUCTORS[name], token.start())
            writer.write("(", token.end() - 1)
            writer.write("{" if name == "JSONPatch" else f'"{name}{token.group(2)}", {{', token.end() - 1)
        elif symbol in _CLOSING:
            opened = stack.pop() if stack else ""
            writer.write("})" if symbol == "}" and opened in CONSTRUCTORS else symbol, token.start())
        else:
            if symbol != ",":
                stack.append(symbol)
            writer.write(symbol, token.start())
        if stack and stack[-1] in CONSTRUCTORS and (name is not None or symbol == ","):
            position = _write_key(writer, code, position)
    writer.copy(position, len(text))
    return Rewritten("".join(writer.parts), text, tuple(writer.places))


class _Writer:
    def __init__(self, original: str) -> None:
        self._original = original
        self._length = 0
        self.parts: list[str] = []
        self.places: list[tuple[int, int]] = [(0, 0)]

    def copy(self, start: int, end: int) -> None:
        """Write a part of the original as it is."""
        self.write(self._original[start:end], start)

    def write(self, text: str, place: int) -> None:
        """Write a text that stands for what is at this place of the original."""
        if text:
            self.places.append((self._length, place))
            self.parts.append(text)
            self._length += len(text)


def _write_key(writer: _Writer, code: str, position: int) -> int:
    found = _KEY.match(code, position)
    if found is None:
        if not _NO_KEY.match(code, position):
            raise CompileError(f"ERROR: <input>:1:{position + 1}: Syntax error: expecting the name of a field")
        return position
    before, key = found.groups()
    writer.write(before, position)
    writer.write(f'"{key}"', found.start(2))
    return found.end()
