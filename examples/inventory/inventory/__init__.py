"""An inventory in one file: `inventory get items`. Its data are resources, its logic two reconcilers, and there is no
server."""

from pilotage.cli import kit

from .kinds import Category, Item
from .reconcilers import setup

tool = kit.Tool(
    "inventory",
    kinds=[Item, Category],
    setup=setup,
    storage="sqlite:~/.local/share/inventory/inventory.db",
    description="Items and categories in one file.",
)
