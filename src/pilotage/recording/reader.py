"""Reading a recording: its reconciles as the values that a running program has, `print(run)` included.

    for run in pilotage.recording.read("history.rec"):
        print(run)

The file may be damaged, or written by others: what cannot be read is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from pilotage.history.history import History
from pilotage.history.stories import Reconcile
from pilotage.meta.forms import Kind
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.recording.assembly import Assembly, RecordedRun
from pilotage.recording.file import read_file
from pilotage.recording.frames import frames, halves


class Session:
    """What one start of a program has recorded."""

    def __init__(self, assembly: Assembly) -> None:
        found = assembly.session
        self.id = found.id
        self.program = found.program
        """The target of `pilotage run`; empty where the program was started in another way."""
        self.version = found.version
        """The version of Pilotage."""
        self.python = found.python
        self.pid = found.pid
        self.history: History = assembly.history
        """The history, as the program had it."""
        self.runs: Sequence[RecordedRun] = [*assembly.runs.values()]
        """Its reconciles, with what they need to be replayed; the oldest first."""
        self.served: Sequence[RESTMapping] = assembly.served
        """The kinds that the API server served."""
        self.has_secrets = bool(found.hash_key)
        """Whether secret values are in it, and not only their hashes."""


class Recording(Sequence[Reconcile]):
    """The reconciles of a recording, the oldest first. Each is made when it is read."""

    def __init__(self, path: str, sessions: Sequence[Session]) -> None:
        self.path = path
        self.sessions = sessions
        """The starts of the program, the oldest first."""

    def reconciles(self, kind: Kind | None = None, name: str = "", *, namespace: str = "") -> Sequence[Reconcile]:
        """All reconciles, or the reconciles of a kind or of one object."""
        found = (session.history.reconciles(kind, name, namespace=namespace) for session in self.sessions)
        return [reconcile for stories in found for reconcile in stories]

    def __len__(self) -> int:
        return sum(len(session.runs) for session in self.sessions)

    @overload
    def __getitem__(self, index: int) -> Reconcile: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Reconcile]: ...
    def __getitem__(self, index: int | slice) -> Reconcile | Sequence[Reconcile]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        for session in self.sessions:
            if number < len(session.runs):
                return session.history.stories.reconcile(session.runs[number].run)
            number -= len(session.runs)
        raise IndexError(index)

    def __repr__(self) -> str:
        return f"<Recording {self.path}: {len(self)} reconciles>"


def read(path: str) -> Recording:
    """The recording in a file, which may still be written. Raises RecordingError."""
    content, layout = read_file(path)
    found: dict[str, Assembly] = {}
    for half in halves(memoryview(content), layout):
        current: Assembly | None = None
        contents: dict[int, bytes] = {}
        for data, _ in frames(half):
            entry = Assembly.decoded(data)
            if entry is None:
                continue
            if (session := Assembly.session_in(entry)) is not None:
                contents = {}
                current = found.setdefault(session.id, Assembly(session, path))
            if current is not None:
                current.add(entry, contents)
    return Recording(path, [Session(assembly) for assembly in found.values()])
