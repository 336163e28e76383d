"""Signals: one rule for every command that runs until it is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = {
    "serve": (["serve", "--bind", "127.0.0.1:0"], "try: "),
    "device serve": (["device", "serve", "--provider", "fake", "--target", "unix://{}/api.sock"], "Fake Device API"),
    "demo": (["demo"], "That was the demonstration"),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc: which signals a process ignores")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_that_was_ignored_at_the_start_stays_ignored_and_sigterm_ends_it(name: str, tmp_path: Path) -> None:
    words, ready = COMMANDS[name]
    command = [sys.executable, "-m", "pilotage.cli", *(word.format(tmp_path) for word in words)]
    background = ["sh", "-c", 'trap "" INT HUP; exec "$@"', "sh", *command]  # as a script's `&` and nohup do
    with subprocess.Popen(background, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith(ready):
            assert process.poll() is None
        assert {signal.SIGINT, signal.SIGHUP} <= ignored(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def ignored(pid: int) -> set[int]:
    """The signals that a process ignores."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(status.partition("SigIgn:")[2].split()[0], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}
