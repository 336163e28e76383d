"""Output of the demonstration."""

IDLE_SECONDS = 30
"""How long to wait until the operator is idle."""


def print_line(line: str) -> None:
    """Print one line and flush it."""
    print(line, flush=True)
