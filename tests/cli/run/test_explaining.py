"""`--explain`: why each reconcile runs and what it changes, on the terminal of the program."""

from __future__ import annotations

import argparse
import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotage.cli.program.target import load_target
from pilotage.cli.run.arguments import Flags, RunParser, add_arguments
from pilotage.cli.run.execution import configure
from pilotage.cli.run.explaining import explained
from pilotage.cli.run.flags import flags_of
from pilotage.cli.run.program import Program
from pilotage.kit.console.errors import CommandError, NotReconciled
from pilotage.kit.console.terminal import Terminal
from pilotage.telemetry.logs import configure_logging
from tests import forked
from tests.cli.run.greetings import KIND, OPERATOR, write_object, write_operator

LOGGING = (
    KIND
    + """
log = pt.logger("hello")


class GreetingReconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        greeting = await self.client.get(Greeting, request)
        log.info("Looked at it", outcome="created")
        try:
            greeting.spec.nothing
        except AttributeError as error:
            log.exception("That was odd", error=error)
        if greeting.spec.text == "bad":
            raise ValueError("the text is bad")

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Greeting).complete(self)
"""
)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    configure_logging()
    root.handlers[:] = handlers
    root.setLevel(level)


class Screen(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """What it shows, without times and durations."""
        text = re.sub(r"(?m)^\d\d:\d\d:\d\d ", "", self.getvalue())
        return [line.rstrip() for line in re.sub(r"[0-9.e-]+ ms", "TIME", text).splitlines()]


async def shown(flags: Flags, text: str = OPERATOR) -> Screen:
    """A terminal after a run of an operator."""
    screen = Screen()
    terminal = Terminal(screen, columns=lambda: 200)
    terminal.shows_progress = False  # its lines depend on real time
    configure(flags, terminal)
    target = load_target(str(write_operator(Path(), text)))
    try:
        await Program(target, flags, terminal, "hello").run()
    except NotReconciled:
        assert flags.timeout
    return screen


def flags(folder: Path, text: str = "hello", **more: object) -> Flags:
    chosen = {"storage": "memory:", "filename": (write_object(folder, "a", text),), "until_idle": True} | more
    return Flags(**chosen)  # type: ignore[arg-type]  # checked by the dataclass's users


@pytest.mark.virtual_time
@pytest.mark.usefixtures("own_imports")
async def test_a_terminal_shows_reconciles_and_no_machinery(tmp_path: Path) -> None:
    assert (await shown(flags(tmp_path))).lines() == [
        "INFO  run         Running hello.py on an API server in this process (memory:; what it stores is lost at the "
        "end)",
        "INFO  run         Installed Greeting (greetings.pilotage.dev/v1)",
        "INFO  run        default/a  Applied Greeting",
        "#1 greeting default/a",
        "         because  it existed at the start",
        "         wrote    create ConfigMap default/a: data.text: 'hello'",
        "         result   done in TIME",
        "INFO  run                   Everything is reconciled  seconds=0.0",
    ]


@pytest.mark.virtual_time
@pytest.mark.usefixtures("own_imports")
async def test_log_lines_of_a_reconcile_are_among_its_lines_with_code(tmp_path: Path) -> None:
    lines = (await shown(flags(tmp_path), LOGGING)).lines()
    begin = lines.index("#1 greeting default/a")
    assert lines[begin : begin + 6] == [
        "#1 greeting default/a",
        "         because  it existed at the start",
        "         log      Looked at it outcome=created",
        "         error    That was odd: AttributeError: 'GreetingSpec' object has no attribute 'nothing'",
        "                  hello.py:25 in reconcile: greeting.spec.nothing",
        "         result   wrote nothing (TIME)",
    ]


@pytest.mark.virtual_time
@pytest.mark.usefixtures("own_imports")
async def test_log_lines_of_a_reconcile_in_a_thread_are_among_its_lines(tmp_path: Path) -> None:
    text = (
        LOGGING.replace("async def reconcile", "def reconcile")
        .replace("await ", "")
        .replace("self.client.get(Greeting, request)", "pt.wait(self.client.get(Greeting, request))")
    )
    lines = (await shown(flags(tmp_path), text)).lines()
    begin = lines.index("#1 greeting default/a")
    assert lines[begin + 2] == "         log      Looked at it outcome=created"
    assert lines[begin + 5] == "         result   wrote nothing (TIME)"


@pytest.mark.virtual_time
@pytest.mark.usefixtures("own_imports")
async def test_an_error_has_its_line_of_code_once_and_no_log_line(tmp_path: Path) -> None:
    lines = (await shown(flags(tmp_path, "bad", timeout=0.02))).lines()
    begin = lines.index("#1 greeting default/a")
    assert lines[begin + 1 : begin + 5] == [
        "         because  it existed at the start",
        "         error    ValueError: the text is bad (TIME)",
        '                  hello.py:22 in reconcile: raise ValueError("the text is bad")',
        "#2 greeting default/a error again, as #1: ValueError: the text is bad (TIME)",
    ]
    assert not [line for line in lines if "Reconciler error" in line]


@pytest.mark.virtual_time
@pytest.mark.usefixtures("own_imports")
async def test_the_reconciles_of_other_objects_are_in_the_log_as_before(tmp_path: Path) -> None:
    lines = (await shown(flags(tmp_path, "bad", timeout=0.02, explain="default/other"))).lines()
    assert not [line for line in lines if line.startswith("#") or "because" in line]
    assert [line for line in lines if "Reconciler error  ValueError: the text is bad" in line]


@pytest.mark.virtual_time
@pytest.mark.usefixtures("own_imports")
async def test_a_terminal_can_have_the_log_alone(tmp_path: Path) -> None:
    lines = (await shown(flags(tmp_path, explain="no"))).lines()
    assert "because" not in "".join(lines)
    assert any("Starting workers" in line for line in lines)


@pytest.mark.virtual_time
@pytest.mark.usefixtures("own_imports")
async def test_debug_shows_the_machinery_too(tmp_path: Path) -> None:
    lines = (await shown(flags(tmp_path, log_level="debug"))).lines()
    assert any("Starting workers" in line for line in lines)
    assert "         because  it existed at the start" in lines


@pytest.mark.parametrize(
    ("given", "is_terminal", "expected"),
    [
        (Flags(), True, ""),
        (Flags(), False, None),
        (Flags(log_format="json"), True, None),
        (Flags(log_level="error"), True, None),
        (Flags(processes=2), True, None),
        (Flags(explain="all"), False, ""),
        (Flags(explain="true"), False, ""),
        (Flags(explain="no"), True, None),
        (Flags(explain="default/main"), False, "default/main"),
    ],
)
def test_what_is_explained(given: Flags, is_terminal: bool, expected: str | None) -> None:
    assert explained(given, is_terminal=is_terminal) == expected


@pytest.mark.parametrize(
    ("words", "explain"),
    [
        (["--explain", "hello.py"], "all"),
        (["hello.py", "--explain"], "all"),
        (["--explain=default/a", "hello.py"], "default/a"),
        (["hello.py", "--no-explain"], "no"),
        (["hello.py"], None),
    ],
)
def test_the_word_after_the_flag_is_the_target(words: list[str], explain: str | None) -> None:
    parser = RunParser()
    parser.add_argument("target")
    add_arguments(parser)
    options = parser.parse_args(words)
    assert options.target == "hello.py"
    assert flags_of(parser, options, {}).explain == explain
    by_environment = flags_of(parser, options, {"PILOTAGE_EXPLAIN": "default/b"}).explain
    assert by_environment == ("default/b" if explain is None else explain)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"explain": "a/b/c/d"}, "--explain: 'a/b/c/d' names no object: it must be NAMESPACE/NAME, KIND/NAME"),
        ({"explain": "all", "log_format": "json"}, "--explain shows lines for people: leave it out with --log-format"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(given: dict[str, str], problem: str) -> None:
    parser = RunParser()
    add_arguments(parser)
    with pytest.raises(CommandError, match=re.escape(problem)):
        flags_of(parser, argparse.Namespace(**(vars(parser.parse_args([])) | given)), {})


def test_without_a_terminal_it_must_be_asked_for(tmp_path: Path) -> None:
    write_operator(tmp_path)
    write_object(tmp_path)
    words = ["-m", "pilotage.cli", "run", "hello.py", "--storage", "memory:", "-f", "world.yaml", "--until-idle"]
    assert "because" not in forked.run(*words, folder=tmp_path).stderr
    asked = forked.run(*words, "--explain", folder=tmp_path)
    assert (asked.returncode, asked.stdout) == (0, "greeted world\n")
    assert "         because  it existed at the start\n" in asked.stderr
    assert "\x1b" not in asked.stderr
