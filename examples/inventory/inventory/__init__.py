"""An inventory in one file: `inventory get items`. Its data are resources, its logic two reconcilers, and there is no
server."""

import pilotage as pt
from pilotage.cli import kit

from .kinds import Category, Item


def setup(manager: "pt.Manager") -> None:
    from .reconcilers import CategoryReconciler, ItemReconciler  # only commands that write need them

    ItemReconciler(manager).setup_with_manager(manager)
    CategoryReconciler(manager).setup_with_manager(manager)


tool = kit.Tool(
    "inventory",
    kinds=[Item, Category],
    setup=setup,
    storage="sqlite:~/.local/share/inventory/inventory.db",
    description="Items and categories in one file.",
)
