# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.history.differences import Change as Change
from pilotage.history.history import History as History
from pilotage.history.options import HistoryOptions as HistoryOptions
from pilotage.history.stories import Cause as Cause
from pilotage.history.stories import LogLine as LogLine
from pilotage.history.stories import Read as Read
from pilotage.history.stories import Reconcile as Reconcile
from pilotage.history.stories import Write as Write
