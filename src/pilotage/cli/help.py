"""The help of commands: paragraphs are wrapped, examples stay as they are written."""

from __future__ import annotations

import argparse


def examples(*lines: str) -> str:
    """The end of a help text: command lines that a user can copy."""
    return "\n".join(["example:" if len(lines) == 1 else "examples:", *(f"  {line}" for line in lines)])


class HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of text that has examples, and wraps other text. Names of commands stand beside their help."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            # argparse measures their names without the indentation that it prints them with.
            self._action_max_length += self._indent_increment

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(("example:\n", "examples:\n")):
            return "\n".join(f"{indent}{line}" for line in text.splitlines())
        return super()._fill_text(text, width, indent)
