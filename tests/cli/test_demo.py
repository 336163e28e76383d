"""`pilotage demo`: the important lines of the operator's output, in order."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

from .. import forked

COMMAND = ["-m", "pilotage.cli", "demo"]
LINES = [
    r"An API server starts in this process, on memory: .*",
    r"Indented lines are the operator's: .*",
    r"A Device API server starts beside it: eight fake GPUs, gRPC over a Unix socket\.",
    r"The class Database becomes a CustomResourceDefinition, .*",
    r"You create the Database main, with 3 replicas\.",
    r"  because   Database main: create",
    r"  reconcile default/main: finalizer added, .*",
    r"  reconcile default/main: its Secret does not exist yet; try again in 5 s, or when it is created",
    r"You create the Secret it waits for\.",
    r"  because   Secret main-password: create",
    r"  reconcile default/main: StatefulSet created, 3 replicas",
    r"  reconcile default/main: status set to Running",
    r"Another client scales the StatefulSet down to 1, which the operator does not want\.",
    r"  because   StatefulSet main: update",
    r"  reconcile default/main: StatefulSet updated, 3 replicas",
    r"You ask for 12 replicas\.",
    r"  refused   Database\.demo\.pilotage\.dev \"main\" is invalid: spec\.replicas: .*: at most nine replicas",
    r"You ask for 5 replicas\.",
    r"  because   Database main: update",
    r"  reconcile default/main: StatefulSet updated, 5 replicas",
    r"You delete the Database\.",
    r"  reconcile default/main: it is being deleted; StatefulSet deleted, finalizer removed",
    r"  reconcile default/main: the Database no longer exists; nothing to do",
    r"StatefulSets that are left: 0\.",
    r"The Node this-machine joins the cluster\. .*",
    r"  reconcile this-machine: 8 GPUs, 0 need a reset; nothing to change",
    r"A watchdog on the node finds a memory error .*: gpu-3 needs a reset\.",
    r"  because   GPU gpu-3: Ready True, ResetRequired True",
    r"  reconcile this-machine: taint added, because gpu-3 needs a reset",
    r"gpu-3 has been reset, .*",
    r"  because   GPU gpu-3: Ready True, ResetRequired False",
    r"  reconcile this-machine: taint removed",
]
END = [
    r"Done\.",
    r"The operator is in /.*/pilotage/cli/demo/databases\.py",
    r"Its part for GPUs is in /.*/pilotage/cli/demo/gpus\.py",
    r"next:",
    r"  pilotage init guestbook +# .*",
    r"  pilotage serve +# .*",
]
LAST = "That was the demonstration; the operator still runs. Press Ctrl-C to stop it."


def fits(lines: list[str], expected: list[str]) -> bool:
    """Whether the expected lines are there, in order; others may stand between them (events that came by then)."""
    rest = iter(lines)
    return all(any(re.fullmatch(wanted, line) for line in rest) for wanted in expected)


def test_the_operator_is_shown_line_by_line_and_ends() -> None:
    ran = forked.run(*COMMAND, "--once")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert fits(ran.stdout.splitlines(), [*LINES, *END]), ran.stdout
    for line in ran.stdout.splitlines()[-5:-3]:
        assert "ControllerBuilder(manager)" in Path(line.rpartition(" ")[2]).read_text()


def test_without_once_the_operator_stays_until_ctrl_c() -> None:
    process = forked.ForkedProcess(*COMMAND)
    shown: list[str] = []
    while not shown or shown[-1] not in (LAST, ""):
        shown.append(process.stdout.readline().rstrip("\n"))
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=100)
    assert fits(shown, [*LINES, re.escape(LAST)]), shown
    assert (process.returncode, errors) == (0, "")
    assert fits(rest.splitlines(), END)


def test_without_the_extra_for_rules_it_prints_that_and_continues() -> None:
    program = "import sys; sys.modules['cel_expr_python'] = None; from pilotage.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "demo", "--once"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "pip install 'pilotage[cel]'" in ran.stdout.splitlines()[4]
    assert "refused" not in ran.stdout
    assert fits(ran.stdout.splitlines(), END)


def test_without_the_extra_for_devices_it_prints_that_and_continues() -> None:
    program = "import sys; sys.modules['google.protobuf'] = None; from pilotage.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "demo", "--once"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "pip install 'pilotage[device]'" in ran.stdout.splitlines()[2]
    assert "GPU gpu-3" not in ran.stdout
    assert fits(ran.stdout.splitlines(), END)
