"""`pilotage demo`: the tour, line by line in essence."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

COMMAND = [sys.executable, "-W", "error", "-m", "pilotage.cli", "demo"]
LINES = [
    r"An API server starts in this process, on memory: .*",
    r"The class Database becomes a CustomResourceDefinition, .*",
    r"created   database main, uid [0-9a-f-]{36}, resourceVersion \d+",
    r"patched   its status: Running, resourceVersion \d+",
    r"refused   0 replicas: Database\.demo\.pilotage\.dev \"main\" is invalid: spec\.replicas: Invalid value: 0: .*",
    r"refused   12 replicas: Database\.demo\.pilotage\.dev \"main\" is invalid: .*at most nine replicas",
    r"refused   an update of an old version: .* the object has been modified; .*",
    r"patched   to 5 replicas, generation 2",
    r"deleted   database main",
    r"A watch that was open all the while saw:",
    r"  ADDED    main: 3 replicas, no status",
    r"  MODIFIED main: 3 replicas, Running",
    r"  MODIFIED main: 5 replicas, Running",
    r"  DELETED  main: 5 replicas, Running",
]


def fits(lines: list[str], expected: list[str]) -> bool:
    return len(lines) == len(expected) and all(map(re.fullmatch, expected, lines))


def test_the_tour_shows_each_step_and_ends() -> None:
    ran = subprocess.run([*COMMAND, "--once"], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert fits(ran.stdout.splitlines(), [*LINES, "Done."]), ran.stdout


def test_without_once_the_server_stays_until_ctrl_c() -> None:
    process = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    shown = [process.stdout.readline().rstrip("\n") for _ in range(len(LINES) + 1)]
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=30)
    assert fits(shown, [*LINES, r"That was the tour\. Press Ctrl-C to stop the server\."]), shown
    assert (process.returncode, rest, errors) == (0, "Done.\n", "")


def test_without_the_extra_for_rules_the_tour_says_so_and_goes_on() -> None:
    program = "import sys; sys.modules['cel_expr_python'] = None; from pilotage.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "demo", "--once"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "pip install 'pilotage[cel]'" in ran.stdout.splitlines()[2]
    assert "refused   12 replicas" not in ran.stdout
    assert ran.stdout.endswith("Done.\n")
