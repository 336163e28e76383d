"""`pilotage completion`: a script that completes command lines in a shell."""

from __future__ import annotations

from pilotage.kit.console.shells import add_completion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    from pilotage.cli import parser

    add_completion(
        subparsers,
        "pilotage",
        parser,
        _print_objects,
        "Print a script that completes the commands, options and files of pilotage in a shell. Load it in "
        "the start file of the shell: ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.",
        'eval "$(pilotage completion bash)"',
        'eval "$(pilotage completion zsh)"',
        "pilotage completion fish | source",
    )


def _print_objects(words: Sequence[str]) -> int:
    from pilotage.cli import parser
    from pilotage.kit.anywhere import Anywhere
    from pilotage.kit.completing import print_objects

    return print_objects(Anywhere(), parser(), words)
