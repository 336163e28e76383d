"""Items and the categories that they are in."""

from datetime import datetime
from functools import partial
from typing import Annotated, Literal

import pilotage as pt

resource = partial(pt.resource, group="inventory.pilotage.dev", version="v1alpha1", status=True)
Cents = Annotated[int, pt.Minimum(1)]


class ItemSpec(pt.Model):
    name: Annotated[str, pt.MinLength(1), pt.MaxLength(100)]
    """What it is called."""
    category: Annotated[str, pt.MinLength(1)]
    """The Category that it belongs to."""
    quantity: Annotated[int, pt.Minimum(0), pt.Maximum(10000)] = 1
    """How many there are."""
    low_stock: Annotated[int, pt.Minimum(0)] = 5
    """At this quantity and below, stock is low."""
    price: Cents | None = None
    """The price of one, in cents."""
    description: Annotated[str, pt.MaxLength(500)] = ""


class ItemStatus(pt.Model):
    status: Literal["Available", "Reserved", "Sold", "Discontinued"] = "Available"
    price: str = ""
    """The price as people write it: 1299.99."""
    last_updated: datetime | None = None
    reserved_by: str | None = None
    conditions: list[pt.Condition] = []


@resource(
    short_names=["itm"],
    columns=[
        pt.Column("Item Name", ".spec.name"),
        pt.Column("Quantity", ".spec.quantity", type="integer"),
        pt.Column("Category", ".spec.category"),
        pt.Column("Status", ".status.status"),
        pt.Column("Price", ".status.price"),
        pt.Column("Low Stock", '.status.conditions[?(@.type=="LowStock")].status', priority=1),
        pt.Column("Age", ".metadata.creationTimestamp", type="date"),
    ],
)
class Item(pt.Resource):
    """Something that is in stock."""

    spec: ItemSpec
    status: ItemStatus | None = None


class CategorySpec(pt.Model):
    name: Annotated[str, pt.MinLength(1), pt.MaxLength(50)]
    """What it is called."""
    description: Annotated[str, pt.MaxLength(200)] = ""
    parent: str = ""
    """The Category that this one is in."""
    tags: list[str] = []


class CategoryStatus(pt.Model):
    item_count: int = 0
    sub_category_count: int = 0
    low_stock_count: int = 0
    last_updated: datetime | None = None


@resource(
    short_names=["cat"],
    plural="categories",
    columns=[
        pt.Column("Category Name", ".spec.name"),
        pt.Column("Items", ".status.itemCount", type="integer"),
        pt.Column("Subcategories", ".status.subCategoryCount", type="integer"),
        pt.Column("Low Stock", ".status.lowStockCount", type="integer", priority=1),
        pt.Column("Parent", ".spec.parent"),
        pt.Column("Age", ".metadata.creationTimestamp", type="date"),
    ],
)
class Category(pt.Resource):
    """A group of items, which may be in another group."""

    spec: CategorySpec
    status: CategoryStatus | None = None
