"""The tests pass however they are started: signals ignored, no terminal, another umask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SENDING_SIGNALS = [
    "tests/cli/serve/test_server.py::test_ctrl_c_ends_it_well",
    "tests/cli/device/test_server.py::test_it_prints_where_it_listens_and_that_it_stops_and_leaves_no_socket[2]",
    "tests/manager/test_signals.py",
]


def test_tests_that_send_signals_pass_in_the_background_of_a_script() -> None:
    # This is what a shell does for `make test &` (SIGINT, SIGQUIT), and what nohup does (SIGHUP).
    script = 'umask 077; trap "" INT QUIT HUP; exec "$@" < /dev/null'
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        ["sh", "-c", script, "sh", *command, *SENDING_SIGNALS],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
