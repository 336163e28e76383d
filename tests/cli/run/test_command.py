"""`pilotage run` as a process: what it prints, how it ends, and what its flags do."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster
from pilotage.cluster import Cluster
from pilotage.kit.console.errors import NOT_RECONCILED
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from tests import forked
from tests.cli.run.greetings import OPERATOR, write_object, write_operator
from tests.cli.run.jobs import BROKEN, write_jobs
from tests.forked import ForkedProcess

GREETING = GroupVersionKind("greetings.pilotage.dev", "v1", "Greeting")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.run("-m", "pilotage.cli", "run", *words, folder=folder)


def run_kit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return forked.run("-m", "pilotage.cli", *words, folder=folder)


def failure(folder: Path, *words: str) -> str:
    ran = run(folder, *words)
    assert (ran.returncode, ran.stdout) == (1, "")
    return ran.stderr


def test_a_program_runs_on_memory_until_idle(tmp_path: Path) -> None:
    write_operator(tmp_path)
    write_object(tmp_path)
    ran = run(tmp_path, "hello.py", "--storage", "memory:", "-f", "world.yaml", "--until-idle")
    assert (ran.returncode, ran.stdout) == (0, "greeted world\n")
    lines = [line.partition(" pilotage.run ")[2] for line in ran.stderr.splitlines() if " pilotage.run " in line]
    assert lines[0].startswith("Running hello.py on an API server in this process (memory:; ")
    assert lines[1] == "Installed Greeting (greetings.pilotage.dev/v1)"
    assert lines[2] == "Applied Greeting namespace=default name=world"
    assert lines[3].startswith("Everything is reconciled seconds=")


def test_the_target_is_that_of_the_project_from_any_folder_of_it(tmp_path: Path) -> None:
    package = tmp_path / "src" / "greetings"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "operator.py").write_text(OPERATOR)
    settings = '[project]\nname = "hello"\n[tool.pilotage]\ntarget = "greetings.operator"\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "docs").mkdir()
    ran = run(tmp_path / "docs", "--storage", "memory:", "--until-idle")
    assert ran.returncode == 0, ran.stderr
    assert "Running greetings.operator on" in ran.stderr


def test_without_a_target_and_a_project_it_is_an_error(tmp_path: Path) -> None:
    assert failure(tmp_path, "--storage", "memory:") == (
        "pilotage: no TARGET is given, such as guestbook.operator or greetings.py, and no pyproject.toml here or above "
        "has a table [tool.pilotage]\n"
    )


def test_json_is_one_object_to_a_line_also_for_a_mistake(tmp_path: Path) -> None:
    write_operator(tmp_path, "def setup(manager):\n    raise ValueError('no colour')\n")
    shown = failure(tmp_path, "hello.py", "--storage", "memory:", "--log-format", "json", "--until-idle")
    lines = [json.loads(line) for line in shown.splitlines()]
    assert lines[-1]["message"].startswith("hello.py cannot be set up: ValueError: no colour (")
    assert lines[-1]["level"] == "error"


def test_a_mistake_is_one_line_and_the_traceback_is_there_if_wanted(tmp_path: Path) -> None:
    write_operator(tmp_path, "def setup(manager):\n    raise ValueError('no colour')\n")
    words = ("hello.py", "--storage", "memory:", "--log-level", "error")
    line = f"pilotage: hello.py cannot be set up: ValueError: no colour ({tmp_path / 'hello.py'}, line 2)\n"
    assert failure(tmp_path, *words) == line
    whole = failure(tmp_path, *words, "--traceback")
    assert whole.startswith("Traceback (most recent call last):\n")
    assert whole.endswith(line)


def test_a_failure_while_it_runs_is_one_line_with_the_place(tmp_path: Path) -> None:
    write_operator(tmp_path, "async def fail():\n    return {}['x']\ndef setup(manager):\n    manager.add(fail)\n")
    shown = failure(tmp_path, "hello.py", "--storage", "memory:", "--log-level", "critical")
    assert shown == f"pilotage: hello.py failed: KeyError: 'x' ({tmp_path / 'hello.py'}, line 2)\n"


def test_an_address_in_use_is_one_line(tmp_path: Path) -> None:
    write_operator(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        shown = failure(
            tmp_path, "hello.py", "--storage", "memory:", "--log-level", "error", "--metrics-bind-address", place
        )
    assert shown.count("\n") == 1
    assert place in shown


def test_with_colours_the_log_is_in_columns_and_a_failure_has_its_line(tmp_path: Path) -> None:
    write_operator(tmp_path)
    bad = write_object(tmp_path, "world", "bad")
    words = ("hello.py", "--storage", "memory:", "-f", str(bad), "--until-idle", "--timeout", "1")
    environment = os.environ | {"CLICOLOR_FORCE": "1", "NO_COLOR": ""}
    ran = forked.run("-m", "pilotage.cli", "run", *words, folder=tmp_path, environment=environment)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", ran.stderr)
    assert plain != ran.stderr
    assert re.search(
        r"\n\d\d:\d\d:\d\d ERROR greeting   default/world  Reconciler error  ValueError: the text is bad\n"
        r" +hello.py:\d+ in reconcile: raise ValueError\(\"the text is bad\"\)\n",
        plain,
    )
    assert plain.splitlines()[-2] == "pilotage: not everything is reconciled after 1 s (--timeout); still pending:"


async def test_kubectl_can_be_used_on_the_running_program(tmp_path: Path) -> None:
    write_operator(tmp_path)
    words = ("hello.py", "--storage", "memory:", "--serve", "127.0.0.1:0", "--serve-kubeconfig", "here.kubeconfig")
    process = ForkedProcess("-m", "pilotage.cli", "run", *words, folder=tmp_path)
    try:
        while "Try: kubectl --kubeconfig here.kubeconfig get greetings --all-namespaces" not in (
            line := process.stderr.readline()
        ):
            assert line, "it ended"
        async with Cluster.connect(kubeconfig=str(tmp_path / "here.kubeconfig")) as cluster:
            document = {"metadata": {"name": "world", "namespace": "default"}, "spec": {}}
            await cluster.client.create(
                Unstructured({"apiVersion": GREETING.api_version, "kind": "Greeting", **document})
            )
            assert process.stdout.readline() == "greeted world\n"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(100)
    assert process.returncode == 0


def test_several_processes_are_one_program_with_one_webhook(tmp_path: Path) -> None:
    hook = """
class Hook:
    def default(self, greeting: Greeting) -> None:
        greeting.metadata.labels["seen"] = "yes"

def setup(manager: pt.Manager) -> None:
    GreetingReconciler(manager).setup_with_manager(manager)
    pt.WebhookBuilder(manager).for_(Greeting).with_defaulter(Hook()).complete()
"""
    write_operator(
        tmp_path, OPERATOR.replace("request.name, flush", "request.name, greeting.metadata.labels, flush") + hook
    )
    for number in range(8):
        write_object(tmp_path, f"number-{number}")
    words = ("hello.py", "--storage", "sqlite:demo.db", "--processes", "2", "-f", ".")
    process = ForkedProcess("-m", "pilotage.cli", "run", *words, folder=tmp_path)
    try:
        greeted = {process.stdout.readline() for _ in range(8)}
        assert greeted <= {f"greeted number-{number} {{'seen': 'yes'}}\n" for number in range(8)}
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(100)
    assert process.returncode == 0, errors
    assert {"process=1", "process=2"} <= set(errors.split())


def test_each_of_several_processes_ends_in_time_and_reports_what_was_cut(tmp_path: Path) -> None:
    deaf = """
import asyncio
import pilotage.kit.console.signals.interruption

pilotage.kit.console.signals.interruption.EXIT_SECONDS = 0.0

class Deaf:
    async def reconcile(self, request: pt.Request) -> None:
        print(request.name, flush=True)
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                pass

def setup(manager: pt.Manager) -> None:
    pt.ControllerBuilder(manager).for_(Greeting).complete(Deaf())
"""
    write_operator(tmp_path, OPERATOR + deaf)
    write_object(tmp_path)
    words = (
        "hello.py",
        "--storage",
        "sqlite:demo.db",
        "--processes",
        "2",
        "-f",
        ".",
        "--graceful-shutdown-timeout",
        "0",
    )
    process = ForkedProcess("-m", "pilotage.cli", "run", *words, folder=tmp_path)
    try:
        assert process.stdout.readline() == "world\n"
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(100)
    assert process.returncode == 1
    cut = re.search(r"pilotage: process ([12]): .*controller\.reconcile greeting default/world", errors)
    assert cut, errors
    assert f"process {cut[1]} ended with exit code 1" in errors.splitlines()[-1]


def test_a_changed_file_restarts_the_program_and_a_signal_ends_both(tmp_path: Path) -> None:
    """In real processes: the parent starts its own command line again."""
    operator, _ = write_operator(tmp_path), write_object(tmp_path)
    command = [sys.executable, "-m", "pilotage.cli", "run", "hello.py", "--storage", "memory:", "-f", "world.yaml"]
    with subprocess.Popen(
        [*command, "--reload"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "greeted world\n"
        operator.write_text(OPERATOR.replace("greeted", "welcomed"))
        assert process.stdout.readline() == "welcomed world\n"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)  # until the child has ended, too: it has the same streams
    assert process.returncode == 0
    assert "pilotage: Restarting: hello.py changed\n" in errors


ENTRY_POINTS = {
    "run": ("-m", "pilotage.cli", "run", "jobs.py"),
    "pt.run": ("program.py",),
    "processes": ("-m", "pilotage.cli", "run", "jobs.py", "--processes", "2"),
    "reload": ("-m", "pilotage.cli", "run", "jobs.py", "--reload"),
    "every": ("-m", "pilotage.cli", "run", "jobs.py", "--until-idle", "--every", "3600"),
}


def started(folder: Path, *words: str) -> ForkedProcess | subprocess.Popen[str]:
    """A running program; one that starts its own command line again needs an interpreter of its own."""
    if "--reload" not in words:
        return ForkedProcess(*words, folder=folder)
    command = [sys.executable, *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("words", ENTRY_POINTS.values(), ids=ENTRY_POINTS.keys())
def test_every_entry_point_starts_again_with_the_conversions_of_the_program(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    write_jobs(tmp_path)
    (tmp_path / "program.py").write_text("import pilotage as pt\nfrom jobs import setup\n\npt.run(setup)\n")
    flags = ("--storage", "sqlite:jobs.db", "-f", "nightly.yaml")
    for _ in range(2):
        process = started(tmp_path, *words, *flags)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "nightly at 2 30\n"
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors


@pytest.mark.parametrize("words", ENTRY_POINTS.values(), ids=ENTRY_POINTS.keys())
def test_a_setup_that_fails_installs_nothing_at_any_entry_point(tmp_path: Path, words: tuple[str, ...]) -> None:
    write_jobs(tmp_path, BROKEN)
    (tmp_path / "program.py").write_text("import pilotage as pt\nfrom jobs import setup\n\npt.run(setup)\n")
    process = started(tmp_path, *words, "--storage", "sqlite:jobs.db")
    assert process.stderr is not None
    failed = next((line for line in process.stderr if "not today" in line), "")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=100)
    assert "not today" in failed
    stored = run_kit(tmp_path, "get", "crd", "-o", "name", "--storage", "sqlite:jobs.db")
    assert stored.stdout == "", stored


BLOCKING = """
import signal, time
from types import SimpleNamespace
import pilotage as pt
from pilotage.kit.console.signals import deadline, interruption
from pilotage.types.core.v1 import Namespace

deadline.EXIT_SECONDS = interruption.EXIT_SECONDS = 0.5
passed = [0.0]
interruption.time = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored

def setup(manager: pt.Manager) -> None:
    async def reconcile(request: pt.Request) -> None:
        print("begun", flush=True)
        passed[0] = 3600.0
        while True:  # Python runs no signal handler if the signal arrives just before a long sleep
            time.sleep(0.1)
    pt.ControllerBuilder(manager).for_(Namespace).complete(reconcile)
"""


def test_a_reconcile_that_blocks_the_event_loop_does_not_keep_the_process_from_ending(tmp_path: Path) -> None:
    (tmp_path / "blocking.py").write_text(BLOCKING)
    words = ("blocking.py", "--storage", "memory:", "--log-level", "warning")
    with ForkedProcess("-m", "pilotage.cli", "run", *words, folder=tmp_path) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        while "interrupted: waiting until this ends, for " not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(100)
    assert "pilotage: interrupted, and not finished: controller.reconcile namespace default (" in errors
    assert process.returncode == 1


def test_a_reconcile_that_blocks_the_event_loop_ends_with_the_timeout_and_is_named_with_its_place(
    tmp_path: Path,
) -> None:
    (tmp_path / "blocking.py").write_text(BLOCKING)
    words = ("blocking.py", "--storage", "memory:", "--log-level", "error", "--until-idle", "--timeout", "600")
    ran = run(tmp_path, *words)
    line = BLOCKING[: BLOCKING.index("time.sleep(0.1)")].count("\n") + 1
    assert "pilotage: not everything is reconciled after 600 s (--timeout); still pending:\n  namespace " in ran.stderr
    assert f" blocks the event loop at {tmp_path}/blocking.py:{line} in setup.<locals>.reconcile; await" in ran.stderr
    assert ran.returncode == NOT_RECONCILED


THREADED = """
import asyncio, os, threading, time
from concurrent.futures import ThreadPoolExecutor
import pilotage as pt
from pilotage.kit.console.signals import deadline
from pilotage.types.core.v1 import Namespace

deadline.EXIT_SECONDS = 0.5
begun = []

def work() -> None:
    if not begun:
        begun.append(True)
        print("begun", flush=True)
    time.sleep(3600)

def setup(manager: pt.Manager) -> None:
    async def reconcile(request: pt.Request) -> None:
        if os.environ["HOW"] == "pool":
            await asyncio.get_running_loop().run_in_executor(ThreadPoolExecutor(), work)
        else:
            threading.Thread(target=work).start()
    pt.ControllerBuilder(manager).for_(Namespace).complete(reconcile)

if __name__ == "__main__":
    pt.run(setup)
    print("goes on")
"""


@pytest.mark.parametrize("command", [("-m", "pilotage.cli", "run", "threaded.py"), ("threaded.py",)])
@pytest.mark.parametrize(("how", "code"), [("pool", 1), ("thread", 0)])
def test_a_thread_of_a_reconcile_does_not_keep_the_process_from_ending(
    command: tuple[str, ...], how: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "threaded.py").write_text(THREADED)
    words = ("--storage", "memory:", "--log-level", "error", "--graceful-shutdown-timeout", "0.1")
    with ForkedProcess(*command, *words, folder=tmp_path, environment=os.environ | {"HOW": how}) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(100)
    assert process.returncode == code, errors
    assert output == ("goes on\n" if command == ("threaded.py",) and code == 0 else "")


def test_a_program_of_ones_own_has_the_same_flags(tmp_path: Path) -> None:
    guarded = "\nif __name__ == '__main__':\n    pt.run(GreetingReconciler)\n"
    write_operator(tmp_path, OPERATOR + guarded)
    write_object(tmp_path)
    words = ("--storage", "memory:", "-f", "world.yaml", "--until-idle")
    ran = forked.run("hello.py", *words, folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "greeted world\n"), ran.stderr
    assert "Running hello.py:GreetingReconciler on" in ran.stderr
    wrong = forked.run("hello.py", "--timeout", "3", folder=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (1, "hello.py: --timeout is how long --until-idle waits: give both\n")
    assert forked.run("hello.py", "--nope", folder=tmp_path).returncode == 2
    failed = forked.run("hello.py", "--storage", "memory:", "-f", "nope.yaml", folder=tmp_path)
    assert (failed.returncode, failed.stderr) == (1, 'hello.py: the path "nope.yaml" does not exist\n')


def test_a_program_that_starts_when_it_is_imported_is_stopped_there(tmp_path: Path) -> None:
    write_operator(tmp_path, f"{OPERATOR}\npt.run(GreetingReconciler)\n")
    ran = run(tmp_path, "hello.py", "--storage", "memory:", "--until-idle")
    assert ran.returncode == 0
    assert "runs a program when it is imported" in ran.stderr.splitlines()[0]


@pytest.mark.cluster
def test_a_program_runs_on_a_real_cluster_once_its_kinds_are_installed(
    tmp_path: Path, real_control_plane: RealCluster
) -> None:
    write_operator(tmp_path, OPERATOR.replace("greetings.pilotage.dev", "run.pilotage.dev"))
    world = write_object(tmp_path)
    world.write_text(world.read_text().replace("greetings.pilotage.dev", "run.pilotage.dev"))
    words = ("hello.py", "--kubeconfig", str(real_control_plane.kubeconfig), "--log-level", "error")
    assert failure(tmp_path, *words).startswith("pilotage: the cluster does not serve Greeting (run.pilotage.dev/v1): ")
    ran = run(tmp_path, *words, "--install", "-f", "world.yaml", "--until-idle")
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (0, "greeted world"), ran.stderr


def test_a_run_for_one_object_and_one_with_a_checkpoint_do_only_that(tmp_path: Path) -> None:
    write_operator(tmp_path)
    for name in ("world", "moon"):
        write_object(tmp_path, name)
    words = ("hello.py", "--storage", "sqlite:run.db", "--until-idle", "--checkpoint", "hello")
    first = run(tmp_path, *words, "-f", "world.yaml", "-f", "moon.yaml")
    assert sorted(set(first.stdout.splitlines())) == ["greeted moon", "greeted world"]
    assert run(tmp_path, *words).stdout == ""
    assert run(tmp_path, *words, "--only", "greeting/world").stdout == "greeted world\n"


def test_what_is_not_reconciled_at_the_timeout_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    write_operator(tmp_path)
    bad = write_object(tmp_path, "world", "bad")
    ran = run(tmp_path, "hello.py", "--storage", "memory:", "-f", str(bad), "--until-idle", "--timeout", "1")
    assert ran.returncode == NOT_RECONCILED == 5  # as tools of the kit
    assert "default/world failed" in ran.stderr
    assert "the next attempt is in" in ran.stderr or "it is being retried" in ran.stderr
