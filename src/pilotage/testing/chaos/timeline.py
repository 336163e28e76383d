"""The timeline of a run: what the history has of the writes of the program, with the faults in their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from pilotage.history.history import History
from pilotage.history.stories import Reconcile, Write
from pilotage.history.text import write_text
from pilotage.testing.chaos.session import Session, Step
from pilotage.testing.loop import BEGINNING

_MOST_LINES = 60
_WIDTH = 140
_SHOWN = ("write", "action", "fault", "idle")


def timeline(session: Session) -> tuple[str, ...]:
    """One line for each write of the program and of the test, and for each fault."""
    stories = _Stories(session.histories)
    lines = [_line(step, stories) for step in session.steps if step.point in _SHOWN]
    if len(lines) <= _MOST_LINES:
        return tuple(lines)
    places = [at for at, step in enumerate(_shown(session)) if step.point == "fault"]
    begin = max(0, (places[0] if places else 0) - _MOST_LINES // 2)
    end = begin + _MOST_LINES
    before = [f"… {begin} more"] if begin else []
    after = [f"… {len(lines) - end} more"] if len(lines) > end else []
    return (*before, *lines[begin:end], *after)


def _shown(session: Session) -> Iterator[Step]:
    return (step for step in session.steps if step.point in _SHOWN)


def _line(step: Step, stories: _Stories) -> str:
    clock = (BEGINNING + timedelta(seconds=step.at)).strftime("%H:%M:%S.%f")[:-3]
    if step.point == "fault":
        return f"{clock}  ── {step.what}"
    if step.point == "idle":
        return f"{clock}  test    waits until idle ({step.number})"
    if step.point == "action":
        return f"{clock}  test    {step.what}"
    who, text = stories.of(step)
    return f"{clock}  life {step.life}  {who}{text}"


def _text(step: Step, write: Write) -> str:
    """What was written; of a write without an answer whether it took effect."""
    if not write.error:
        text = write_text(write)
        return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
    effect = "took effect, without an answer" if step.changed > step.revision else f"no effect: {write.error[:_WIDTH]}"
    return f"{step.what}: {effect}"


class _Stories:
    """Finds the writes of steps in the histories of all lives."""

    def __init__(self, histories: Sequence[History]) -> None:
        self._histories = histories
        self._found: dict[int, Reconcile | None] = {}

    def of(self, step: Step) -> tuple[str, str]:
        """Which reconcile made a write, and the write with the line of the program."""
        reconcile = self._reconcile(step)
        if reconcile is None:
            return "", step.what
        who = f"{reconcile.controller} {reconcile.key} #{reconcile.number}  "
        writes = [one for one in reconcile.writes if one.name or one.verb]
        write: Write | None = writes[step.ordinal] if step.ordinal < len(writes) else None
        if write is None:
            return who, f"{step.number}: {step.what}"
        return f"{who}write {step.number}  ", f"{_text(step, write)}{f'  at {write.place}' if write.place else ''}"

    def _reconcile(self, step: Step) -> Reconcile | None:
        run = step.reconcile
        if run is None:
            return None
        if id(run) not in self._found:
            history = next((one for one in self._histories if run.controller.history is one), None)
            self._found[id(run)] = history.stories.reconcile(run) if history is not None else None
        return self._found[id(run)]
