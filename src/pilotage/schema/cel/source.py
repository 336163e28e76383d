"""The text of CEL expressions: names as rules write them, and what can be read without a compiler."""

from __future__ import annotations

import re

_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while"
)
_ESCAPABLE = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SPECIAL = re.compile(r"__|[./-]")
_QUOTED = re.compile(
    r"""[bB]?[rR]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*""",
    re.DOTALL,
)
_OLD_SELF = re.compile(r"\boldSelf\b")


def is_identifier(name: str) -> bool:
    """Whether a name can be a variable's."""
    return _IDENTIFIER.fullmatch(name) is not None and _RESERVED.fullmatch(name) is None


def escaped(name: str) -> str | None:
    """A field's name in CEL; None for a name that CEL cannot express."""
    if _RESERVED.fullmatch(name):
        return f"__{name}__"
    if _ESCAPABLE.fullmatch(name) is None:
        return None
    return _SPECIAL.sub(lambda found: _ESCAPES[found.group(0)], name)


def names_in_rules(name: str) -> tuple[str, ...]:
    """The names that rules may use for a field: `namespace` and `__namespace__` for a word of the language."""
    found = escaped(name)
    if found is None:
        return ()
    return (found, name) if found == f"__{name}__" else (found,)


def without_literals(text: str) -> str:
    """An expression with empty strings in place of its strings, and without its comments."""
    return _QUOTED.sub(lambda found: "" if found.group(0).startswith("//") else "''", text)


def blanked(text: str) -> str:
    """An expression with blanks in place of its strings and comments, so that all else is where it was."""
    return _QUOTED.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), text)


def uses_old_self(text: str) -> bool:
    """Whether an expression compares with the old value: Kubernetes calls it a transition rule."""
    return _OLD_SELF.search(without_literals(text)) is not None
