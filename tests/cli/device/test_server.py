"""`pilotage device serve` as a process: what it prints, which files it leaves, which users may connect, and how it
fails."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster.running import free_ports
from pilotage import device
from pilotage.cli import main, parser
from pilotage.cli.device.server import serve
from pilotage.device.client.target import Target
from pilotage.device.server.deviceserver import DeviceServerOptions
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.errors import Forbidden
from pilotage.http.certificates import self_signed
from pilotage.meta.models import ObjectMeta

from ...forked import ForkedProcess
from .processes import COMMAND, logging_as_before, refused, serving, shown

QUIET = ("--provider", "fake", "--period", "0")


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Some tests run the command in this process."""
    with logging_as_before():
        yield


def fetched(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def refusal(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The one line of a server that does not start, in this process."""
    assert main(["device", "serve", *options]) == 1
    line = capsys.readouterr().err
    assert (line.startswith("pilotage: "), line.count("\n")) == (True, 1)
    return line.removeprefix("pilotage: ").rstrip("\n")


# Start and stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_where_it_listens_and_that_it_stops_and_leaves_no_socket(tmp_path: Path, number: int) -> None:
    path = tmp_path / "run" / "device-api.sock"
    with serving(path, *QUIET) as server:
        assert server.lines == [
            "Starting server...",
            f"socketPath: {path}",
            f"Fake Device API listening on {path}",
        ]
        assert stat.S_IMODE(path.lstat().st_mode) == 0o660
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750
        server.stop(number)
    assert (server.code, server.rest) == (0, "\nStopping server...\n")
    assert [entry.name for entry in path.parent.iterdir()] == ["device-api.sock.lock"]


@pytest.mark.parametrize("lasts", [True, False])
def test_a_storage_in_memory_is_reported_with_what_a_restart_loses(tmp_path: Path, lasts: bool) -> None:
    with serving(tmp_path / "s", *QUIET, *(["--storage", f"sqlite:{tmp_path}/s.db"] if lasts else [])) as server:
        server.stop()
    assert ("A restart loses the conditions" in server.errors) is not lasts


def test_without_its_extra_it_prints_only_what_to_install(tmp_path: Path) -> None:
    program = "import sys; sys.modules['hpack'] = None; from pilotage.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "device", "serve", "--target", f"unix://{tmp_path}/api.sock"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert "pip install 'pilotage[device]'" in ran.stderr


def test_without_the_fake_provider_it_is_the_device_api(tmp_path: Path) -> None:
    with serving(tmp_path / "s", "--gate-seconds", "0") as server:
        assert server.lines[-1] == f"Device API listening on {tmp_path}/s"
        assert shown("get", target=tmp_path / "s").stderr == f"no GPUs found at unix://{tmp_path}/s\n"


def test_the_environment_names_the_socket(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    environment = {**os.environ, "NVIDIA_DEVICE_API_TARGET": f"unix://{path}"}
    with ForkedProcess(*COMMAND, "serve", *QUIET, environment=environment) as process:
        try:
            assert [process.stdout.readline() for _ in range(3)][-1].endswith(f"listening on {path}\n")
        finally:
            process.kill()


async def test_the_fake_gpus_are_there_from_the_first_call(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with serving(path, *QUIET, "--count", "3", "--seed", "1"):
        async with device.connect(f"unix://{path}") as devices:
            gpus = await devices.v1alpha1.gpus.list()
            assert [gpu.metadata.name for gpu in gpus] == ["gpu-1", "gpu-2", "gpu-3"]
            assert {gpu.status.conditions[0].reason for gpu in gpus} == {"DriverReady"}
            uuids = [gpu.spec.uuid for gpu in gpus]
    with serving(path, *QUIET, "--count", "3", "--seed", "1"):
        async with device.connect(f"unix://{path}") as devices:
            assert [gpu.spec.uuid for gpu in await devices.v1alpha1.gpus.list()] == uuids


async def test_an_open_watch_does_not_hold_up_the_end(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with serving(path, *QUIET, "--shutdown-grace-period", "600") as server:
        async with device.connect(f"unix://{path}") as devices, devices.v1alpha1.gpus.watch() as events:
            assert (await anext(events)).type == "ADDED"
            await asyncio.to_thread(server.stop)  # which waits for half a minute at most
    assert server.code == 0


async def test_what_is_kept_in_a_file_is_there_after_a_restart(tmp_path: Path) -> None:
    path, storage = tmp_path / "device-api.sock", ("--storage", f"sqlite:{tmp_path}/state.db", "--gate-seconds", "0")
    with serving(path, *storage):
        async with device.connect(f"unix://{path}") as devices:
            await devices.v1alpha1.gpus.create(GPU(metadata=ObjectMeta(name="gpu-9"), spec=GPUSpec(uuid="GPU-9")))
    with serving(path, *storage):
        async with device.connect(f"unix://{path}") as devices:
            assert [gpu.spec.uuid for gpu in await devices.v1alpha1.gpus.list()] == ["GPU-9"]


async def test_it_serves_the_requested_generation(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with serving(path, *QUIET, "--profile", "v8"):
        async with device.connect(f"unix://{path}", wire="v8") as devices:
            assert len(await devices.v1alpha1.gpus.list()) == 8


def test_metrics_and_health_are_served_where_they_are_asked_for(tmp_path: Path) -> None:
    place = f"127.0.0.1:{free_ports(1)[0]}"
    addresses = ("--metrics-bind-address", place, "--health-probe-bind-address", place)
    with serving(tmp_path / "s", "--gate-seconds", "600", *addresses):
        assert fetched(f"http://{place}/livez")[0] == 200
        assert fetched(f"http://{place}/readyz")[0] == 503
    with serving(tmp_path / "s", *QUIET, *addresses):
        assert shown("get", target=tmp_path / "s").returncode == 0
        assert fetched(f"http://{place}/readyz")[0] == 200
        assert 'method="ListGpus"' in fetched(f"http://{place}/metrics")[1].replace("grpc_method", "method")


def test_a_client_that_dies_leaves_no_stream_behind(tmp_path: Path) -> None:
    place = f"127.0.0.1:{free_ports(1)[0]}"
    with serving(tmp_path / "s", *QUIET, "--metrics-bind-address", place):
        with ForkedProcess(*COMMAND, "watch", "--target", f"unix://{tmp_path}/s") as watching:
            assert watching.stdout.readline().startswith("TIME")
            wait_for_streams(place, 1)
            watching.kill()
        wait_for_streams(place, 0)


def wait_for_streams(place: str, wanted: int) -> None:
    deadline = time.monotonic() + 20
    while f"device_api_server_watch_streams_active {wanted}\n" not in fetched(f"http://{place}/metrics")[1]:
        assert time.monotonic() < deadline


async def test_a_second_signal_ends_it_without_grace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    closing = asyncio.Event()

    class Slow:
        """A server whose calls never end."""

        def __init__(self, options: DeviceServerOptions) -> None:
            self.options = options

        async def __aenter__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

        async def __aexit__(self, *_: object) -> None:
            closing.set()
            await asyncio.Event().wait()

    monkeypatch.setattr("pilotage.cli.device.server.DeviceServer", Slow)
    options = DeviceServerOptions(targets=(Target(path=f"{tmp_path}/s"),))
    async with asyncio.TaskGroup() as tasks, asyncio.timeout(60):
        tasks.create_task(serve(options))
        await closing.wait()
        signal.raise_signal(signal.SIGTERM)
    assert capsys.readouterr().out.endswith("listening on " + f"{tmp_path}/s\n\nStopping server...\n")


# One server for a path, and what is left of a killed one


def test_a_second_server_is_refused_and_changes_nothing_for_the_first(tmp_path: Path) -> None:
    path, shared = tmp_path / "device-api.sock", (*QUIET, "--storage", f"sqlite:{tmp_path}/state.db")
    with serving(path, *shared) as first:
        asyncio.run(wait_for_gpus(path, 8))
        before = shown("get", "-o", "json", target=path).stdout
        assert refused("--target", f"unix://{path}", *shared) == (
            f"another server already listens on {path} (pid {first.process.pid}): stop it, or use another path"
        )
        assert shown("get", "-o", "json", target=path).stdout == before


async def wait_for_gpus(path: Path, count: int) -> None:
    async with device.connect(f"unix://{path}") as devices, devices.v1alpha1.gpus.follow() as events:
        for _ in range(count):
            await anext(events)


def test_after_kill_9_the_next_server_takes_the_stale_socket_over(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with serving(path, *QUIET) as first:
        first.stop(signal.SIGKILL)
    assert path.is_socket()
    with serving(path, *QUIET):
        assert shown("get", "-o", "name", target=path).stdout.count("\n") == 8
    assert not path.exists()


async def test_a_client_is_back_after_a_restart_with_its_first_call(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    async with device.connect(f"unix://{path}") as devices:
        with serving(path, *QUIET) as server:
            assert len(await devices.v1alpha1.gpus.list()) == 8
            await asyncio.to_thread(server.stop, signal.SIGKILL)
        with serving(path, *QUIET):
            assert len(await devices.v1alpha1.gpus.list()) == 8


# TCP


def test_a_host_and_a_port_need_tls(capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "--target", "127.0.0.1:50051").startswith(
        "cannot serve dns:///127.0.0.1:50051 without TLS, because every client in the network could connect; give"
    )


def test_no_tls_is_for_this_machine_alone() -> None:
    assert refused("--target", "0.0.0.0:50051", "--insecure-loopback").startswith(
        "--insecure-loopback needs a loopback"
    )


def test_tls_is_not_for_a_unix_socket(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "--target", f"unix://{tmp_path}/s", "--insecure-loopback")
    assert line.endswith("is a Unix socket: --tls-* and --insecure-loopback apply only to HOST:PORT")


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (["--tls-cert", "cert.pem"], "TLS needs both --tls-cert and --tls-key"),
        (["--tls-client-ca", "ca.pem"], "TLS needs both --tls-cert and --tls-key"),
        (["--tls-cert", "nowhere", "--tls-key", "nowhere"], "file nowhere does not exist"),
        (["--tls-cert", __file__, "--tls-key", __file__], "cannot load certificate"),
        (
            ["--tls-cert", __file__, "--tls-key", __file__, "--insecure-loopback"],
            "--insecure-loopback cannot be combined with --tls-cert",
        ),
    ],
)
def test_half_of_tls_is_refused(files: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert text in refusal(capsys, "--target", "127.0.0.1:50051", *files)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert refused("--target", place, "--insecure-loopback", *QUIET).startswith(f"cannot listen on {place}: ")


async def test_on_the_loopback_interface_strangers_may_read_and_not_write() -> None:
    place = f"127.0.0.1:{free_ports(1)[0]}"
    with serving(place, "--insecure-loopback", *QUIET) as server:
        assert server.lines[1:] == [f"address: {place}", f"Fake Device API listening on {place}"]
        async with device.connect(place, plaintext=True) as devices:
            assert len(await devices.v1alpha1.gpus.list()) == 8
            with pytest.raises(Forbidden, match="may not call DeleteGpu"):
                await devices.v1alpha1.gpus.delete("gpu-1")
    with serving(place, "--insecure-loopback", "--allow-remote-write", *QUIET):
        async with device.connect(place, plaintext=True) as devices:
            await devices.v1alpha1.gpus.delete("gpu-1")
            assert len(await devices.v1alpha1.gpus.list()) == 7


async def test_over_tls_it_is_known_by_its_certificate(tmp_path: Path) -> None:
    certificate, place = self_signed("127.0.0.1"), f"127.0.0.1:{free_ports(1)[0]}"
    (tmp_path / "crt").write_bytes(certificate.certificate)
    (tmp_path / "key").write_bytes(certificate.key)
    with serving(place, "--tls-cert", str(tmp_path / "crt"), "--tls-key", str(tmp_path / "key"), *QUIET):
        async with device.connect(place, ca_file=str(tmp_path / "crt")) as devices:
            assert len(await devices.v1alpha1.gpus.list()) == 8
        ran = shown("get", "--tls-ca", str(tmp_path / "crt"), "-o", "name", target=place)
        assert ran.stdout.count("\n") == 8
        ran = shown("get", target=place)
        assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
        assert place in ran.stderr


# Invalid settings


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--provider", "replay", "--recording", "/nowhere"], "cannot read the recording /nowhere: No such file"),
        (["--provider", "replay", "--recording", __file__], "is not a recording of NVML"),
        (["--provider", "nvml", "--ignored-xids", "thirteen"], "'thirteen' is not an XID"),
        (["--provider", "fake", "--count", "-1"], "count=-1: must be a whole number from 0 to 1024"),
        (["--storage", "postgres:x"], "use memory:, sqlite:PATH"),
        (["--metrics-bind-address", "nonsense"], "'nonsense' is not a bind address"),
        (["--target", "http://x"], "invalid target"),
        (["--target", "unix:///" + "x" * 200], "longer than 107 bytes"),
    ],
)
def test_invalid_settings_are_reported_in_one_line(
    options: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = [] if "--target" in options else ["--target", f"unix://{tmp_path}/s"]
    assert text in refusal(capsys, *target, *options)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--group", "no-such-group"], "group 'no-such-group' does not exist"),
        (["--allow-write-uid", "no-such-user"], "user 'no-such-user' does not exist"),
        (["--socket-mode", "999"], "'999' is not a file mode"),
        (["--gate-seconds", "-1"], "is not a number of seconds"),
        (["--gate-seconds", "nan"], "is not a number of seconds"),
        (["--provider", "dcgm"], "invalid choice: 'dcgm'"),
    ],
)
def test_wrong_usage_is_refused(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["device", "serve", *options])
    assert raised.value.code == 2
    assert text in capsys.readouterr().err


def test_users_and_groups_go_by_name_or_number_and_times_with_their_unit() -> None:
    options = parser().parse_args(
        [
            "device",
            "serve",
            "--group",
            "root",
            "--allow-write-uid",
            "root",
            "--allow-write-uid=5",
            "--gate-seconds=2.5s",
        ]
    )
    assert (options.group, options.allow_write_uid, options.gate_seconds) == (0, [0, 5], 2.5)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a driver here")
def test_without_a_driver_it_serves_no_gpus_and_logs_why(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with serving(path, "--provider", "nvml", "--gate-seconds", "600") as server:
        ran = shown("get", "-o", "json", target=path)
        server.stop()
    assert (ran.returncode, json.loads(ran.stdout)["items"]) == (0, [])
    assert [line for line in server.errors.splitlines() if "device.nvml" in line]
