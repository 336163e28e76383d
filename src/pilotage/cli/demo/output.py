"""How the demonstration speaks."""

IDLE_SECONDS = 30
"""How long it waits for the operator to come to rest."""


def say(line: str) -> None:
    """One line, seen at once."""
    print(line, flush=True)
