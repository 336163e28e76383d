"""Two reconcilers in one manager: items get their status and conditions, categories their counts."""

from collections.abc import Iterable

import pilotage as pt

from .kinds import Category, CategoryStatus, Item, ItemStatus

log = pt.logger("inventory")


def setup(manager: pt.Manager) -> None:
    ItemReconciler(manager).setup_with_manager(manager)
    CategoryReconciler(manager).setup_with_manager(manager)


class ItemReconciler:
    """Keeps the formatted price, and reports whether stock is low and whether the category exists."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.now = manager.clock
        self.events = manager.event_recorder_for("inventory")

    async def reconcile(self, request: pt.Request) -> pt.Result:
        item = await self.client.get(Item, request)
        category = await self.client.find(Category, item.spec.category, namespace=request.namespace)
        status = item.status or ItemStatus()
        was_low = pt.is_status_condition_true(status.conditions, "LowStock")
        price = "" if item.spec.price is None else f"{item.spec.price / 100:.2f}"
        conditions = [self._low_stock(item), self._category_found(item, category)]
        changed = [pt.set_status_condition(status.conditions, each, clock=self.now) for each in conditions]
        if any(changed) or price != status.price or item.status is None:
            status.price, status.last_updated, item.status = price, self.now(), status
            await self.client.update_status(item)
            log.info("Updated", quantity=item.spec.quantity, category=item.spec.category)
        if is_low(item) and not was_low:
            self.events.event(item, "Warning", "LowStock", f"{item.spec.quantity} left")
        return pt.Result()

    def _low_stock(self, item: Item) -> pt.Condition:
        return pt.Condition(
            type="LowStock",
            status="True" if is_low(item) else "False",
            reason="AtOrBelowLimit" if is_low(item) else "AboveLimit",
            message=f"{item.spec.quantity} left, the limit is {item.spec.low_stock}",
        )

    def _category_found(self, item: Item, category: Category | None) -> pt.Condition:
        return pt.Condition(
            type="CategoryFound",
            status="True" if category is not None else "False",
            reason="Found" if category is not None else "Missing",
            message="" if category is not None else f"there is no Category {item.spec.category}",
        )

    async def items_in(self, category: Category) -> Iterable[pt.Request]:
        items = await self.client.list(Item, namespace=category.metadata.namespace)
        return [pt.Request.of(item) for item in items if item.spec.category == category.metadata.name]

    def setup_with_manager(self, manager: pt.Manager) -> None:
        builder = pt.ControllerBuilder(manager).for_(Item, predicates=[pt.generation_changed])
        builder.watches(Category, pt.enqueue_requests_from(self.items_in)).complete(self)


class CategoryReconciler:
    """Counts the items and the categories in a category."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.now = manager.clock

    async def reconcile(self, request: pt.Request) -> pt.Result:
        category = await self.client.get(Category, request)
        items = await self.client.list(Item, namespace=request.namespace)
        categories = await self.client.list(Category, namespace=request.namespace)
        own = [item for item in items if item.spec.category == request.name]
        inner = [each for each in categories if each.spec.parent == request.name]
        old = category.status or CategoryStatus()
        counts = len(own), len(inner), sum(map(is_low, own))
        if counts != (old.item_count, old.sub_category_count, old.low_stock_count) or category.status is None:
            category.status = CategoryStatus(
                item_count=counts[0],
                sub_category_count=counts[1],
                low_stock_count=counts[2],
                last_updated=self.now(),
            )
            await self.client.update_status(category)
            log.info("Counted", items=counts[0], categories=counts[1])
        return pt.Result()

    async def category_of(self, item: Item) -> Iterable[pt.Request]:
        """All categories: an item that has moved is counted in its old category as well."""
        categories = await self.client.list(Category, namespace=item.metadata.namespace)
        return [pt.Request.of(category) for category in categories]

    async def parents_of(self, category: Category) -> Iterable[pt.Request]:
        categories = await self.client.list(Category, namespace=category.metadata.namespace)
        return [pt.Request.of(each) for each in categories if each.metadata.name != category.metadata.name]

    def setup_with_manager(self, manager: pt.Manager) -> None:
        builder = pt.ControllerBuilder(manager).for_(Category, predicates=[pt.generation_changed])
        builder.watches(Item, pt.enqueue_requests_from(self.category_of), predicates=[pt.generation_changed])
        builder.watches(Category, pt.enqueue_requests_from(self.parents_of), predicates=[pt.generation_changed])
        builder.complete(self)


def is_low(item: Item) -> bool:
    return item.spec.quantity <= item.spec.low_stock
