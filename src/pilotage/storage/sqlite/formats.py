"""The formats of the SQLite file, and the upgrade of a file from an older one, in place and in one transaction.

A new format needs a step here, a file of the format before it in `tests/storage/data`, and the schema of new files.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import apsw

from pilotage.errors import StorageBroken, StorageBusy

from .errors import translate

Step = Callable[[apsw.Connection], None]
"""Changes the tables of a file from one format to the next, within a transaction."""

STEPS: tuple[Step, ...] = ()
"""The first one leads from format 1 to 2. A step is never changed after a release, only followed by others."""

FORMAT_NEEDS = "0.1"
"""The first version of Pilotage with the newest format; stored in the file for the error of an older version."""


def newest_format() -> int:
    """The newest format that this version knows (SQLite's user_version)."""
    return 1 + len(STEPS)


def refuse_newer(path: str, version: int, needs: str) -> None:
    """Raise StorageBroken for the format of a newer program, which `needs` this version of Pilotage or a newer one."""
    if version > newest_format():
        raise StorageBroken(
            f"{path} has format {version}, and this Pilotage knows formats up to {newest_format()}. Nothing was"
            f" changed in it: use Pilotage {needs} or newer, or restore a backup made before the upgrade"
        )


def upgrade(path: str, write_meta: Callable[[apsw.Connection, str, str], None]) -> int:
    """Bring a file to the newest format: all steps or none. Returns the format before. Needs the lock of the storage.

    Raises StorageBusy while another process has it open: that process would continue to write in the old format.
    """
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    with closing(connection):
        try:
            connection.pragma("locking_mode", "EXCLUSIVE")  # before SQLite reads the file: it does not share the WAL
            connection.pragma("synchronous", "FULL")
            connection.execute("BEGIN EXCLUSIVE")
            before = int(connection.pragma("user_version"))
            for step in STEPS[before - 1 :]:
                step(connection)
            connection.pragma("user_version", newest_format())
            write_meta(connection, "needs", FORMAT_NEEDS)
            connection.execute("COMMIT")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError as error:
            raise StorageBusy(
                f"{path} has an older format, and this Pilotage upgrades it to format {newest_format()} when it opens"
                " it. Another process has it open: end all processes that use it, make a backup, and start again"
            ) from error
        except apsw.Error as error:
            raise translate(error, path, connection.system_errno) from error
    return before
