"""The inventory: used as a person would use it, also in a terminal."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from examples.inventory.inventory import tool
from tests.cli.kit.tools import Console

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


def test_the_script_of_the_project_is_the_tool() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"inventory": "inventory:tool.main"}


def test_a_person_uses_it_in_a_terminal(tmp_path: Path) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux")
    command = f"{sys.executable} -m inventory"
    folders = os.pathsep.join([str(FOLDER), str(FOLDER.parents[1] / "src")])
    start = [
        f"export INVENTORY_STORAGE=sqlite:{tmp_path}/i.db PYTHONPATH={folders} PS1='> '",
        f'inventory() {{ {command} "$@"; }}',
    ]
    lines = [
        f"inventory apply -f {SAMPLES}",
        "inventory get items --sort-by=.spec.quantity -o custom-columns=ITEM:.metadata.name,N:.spec.quantity",
        "inventory get item nothing",
        "echo code $?",
    ]
    text = typed_into_a_terminal(tmp_path, start, lines)
    assert "\x1b[32mcreated" in text  # in colour: it is a terminal
    assert "ITEM          N\nlaptop-123    5\nmonitor-789   8\nphone-456     12\n" in plain(text)
    assert 'Error from server (NotFound): items.inventory.pilotage.dev "nothing" not found\ncode 3\n' in plain(
        text.replace("> echo code $?\n", "")
    )


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def typed_into_a_terminal(folder: Path, start: list[str], lines: list[str]) -> str:
    """What the screen shows when all lines were typed into a shell under tmux."""
    (folder / "start").write_text("\n".join(start) + "\n")
    tmux = ["tmux", "-S", str(folder / "tmux")]

    def run(*words: str) -> str:
        return subprocess.run([*tmux, *words], capture_output=True, text=True, check=True, timeout=120).stdout

    run("new-session", "-d", "-x", "120", "-y", "50", f"bash --noprofile --rcfile {folder}/start -i")
    try:
        for line in [*lines, f"{shlex.join(tmux)} wait-for -S done"]:
            run("send-keys", "-l", line)
            run("send-keys", "Enter")
        run("wait-for", "done")
        return run("capture-pane", "-p", "-e")
    finally:
        run("kill-server")
