"""The groups of runnables: each starts as a whole and is stopped as a whole, and every task in it has an owner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from pilotage.errors import InvalidDefinition
from pilotage.manager.errors import ManagerStopped, RunnableCancelled
from pilotage.manager.runnables import START_ORDER, AnyRunnable, Group, GroupMember, Hooks, group_members, name_of

Report = Callable[[str, BaseException], None]
"""Called with the name of a runnable and its error."""


class RunnableGroup:
    """Runnables that start and stop together. One that is added later starts at once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._entries: list[GroupMember] = []
        self._tasks: dict[asyncio.Task[None], GroupMember] = {}
        self._removed: set[asyncio.Task[None]] = set()
        self._started = False
        self._stopping = False
        self.unready: dict[str, Hooks] = {}
        """The runnables by name that the next group waits for."""
        self.around: Callable[[], AbstractContextManager[None]] = nullcontext
        """The block that each runnable runs in."""

    def add(self, entry: GroupMember) -> None:
        """Add a runnable; raises ManagerStopped once the group is being stopped."""
        if self._stopping:
            raise ManagerStopped(f"{entry.name} cannot be added: the manager is stopping")
        self._entries.append(entry)
        if self._started:
            self._launch(entry)

    async def start(self) -> None:
        """Start all runnables that were added, and wait until they run and their ready checks pass.

        Raises the error of a ready check.
        """
        if self._started or self._stopping:
            return
        self._started = True
        begun = [self._launch(entry) for entry in self._entries]
        for event in begun:
            await event.wait()
        try:
            async with asyncio.TaskGroup() as group:
                for entry in self._entries:
                    if entry.ready is not None:
                        group.create_task(self._wait_ready(entry, entry.ready), name="ready check")
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _wait_ready(self, entry: GroupMember, ready: Callable[[], Awaitable[object]]) -> None:
        self.unready[entry.name] = entry.hooks
        await ready()
        del self.unready[entry.name]

    def cancel(self) -> None:
        """Cancel all runnables, and start no more."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()

    @property
    def started(self) -> bool:
        return self._started

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """The tasks that have not ended."""
        return set(self._tasks)

    def running(self) -> list[GroupMember]:
        """The names of runnables whose task has not ended."""
        return list(self._tasks.values())

    def remove(self, runnable: AnyRunnable) -> list[asyncio.Task[None]] | None:
        """Remove a runnable, whose end is not reported from now on. Returns its running tasks; None: it is unknown."""
        entries = [entry for entry in self._entries if entry.runnable == runnable]  # a bound method equals itself
        self._entries = [entry for entry in self._entries if entry not in entries]
        tasks = [task for task, entry in self._tasks.items() if entry in entries]
        self._removed.update(tasks)
        return tasks if entries else None

    def __iter__(self) -> Iterator[GroupMember]:
        return iter(self._entries)

    def _launch(self, entry: GroupMember) -> asyncio.Event:
        begun = asyncio.Event()
        task = asyncio.get_running_loop().create_task(
            self._run_reported(entry, begun), name=f"{entry.group}: {entry.name}"
        )
        self._tasks[task] = entry
        task.add_done_callback(self._forget)
        return begun

    async def _run_reported(self, entry: GroupMember, begun: asyncio.Event) -> None:
        """Run a runnable to its end; a failure is reported, once, and never lost."""
        begun.set()  # runs when the runnable awaits for the first time
        try:
            with self.around():
                await entry.run()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # SystemExit too: it ends the program, by an orderly shutdown
            self._report(entry.name, error)

    def _forget(self, task: asyncio.Task[None]) -> None:
        entry = self._tasks.pop(task)
        is_removed = task in self._removed
        self._removed.discard(task)
        # A runnable whose library cancelled it ends without an error, and the manager would run on without it.
        if task.cancelled() and not self._stopping and not is_removed:
            self._report(entry.name, RunnableCancelled(f"{entry.name} was cancelled, and not by its manager"))


class Groups:
    """All groups of a manager."""

    def __init__(self, report: Report) -> None:
        self._groups = {group: RunnableGroup(report) for group in Group}

    def __getitem__(self, group: Group) -> RunnableGroup:
        return self._groups[group]

    def add(self, runnable: AnyRunnable) -> None:
        """Add a runnable to its group, or to both where it warms up."""
        for entry in group_members(runnable):
            self._groups[entry.group].add(entry)

    async def remove(self, runnable: AnyRunnable, timeout: float | None) -> bool:
        """Stop a runnable and remove it. Returns whether it ended by itself."""
        stop = next((entry.hooks.stop for entry in self.entries() if entry.runnable == runnable), None)
        found = [tasks for group in self._groups.values() if (tasks := group.remove(runnable)) is not None]
        if not found:
            raise InvalidDefinition(f"{name_of(runnable)} cannot be removed: it is not a runnable of this manager")
        if stop is not None:
            return bool(await stop(timeout))
        tasks = [task for several in found for task in several]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)
        return not tasks

    async def start(self) -> None:
        """Start all groups except the leader's, each when the one before is ready."""
        for group in START_ORDER:
            await self._groups[group].start()

    def starting(self) -> list[str]:
        """The runnables that the start waits for, with the kinds that are not synced where they are known."""
        found: list[str] = []
        for group in self._groups.values():
            for name, hooks in group.unready.items():
                kinds = ", ".join(hooks.unsynced())
                found.append(f"{name} (not synced: {kinds})" if kinds else name)
        return found

    def cancel(self) -> None:
        for group in self._groups.values():
            group.cancel()

    def entries(self) -> list[GroupMember]:
        """All entries that were added."""
        return [entry for group in self._groups.values() for entry in group]

    def running(self) -> list[GroupMember]:
        return [entry for group in self._groups.values() for entry in group.running()]

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        return {task for group in self._groups.values() for task in group.tasks}
