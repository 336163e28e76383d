"""Python source: literals, docstrings, and lists that are wrapped."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from typing import Any

WIDTH = 100
_QUOTES = re.compile(r'^"|"$|"(?=")|(?<=")"')
"""Quotes that would end a docstring."""


def literal(value: Any) -> str:
    """A plain value as source."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_string(key)}: {literal(each)}" for key, each in value.items()) + "}"
    return repr(value)


def _string(value: str) -> str:
    """In double quotes; raw if that saves backslashes, as patterns have them."""
    if '"' in value and not any(mark in value for mark in ("'", "\\")) and value.isprintable():
        return f"'{value}'"
    plain = json.dumps(value, ensure_ascii=False)
    raw = "\\" in value and not any(mark in value for mark in ('"', "\n", "\r")) and not value.endswith("\\")
    return f'r"{value}"' if raw and value.isprintable() else _printable(plain)


def _printable(text: str) -> str:
    """The text with escapes for all characters that cannot be seen, some of which end lines."""
    return "".join(each if each == "\n" or each.isprintable() else repr(each)[1:-1] for each in text)


def docstring(text: str, indent: int) -> str:
    """A docstring with this text, whose long lines are wrapped."""
    margin = " " * indent
    width = WIDTH - indent - 3  # for the quotes
    lines = [part for line in text.strip().split("\n") for part in _wrapped(line.rstrip(), width)]
    escaped = "\n".join(f"{margin}{line}".rstrip() for line in lines).lstrip(" ")
    escaped = _QUOTES.sub(r'\\"', escaped.replace("\\", "\\\\"))
    escaped = _printable(escaped)
    end = f"\n{margin}" if len(lines) > 1 or len(escaped) > width - 3 else ""
    return f'{margin}"""{escaped}{end}"""\n'


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": indent}
    return textwrap.wrap(line, width, **options) or [""]


def bracketed(opening: str, parts: Sequence[str], closing: str, indent: int = 0) -> str:
    """`opening part, part closing` on one line if it fits, else a part on each line."""
    margin = " " * indent
    one = f"{margin}{opening}{', '.join(parts)}{closing}"
    if len(one) <= WIDTH and "\n" not in one:
        return one
    each = "".join(f"{textwrap.indent(part, margin + '    ')},\n" for part in parts)
    return f"{margin}{opening}\n{each}{margin}{closing}"
