"""A session of `pilotage dev`: an API server that stays, and versions of the program that take over from each other."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING

from pilotage.cli.dev.files import Saved, WatchedFiles, problem_of
from pilotage.cli.dev.generation import Generation
from pilotage.cli.dev.imports import ProgramImports
from pilotage.cli.dev.page import CurrentData, live_page
from pilotage.cli.dev.report import ReportLine, report
from pilotage.cli.dev.writes import changed_definitions, of_the_code, written_differently
from pilotage.cli.program.modules import user_places
from pilotage.cli.run.environment import connect, environment_of, serving
from pilotage.cli.run.explaining import explaining
from pilotage.cli.run.objects import FIELD_OWNER
from pilotage.cli.simulated import simulated, workload_options
from pilotage.errors import PilotageError
from pilotage.kit.applying import ObjectApplier
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import shown
from pilotage.kit.console.manifestfiles import read_manifests
from pilotage.kit.console.signals.stop import Stop
from pilotage.kit.console.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW
from pilotage.telemetry.lines import event_of
from pilotage.telemetry.logs import filtered, logger

if TYPE_CHECKING:
    from pathlib import Path

    from pilotage.cli.dev.options import DevOptions
    from pilotage.cli.run.arguments import Flags
    from pilotage.cluster import Cluster
    from pilotage.kit.console.terminal import Terminal

log = logger("pilotage.dev")
POLL_SECONDS = 0.05
"""How often the files are looked at."""
_STYLES = {"object": (CYAN,), "field": (), "unwritten": (YELLOW,), "failed": (RED,), "total": (DIM,)}
_INDENTS = {"object": "  ", "field": "      ", "unwritten": "      ", "failed": "  ", "total": "  "}


class Session:
    """The program of a target, and the terminal that shows what happens. `name` is the program's, in managed fields."""

    def __init__(self, text: str, name: str, options: DevOptions, flags: Flags, terminal: Terminal) -> None:
        self._text = text
        self._name = name
        self._options = options
        self._flags = flags
        self._terminal = terminal
        self._imports = ProgramImports(text)
        self._files = WatchedFiles(flags.filename)
        self._page = CurrentData()
        self._generation: Generation | None = None
        """The version that runs."""
        self._last: Generation | None = None
        """The version that ran last."""
        self._narration = ExitStack()
        self._is_replacing = False
        """Whether a version takes over, whose errors the report has."""

    async def run(self) -> None:
        """Run until SIGINT or SIGTERM. Raises CommandError if the API server cannot be opened."""
        with Stop.on_signals() as stop:
            async with AsyncExitStack() as exits:
                base = await self._base(exits)
                exits.push_async_callback(self._end)
                self._files.begin(())
                await self._begin(base)
                while not stop.requested.is_set():
                    if saved := await self._pause(stop):
                        await self._take(base, saved)

    async def _base(self, exits: AsyncExitStack) -> Cluster:
        """The API server of the session, with what else runs on it."""
        exits.enter_context(filtered(self._is_news))
        found = await exits.enter_async_context(environment_of(self._flags))
        log.info(f"Running {self._text} on {found.description}")
        await exits.enter_async_context(connect(found, self._terminal))
        await exits.enter_async_context(serving(found.cluster, self._flags, ()))
        if self._options.simulate_workloads:
            workloads = workload_options(self._options.nodes, self._options.fault)
            await exits.enter_async_context(simulated(found.cluster, workloads))
        if self._options.ui:
            await exits.enter_async_context(live_page(self._page, lambda url: self._terminal.line(f"Live page: {url}")))
        return found.cluster

    async def _begin(self, base: Cluster) -> None:
        """Run the program for the first time. If it cannot be loaded, the session waits for a change of its files."""
        if await self._replace(base):
            await self._apply_samples(base)
            if self._generation is not None:
                await self._generation.settled(self._files.differ)
            log.info("Ready; save a file to see what changes, press Ctrl-C to stop")

    async def _pause(self, stop: Stop) -> Saved:
        """Wait for the next look at the files, for a signal, or for the end of the program."""
        waits: list[asyncio.Task[object]] = [asyncio.create_task(stop.requested.wait(), name="dev signal")]
        running = self._generation.running if self._generation is not None else None
        try:
            await asyncio.wait(
                [*waits, *([running] if running else [])], timeout=POLL_SECONDS, return_when="FIRST_COMPLETED"
            )
        finally:
            waits[0].cancel()
        if running is not None and running.done():
            await self._failed(running)
        return Saved() if stop.requested.is_set() else self._files.saved()

    async def _failed(self, running: asyncio.Task[None]) -> None:
        """The program has ended by itself."""
        error = running.exception() if not running.cancelled() else None
        await self._end()
        self._problem(f"{_text(error)}; the program has stopped, and starts again when a file is saved")

    async def _take(self, base: Cluster, saved: Saved) -> None:
        if saved.program:
            self._heading(saved.program)
            if problem := problem_of(saved.program):
                self._problem(f"{problem}; {self._old_code}")
            elif self._last is None:
                await self._begin(base)
                return
            else:
                await self._replace(base, saved)
        if saved.samples:
            self._heading(saved.samples)
            await self._apply_samples(base)

    async def _replace(self, base: Cluster, saved: Saved | None = None) -> bool:
        """Let the files as they are now take over. Returns whether they could; if not, the old version continues."""
        modules = self._imports.current()
        try:
            new = Generation(self._imports.load(), base, self._flags, self._name)
            await new.open()
        except PilotageError as error:
            self._imports.put_back(modules)
            self._files.begin(self._imports.files)
            self._problem(f"{error}; {self._old_code}")
            return False
        self._files.begin(self._imports.files)
        old, self._last = self._last, new
        await self._end()
        self._generation = new
        if saved is None:
            self._narrate(new)
        self._is_replacing = saved is not None and not self._flags.traceback
        try:
            await new.start(self._files.differ)
        except Exception:  # the next look at the program reports it
            return False
        finally:
            self._is_replacing = False
        self._page.show(new.manager.page_handler if self._options.ui else None)
        if saved is not None:
            self._report(old, new, saved)
            self._narrate(new)
        return True

    def _narrate(self, generation: Generation) -> None:
        self._narration.enter_context(explaining(generation.manager.history, self._flags, self._terminal))

    def _report(self, old: Generation | None, new: Generation, saved: Saved) -> None:
        """Show what the new version writes differently, and keep what the old one wanted of objects that the new one
        has not reconciled."""
        reconciles, before = of_the_code(new.with_writes()), old.stated.latest if old is not None else {}
        definitions = changed_definitions(old.definitions if old is not None else (), new.definitions)
        differences = [*definitions, *written_differently(reconciles, before, new.stated.latest)]
        seconds = max(0.0, (time.time_ns() - saved.at_ns) / 1e9)
        for line in report(differences, reconciles, new.reconciles, seconds):
            self._line(line)
        new.stated.latest = before | new.stated.latest

    def _line(self, line: ReportLine) -> None:
        styled = self._terminal.styled(line.text, *_STYLES[line.style])
        detail = self._terminal.styled(f"  ({line.detail})", DIM) if line.detail else ""
        self._terminal.line(f"{_INDENTS[line.style]}{styled}{detail}")

    def _heading(self, files: Sequence[str]) -> None:
        from pathlib import Path

        names = ", ".join(str(shown(Path(file))) for file in files)
        self._terminal.line(self._terminal.styled(f"{names} saved", BOLD, GREEN))

    def _problem(self, text: str) -> None:
        self._terminal.line(f"{self._terminal.styled('pilotage:', BOLD, YELLOW)} {text}")

    @property
    def _old_code(self) -> str:
        return "the old code continues" if self._generation is not None else "waiting until it is fixed"

    async def _apply_samples(self, base: Cluster) -> None:
        """Apply the samples. An error is one line."""
        paths: Sequence[Path] = self._flags.filename
        try:
            manifests = read_manifests(paths, required=False)
            applier = ObjectApplier(
                base.client, manifests, field_owner=FIELD_OWNER, namespace="default", warn=log.warning
            )
            for manifest in applier.ordered:
                await applier.apply(manifest)
                metadata = manifest.document["metadata"]
                kind = manifest.document["kind"]
                log.info(f"Applied {kind}", namespace=metadata.get("namespace", ""), name=metadata["name"])
        except CommandError as error:
            self._problem(str(error))

    def _is_news(self, record: logging.LogRecord) -> bool:
        """Whether a line is to be logged. That a version starts and stops is no news here, and errors of reconciles
        are in the report while a version takes over."""
        is_ours = record.name.startswith(("pilotage.controller", "pilotage.manager"))
        is_reported = self._is_replacing and event_of(record).message == "Reconciler error"
        return not is_ours or (record.levelno > logging.INFO and not is_reported)

    async def _end(self) -> None:
        """End the version that runs."""
        self._narration.close()
        self._page.show(None)
        old, self._generation = self._generation, None
        if old is not None:
            await old.close()


def _text(error: BaseException | None) -> str:
    """An error of the program in one line, with the place in its files."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None or isinstance(error, PilotageError):
        return str(error or "the program has ended")
    places = user_places(error)
    return f"{type(error).__name__}: {error}" + (f" ({places[-1]})" if places else "")
