from __future__ import annotations

import asyncio
import io
import os
import re
import signal
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.cli.program.target import load_target
from pilotage.cli.run.arguments import Flags
from pilotage.cli.run.program import Program
from pilotage.cluster.installation import DEFINITION as DEFINITIONS
from pilotage.kit.console.errors import CommandError, Interrupted, NotReconciled
from pilotage.kit.console.terminal import Terminal
from tests.cli.run.greetings import KIND, OPERATOR, write_object, write_operator
from tests.cli.run.jobs import BROKEN, DEFINITION, JOBS, write_jobs

pytestmark = [pytest.mark.usefixtures("own_imports")]


def program(flags: Flags, text: str = OPERATOR, name: str = "") -> Program:
    target = load_target(f"{write_operator(Path(), text)}{name}")
    return Program(target, flags, Terminal(io.StringIO()), "hello")


@pytest.mark.virtual_time
async def test_a_program_is_installed_given_its_objects_and_run_until_idle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = (write_object(tmp_path, "a"), write_object(tmp_path, "b"))
    await program(Flags(storage="memory:", filename=objects, until_idle=True)).run()
    assert sorted(capsys.readouterr().out.splitlines()) == ["greeted a", "greeted b"]


@pytest.mark.virtual_time
async def test_what_is_pending_at_the_timeout_is_listed_with_its_reason(tmp_path: Path) -> None:
    bad = write_object(tmp_path, "a", "bad")
    with pytest.raises(NotReconciled) as raised:
        await program(Flags(storage="memory:", filename=(bad,), until_idle=True, timeout=5)).run()
    heading, *lines = str(raised.value).splitlines()
    assert heading == "not everything is reconciled after 5 s (--timeout); still pending:"
    assert len(lines) == 1
    assert "default/a failed" in lines[0]
    assert "ValueError: the text is bad" in lines[0]


@pytest.mark.virtual_time
async def test_a_kind_that_the_server_does_not_have_is_refused_with_what_to_do() -> None:
    with pytest.raises(CommandError) as raised:
        await program(Flags(storage="memory:", install=False)).run()
    assert str(raised.value) == (
        "the cluster does not serve Greeting (greetings.pilotage.dev/v1): install the CustomResourceDefinitions with "
        "--install, or with `pilotage crd hello.py | kubectl apply -f -`"
    )


async def test_a_storage_keeps_what_was_reconciled_for_its_tenant(tmp_path: Path) -> None:
    flags = Flags(storage="sqlite:demo.db", tenant="one", filename=(write_object(tmp_path),), until_idle=True)
    await program(flags).run()
    from pilotage.types.core.v1 import ConfigMap

    async with pt.Cluster.embedded("sqlite:demo.db", tenant="one") as cluster:
        found = await cluster.client.get(ConfigMap, "world", namespace="default")
        assert found.data == {"text": "hello"}
        assert [entry.manager for entry in found.metadata.managed_fields] == ["hello"], "the name of the program"
    async with pt.Cluster.embedded("sqlite:demo.db") as cluster:
        assert await cluster.client.find(ConfigMap, "world", namespace="default") is None


@pytest.mark.virtual_time
async def test_a_manager_runs_with_its_own_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = "manager = pt.Manager(pt.Cluster.embedded())\nasync def start():\n    print('started')\nmanager.add(start)\n"
    await program(Flags(until_idle=True), KIND + own, ":manager").run()
    assert capsys.readouterr().out == "started\n"
    with pytest.raises(CommandError, match=r"hello.py:manager is a manager with a cluster and options of its own"):
        await program(Flags(storage="memory:"), KIND + own, ":manager").run()


REACHED = "import asyncio\nreached = asyncio.Event()\n"


async def test_a_signal_before_the_start_interrupts_the_run() -> None:
    waits = "async def setup(manager):\n    reached.set()\n    await asyncio.Event().wait()\n"
    started = program(Flags(storage="memory:"), KIND + REACHED + waits)
    task = asyncio.ensure_future(started.run())
    await started.target.module.reached.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Interrupted):
        await task


async def test_a_signal_after_the_start_stops_it_in_order() -> None:
    waits = "async def wait():\n    reached.set()\ndef setup(manager):\n    manager.add(wait)\n"
    started = program(Flags(storage="memory:"), KIND + REACHED + waits)
    task = asyncio.ensure_future(started.run())
    await started.target.module.reached.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await task


@pytest.mark.virtual_time
async def test_without_a_cluster_and_a_storage_it_prints_what_to_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(CommandError, match="no cluster to run on: give --storage memory: for an API server in this"):
        await program(Flags()).run()


def write_kubeconfig(folder: Path, user: str) -> str:
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
        "clusters: [{name: here, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        f"contexts: [{{name: here, context: {{cluster: here, user: me}}}}]\nusers: [{{name: me, user: {user}}}]\n"
    )
    return str(kubeconfig)


async def test_a_cluster_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        CommandError, match=r"cannot use the cluster at https://127.0.0.1:1 \(kubeconfig .* context .here.\): "
    ):
        await program(Flags(kubeconfig=write_kubeconfig(tmp_path, "{token: x}"))).run()


async def test_credentials_that_cannot_be_had_name_the_kubeconfig_once(tmp_path: Path) -> None:
    plugin = "{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: no-such-plugin}"
    kubeconfig = write_kubeconfig(tmp_path, f"{{exec: {plugin}}}")
    with pytest.raises(CommandError, match=r"^kubeconfig [^ ]*: user 'me': the credential plugin no-such-plugin "):
        await program(Flags(kubeconfig=kubeconfig)).run()


def jobs(flags: Flags, text: str = JOBS) -> Program:
    return Program(load_target(str(write_jobs(Path(), text))), flags, Terminal(io.StringIO()), "jobs")


async def versions_of_jobs(storage: str) -> list[str]:
    """The versions of the stored definition; empty if there is none."""
    async with pt.Cluster.embedded(storage) as cluster:
        found = await cluster.client.find(DEFINITIONS, DEFINITION)
        return [] if found is None else [version["name"] for version in found["spec"]["versions"]]


async def test_a_program_with_a_conversion_starts_again_on_what_it_has_stored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    flags = Flags(storage="sqlite:jobs.db", filename=(Path("nightly.yaml"),), until_idle=True)
    for _ in range(2):
        await jobs(flags).run()
        assert capsys.readouterr().out.splitlines()[0] == "nightly at 2 30"


async def test_a_setup_that_fails_installs_no_definition_and_changes_none() -> None:
    flags = Flags(storage="sqlite:jobs.db", until_idle=True)
    with pytest.raises(CommandError, match="not today"):
        await jobs(flags, BROKEN).run()
    assert await versions_of_jobs("sqlite:jobs.db") == []
    async with pt.Cluster.embedded("sqlite:jobs.db") as cluster:
        await cluster.install(load_target(str(write_jobs(Path()))).module.Job)
    with pytest.raises(CommandError, match="not today"):
        await jobs(flags, BROKEN).run()
    assert await versions_of_jobs("sqlite:jobs.db") == ["v2"]


async def test_a_setup_is_called_before_its_kinds_are_served(capsys: pytest.CaptureFixture[str]) -> None:
    asks = """
async def setup(manager):
    from pilotage.errors import NoMatch
    try:
        await manager.api_reader.list(Greeting)
    except NoMatch:
        print("not served yet")
    GreetingReconciler(manager).setup_with_manager(manager)
"""
    await program(Flags(storage="memory:", until_idle=True), OPERATOR + asks).run()
    assert capsys.readouterr().out == "not served yet\n"


async def test_versions_that_nothing_converts_are_not_installed() -> None:
    with pytest.raises(pt.InvalidDefinition, match=f"{DEFINITION} cannot be installed: its versions are converted by"):
        await jobs(Flags(storage="sqlite:jobs.db", webhook_bind_address="0", until_idle=True)).run()
    assert await versions_of_jobs("sqlite:jobs.db") == []


@pytest.mark.parametrize("log_format", ["text", "json"])
async def test_the_address_of_the_page_is_printed_with_its_token(
    log_format: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="pilotage.run")
    run = program(Flags(storage="memory:", ui="127.0.0.1:0", until_idle=True, log_format=log_format))
    output = io.StringIO()
    run.terminal = Terminal(output)
    await run.run()
    printed = output.getvalue()
    logged = "".join(str(vars(record)) for record in caplog.records)
    pattern = r"http://127\.0\.0\.1:\d+/ui/#token=[\w-]{32}"
    assert bool(re.search(f"Live page: {pattern}", printed)) is (log_format == "text")
    assert bool(re.search(pattern, logged)) is (log_format == "json")
