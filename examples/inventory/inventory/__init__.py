"""An inventory in one file: `inventory get items`. Its data are resources, its logic two reconcilers, and there is no
server."""

from pilotage import kit

tool = kit.Tool(
    "inventory",
    kinds=f"{__name__}.kinds:Item,Category",  # by import path: a command that prints a table loads neither
    setup=f"{__name__}.reconcilers:setup",
    storage="sqlite:~/.local/share/inventory/inventory.db",
    description="Items and categories in one file.",
)
