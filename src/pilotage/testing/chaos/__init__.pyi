# The exports of the package, for type checkers and for `__init__.py`, which reads the module of each name from here.
# One import to a line: `from module import Name as Name`.

from pilotage.testing.chaos.editing import Edit as Edit
from pilotage.testing.chaos.editing import Edits as Edits
from pilotage.testing.chaos.editing import edits as edits
from pilotage.testing.chaos.exploring import explore as explore
from pilotage.testing.chaos.exploring import replay as replay
from pilotage.testing.chaos.faults import Fault as Fault
from pilotage.testing.chaos.invariants import Objects as Objects
from pilotage.testing.chaos.invariants import invariant as invariant
from pilotage.testing.chaos.plan import Plan as Plan
from pilotage.testing.chaos.report import Failure as Failure
from pilotage.testing.chaos.report import Report as Report
from pilotage.testing.chaos.runs import Scenario as Scenario

__all__: list[str]
