"""Writes or shows changes, and reports them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pilotage.cli.scaffold.changes import Changes


def finish(changes: Changes, dry_run: bool, next_steps: Sequence[str] = ()) -> int:
    """Write the changes, or with `dry_run` print them as a diff. Returns the exit code."""
    if dry_run:
        sys.stdout.write(changes.difference())
        return 0
    changes.write()
    for path in changes.there:
        print(f"there already: {path}")
    for line in changes.lines():
        print(line)
    if not changes.lines():
        print("nothing to do")
    elif next_steps:
        print("next:")
        for step in next_steps:
            print(f"  {step}")
    return 0
