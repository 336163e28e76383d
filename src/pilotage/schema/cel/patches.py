"""What the expressions of MutatingAdmissionPolicies construct: `Object{spec: Object.spec{replicas: 1}}`, `JSONPatch{}`.

The engine does not have these types. They are written as functions of maps, which are declared to return them.
"""

from __future__ import annotations

import re

from pilotage.schema.cel.expression import CompileError
from pilotage.schema.cel.source import blanked
from pilotage.schema.cel.unevaluated import CONSTRUCTORS

_PATCH_FIELDS = ("op", "path", "from", "value")
_TOKEN = re.compile(r"(?<![\w.])(Object|JSONPatch)((?:\.\w+)*)\s*\{|[{}()\[\],]")
_KEY = re.compile(r"(\s*\??\s*)(\w+)(?=\s*:)")
_NO_KEY = re.compile(r"\s*(?:\}|$)")
_CLOSING = {"}": "{", ")": "(", "]": "["}


def as_functions(text: str) -> str:
    """An expression with functions in place of the constructions. Raises CompileError for a field that cannot be."""
    code, result, position = blanked(text), [], 0
    stack: list[str] = []  # an opening bracket, or the name of the type whose fields are named here
    for token in _TOKEN.finditer(code):
        symbol, name = token.group(0), token.group(1)
        result.append(text[position : token.start()])
        position = token.end()
        if name is not None:
            stack.append(name)
            result.append(f"{CONSTRUCTORS[name]}({{")
        elif symbol in _CLOSING:
            opened = stack.pop() if stack else ""
            result.append("})" if symbol == "}" and opened in CONSTRUCTORS else symbol)
        else:
            if symbol != ",":
                stack.append(symbol)
            result.append(symbol)
        if stack and stack[-1] in CONSTRUCTORS and (name is not None or symbol == ","):
            position = _append_key(result, code, position, stack[-1])
    return "".join([*result, text[position:]])


def _append_key(result: list[str], code: str, position: int, name: str) -> int:
    found = _KEY.match(code, position)
    if found is None:
        if not _NO_KEY.match(code, position):
            raise CompileError(f"ERROR: <input>:1:{position + 1}: Syntax error: expecting the name of a field")
        return position
    before, key = found.groups()
    if name == "JSONPatch" and key not in _PATCH_FIELDS:
        raise CompileError(f"ERROR: <input>:1:{found.start(2) + 1}: undefined field '{key}'")
    result.append(f'{before}"{key}"')
    return found.end()
