"""The files that a session looks at: those of the program, and the samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pilotage.cli.run.objects import watched_files
from pilotage.cli.run.reloader import Stamps, stamps_of, syntax_problem


@dataclass(frozen=True, slots=True)
class Saved:
    """What was saved since the last time."""

    program: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    at_ns: int = 0
    """When the last of them was written."""

    def __bool__(self) -> bool:
        return bool(self.program or self.samples)


class WatchedFiles:
    """Compares files with their state when they were looked at last."""

    def __init__(self, samples: Sequence[Path]) -> None:
        self._samples = samples
        self._program: Iterable[str] = ()
        self._seen: Stamps = {}
        self._latest: Stamps = {}

    def begin(self, program: Iterable[str]) -> None:
        """Look at these files of the program from now on. Those that it did not have before are as they are now."""
        self._program = tuple(program)
        now = self._now()
        self._seen = self._latest = {name: self._seen.get(name, stamp) for name, stamp in now.items()}

    def saved(self) -> Saved:
        """What has changed and is complete: a file that has changed since the last call may still be written."""
        now = self._now()
        is_complete, self._latest = now == self._latest, now
        changed = {name for name, stamp in now.items() if self._seen.get(name) != stamp}
        if not changed or not is_complete:
            return Saved()
        self._seen = now
        program = changed.intersection(self._program)
        at_ns = max(now[name][0] for name in changed)
        return Saved(tuple(sorted(program)), tuple(sorted(changed - program)), at_ns)

    def differ(self) -> bool:
        """Whether a file has changed that was not reported yet."""
        return self._now() != self._seen

    def _now(self) -> Stamps:
        samples = (path for path in watched_files(self._samples) if not path.is_dir())
        return stamps_of([*self._program, *(str(path.absolute()) for path in samples)])


def problem_of(files: Iterable[str]) -> str | None:
    """The first syntax error in Python files, in one line."""
    return next(filter(None, map(syntax_problem, files)), None)
