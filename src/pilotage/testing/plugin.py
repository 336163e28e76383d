"""The pytest plugin: the fixture `pilotage_env` and its parts, and async tests and fixtures that use them.

It is loaded in every run of pytest where Pilotage is installed, so it imports the rest of Pilotage when a fixture is
used. Async tests and fixtures that do not use these fixtures are left to other plugins.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import random
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from pilotage.client.client import Client
    from pilotage.client.config import Config
    from pilotage.cluster.cluster import Cluster
    from pilotage.manager.manager import Manager
    from pilotage.manager.options import ManagerOptions
    from pilotage.testing.chaos.session import Session
    from pilotage.testing.environment import Environment
    from pilotage.testing.testloop import TestLoop

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_FIXTURE = "pilotage_env"
_CHAOS_SECTION = "pilotage chaos"
_LONGEST_NAME = 150
_LOOP_FIXTURE = "_pilotage_loop"
_LOOP = pytest.StashKey["TestLoop"]()
_ENVIRONMENT = pytest.StashKey["Environment"]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _leave_assertions(pluginmanager)
    group = parser.getgroup("pilotage", "tests of reconcilers")
    group.addoption(
        "--pilotage-seed",
        metavar="SEED",
        default="0",
        help="the seed of the order of tasks in tests with pilotage_env: a number (default: 0), or random; the report "
        "of a failed test shows it",
    )
    group.addoption(
        "--pilotage-timeout",
        metavar="SECONDS",
        type=float,
        default=10 * 86400.0,
        help="the time, usually virtual, after which an async test with pilotage_env fails (default: ten days)",
    )
    group.addoption(
        "--pilotage-cluster",
        action="store_true",
        help="run tests with pilotage_env not on the embedded API server but on a cluster, which is found as kubectl "
        "finds it; what they create is deleted",
    )
    group.addoption(
        "--pilotage-report",
        metavar="DIR",
        type=Path,
        default=None,
        help="leave the live page of each failed test with pilotage_env as a file in this folder: it has the objects "
        "and reconciles of the test inside, and opens without a server",
    )
    group.addoption(
        "--pilotage-chaos",
        choices=("quick", "ci", "night"),
        default=None,
        help="how long tests with the marker pilotage_chaos look for failures: quick (at most 25 plans), ci (a minute "
        "each) or night (eight hours each); by default, as many plans as the marker says",
    )
    group.addoption(
        "--pilotage-chaos-all",
        action="store_true",
        help="run every test with pilotage_env as if it had the marker pilotage_chaos",
    )
    group.addoption(
        "--pilotage-chaos-seconds",
        metavar="SECONDS",
        type=float,
        default=None,
        help="how long each test with the marker pilotage_chaos looks for failures",
    )
    group.addoption(
        "--pilotage-chaos-plans",
        metavar="N",
        type=int,
        default=None,
        help="how many plans each test with the marker pilotage_chaos tries; it replaces the number of the marker",
    )
    group.addoption(
        "--pilotage-chaos-plan",
        metavar="FILE",
        type=Path,
        default=None,
        help="run tests with the marker pilotage_chaos with the plan of this file alone",
    )
    group.addoption("--pilotage-kubeconfig", metavar="FILE", default="", help="the kubeconfig of --pilotage-cluster")
    group.addoption("--pilotage-context", metavar="NAME", default="", help="the context of --pilotage-cluster")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "pilotage_chaos(plans=50): run the test again for each plan of faults, with fixtures of its own; a run that "
        "ends otherwise than the undisturbed one is a failure",
    )
    if config.option.pilotage_seed == "random":  # as a number, which the workers of pytest-xdist are given too
        config.option.pilotage_seed = str(random.randrange(2**31))  # noqa: S311 - not for secrets
    try:
        int(config.option.pilotage_seed)
    except ValueError:
        raise pytest.UsageError(f"--pilotage-seed={config.option.pilotage_seed}: not a number, nor random") from None


def pytest_report_header(config: pytest.Config) -> str | None:
    if not config.option.pilotage_cluster:
        return None
    from pilotage.client.config import without_secrets

    found = _config(config)
    return f"pilotage: tests run on {without_secrets(found.url)} ({found.source})"


@pytest.fixture
def _pilotage_loop(request: pytest.FixtureRequest) -> Iterator[TestLoop]:
    from pilotage.testing.testloop import TestLoop

    session = _chaos_of(request.node)
    with TestLoop(partial(_new_loop, request.config) if session is None else lambda: session.loop) as loop:
        request.node.stash[_LOOP] = loop
        yield loop


@pytest.fixture
def pilotage_manager_options() -> ManagerOptions:
    """The options of the manager; a test suite overrides this fixture to set them."""
    from pilotage.manager.options import ManagerOptions

    return ManagerOptions()


@pytest.fixture
def pilotage_env(
    request: pytest.FixtureRequest, _pilotage_loop: TestLoop, pilotage_manager_options: ManagerOptions
) -> Iterator[Environment]:
    """An embedded API server in memory, a manager on it and a client, all on a loop with virtual time; with
    `--pilotage-cluster` the same on a cluster."""
    opened = _environment(pilotage_manager_options, request.config, _chaos_of(request.node))
    with _pilotage_loop.opened(opened) as environment:
        request.node.stash[_ENVIRONMENT] = environment
        yield environment


@pytest.fixture
def pilotage_cluster(pilotage_env: Environment) -> Cluster:
    """The API server of `pilotage_env`."""
    return pilotage_env.cluster


@pytest.fixture
def pilotage_manager(pilotage_env: Environment) -> Manager:
    """The manager of `pilotage_env`."""
    return pilotage_env.manager


@pytest.fixture
def pilotage_client(pilotage_env: Environment) -> Client:
    """The test's client of `pilotage_env`, which reads and writes live."""
    return pilotage_env.client


def pytest_itemcollected(item: pytest.Item) -> None:
    if _is_ours(item) and isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        # A plugin that runs all async tests has made this an item of its own class, with another loop.
        item.runtest = partial(pytest.Function.runtest, item)  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A test under chaos: first all of its runs, then one that passes or fails by what they have shown."""
    is_chaos = item.get_closest_marker("pilotage_chaos") is not None or item.config.option.pilotage_chaos_all
    if not is_chaos or not _is_ours(item) or item.config.option.pilotage_cluster:
        return None
    from _pytest.runner import runtestprotocol

    from pilotage.testing.chaos.tests import VERDICT, plans_of, verdict_of

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    item.stash[VERDICT] = verdict_of(item, plans_of(item) or 0)
    runtestprotocol(item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around the hooks of plugins that would run it on another loop
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    loop = pyfuncitem.stash.get(_LOOP, None)
    if loop is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return (yield)
    from pilotage.testing.testloop import within

    test, seconds = pyfuncitem.obj, pyfuncitem.config.option.pilotage_timeout
    with pytest.MonkeyPatch.context() as patch:
        if _is_judged(pyfuncitem):
            from pilotage.testing.chaos.tests import VERDICT

            patch.setattr(pyfuncitem, "obj", lambda **given: pyfuncitem.stash[VERDICT].check())
            return (yield)
        patch.setattr(pyfuncitem, "obj", _returning(lambda **given: within(seconds, test(**given)), loop))
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    function = fixturedef.func
    is_generator = inspect.isasyncgenfunction(function)
    is_async = is_generator or inspect.iscoroutinefunction(function)
    if not is_async or fixturedef.scope != "function" or not _is_ours(request.node):
        return (yield)
    loop: TestLoop = request.getfixturevalue(_LOOP_FIXTURE)
    bound = _bound(function, request.instance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixturedef, "func", _yielding(bound, loop) if is_generator else _returning(bound, loop))
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    with _own_frames_hidden(call.excinfo.value if call.excinfo is not None and _is_ours(item) else None):
        report = yield
    if _chaos_of(item) is not None:
        if call.excinfo is not None:
            from pilotage.testing.chaos.tests import ERROR

            item.stash.setdefault(ERROR, call.excinfo.value)
        return report
    if _is_judged(item) and call.when == "call" and report.passed:
        from pilotage.testing.chaos.tests import VERDICT

        report.sections.append((_CHAOS_SECTION, str(item.stash[VERDICT].report or "")))
    environment = item.stash.get(_ENVIRONMENT, None)
    if report.failed and environment is not None and not _is_judged(item):
        report.sections.append(("pilotage", _report(environment, item.config)))
        if call.when == "call" and (story := environment.story()):
            report.sections.append(("pilotage: reconciles", story))
        if (folder := item.config.option.pilotage_report) is not None and call.when != "teardown":
            report.sections.append(("pilotage report", _written_page(environment, item, folder, report.longreprtext)))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """With --pilotage-chaos, also the reports of tests that pass are shown."""
    if config.option.pilotage_chaos is None:
        return
    for report in terminalreporter.getreports("passed"):
        for name, text in report.sections:
            if name == _CHAOS_SECTION:
                terminalreporter.write_line(text)


@contextmanager
def _own_frames_hidden(error: BaseException | None) -> Iterator[None]:
    """Let tracebacks end at the line of the test, or of the program, that called Pilotage. `--full-trace` shows all.

    pytest leaves out a frame whose module has `__tracebackhide__`.
    """
    chain: list[BaseException] = []
    while error is not None and not any(error is each for each in chain):
        chain.append(error)
        error = error.__cause__ or error.__context__
    frames = [frame for each in chain for frame, _ in walk_tb(each.__traceback__)]
    modules = [frame.f_globals for frame in frames if frame.f_code.co_filename.startswith(_PACKAGE)]
    for module in modules:
        module["__tracebackhide__"] = True
    try:
        yield
    finally:
        for module in modules:
            module.pop("__tracebackhide__", None)


def _leave_assertions(pluginmanager: pytest.PytestPluginManager) -> None:
    """Do not have the assertions of Pilotage rewritten. pytest does that with all modules of a distribution that has a
    plugin, and parsing several hundred of them takes seconds."""
    hook: Any = getattr(pluginmanager, "rewrite_hook", None)
    for name in ("_must_rewrite", "_marked_for_rewrite_cache"):  # without these, it is only slower
        marked = getattr(hook, name, None)
        if isinstance(marked, set):
            marked.discard("pilotage")
        elif isinstance(marked, dict):
            marked.clear()


def _is_ours(node: Any) -> bool:
    return _FIXTURE in getattr(node, "fixturenames", ())


def _new_loop(config: pytest.Config) -> AbstractEventLoop:
    if config.option.pilotage_cluster:
        from pilotage.testing.remoteloop import RemoteLoop

        return RemoteLoop()
    from pilotage.testing.loop import VirtualLoop

    return VirtualLoop(int(config.option.pilotage_seed))


def _is_judged(item: Any) -> bool:
    """Whether the runs of a test under chaos have ended: it passes or fails by them."""
    if item.get_closest_marker("pilotage_chaos") is None and not item.config.option.pilotage_chaos_all:
        return False
    from pilotage.testing.chaos.tests import SESSION, VERDICT

    return VERDICT in item.stash and SESSION not in item.stash


def _chaos_of(node: Any) -> Session | None:
    """The run of a test under chaos that is in progress."""
    if node.get_closest_marker("pilotage_chaos") is None and not node.config.option.pilotage_chaos_all:
        return None
    from pilotage.testing.chaos.tests import SESSION

    session: Session | None = node.stash.get(SESSION, None)
    return session


async def _environment(options: ManagerOptions, config: pytest.Config, session: Session | None = None) -> Any:
    if session is not None:
        from pilotage.testing.chaos.environment import ChaosEnvironment

        async with ChaosEnvironment(session, options) as disturbed:
            yield disturbed
        return
    if config.option.pilotage_cluster:
        from pilotage.testing.remote import remote_environment

        async with remote_environment(_config(config), options) as environment:
            yield environment
        return
    from pilotage.testing.environment import Environment

    async with Environment(options=options) as environment:
        yield environment


def _config(config: pytest.Config) -> Config:
    from pilotage.client.config import load
    from pilotage.errors import PilotageError

    try:
        return load(config.option.pilotage_kubeconfig, config.option.pilotage_context)
    except (PilotageError, OSError) as error:
        raise pytest.UsageError(f"--pilotage-cluster: {error}") from None


def _report(environment: Environment, config: pytest.Config) -> str:
    lines = (
        []
        if config.option.pilotage_cluster
        else [f"the order of tasks can be repeated with --pilotage-seed={config.option.pilotage_seed}"]
    )
    return "\n\n".join(filter(None, (*lines, environment.report())))


def _written_page(environment: Environment, item: pytest.Item, folder: Path, failure: str) -> str:
    """Write the page of a failed test; its path, or why there is none."""
    try:
        page = item.stash[_LOOP].run(environment.page(item.nodeid, failure))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file_name(item.nodeid)
        path.write_bytes(page)
    except Exception as error:  # the report of the test matters more
        return f"no page was written: {type(error).__name__}: {error}"
    return str(path)


def file_name(test: str) -> str:
    """The name of the file of a test: `tests.test_greetings.test_hello.html`. Where the name of the test has other
    characters, or is long, a hash keeps it apart from others."""
    plain = test.replace(".py::", "::").replace("::", ".").replace("/", ".")
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip(".-")[:_LONGEST_NAME]
    digest = "" if safe == plain else f"-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
    return f"{safe}{digest}.html"


def _bound(function: Callable[..., Any], instance: object) -> Callable[..., Any]:
    """A fixture that is a method, on the object that the test is a method of."""
    owner = getattr(function, "__self__", None)
    if instance is None or owner is None or not isinstance(instance, type(owner)):
        return function
    bound: Callable[..., Any] = function.__func__.__get__(instance)  # type: ignore[attr-defined]  # it is a method
    return bound


def _returning(function: Callable[..., Any], loop: TestLoop) -> Callable[..., Any]:
    return lambda **arguments: loop.run(function(**arguments))


def _yielding(function: Callable[..., Any], loop: TestLoop) -> Callable[..., Any]:
    def fixture(**arguments: Any) -> Iterator[Any]:
        with loop.opened(function(**arguments)) as value:
            yield value

    return fixture
