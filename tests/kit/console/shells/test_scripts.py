"""The completion scripts, run by the shells themselves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pilotage import cli
from pilotage.cli import parser
from pilotage.kit.console.shells import bash, fish, zsh
from pilotage.kit.console.shells.commands import described
from tests.kit.console.shells.shells import interactive, needs, read_until

ROOT = described(parser())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hello.py").write_text("")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "two words").mkdir()
    (tmp_path / "pilotage.bash").write_text(bash.script(ROOT))
    (tmp_path / "pilotage.zsh").write_text(zsh.script(ROOT))
    (tmp_path / "pilotage.fish").write_text(fish.script(ROOT))
    return tmp_path


def in_bash(folder: Path, *words: str) -> list[str]:
    """What bash suggests for the last word."""
    program = (
        'source pilotage.bash; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pilotage; '
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    command = [needs("bash"), "--norc", "-c", program, "bash", "pilotage", *words]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr == ""
    return [line for line in ran.stdout.splitlines() if line]


def in_fish(folder: Path, line: str) -> list[str]:
    """What fish suggests at the end of a line."""
    program = f"source pilotage.fish; complete -C '{line}'"
    environment = os.environ | {"HOME": str(folder)}
    command = [needs("fish"), "--no-config", "-c", program]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return [line.partition("\t")[0] for line in ran.stdout.splitlines()]


def test_bash_completes_commands_options_values_and_files(folder: Path) -> None:
    assert {"run", "serve", "device", "completion"} <= set(in_bash(folder, ""))
    assert in_bash(folder, "devi") == ["device"]
    assert in_bash(folder, "device", "wat") == ["watch"]
    assert in_bash(folder, "run", "--until") == ["--until-idle"]
    assert in_bash(folder, "device", "--until") == []
    assert in_bash(folder, "device", "get", "-o", "") == ["table", "wide", "json", "yaml", "name"]
    assert in_bash(folder, "run", "--log-format", "j") == ["json"]
    assert in_bash(folder, "run", "--storage", "") == []
    assert in_bash(folder, "run", "hello.py", "-f", "no") == ["notes.txt"]
    assert in_bash(folder, "run", "") == ["hello.py", "two words"]
    assert in_bash(folder, "run", "--metrics-certificates", "") == ["two words"]
    assert in_bash(folder, "completion", "z") == ["zsh"]


def test_fish_completes_commands_options_values_and_files(folder: Path) -> None:
    assert {"run", "serve", "device", "completion"} <= set(in_fish(folder, "pilotage "))
    assert in_fish(folder, "pilotage device w") == ["watch"]
    assert in_fish(folder, "pilotage run --until") == ["--until-idle"]
    assert in_fish(folder, "pilotage run --log-format ") == ["json", "text"]
    assert in_fish(folder, "pilotage run hel") == ["hello.py"]
    assert in_fish(folder, "pilotage completion ") == ["bash", "fish", "zsh"]


def test_zsh_completes_commands_options_and_files(folder: Path) -> None:
    environment = os.environ | {"HOME": str(folder), "TERM": "dumb", "PS1": "", "ZDOTDIR": str(folder)}
    with interactive([needs("zsh"), "-f", "-i"], folder, environment) as terminal:
        load = "autoload -U compinit; compinit -u -D; source pilotage.zsh"
        os.write(terminal, f'{load}; pilotage() {{ echo "<$*>" }}\n'.encode())
        for typed, expected in (
            ("pilotage devi\tg\t\n", "<device get>"),
            ("pilotage run --until-i\thel\t\n", "<run --until-idle hello.py>"),
            ("pilotage run --log-format j\t\n", "<run --log-format json>"),
        ):
            os.write(terminal, typed.encode())
            read_until(terminal, expected)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    assert f"Completion of pilotage for {shell}" in capsys.readouterr().out


def test_every_command_and_option_is_in_every_script() -> None:
    scripts = [each.script(ROOT) for each in (bash, zsh, fish)]
    for command in ROOT.all():
        for script in scripts:
            assert command.words[-1] in script
            for option in command.options:
                assert all(flag.lstrip("-") in script for flag in option.flags)


def test_without_a_shell_only_the_shell_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["completion"])
    assert capsys.readouterr().err.startswith(
        "pilotage completion: error: the following arguments are required: SHELL\n"
    )
