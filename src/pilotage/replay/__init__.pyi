# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.replay.outcomes import Outcome as Outcome
from pilotage.replay.outcomes import Verdict as Verdict
from pilotage.replay.player import Breakpoint as Breakpoint
from pilotage.replay.player import replay as replay
