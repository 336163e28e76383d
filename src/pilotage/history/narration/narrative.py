"""A reconcile in as few lines as suffice, for people who watch a program run: `pilotage run --explain`.

Reads are left out, and causes that an earlier line has shown. A reconcile with one cause that wrote nothing is one
line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pilotage.history.records import EVENT
from pilotage.history.stories import Cause, LogLine, Reconcile, Step, Write
from pilotage.history.text import HAPPENED, Line, cause_text, duration_text, own_verb, read_text, write_text
from pilotage.telemetry.lines import escaped

_MOST_CAUSES = 3
"""Causes that have a line each; further ones are counted by kind."""


class Heading(NamedTuple):
    """Which reconcile lines are about."""

    at: str
    """The time of day."""
    number: str
    controller: str
    key: str


def heading(reconcile: Reconcile) -> Heading:
    at = reconcile.began.astimezone().strftime("%H:%M:%S")
    return Heading(at, f"#{reconcile.number}", escaped(reconcile.controller), escaped(reconcile.key))


def brief(reconcile: Reconcile) -> tuple[Line, ...]:
    """The parts of its only line; none where one line does not suffice."""
    causes, shown = [*cause_lines(reconcile)], [*step_lines(reconcile.steps)]
    if len(causes) > 1 or any(line.word != "missing" for line in shown):
        return ()
    if reconcile.error is not None:
        return (result_line(reconcile),) if _repeated(reconcile) is not None else ()
    missing = [line for line in shown if line.text != _deleted(reconcile)]
    return (*causes, *missing, result_line(reconcile)) if len(missing) <= 1 else ()


def cause_lines(reconcile: Reconcile) -> Iterator[Line]:
    """Why it runs: a failed attempt first, without the causes that the attempt had."""
    causes = sorted(_new(reconcile.causes), key=lambda cause: cause.type != "retry")
    word = "because"
    for cause in causes[:_MOST_CAUSES]:
        yield Line(word, escaped(_cause_text(cause, reconcile)))
        word = "and"
    if len(causes) > _MOST_CAUSES:
        yield Line(word, _folded(causes[_MOST_CAUSES:]))
    if not causes:
        yield Line(word, "the program put it on the queue")


def step_lines(steps: Sequence[Step], since: int = 0, *, with_logs: bool = True) -> Iterator[Line]:
    """What it wrote and logged from a step on, and what it looked for and did not find."""
    created = {(step.kind, step.key) for step in steps if isinstance(step, Write) and step.verb in ("create", "apply")}
    missing: set[object] = set()
    for number, step in enumerate(steps):
        if isinstance(step, LogLine):
            found = Line(log_word(step.level), escaped(step.text)) if with_logs or step.level == EVENT else None
        elif isinstance(step, Write):
            text = write_text(step)
            if step.error:
                text = f"{text.removesuffix(f': failed: {step.error}')}: {step.error}"
            found = Line("failed" if step.error else "wrote", escaped(text))
        elif step.error:
            found = Line("failed", escaped(f"{step.verb} {read_text(step)}"))
        elif not step.found and (step.kind, step.key) not in created | missing:
            missing.add((step.kind, step.key))
            found = Line("missing", step.title)
        else:
            found = None
        if found is not None and number >= since:
            yield found


def log_word(level: str) -> str:
    """The word of a log line: its level, where it is not an ordinary one."""
    return level.lower() if level in (EVENT, "WARNING", "ERROR", "CRITICAL") else "log"


def result_lines(reconcile: Reconcile, code: Sequence[str] = ()) -> Iterator[Line]:
    """The result; after a new error the lines of the program that raised it, or the place of the last one."""
    yield result_line(reconcile)
    if reconcile.error is not None and _repeated(reconcile) is None:
        yield from code_lines(code or ([f"at {reconcile.place}"] if reconcile.place else []))


def code_lines(code: Iterable[str]) -> Iterator[Line]:
    return (Line("code", escaped(line)) for line in code)


def result_line(reconcile: Reconcile) -> Line:
    """How it ended, and how long it took."""
    took = duration_text(reconcile.seconds, digits=2)
    if reconcile.error is not None:
        before = _repeated(reconcile)
        as_before = f"again, as #{before.reconcile}: " if before is not None else ""
        return Line("error", escaped(f"{as_before}{reconcile.error} ({took})"))
    if not reconcile.result:
        return Line("error", f"cancelled after {took}")
    text = f"done in {took}" if reconcile.writes else f"wrote nothing ({took})"
    after = reconcile.result.removeprefix("requeue_after=")
    if after != reconcile.result:
        text += f", again in {duration_text(float(after))}"
    elif reconcile.result == "requeue":
        text += ", again soon: it returned requeue"
    return Line("result", text)


def _deleted(reconcile: Reconcile) -> str:
    """The title of its own object, if its deletion is the cause."""
    own = (cause for cause in reconcile.causes if cause.type == "delete" and cause.key == reconcile.key)
    return next((cause.title for cause in own if cause.kind == reconcile.kind), "")


def _new(causes: Iterable[Cause]) -> list[Cause]:
    return [cause for cause in causes if not cause.is_repeated]


def _repeated(reconcile: Reconcile) -> Cause | None:
    """The attempt before, if it failed with the same error."""
    same = (cause for cause in reconcile.causes if cause.type == "retry" and cause.text == reconcile.error)
    return next(same, None)


def _cause_text(cause: Cause, reconcile: Reconcile) -> str:
    """A cause; the fields of an own write are with that write, and the reconciled object is `it`."""
    what = "it" if (cause.kind, cause.key) == (reconcile.kind, reconcile.key) else cause.title
    if cause.write is not None:
        return f"{what} was {own_verb(cause)} by #{cause.reconcile}"
    if cause.type == "retry":
        return f"#{cause.reconcile} failed: {cause.text}"
    if cause.type == "requeue":
        return f"#{cause.reconcile} returned {cause.text}"
    return cause_text(cause).replace(cause.title, what, 1)


def _folded(causes: Sequence[Cause]) -> str:
    """Many causes by what happened: `17 more: Pod changed (15), Pod was deleted (2)`."""
    happened = Counter(
        f"{cause.kind.kind or 'object'} {HAPPENED[cause.type]}" if cause.type in HAPPENED else cause.type
        for cause in causes
    )
    return f"{len(causes):,} more: {', '.join(f'{what} ({count:,})' for what, count in happened.most_common())}"
