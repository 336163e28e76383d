"""Output of the demonstration."""

from __future__ import annotations

from pilotage.cli.terminal import BOLD, CYAN, DIM, GREEN, YELLOW, standard_output

IDLE_SECONDS = 30
"""How long to wait until the operator is idle."""

_STYLES = {"because": CYAN, "reconcile": GREEN, "refused": YELLOW}


def print_line(line: str) -> None:
    """Print one line: what happens to the operator in bold, and the lines of the operator with a coloured verb."""
    output = standard_output()
    if not line.startswith(" "):
        output.line(output.styled(line, BOLD))
        return
    output.line(output.accented(line, _STYLES.get(line.split()[0], DIM)))
