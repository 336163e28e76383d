"""Describes another process in an error message: its name and its state, as far as the system shows them."""

from __future__ import annotations

_STATES = {
    "D": "is waiting for the disk",
    "R": "is running",
    "S": "is sleeping",
    "T": "is stopped",
    "t": "is stopped by a debugger",
    "Z": "has ended, and its parent has not noticed",
}


def describe(process: int) -> str:
    """The subject of a sentence, such as `process 4242 (python3), which is waiting for the disk,`."""
    if not process:
        return "another process"
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            head, _, rest = file.read().rpartition(")")
    except OSError:  # not Linux, or a process of another container
        return f"process {process}"
    state = rest.split()[0]
    name = head.partition("(")[2]
    text = f"process {process} ({name}), which {_STATES.get(state, f'is in state {state}')}"
    return f'{text} (continue it with "kill -CONT {process}", or end it),' if state == "T" else f"{text},"
