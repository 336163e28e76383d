# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.kit.tool import Tool as Tool
