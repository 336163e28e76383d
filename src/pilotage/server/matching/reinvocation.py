"""The second run of mutating webhooks and policies."""

from __future__ import annotations

from pilotage.meta.documents import Document, copied, same
from pilotage.server.admission import Attributes


class Again:
    """The webhooks or policies that are called a second time: those that request it, if a later one has changed the
    object."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        """Those that request it, and after which nothing has changed the object yet."""
        self.due: set[str] | None = None
        """Those of this second run; None in the first one."""
        self.output: Document | None = None
        """The object after the first run."""
        self._next: set[str] = set()

    @classmethod
    def of(cls, plugin: str, attributes: Attributes) -> Again:
        """The reinvocation state of a plugin for this write."""
        reinvocation = attributes.reinvocation
        found = reinvocation.kept(plugin, cls)
        if reinvocation.running:
            if not same(found.output, attributes.new):  # another plugin has changed it in its second run
                found._schedule_called()
            found.due = found._next
        return found

    def includes(self, identity: str) -> bool:
        return self.due is None or identity in self.due

    def record_change(self, attributes: Attributes) -> None:
        """Record that the plugin has changed the object: what was called before is called again."""
        self._schedule_called()
        attributes.reinvocation.wanted = True

    def _schedule_called(self) -> None:
        self._next |= self.called
        self.called = set()

    def finish(self, attributes: Attributes) -> None:
        """Record the end of the plugin's run."""
        if attributes.reinvocation.wanted:
            self.output = copied(attributes.new)
