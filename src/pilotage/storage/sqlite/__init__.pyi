# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.storage.sqlite.direct import DirectSqliteStorage as DirectSqliteStorage
from pilotage.storage.sqlite.storage import SqliteStorage as SqliteStorage
