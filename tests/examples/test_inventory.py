"""The inventory: used as a person would use it, also in a terminal."""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from examples.inventory.inventory import tool
from hack.pictures import session
from hack.pictures.installed import install
from hack.pictures.terminal import PROMPT, terminal
from tests.kit.tools import Console

FOLDER = Path(__file__).parents[2] / "examples" / "inventory"
SAMPLES = str(FOLDER / "samples")


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("INVENTORY_STORAGE", f"sqlite:{tmp_path}/inventory.db")
    return Console(tool)


def columns(inventory: Console, *words: str) -> list[list[str]]:
    """The rows of a table without the age."""
    return [line.split()[:-1] for line in inventory.output("get", *words, "--no-headers").splitlines()]


def test_items_and_categories_are_counted(inventory: Console) -> None:
    assert inventory.output("apply", "-f", SAMPLES).count(" created\n") == 5
    assert columns(inventory, "items", "--sort-by=.spec.quantity") == [
        ["laptop-123", "Laptop", "5", "computers", "Available", "1299.99"],
        ["monitor-789", "Monitor", "8", "computers", "Available", "599.99"],
        ["phone-456", "Phone", "12", "electronics", "Available", "999.00"],
    ]
    assert columns(inventory, "cat") == [
        ["computers", "Computers", "2", "0", "electronics"],
        ["electronics", "Electronics", "1", "1"],
    ]
    inventory.output("patch", "item", "laptop-123", "--set", "spec.category=electronics")
    inventory.output("delete", "item", "monitor-789")
    assert [row[2] for row in columns(inventory, "categories")] == ["0", "2"]


def test_low_stock_is_a_condition_and_an_event(inventory: Console) -> None:
    inventory.output("apply", "-f", SAMPLES)
    inventory.output("patch", "item", "phone-456", "--set", "spec.quantity=3")
    inventory.output("wait", "item/phone-456", "--for=condition=LowStock", "--timeout=0")
    low = "jsonpath={.items[?(@.status.conditions)].metadata.name}"
    assert inventory.output("get", "items", "-o", low) == "laptop-123 monitor-789 phone-456"
    assert inventory.output("events", "--for", "item/phone-456", "--no-headers").split()[1:] == [
        *("Warning", "LowStock", "Item/phone-456", "3", "left")
    ]
    assert inventory.output("get", "cat", "electronics", "-o", "jsonpath={.status.lowStockCount}") == "1"


def test_what_breaks_a_rule_is_refused_and_what_is_left_out_has_defaults(inventory: Console) -> None:
    words = ("create", "item", "thing", "--set", "spec.name=Thing", "--set", "spec.category=none")
    refused = inventory.run(*words, "--set", "spec.quantity=10001")
    assert refused.code == 1
    assert "spec.quantity in body should be less than or equal to 10000" in refused.errors
    inventory.output(*words)
    assert inventory.output("get", "item/thing", "-o", "jsonpath={.spec.quantity} {.status.status}") == "1 Available"
    missing = '{.status.conditions[?(@.type=="CategoryFound")].message}'
    assert inventory.output("get", "item/thing", "-o", f"jsonpath={missing}") == "there is no Category none"


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment into which the example was installed with pip."""
    return install(tmp_path_factory.mktemp("installed") / "environment")


@pytest.mark.long  # pip takes seconds
def test_pip_installs_it_as_a_command(commands: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": f"{commands}:/usr/bin:/bin"}
    applied = subprocess.run(
        ["inventory", "apply", "-f", SAMPLES], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert applied.stdout.count(" created\n") == 5  # in a pipe: no colours
    assert [file.name for file in (tmp_path / ".local/share/inventory").glob("*.db")] == ["inventory.db"]
    where = "import inventory, pilotage; print(inventory.__file__, pilotage.__file__)"
    ran = subprocess.run([commands / "python", "-c", where], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert all(str(commands.parent) in file for file in ran.stdout.split()), "not the files of the repository"


@pytest.mark.long  # of the same environment
def test_a_person_uses_it_in_a_terminal(commands: Path, tmp_path: Path) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux; test_a_terminal_has_colours_and_a_pipe_has_none uses a pseudo-terminal")
    environment = {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    with terminal(tmp_path, environment) as pane:
        pane.run(f"inventory apply -f {SAMPLES}")
        pane.run(
            "clear; inventory get items --sort-by=.spec.quantity -o custom-columns=ITEM:.metadata.name,N:.spec.quantity"
        )
        assert "\nlaptop-123    5\nmonitor-789   8\nphone-456     12\n" in pane.screen()
        pane.run("clear; inventory get item nothing; echo code $?")
        assert "\x1b[1m\x1b[31mError from server (NotFound):" in pane.screen(colours=True)
        assert "\ncode 3\n" in pane.screen()
        pane.run("clear; inventory get items | head -n 1; echo codes ${PIPESTATUS[@]}")
        assert "AGE\ncodes 0 0\n" in pane.screen()
        pane.run('eval "$(inventory completion bash)"; clear')
        pane.type("inventory describe item mon")
        pane.press("Tab")
        pane.press("Enter")
        pane.wait()
        assert "Name:         monitor-789\n" in pane.screen()


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_has_colours_and_a_pipe_has_none(tmp_path: Path, variables: dict[str, str]) -> None:
    environment = {"HOME": str(tmp_path), "TERM": "xterm", "PYTHONPATH": str(FOLDER), **variables}
    primary, replica = pty.openpty()
    words = [sys.executable, "-m", "inventory", "get", "item", "nothing"]
    ran = subprocess.run(words, env=environment, stdin=replica, stdout=replica, stderr=replica, check=False)
    os.close(replica)
    shown = os.read(primary, 10_000).decode()
    os.close(primary)
    assert ran.returncode == 3
    assert ("\x1b[1;31mError from server" in shown) is (variables == {})
    assert "Error from server" in shown
    if not variables:  # with the others, not even a terminal has colours
        piped = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert "\x1b" not in piped.stderr


def test_the_picture_shows_what_the_program_prints(inventory: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    expected: list[str] = []
    for line in session.LINES:
        expected.append(f"{PROMPT}{line}")
        if line == "echo exit code $?":
            expected.append("exit code 3")
            continue
        ran = inventory.run(*shlex.split(line)[1:])
        expected += [*ran.output.splitlines(), *ran.errors.splitlines()]
    texts = ElementTree.parse(FOLDER / "session.svg").getroot().iter("{http://www.w3.org/2000/svg}text")
    shown = ["".join(text.itertext()) for text in texts][1:]  # the first one is the title of the window
    assert [without_ages(line) for line in shown] == [without_ages(line) for line in expected], "run make pictures"


def without_ages(line: str) -> str:
    return re.sub(r"\b\d+s *", "<age>", line).rstrip()
