# The exports of the package, for type checkers and for `__init__.py`, which reads the module of each name from here.
# One import to a line: `from module import Name as Name`.

from pilotage.testing.calls import Fault as Fault
from pilotage.testing.calls import Write as Write
from pilotage.testing.calls import Writes as Writes
from pilotage.testing.environment import Environment as Environment

__all__: list[str]
