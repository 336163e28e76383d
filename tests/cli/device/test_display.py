"""`pilotage device get` and `watch`: what they show of a server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotage.meta.text import yamltext

from ...forked import ForkedProcess
from .processes import COMMAND, serving, shown

UUID = r"GPU-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A server with two fake GPUs to which nothing happens."""
    path = tmp_path_factory.mktemp("device") / "device-api.sock"
    with serving(path, "--provider", "fake", "--count", "2", "--period", "0"):
        yield path


def test_the_gpus_are_a_table(target: Path) -> None:
    ran = shown("get", target=target)
    assert (ran.returncode, ran.stderr) == (0, "")
    heading, *rows = ran.stdout.splitlines()
    assert heading.split() == ["NAME", "READY", "ACTION", "AGE", "CONDITIONS"]
    assert [re.fullmatch(r"gpu-\d +True +- +\d+s +-", row) is not None for row in rows] == [True, True]
    assert {line.index("READY") if "READY" in line else line.index("True") for line in (heading, *rows)} == {
        heading.index("READY")
    }


def test_the_wide_table_has_versions_and_messages(target: Path) -> None:
    heading, *rows = shown("get", "-o", "wide", target=target).stdout.splitlines()
    assert heading.split()[-8:] == ["TEMP", "POWER", "UTIL", "MEMORY", "ECC", "XIDS", "VERSION", "MESSAGE"]
    reading = r"\d\dC +\d+/700W +\d+% +\d+/140GiB +0/0 +0 +"
    assert all(re.search(reading, row) for row in rows), rows
    assert all(row.endswith("driver is posting ready status") for row in rows)
    assert all(re.match(rf"gpu-\d +{UUID} +True +DriverReady +- +- +\d+s", row) for row in rows)


def test_a_gpu_is_described_with_what_it_reads(target: Path) -> None:
    ran = shown("describe", "gpu-2", target=target)
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = [line.strip() for line in ran.stdout.splitlines()]
    assert lines[0].split() == ["Name:", "gpu-2"]
    assert any(re.fullmatch(r"Power: +\d+\.\d W of 700\.0 W", line) for line in lines)
    assert any(re.fullmatch(r"Telemetry: +read by fake at \S+Z \(\ds ago\)", line) for line in lines)
    assert shown("describe", target=target).stdout.count("Telemetry:") == 2
    assert shown("describe", "gpu-9", target=target).returncode == 1


def test_the_recording_that_ships_is_replayed_without_a_file(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with serving(path, "--provider", "replay"):
        ran = shown("describe", target=path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "140.4 GiB total" in ran.stdout


def test_one_gpu_is_asked_for_by_its_name(target: Path) -> None:
    assert shown("get", "gpu-1", "-o", "name", target=target).stdout == "gpu.device.nvidia.com/gpu-1\n"


def test_json_and_yaml_say_the_same_of_a_list_and_of_one(target: Path) -> None:
    listed = json.loads(shown("get", "-o", "json", target=target).stdout)
    assert (listed["apiVersion"], listed["kind"]) == ("device.nvidia.com/v1alpha1", "GPUList")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["gpu-1", "gpu-2"]
    assert yamltext.read(shown("get", "-o", "yaml", target=target).stdout) == listed
    assert json.loads(shown("get", "gpu-1", "-o", "json", target=target).stdout) == listed["items"][0]


def test_the_formats_of_kubectl_print_gpus(target: Path) -> None:
    assert re.fullmatch(UUID, shown("get", "gpu-1", "-o", "jsonpath={.spec.uuid}", target=target).stdout)
    names = shown("get", "-o", "jsonpath={.items[*].metadata.name}", target=target).stdout
    assert names == "gpu-1 gpu-2"
    columns = shown("get", "-o", "custom-columns=GPU:.metadata.name", target=target).stdout
    assert columns == "GPU\ngpu-1\ngpu-2\n"
    ran = shown("get", "-o", "xml", target=target)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "allowed formats are: table,json,yaml,name,wide,jsonpath" in ran.stderr


def test_selectors_choose_gpus(target: Path) -> None:
    one = json.loads(shown("get", "gpu-2", "-o", "json", target=target).stdout)
    [(key, value)] = one["metadata"]["labels"].items()
    chosen = ("--field-selector", f"spec.uuid={one['spec']['uuid']}", "-l", f"{key}={value}")
    assert shown("get", *chosen, "-o", "name", target=target).stdout == "gpu.device.nvidia.com/gpu-2\n"
    ran = shown("get", "-l", "rack=nowhere", target=target)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == f"no GPUs that match the selectors found at unix://{target}\n"
    both = shown("get", "gpu-2", "-l", "rack=a", target=target)
    assert (both.returncode, both.stderr) == (
        1,
        "pilotage: a name cannot be combined with selectors; give one of them\n",
    )


def test_a_gpu_that_is_not_there_is_one_line(target: Path) -> None:
    ran = shown("get", "gpu-9", target=target)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert "gpu-9" in ran.stderr


@pytest.mark.parametrize("command", ["get", "watch"])
def test_no_server_is_one_clear_line(command: str, tmp_path: Path) -> None:
    ran = shown(command, target=tmp_path / "nowhere.sock")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert ran.stderr.startswith(f"pilotage: unix://{tmp_path}/nowhere.sock: there is no such socket")


def test_a_target_that_is_none_is_one_clear_line() -> None:
    ran = shown("get", "--target", "http://x")
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["get --target unix://{target}", "get --help"])
def test_a_reader_that_goes_away_is_no_failure(target: Path, arguments: str, unbuffered: str) -> None:
    words = [sys.executable, "-W", "error", *COMMAND, arguments.format(target=target)]
    command = f"{' '.join(words)} | true; echo ${{PIPESTATUS[0]}}"
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    ran = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_changes_follow_the_table_and_ctrl_c_is_the_proper_end(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    fakes = ("--provider", "fake", "--count", "2", "--seed", "1")
    with (
        serving(path, *fakes, "--period", "0.1") as server,
        ForkedProcess(*COMMAND, "watch", "--target", f"unix://{path}") as watching,
    ):
        try:
            lines = [watching.stdout.readline().rstrip("\n") for _ in range(5)]
            assert lines[0].split() == ["TIME", "EVENT", "NAME", "READY", "ACTION", "CONDITIONS"]
            assert [line.split()[1:3] for line in lines[1:3]] == [["ADDED", "gpu-1"], ["ADDED", "gpu-2"]]
            assert {line.split()[1] for line in lines[3:]} == {"MODIFIED"}
            assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines[1:])
            assert len({re.search("True|False", line).start() for line in lines[1:]}) == 1  # type: ignore[union-attr]
            server.stop(signal.SIGKILL)
            with serving(path, *fakes, "--period", "0", "--count", "1"):
                for line in watching.stdout:  # until it has noticed that the server came back, with one GPU less
                    if "DELETED" in line:
                        break
                assert line.split()[1:3] == ["DELETED", "gpu-2"]
                watching.send_signal(signal.SIGINT)
                _, errors = watching.communicate(timeout=100)
        finally:
            watching.kill()
    assert watching.returncode == 0
    assert "Traceback" not in errors


def test_one_gpu_can_be_watched_alone(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with (
        serving(path, "--provider", "fake", "--count", "2", "--period", "0.05"),
        ForkedProcess(*COMMAND, "watch", "gpu-1", "--target", f"unix://{path}") as watching,
    ):
        try:
            names = [watching.stdout.readline().split()[2] for _ in range(5)]
        finally:
            watching.send_signal(signal.SIGINT)
            watching.communicate(timeout=100)
    assert names == ["NAME", "gpu-1", "gpu-1", "gpu-1", "gpu-1"]


@pytest.mark.long
def test_a_server_that_does_not_know_its_gpus_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with serving(path, "--gate-seconds", "12"):
        watching = ForkedProcess(*COMMAND, "watch", "--target", f"unix://{path}")
        assert watching.stderr.readline().startswith("pilotage: waiting: the server is not ready")
        assert watching.stdout.readline().split()[:3] == ["TIME", "EVENT", "NAME"]
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=100)
        assert watching.returncode == 0
