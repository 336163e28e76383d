"""Writes or shows changes, and reports them."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.cli.scaffold.changes import ProjectChanges
from pilotage.cli.terminal import BOLD, DIM, GREEN, YELLOW, standard_output


def finish(changes: ProjectChanges, dry_run: bool, next_steps: Sequence[str] = ()) -> int:
    """Write the changes, or with `dry_run` print them as a diff. Returns the exit code."""
    output = standard_output()
    if dry_run:
        output.write(output.difference(changes.difference()))
        return 0
    changes.write()
    for path in changes.there:
        output.line(output.styled(f"there already: {path}", DIM))
    for line in changes.lines():
        output.line(output.accented(line, GREEN if line.startswith("create") else YELLOW))
    if not changes.lines():
        output.line("nothing to do")
    elif next_steps:
        output.line(output.styled("next:", BOLD))
        for step in next_steps:
            output.line(f"  {step}")
    return 0
