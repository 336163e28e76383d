"""Command-line tools over resources: kubectl's grammar for the kinds of a program, on a storage of its own.

tool = kit.Tool("todo", kinds=[Todo], setup=setup, storage="sqlite:~/.local/share/todo/todo.db")
tool.main()
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
