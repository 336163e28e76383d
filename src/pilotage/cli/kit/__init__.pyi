# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.cli.kit.tool import Tool as Tool
