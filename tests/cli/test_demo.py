"""`pilotage demo`: the important lines of the operator's output, in order."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from .. import forked

COMMAND = ["-m", "pilotage.cli", "demo"]
TIME = r"\d\d:\d\d:\d\d #\d+ "
LINES = [
    r"An API server starts in this process, on memory: .*",
    r"Indented lines are the operator's: .*",
    r"A Device API server starts beside it: eight fake GPUs, gRPC over a Unix socket\.",
    r"The class Database becomes a CustomResourceDefinition, .*",
    r"You create the Database main, with 3 replicas\.",
    TIME + "database default/main",
    r"         wrote    update Database default/main: metadata\.finalizers\[0\]: \(none\) → .*",
    r"         missing  Secret default/main-password",
    r"         result   done in .* ms, again in 5 s",
    r"You create the Secret it waits for\.",
    r"         because  Secret default/main-password was created",
    r"         wrote    create StatefulSet default/main: .*spec\.replicas: 3.*",
    r"         wrote    patch status of Database default/main: status\.phase: \(none\) → 'Running'",
    r"Another client scales the StatefulSet down to 1, which the operator does not want\.",
    r"         because  StatefulSet default/main changed: spec\.replicas: 3 → 1",
    r"         wrote    patch StatefulSet default/main: spec\.replicas: 1 → 3",
    r"You ask for 12 replicas\.",
    r"  refused  Database\.demo\.pilotage\.dev \"main\" is invalid: spec\.replicas: .*: at most nine replicas",
    r"You ask for 5 replicas\.",
    r"         because  it changed: spec\.replicas: 3 → 5",
    r"         wrote    patch StatefulSet default/main: spec\.replicas: 3 → 5",
    r"You delete the Database\.",
    r"         because  it changed: metadata\.deletionTimestamp: .*",
    r"         wrote    delete StatefulSet default/main",
    r"         wrote    update Database default/main: metadata\.finalizers\[0\]: .* → \(none\)",
    r"StatefulSets that are left: 0\.",
    r"The Node this-machine joins the cluster\. .*",
    TIME + r"node this-machine because it was created → wrote nothing .*",
    r"A watchdog on the node finds a memory error .*: gpu-3 needs a reset\.",
    r"         because  GPU gpu-3 changed: status\.conditions\[ResetRequired\]: \(none\) → {.*",
    r"         wrote    patch Node this-machine: spec\.taints\[gpu\.nvidia\.com/reset-required\]: \(none\) → {.*",
    r"gpu-3 has been reset, .*",
    r"         because  GPU gpu-3 changed: status\.conditions\[ResetRequired\]\.status: 'True' → 'False', .*",
    r"         wrote    patch Node this-machine: spec\.taints\[gpu\.nvidia\.com/reset-required\]: {.*} → \(none\)",
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


def test_the_picture_of_the_documentation_shows_the_demo() -> None:
    picture = ElementTree.parse(Path(__file__).parents[2] / "docs" / "pictures" / "demo.svg")
    shown = ["".join(text.itertext()) for text in picture.getroot().iter("{http://www.w3.org/2000/svg}text")]
    narrated = [line for line in LINES if line[0].isupper()]  # a terminal breaks the longer lines of the operator
    assert fits(shown, [*narrated, *(line.replace(" /", " ~/") for line in END)]), "run make pictures"


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
