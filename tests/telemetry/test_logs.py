from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pilotage.controller import TerminalError
from pilotage.errors import BadRequest
from pilotage.meta.selectors.selectors import Selector
from pilotage.telemetry.lines import LineFormatter
from pilotage.telemetry.logs import configure_logging, log_context, logger, quiet


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("PILOTAGE_LOG_LEVELS", raising=False)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    monkeypatch.delenv("PILOTAGE_LOG_LEVELS", raising=False)
    configure_logging()  # forgets the levels of single loggers
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def lines() -> Callable[[], list[str]]:
    stream = io.StringIO()
    configure_logging("debug", stream, json=False)
    return lambda: stream.getvalue().splitlines()


@pytest.fixture
def events() -> Callable[[], list[dict[str, Any]]]:
    stream = io.StringIO()
    configure_logging(logging.DEBUG, stream, json=True)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_time_level_logger_message_and_fields(lines: Callable[[], list[str]]) -> None:
    logger("setup").info("Reconciled GPU", name="gpu-0", count=3, note="two words", none=None)
    [line] = lines()
    time, rest = line.split(" ", 1)
    assert len(time) == len("2026-01-02T03:04:05.678Z")
    assert rest == 'INFO    setup Reconciled GPU name=gpu-0 count=3 note="two words" none=None'


def test_json_has_the_same(events: Callable[[], list[dict[str, Any]]]) -> None:
    logger("setup").warning("odd", name="gpu-0", count=3, parts=["a", 1], level="mine")
    [event] = events()
    assert event.pop("time").endswith("Z")
    assert event == {
        "level": "warning",
        "logger": "setup",
        "message": "odd",
        "name": "gpu-0",
        "count": 3,
        "parts": ["a", 1],
        "level_": "mine",
    }


def test_every_level_is_there(events: Callable[[], list[dict[str, Any]]]) -> None:
    log = logger()
    log.debug("a")
    log.info("b")
    log.warning("c")
    log.error("d")
    assert [(event["level"], event["logger"]) for event in events()] == [
        ("debug", "pilotage"),
        ("info", "pilotage"),
        ("warning", "pilotage"),
        ("error", "pilotage"),
    ]


def test_what_is_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    configure_logging("WARNING", stream)
    logger("x").info("quiet")
    assert stream.getvalue() == ""


HOSTILE = ["a\nINFO fake", "a\r\nb", "\x1b[31m", "\u2028", "\x85", "\x00", "\ud800", 'say "hi"', "a=b", "", "\\"]


@pytest.mark.parametrize("value", HOSTILE)
def test_no_value_breaks_the_line(value: str, lines: Callable[[], list[str]]) -> None:
    log = logger("x")
    log.info(value, field=value)
    log.info("next")
    assert len(lines()) == 2
    assert all(line.isprintable() for line in lines())


@pytest.mark.parametrize("value", HOSTILE)
def test_json_keeps_every_value_on_one_line(value: str, events: Callable[[], list[dict[str, Any]]]) -> None:
    logger("x").info(value, field=value)
    [event] = events()
    assert event["field"] == event["message"] == value


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value",
    [
        Unprintable(),
        float("nan"),
        {1: {2}},
        {"a": Unprintable()},
        object(),
        ValueError("x"),
        "x" * 100_000,
        b"\xff",
        {(1, 2): 3},
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_odd_values_never_raise(value: object, as_json: bool) -> None:
    stream = io.StringIO()
    configure_logging(stream=stream, json=as_json)
    cycle: list[object] = []
    cycle.append(cycle)
    logger("x").info("odd", value=value, cycle=cycle)
    assert len(stream.getvalue().splitlines()) == 1
    assert len(stream.getvalue()) < 20_000
    if as_json:
        json.loads(stream.getvalue())


def test_an_exception_is_shown_below_its_line(lines: Callable[[], list[str]]) -> None:
    try:
        raise ValueError("bad\n2026-01-01T00:00:00.000Z INFO fake")
    except ValueError as error:
        logger("x").exception("failed", error=error)
    first, *trace = lines()
    assert "ERROR   x failed" in first
    assert trace[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") for line in trace)


def test_the_notes_of_an_error_are_shown_below_its_line() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream, json=False)
    try:
        error = KeyError("owner")
        error.add_note("in the second Pod")
        raise error
    except KeyError as raised:
        logger("x").exception("failed", error=raised)
    assert stream.getvalue().count("KeyError: 'owner'") == 1
    assert stream.getvalue().endswith("raise error\n    in the second Pod\n")


def test_an_error_that_is_not_a_field_is_named_by_its_traceback() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream, json=False)
    try:
        raise ValueError("bad")
    except ValueError:
        logger("x").exception("failed")
    assert stream.getvalue().endswith("    ValueError: bad\n")


def test_an_exception_is_one_field_in_json(events: Callable[[], list[dict[str, Any]]]) -> None:
    try:
        raise ValueError("bad")
    except ValueError as error:
        logger("x").exception("failed", error=error)
    [event] = events()
    assert event["error"] == "ValueError: bad"
    assert event["exception"].splitlines()[-1] == "ValueError: bad"


def _log_a_refusal() -> None:
    try:
        Selector.parse("app web")
    except BadRequest as error:
        logger("x").exception("failed", error=error)


@pytest.mark.parametrize("as_json", [False, True])
def test_of_an_error_of_the_library_the_traceback_has_the_lines_of_the_program(as_json: bool) -> None:
    stream = io.StringIO()
    configure_logging("info", stream, json=as_json)
    _log_a_refusal()
    assert "in _log_a_refusal" in stream.getvalue()
    assert "selectors.py" not in stream.getvalue()


def test_causes_in_the_program_stay_in_the_traceback_of_an_error_of_the_library() -> None:
    stream = io.StringIO()
    configure_logging("info", stream, json=False)
    try:
        try:
            raise ValueError("no power")
        except ValueError as error:
            raise TerminalError("give up") from error
    except TerminalError as error:
        logger("x").exception("failed", error=error)
    assert stream.getvalue().index('error="TerminalError: give up"') < stream.getvalue().index("    caused by:\n")
    assert stream.getvalue().endswith("ValueError: no power\n")


def test_a_cause_that_is_not_in_the_program_is_one_line_below_an_error_of_the_library() -> None:
    stream = io.StringIO()
    configure_logging("info", stream, json=False)
    try:
        raise TerminalError("give up") from OSError("disk is broken")
    except TerminalError as error:
        logger("x").exception("failed", error=error)
    assert stream.getvalue().endswith('from OSError("disk is broken")\n    caused by: OSError: disk is broken\n')


def test_an_error_that_is_wrapped_is_named_below_the_error_that_wraps_it() -> None:
    stream = io.StringIO()
    configure_logging("info", stream, json=False)
    try:
        raise TerminalError(ValueError("no text"))
    except TerminalError as error:
        logger("x").exception("failed", error=error)
    assert stream.getvalue().endswith('(ValueError("no text"))\n    caused by: ValueError: no text\n')


def test_below_info_the_traceback_of_an_error_of_the_library_is_whole(lines: Callable[[], list[str]]) -> None:
    _log_a_refusal()
    assert any("selectors.py" in line for line in lines())


def test_bound_and_context_fields_are_on_every_event(events: Callable[[], list[dict[str, Any]]]) -> None:
    log = logger("x").bind(a=1, b=1)
    with log_context(controller="db", b=0):
        with log_context(name="one"):
            log.info("in", a=2)
        log.info("out")
    log.info("after")
    assert [{key: event[key] for key in event.keys() - {"time", "level", "logger"}} for event in events()] == [
        {"message": "in", "controller": "db", "name": "one", "a": 2, "b": 1},
        {"message": "out", "controller": "db", "a": 1, "b": 1},
        {"message": "after", "a": 1, "b": 1},
    ]


async def test_each_task_has_its_own_context(events: Callable[[], list[dict[str, Any]]]) -> None:
    async def work(name: str) -> None:
        with log_context(name=name):
            await asyncio.sleep(0)
            logger("x").info("done")

    await asyncio.gather(work("a"), work("b"))
    assert [event["name"] for event in events() if event["logger"] == "x"] == ["a", "b"]


def test_standard_loggers_get_the_same_lines(lines: Callable[[], list[str]]) -> None:
    logging.getLogger("lib").warning("plain %s", "text")
    assert lines()[0].endswith("WARNING lib plain text")


def test_a_message_that_does_not_fit_its_arguments_is_not_lost() -> None:
    record = logging.LogRecord("lib", logging.INFO, "file", 1, "too few %s %s", ("x",), None)
    assert LineFormatter().format(record).endswith("INFO    lib too few %s %s ('x',)")


def test_fields_show_under_any_other_handler(caplog: pytest.LogCaptureFixture) -> None:
    logger("x").error("failed", name="a b")
    assert caplog.messages == ['failed name="a b"']
    assert caplog.records[0].filename == "test_logs.py"


def test_configuring_again_takes_the_place_of_the_first() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logging(stream=first)
    configure_logging(stream=second)
    logger("x").info("once")
    assert first.getvalue() == ""
    assert len(second.getvalue().splitlines()) == 1
    json.loads(second.getvalue())  # it is no terminal


def test_a_terminal_gets_lines() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    configure_logging(stream=stream)
    logger("x").info("hello")
    assert stream.getvalue().endswith("INFO    x hello\n")


def shown_at_debug(*names: str) -> list[str]:
    """Which of these loggers write what is logged at DEBUG."""
    return [name for name in names if logging.getLogger(name).isEnabledFor(logging.DEBUG)]


def test_debug_is_for_pilotage_and_the_programs_own_loggers_and_not_for_other_libraries() -> None:
    logger("tests.before")
    configure_logging("debug", io.StringIO())
    logger("tests.after")
    ours = ["pilotage", "pilotage.device", "pilotage.device.server", "tests.before", "tests.after"]
    assert shown_at_debug(*ours, "hpack.hpack", "asyncio", "another.library") == ours
    assert logging.getLogger("hpack").isEnabledFor(logging.INFO)
    configure_logging("info", io.StringIO())
    assert shown_at_debug(*ours) == []


def test_levels_are_set_by_logger_and_hold_for_its_children() -> None:
    levels: dict[str, int | str] = {"pilotage.cache": logging.WARNING, "hpack": "debug", "tests.levels": "DEBUG"}
    configure_logging("debug", io.StringIO(), levels=levels)
    names = ["pilotage.device", "pilotage.cache", "pilotage.cache.informer", "hpack.table", "tests.levels", "asyncio"]
    assert shown_at_debug(*names) == ["pilotage.device", "hpack.table", "tests.levels"]
    assert not logging.getLogger("pilotage.cache.informer").isEnabledFor(logging.INFO)
    configure_logging("info", io.StringIO(), levels={"": "debug"})
    assert shown_at_debug("hpack", "asyncio", "pilotage") == ["hpack", "asyncio", "pilotage"]


def test_a_logger_of_ours_under_one_with_a_level_keeps_that_level() -> None:
    configure_logging("debug", io.StringIO(), levels={"tests.parent": "error"})
    logger("tests.parent.child")
    assert shown_at_debug("tests.parent.child") == []


def test_the_environment_wins_over_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOTAGE_LOG_LEVELS", "error, pilotage.device=debug,hpack=info")
    configure_logging("info", io.StringIO(), levels={"pilotage.device": "error", "tests.kept": "debug"})
    assert shown_at_debug("pilotage.device", "tests.kept", "pilotage", "hpack") == ["pilotage.device", "tests.kept"]
    assert not logging.getLogger("pilotage").isEnabledFor(logging.WARNING)
    assert logging.getLogger("hpack").isEnabledFor(logging.INFO)


def test_what_is_no_level_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'loud' is not a log level: use debug, info"):
        configure_logging("loud")
    monkeypatch.setenv("PILOTAGE_LOG_LEVELS", "hpack=loud")
    with pytest.raises(ValueError, match="PILOTAGE_LOG_LEVELS=hpack=loud: 'loud' is not a log level"):
        configure_logging()


@pytest.mark.covers("T188")
@pytest.mark.parametrize(("level", "shown"), [("info", [0]), ("debug", [0, 1]), ("v3", [0, 1, 2, 3])])
def test_details_are_shown_up_to_the_verbosity(level: str, shown: list[int]) -> None:
    stream = io.StringIO()
    configure_logging(level, stream, json=True)
    log = logger("pilotage.verbose")
    for number in range(6):
        log.v(number).info("detail", number=number)
    assert [json.loads(line)["number"] for line in stream.getvalue().splitlines()] == shown
    assert [number for number in range(6) if log.v(number).enabled] == shown


@pytest.mark.parametrize(("level", "name"), [(1, "debug"), (2, "v2"), (6, "v6"), (9, "v9")])
def test_a_line_below_debug_has_its_verbosity(level: int, name: str) -> None:
    for json_lines, expected in ((True, name), (False, name.upper())):
        stream = io.StringIO()
        configure_logging(f"v{level}", stream, json=json_lines)
        logger("pilotage.verbose").v(level).info("detail")
        line = stream.getvalue()
        assert (json.loads(line)["level"] if json_lines else line.split()[1]) == expected


def test_a_line_has_a_list_of_texts_without_their_quotes(lines: Callable[[], list[str]]) -> None:
    logger("setup").info("Reconciled", triggers=["create default/a", "a retry"], parts=["a", 1])
    assert lines()[0].endswith("""Reconciled triggers="[create default/a, a retry]" parts="['a', 1]\"""")


def test_the_traceback_of_the_same_failure_of_an_object_is_shown_once() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream, json=False)
    log = logger("retried")

    def fail(name: str, text: str) -> None:
        try:
            raise ValueError(text)
        except ValueError as error:
            log.exception("failed", controller="web", namespace="default", name=name, error=error)

    for _ in range(3):
        fail("a", "no power")
    assert stream.getvalue().count("Traceback") == 1
    assert stream.getvalue().count("ValueError: no power") == 3, "once for each failure, also for the first"
    fail("b", "no power")  # another object
    fail("a", "no disk")  # another failure
    assert stream.getvalue().count("Traceback") == 3


async def test_what_is_quiet_logs_warnings_alone_in_its_tasks_too() -> None:
    stream = io.StringIO()
    configure_logging("info", stream, json=True)

    async def work() -> None:
        logger("setup").info("working")
        logger("setup").warning("slow")

    with quiet():
        task = asyncio.get_running_loop().create_task(work())
    logger("setup").info("other")
    await task
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["other", "slow"]


async def test_what_is_quiet_is_shown_with_the_level_debug(lines: Callable[[], list[str]]) -> None:
    with quiet():
        logger("setup").info("working")
    assert len(lines()) == 1
