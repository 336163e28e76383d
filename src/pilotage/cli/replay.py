"""`pilotage replay`: runs the reconciles of a recording again, and compares what they write."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.help import add_command

if TYPE_CHECKING:
    from pilotage.history.runs import Run
    from pilotage.recording.reader import Session
    from pilotage.replay.outcomes import Outcome

DIFFERENT = 6
"""The exit code if a reconcile does something else than in the recording."""
_MOST_LINES = 20
"""Objects, and reconciles, that are listed; the others are counted."""


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "replay",
        "run the reconciles of a recording again, and compare what they write",
        "Run the reconciles of a recording again, with their recorded reads, answers, times and random numbers, and "
        "without a server. FILE was written by `pilotage run --record`. TARGET is the program, as `pilotage run` takes "
        "it; without it, the program that was recorded. The exit code is 0 if every reconcile has sent the same bytes, "
        "and 6 if one has not.",
        "pilotage replay history.rec",
        "pilotage replay history.rec greetings.py --at 12 --pdb",
        "pilotage replay history.rec --with greetings_new.py",
    )
    command.add_argument("file", metavar="FILE", help="the recording")
    command.add_argument("target", nargs="?", metavar="TARGET", help="the program: MODULE, FILE.py, MODULE:NAME")
    command.add_argument("--at", metavar="NUMBER", type=int, help="only the reconcile with this number; it is printed")
    command.add_argument(
        "--pdb", action="store_true", help="with --at: stop in the debugger where the reconcile begins"
    )
    command.add_argument(
        "--with", metavar="TARGET", dest="other", help="compare another version of the program with the first"
    )
    command.add_argument(
        "--start",
        metavar="NUMBER",
        type=int,
        default=0,
        help="the start of the program, where the recording has several: 1 is the oldest (default: the newest)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Replay, print what was found, and return the exit code."""
    if options.pdb and options.at is None:
        raise CommandError("--pdb needs --at NUMBER: the reconcile to stop in")
    session = _session(options.file, options.start)
    program = options.target or session.program
    if not program and not options.other:
        raise CommandError(
            f"{options.file} does not name its program: give it, as `pilotage run` takes it: pilotage replay "
            f"{options.file} MODULE[:NAME]"
        )
    if options.at is not None:
        return _replay_one(session, options.other or program, options)
    first = _replayed(session, program) if program else None
    if options.other:
        return _compare(session, first, _replayed(session, options.other))
    assert first is not None
    return _report(first)


def _session(path: str, start: int) -> Session:
    from pilotage.recording.reader import read

    sessions = read(path).sessions
    if not sessions:
        raise CommandError(f"{path} has no reconciles")
    if not 0 <= start <= len(sessions):
        raise CommandError(f"--start {start}: {path} has {len(sessions)} starts of its program")
    return sessions[start - 1]


def _replayed(session: Session, target: str) -> list[Outcome]:
    from pilotage.replay.player import replay

    setup = _setup(target)
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):  # what the program prints it has printed already
        return replay(session, setup)


def _setup(text: str) -> Callable[[Any], Any]:
    from pilotage.cli.program.project import chosen_target
    from pilotage.cli.program.target import load_target

    target = load_target(chosen_target(text, Path.cwd())[0])
    if target.manager is not None:
        raise CommandError(
            f"{text} is a manager with a cluster of its own, which a replay does not use: name a function "
            "setup(manager), or a reconciler class"
        )
    return target.setup


def _replay_one(session: Session, target: str, options: argparse.Namespace) -> int:
    from pilotage.replay.debugger import stop_in
    from pilotage.replay.player import replay

    found = [one.run for one in session.runs if one.run.number == options.at]
    if not found:
        numbers = [one.run.number for one in session.runs]
        raise CommandError(
            f"{options.file} has no reconcile {options.at}; it has {min(numbers)} to {max(numbers)}"
            if numbers
            else f"{options.file} has no reconciles"
        )
    print(session.history.stories.reconcile(found[0]))

    def report(outcome: Outcome, run: Run) -> None:
        print(f"  {'replay':<9}{_sentence(outcome)}")

    before = stop_in if options.pdb else None
    (outcome,) = replay(session, _setup(target), numbers={options.at}, before=before, report=report)
    return _code([outcome])


def _report(outcomes: Sequence[Outcome]) -> int:
    _print_counts(outcomes)
    others = [outcome for outcome in outcomes if outcome.verdict.value != "identical"]
    _print_lines([str(outcome) for outcome in others])
    if any(outcome.verdict.value == "different" for outcome in others):
        print(
            "A reconcile of the same code that differs has read something that is not recorded, such as datetime.now() "
            "or a file: read times with manager.clock, and record other calls with pt.recorded(call)."
        )
    return _code(outcomes)


def _compare(session: Session, first: Sequence[Outcome] | None, second: Sequence[Outcome]) -> int:
    """Report what a second version does otherwise, in the reconciles that the first one replays."""
    comparable = {one.number for one in first if one.verdict.value == "identical"} if first is not None else None
    compared = [one for one in second if comparable is None or one.number in comparable]
    _print_counts(compared)
    if left := len(second) - len(compared):
        print(f"{'not compared':<14}{left}: the first version does not repeat them")
    by_object: dict[str, list[Outcome]] = {}
    for outcome in compared:
        if outcome.verdict.value != "identical":
            by_object.setdefault(f"{outcome.controller} {outcome.key}", []).append(outcome)
    _print_lines([f"{name}: {len(found)} of its reconciles, first {found[0]}" for name, found in by_object.items()])
    return _code(compared)


def _print_counts(outcomes: Sequence[Outcome]) -> None:
    counts: dict[str, int] = {"identical": 0}
    for outcome in outcomes:
        counts[outcome.verdict.value] = counts.get(outcome.verdict.value, 0) + 1
    print(f"{'reconciles':<14}{len(outcomes)}")
    for name, count in counts.items():
        print(f"{name:<14}{count}")


def _print_lines(lines: Sequence[str]) -> None:
    for line in _bounded(lines):
        print(line)


def _bounded(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"and {len(lines) - _MOST_LINES} more"


def _sentence(outcome: Outcome) -> str:
    return str(outcome).partition(": ")[2]


def _code(outcomes: Sequence[Outcome]) -> int:
    return DIFFERENT if any(outcome.verdict.value == "different" for outcome in outcomes) else 0
