"""Async tests: each runs on an event loop of its own; with the `virtual_time` marker, on one whose time is virtual."""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Generator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from . import acceptance, dispositions
from .environments import Opening, environment, own_control_plane, real_control_plane

__all__ = ["environment", "own_control_plane", "real_control_plane"]

# An example's time says more about the machine's load than about the code.
hypothesis.settings.register_profile("pilotage", deadline=None, max_examples=15)
hypothesis.settings.register_profile("soak", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("pilotage")


OWN_FOLDER = pytest.StashKey[str]()
IN_MEMORY = "/dev/shm"
NEEDED_BYTES = 6 << 30

# Tests start programs in folders of their own, where a relative path would lead elsewhere.
if "PYTHONPATH" in os.environ:
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-of-each", action="store_true", help="run each test with its first parameters only")


@pytest.fixture(scope="session")
def many_plans(pytestconfig: pytest.Config) -> int:
    """How many plans of chaos a long test runs: a thousand, and with `--one-of-each` a hundred."""
    return 100 if pytestconfig.getoption("--one-of-each") else 1000


@pytest.hookimpl(trylast=True)  # among those that `-m` and `-k` have chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--one-of-each"):
        firsts = set({item.nodeid.partition("[")[0]: item for item in reversed(items)}.values())
        config.hook.pytest_deselected(items=[item for item in items if item not in firsts])
        items[:] = [item for item in items if item in firsts]


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.option.basetemp is None:
        # Short: the path of a Unix socket has at most 107 bytes, and pytest's own choice contains the user's name.
        config.option.basetemp = tempfile.mkdtemp(prefix="pt-", dir=_folder_in_memory())
        config.stash[OWN_FOLDER] = config.option.basetemp
    gc.set_threshold(50_000, 20, 100)  # by default, garbage collection is a sixth of the time
    config.pluginmanager.register(acceptance.Coverage(), "acceptance")
    dispositions.give_children_the_defaults()


def _folder_in_memory() -> str | None:
    """Where files need no disk, if there is room for those of all tests: a run syncs thousands of SQLite files.

    What a disk may do to a file is simulated where it is tested.
    """
    try:
        found = os.statvfs(IN_MEMORY)
    except OSError:
        return None
    is_usable = not found.f_flag & (os.ST_RDONLY | os.ST_NOEXEC) and os.access(IN_MEMORY, os.W_OK)
    return IN_MEMORY if is_usable and found.f_bavail * found.f_frsize > NEEDED_BYTES else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    gc.disable()  # there is no garbage, and to look for it takes a quarter of the time
    _import_share(session.config)
    try:
        return (yield)
    finally:
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Have each worker begin with other modules. To compile them all takes ten seconds in a new checkout, and the
    workers, which collect in the same order, would all do that at the same time."""
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        return
    modules = sorted(path for folder in config.args for path in Path(folder).rglob("test_*.py"))
    for path in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # collection reports it
            importlib.import_module(".".join(path.resolve().relative_to(config.rootpath).with_suffix("").parts))


def pytest_collection_finish(session: pytest.Session) -> None:
    # What the runner holds of thousands of tests stays to the end, and there is hardly any garbage in it. Not to look
    # through it takes a third of a second off every full garbage collection.
    _any_property()
    gc.freeze()


@hypothesis.settings(max_examples=1, database=None)
@hypothesis.given(hypothesis.strategies.none())
def _any_property(_nothing: None) -> None:
    """Let Hypothesis make its source of random numbers before objects are frozen: where the variable `CI` is set, it
    looks for what refers to that source, and Python 3.14 does not find a frozen object."""


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == 0:  # what a failed test has left is of use
        shutil.rmtree(session.config.stash.get(OWN_FOLDER, ""), ignore_errors=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Restore the levels of loggers: a test that sets one must not hide lines from a test that looks for them."""
    before = {each: each.level for each in _loggers()}
    try:
        return (yield)
    finally:
        for each in _loggers():
            if each.level != before.get(each, logging.NOTSET):
                each.setLevel(before.get(each, logging.NOTSET))


def _loggers() -> list[logging.Logger]:
    found = logging.Logger.manager.loggerDict.values()
    return [logging.root, *(each for each in found if isinstance(each, logging.Logger))]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments: dict[str, Any] = {
        name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames if name in pyfuncitem.funcargs
    }
    mark = pyfuncitem.get_closest_marker("virtual_time")
    if mark is None:
        asyncio.run(_opened(pyfuncitem.obj, arguments))
    else:
        from pilotage.testing import loop

        loop.run(_opened(pyfuncitem.obj, arguments), seed=mark.kwargs.get("seed", 0))
    return True


async def _opened(test: Callable[..., Coroutine[Any, Any, None]], arguments: dict[str, Any]) -> None:
    """Run a test with what it asked for, opened on the test's own loop where it has to be opened."""
    async with AsyncExitStack() as stack:
        for name, value in arguments.items():
            if isinstance(value, Opening):
                arguments[name] = await stack.enter_async_context(value.open())
        await test(**arguments)
