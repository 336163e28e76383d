"""Every duration and every count that a user can give is checked: each field of options, each parameter of a public
call. A new one that is forgotten fails here.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import pilotage as pt
from pilotage.cache.lister import Lister
from pilotage.manager.options import ControllerDefaults
from pilotage.meta.bounds.optionfields import CHECK
from pilotage.storage import open_storage
from pilotage.storage.history import History
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.sqlite.direct import DirectSqliteStorage
from pilotage.testing import Environment
from pilotage.types.core.v1 import Namespace
from tests.test_options import OPTIONS, SOURCE

SECONDS = {"SecondsField", "OptionalSecondsField", "WholeSecondsField"}
PLAIN_NUMBERS = {
    "Backoff.factor": "a factor",
    "Backoff.jitter": "a share",
    "BackoffOptions.factor": "a factor",
    "BackoffOptions.jitter": "a share",
    "Bandwidth.bytes_per_second": "a rate",
    "ControllerOptions.low_priority": "a priority",
    "DeviceServerOptions.directory_mode": "bits",
    "DeviceServerOptions.socket_mode": "bits",
    "FakeOptions.failures": "a probability",
    "FakeOptions.removals": "a probability",
    "FakeOptions.seed": "any number",
    "ReflectorOptions.watch_seconds": "a range, for tests",
    "Retries.jitter": "a share",
    "ServerOptions.connects_per_second": "a rate",
    "ServerOptions.receive_share": "a share",
    "ServerOptions.requests_per_second": "a rate",
    "WatchCacheOptions.subscriptions_per_second": "a rate",
    "Telemetry": "readings of a GPU",
    "ECCErrors": "readings of a GPU",
    "Target": "parsed from text, with an error of its own",
    "Fault": "made by Environment.fail",
    "WorkStatistics": "results",
    "ActiveWork": "a result",
    "Reply": "a result",
    "Invocation": "made by the client of the Device API",
    "NVMLOptions.ignored_xids": "numbers of errors",
    "ControllerDefaults.group_kind_concurrency": "counts by kind, tested below",
    "ResolvedOptions": "made from checked options",
    "Failure": "a result",
    "Report": "a result",
}
"""Numbers in options that are neither durations nor counts, and classes that are no options, with the reason."""


def modules() -> list[Any]:
    """All modules but those of the built-in types, and the commands, whose flags are checked when they are parsed."""
    left_out = ("pilotage.types.", "pilotage.cli.", "pilotage.device.wire.")
    names = [each.name for each in pkgutil.walk_packages(pt.__path__, "pilotage.")]
    return [importlib.import_module(name) for name in names if not name.startswith(left_out)]


def option_classes() -> dict[str, Any]:
    """The dataclasses with options: by their names, and those that a package exports."""
    exported = {
        name for stub in SOURCE.rglob("*.pyi") for name in re.findall(r" as (\w+)$", stub.read_text(), re.MULTILINE)
    }
    exported -= {name for name in exported if name in PLAIN_NUMBERS}
    return {
        name: found
        for module in modules()
        for name, found in vars(module).items()
        if inspect.isclass(found) and found.__module__ == module.__name__ and dataclasses.is_dataclass(found)
        if OPTIONS.fullmatch(name)
        or name in exported
        or any(CHECK in each.metadata for each in dataclasses.fields(found))
        if name not in PLAIN_NUMBERS
    }


OPTION_CLASSES = option_classes()


def numbers_of(options: Any) -> list[Any]:
    """The fields that are durations or other numbers and can be given."""
    kinds = re.compile(r"\b(int|float|timedelta|Duration|\w*SecondsField)\b")
    return [
        each for each in dataclasses.fields(options) if kinds.search(str(each.type)) and "Callable" not in each.type
    ]


def amounts() -> list[Any]:
    """Each duration and each count of each class of options."""
    return [
        pytest.param(options, each, id=f"{name}.{each.name}")
        for name, options in OPTION_CLASSES.items()
        for each in numbers_of(options)
        if f"{name}.{each.name}" not in PLAIN_NUMBERS and not each.name.startswith("_")
    ]


def made(options: Any, **given: Any) -> Any:
    """An object of a class of options; other required fields are any value, or 1 for a number."""
    needed = [
        each
        for each in dataclasses.fields(options)
        if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
    ]
    return options(**{**{each.name: 1 if each in numbers_of(options) else None for each in needed}, **given})


@pytest.mark.parametrize(("options", "field"), amounts())
def test_each_duration_and_count_of_the_options_is_checked_when_they_are_made(options: Any, field: Any) -> None:
    is_duration = field.type in SECONDS or str(field.type).startswith("float")
    for bad in (math.nan, True, "30", object(), *(() if is_duration else (1.5, -2))):
        with pytest.raises(pt.InvalidDefinition, match=re.escape(f"{field.name}={bad!r}: must be ")):
            made(options, **{field.name: bad})


@pytest.mark.parametrize(
    ("options", "field"), [each for each in amounts() if getattr(each.values[1], "type", "") in SECONDS]
)
def test_each_duration_of_the_options_may_be_a_timedelta_and_is_read_as_seconds(options: Any, field: Any) -> None:
    check = field.metadata[CHECK]
    assert check(timedelta(seconds=7), field.name) == 7


STRUCTS = [
    (found, field)
    for module in modules()
    for name, found in vars(module).items()
    if inspect.isclass(found) and issubclass(found, msgspec.Struct) and found.__module__ == module.__name__
    if OPTIONS.fullmatch(name) or name == "Enqueue"
    for field, kind in found.__annotations__.items()
    if "float" in str(kind) and f"{name}.{field}" not in PLAIN_NUMBERS
]


@pytest.mark.parametrize(("options", "field"), STRUCTS)
def test_each_duration_of_a_struct_is_checked_and_may_be_a_timedelta(options: Any, field: str) -> None:
    needed = {"request": pt.Request("a")} if options is pt.Enqueue else {}
    assert getattr(options(**needed, **{field: timedelta(seconds=7)}), field) == 7
    for bad in (math.nan, -1, True, "30"):
        with pytest.raises(pt.InvalidDefinition, match=re.escape(f"{field}={bad!r}: must be seconds or a timedelta")):
            options(**needed, **{field: bad})


def test_the_structs_with_durations_are_found() -> None:
    assert {options.__name__ for options, _ in STRUCTS} == {"BackoffOptions", "Enqueue", "Result"}


def test_a_timedelta_in_the_options_of_a_manager_is_read_as_seconds() -> None:
    options = pt.ManagerOptions(graceful_shutdown_timeout=timedelta(seconds=30), lease_duration=pt.Duration("1m"))
    assert (options.graceful_shutdown_timeout, options.lease_duration) == (30, 60)


def test_the_numbers_of_workers_by_kind_are_counts() -> None:
    with pytest.raises(
        pt.InvalidDefinition, match=re.escape("group_kind_concurrency['Pod']=-1: must be a whole number")
    ):
        ControllerDefaults(group_kind_concurrency={"Pod": -1})


PLAIN_PARAMETERS = {
    "Reconcile.seconds": "a result",
    "Reconcile.waited": "a result",
    "Write.seconds": "a result",
    "History.time_of.moment": "a time of the loop",
    "ActiveWork.seconds": "a result",
    "Backoff.factor": "a factor",
    "Backoff.jitter": "a share",
    "BucketRateLimiter.rate": "a rate",
    "InformerEvent.seconds": "a result",
    "Duration.of.time": "a timedelta, by its meaning",
    "Duration.units": "as those of a timedelta",
    "Enqueue.after": "converted: see tests/controller/test_values.py",
    "Result.requeue_after": "converted: see tests/controller/test_values.py",
    "Invocation.timeout": "made by the client of the Device API",
    "Maximum.value": "a bound of a schema",
    "Minimum.value": "a bound of a schema",
    "MultipleOf.value": "a bound of a schema",
    "NotIdle.seconds": "a result",
    "Quantity.value": "a quantity",
    "Registration.now": "a time",
    "Registration.resync": "made by an informer",
    "ShutdownTimeout.seconds": "a result",
    "StatusDetails.retry_after_seconds": "the wire has an integer",
    "ObjectMeta.deletion_grace_period_seconds": "the wire has an integer",
    "ListOptions.timeout_seconds": "made by the client",
    "DeleteOptions.grace_period_seconds": "made by the client",
    "Report.seconds": "a result",
    "Telemetry.power_limit_watts": "a reading",
    "Telemetry.power_usage_watts": "a reading",
    "RestListerWatcher.silence_seconds": "made by the client",
}
"""Numbers that are given to public calls and are no durations, with the reason."""

ASKED_BY_THE_MANAGER = {"busy", "idle", "failing"}
"""Methods of sources and controllers that the manager calls with seconds."""


def exported() -> Iterator[Any]:
    """What the packages export, each once."""
    found = {
        (module, name)
        for stub in sorted(SOURCE.rglob("__init__.pyi"))
        if "types" not in stub.parts
        for module, name in re.findall(r"^from (\S+) import (\w+) as", stub.read_text(), re.MULTILINE)
    }
    for module, name in sorted(found):
        yield getattr(importlib.import_module(module), name, None)


def parameters() -> Iterator[tuple[str, inspect.Parameter]]:
    """The parameters of public calls, as `Manager.start.timeout`; of a constructor, as `Timer.period`."""
    for one in exported():
        calls = [(one.__name__, one)] if inspect.isfunction(one) or inspect.isclass(one) else []
        if inspect.isclass(one):
            ours = [vars(each) for each in one.__mro__ if each.__module__.startswith("pilotage")]
            functions = {
                name: getattr(each, "__func__", each) for each in reversed(ours) for name, each in each.items()
            }
            calls += [(f"{one.__name__}.{name}", each) for name, each in functions.items() if inspect.isfunction(each)]
        for name, call in calls:
            if not name.rpartition(".")[2].startswith("_") and name.rpartition(".")[2] not in ASKED_BY_THE_MANAGER:
                with contextlib.suppress(
                    ValueError, TypeError, NameError
                ):  # no signature, or a type that is not imported
                    yield from ((f"{name}.{each.name}", each) for each in inspect.signature(call).parameters.values())


DURATION_NAMES = re.compile("timeout|seconds|duration|interval|period|delay|after|horizon|deadline|grace|resync")


def test_each_duration_that_a_public_call_takes_may_be_a_timedelta() -> None:
    """mypy then requires that the call converts it: `Seconds` is no number."""
    wrong = []
    for name, parameter in parameters():
        kind = str(parameter.annotation)
        is_number = re.search(r"\b(float|timedelta)\b", kind) and "Callable" not in kind
        is_named = DURATION_NAMES.search(parameter.name) and re.search(r"\bint\b", kind)
        in_options = name.partition(".")[0] in OPTION_CLASSES or isinstance(parameter.default, str)
        if (is_number or is_named) and not in_options and name not in PLAIN_PARAMETERS:
            wrong.append(f"{name}: {kind}")
    assert sorted(wrong) == []


UNCHECKED_COUNTS = {
    *("DirectSqliteStorage.list.limit", "SqliteStorage.list.limit", "Storage.list.limit"),  # called by the server
    *("ListOptions.limit", "Fault.times"),  # made by the client and by the environment
}
COUNT_NAMES = re.compile("limit|^max_|processes|burst|attempts|steps|times|concurren|_bytes")


async def _never() -> None:
    raise AssertionError("started in spite of a wrong count")


async def _given(options: dict[str, Any]) -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.client.list(Namespace, **options)


def _failing(bad: Any) -> object:
    return Environment().fail("get", Namespace, RuntimeError(), times=bad)


def _cached(bad: Any) -> object:
    return Lister({}, Namespace, lambda: "").list(limit=bad)


COUNTS: dict[str, Callable[[Any], object]] = {
    "BucketRateLimiter.burst": lambda bad: pt.workqueue.BucketRateLimiter(burst=bad),
    "Cache.list.limit": _cached,
    "CachedClient.list.limit": lambda bad: asyncio.run(_given({"limit": bad})),
    "Client.list.limit": lambda bad: asyncio.run(_given({"limit": bad, "resource_version": "0"})),
    "DirectSqliteStorage.max_value_bytes": lambda bad: DirectSqliteStorage("unused.db", max_value_bytes=bad),
    "Environment.fail.times": _failing,
    "GPUs.list.limit": lambda bad: asyncio.run(_given({"limit": bad})),
    "Informer.list.limit": _cached,
    "InformerGroup.list.limit": _cached,
    "ItemFastSlowRateLimiter.max_fast_attempts": lambda bad: pt.workqueue.ItemFastSlowRateLimiter(1, 2, bad),
    "Lister.list.limit": _cached,
    "SqliteStorage.max_value_bytes": lambda bad: SqliteStorage("unused.db", max_value_bytes=bad),
    "SqliteStorage.open.max_history_bytes": lambda bad: History(1, bad),
    "SqliteStorage.open.max_value_bytes": lambda bad: asyncio.run(SqliteStorage.open("unused.db", max_value_bytes=bad)),
    "SqliteStorage.max_history_bytes": lambda bad: History(1, bad),
    "WorkTracker.limit": lambda bad: pt.manager.WorkTracker(limit=bad),
    "gather.limit": lambda bad: asyncio.run(pt.workqueue.gather([], limit=bad)),
    "open_served_storage.max_history_bytes": lambda bad: asyncio.run(open_storage("memory:", max_history_bytes=bad)),
    "open_storage.max_history_bytes": lambda bad: asyncio.run(open_storage("memory:", max_history_bytes=bad)),
    "run_processes.processes": lambda bad: pt.manager.run_processes(_never, bad),
}
"""How each count of a public call is given."""


def test_each_count_that_a_public_call_takes_is_known_here() -> None:
    found = {
        name
        for name, parameter in parameters()
        if COUNT_NAMES.search(parameter.name) and re.search(r"\bint\b", str(parameter.annotation))
        if name.partition(".")[0] not in OPTION_CLASSES.keys() | PLAIN_NUMBERS.keys() - {"Fault"}
    }
    assert sorted(found - UNCHECKED_COUNTS) == sorted(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("bad", [-1, True, 1.5])
def test_each_count_that_a_public_call_takes_is_checked(
    name: str, bad: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    argument = name.rpartition(".")[2]
    with pytest.raises(pt.InvalidDefinition, match=f"{argument}={bad}: must be a whole number"):
        COUNTS[name](bad)
    assert list(tmp_path.iterdir()) == [], "it is checked before a file is created"
