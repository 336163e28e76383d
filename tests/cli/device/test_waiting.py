"""`pilotage device wait` and `inject`: faults of fake GPUs, and waiting for what they cause."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ...forked import ForkedProcess
from .processes import COMMAND, serving, shown

FAKES = ("--provider", "fake", "--count", "3", "--period", "0")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("device") / "device-api.sock"
    with serving(path, *FAKES):
        yield path


def met(*names: str) -> str:
    return "".join(f"gpu.device.nvidia.com/{name} condition met\n" for name in names)


def test_a_condition_that_is_met_is_printed_for_each_gpu(target: Path) -> None:
    ran = shown("wait", "gpu-1", "gpu/gpu-2", "--for=condition=Ready", target=target)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, met("gpu-1", "gpu-2"), "")
    ran = shown("wait", "gpu-1", "--for=jsonpath={.metadata.name}=gpu-1", "--timeout=0", target=target)
    assert (ran.returncode, ran.stdout) == (0, met("gpu-1"))
    assert shown("wait", "-l", "pilotage.dev/provider=fake", "--for=create", target=target).stdout.count("met") == 3
    assert shown("wait", "gpu-9", "--for=delete", target=target).returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("gpu-1", "specify --for: condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete"),
        ("gpu-1 --for=Ready", 'unrecognized condition: "Ready"'),
        ("gpu-9 --for=condition=Ready", 'gpus.device.nvidia.com "gpu-9" not found'),
        ("gpu-1 --for=condition=Ready=False --timeout=0", "condition not met for gpus/gpu-1"),
        ("gpu-1 --for=condition=Ready=False --timeout=50ms", "timed out waiting for the condition on gpus/gpu-1"),
        ("-l rack=nowhere --for=condition=Ready", "no matching GPUs found"),
        ("gpu-1 -l rack=a --for=delete", "names cannot be combined with a selector; give one of them"),
    ],
)
def test_what_cannot_be_waited_for_is_one_line(target: Path, words: str, message: str) -> None:
    ran = shown("wait", *words.split(), target=target)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"pilotage: {message}\n")


def test_an_injected_xid_is_waited_for_and_counted_and_reset(target: Path) -> None:
    waiting = ("wait", "gpu-2", "--for=condition=ResetRequired", "--target", f"unix://{target}")
    with ForkedProcess(*COMMAND, *waiting) as process:
        ran = shown("inject", "gpu-2", "--xid", "48", "--xid", "31", target=target)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "gpu.device.nvidia.com/gpu-2 injected\n", "")
        assert process.communicate(timeout=60) == (met("gpu-2"), "")
    gpu = json.loads(shown("get", "gpu-2", "-o", "json", target=target).stdout)
    conditions = {each["type"]: (each["status"], each["reason"]) for each in gpu["status"]["conditions"]}
    assert conditions == {
        "Ready": ("False", "DoubleBitECCError"),
        "Degraded": ("False", "NotDegraded"),
        "ResetRequired": ("True", "DoubleBitECCError"),
        "HardwareFailure": ("False", "NoFailure"),
    }
    assert gpu["status"]["recommendedAction"] == "COMPONENT_RESET"
    assert "XID 31: 1, XID 48: 1" in shown("describe", "gpu-2", target=target).stdout
    assert shown("inject", "gpu-2", "--reset", target=target).stdout == "gpu.device.nvidia.com/gpu-2 reset\n"
    assert shown("wait", "gpu-2", "--for=condition=Ready", target=target).returncode == 0
    assert "annotations" not in json.loads(shown("get", "gpu-2", "-o", "json", target=target).stdout)["metadata"]


def test_an_injected_condition_is_there_until_the_reset(target: Path) -> None:
    words = "inject gpu-3 --condition XidError --reason XID79 --recommended-action RESTART_BM"
    assert shown(*words.split(), target=target).returncode == 0
    assert shown("wait", "gpu-3", "--for=condition=XidError", target=target).returncode == 0
    row = shown("get", "gpu-3", target=target).stdout.splitlines()[1].split()
    assert (row[2], row[4]) == ("RESTART_BM", "XidError=True(XID79)")
    shown("inject", "gpu-3", "--reset", target=target)
    assert shown("wait", "gpu-3", "--for=jsonpath={.status.recommendedAction}", "--timeout=0", target=target).returncode


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "nothing to inject: give --xid NUMBER or --condition TYPE=STATUS, or --reset"),
        ("--condition Ready=maybe", "--condition 'Ready=maybe' is not TYPE=STATUS"),
        ("--xid 48 --recommended-action REBOOT", "--recommended-action 'REBOOT' is not one of CONTACT_SUPPORT"),
    ],
)
def test_what_cannot_be_injected_is_one_line(target: Path, words: str, message: str) -> None:
    ran = shown("inject", "gpu-1", *words.split(), target=target)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert ran.stderr.startswith(f"pilotage: {message}")


def test_faults_are_not_injected_into_gpus_of_another_provider(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with serving(path, "--provider", "replay"):
        name = shown("get", "-o", "jsonpath={.items[0].metadata.name}", target=path).stdout
        ran = shown("inject", name, "--xid", "48", target=path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "can be injected only into GPUs of the provider fake" in ran.stderr


def test_a_storage_that_lasts_keeps_the_fault_and_a_wait_survives_the_restart(tmp_path: Path) -> None:
    path, storage = tmp_path / "device-api.sock", ("--storage", f"sqlite:{tmp_path}/gpus.db")
    with serving(path, *FAKES, *storage) as server:
        uuid = shown("get", "gpu-1", "-o", "jsonpath={.spec.uuid}", target=path).stdout
        shown("inject", "gpu-1", "--xid", "79", target=path)
        assert shown("wait", "gpu-1", "--for=condition=HardwareFailure", target=path).returncode == 0
        waiting = ("wait", "gpu-1", "--for=condition=Ready", "--target", f"unix://{path}")
        with ForkedProcess(*COMMAND, *waiting) as process:
            server.stop(signal.SIGKILL)
            with serving(path, *FAKES, *storage):
                row = shown("get", "gpu-1", target=path).stdout
                assert "HardwareFailure=True(GPUFallenOffBus)" in row
                assert shown("get", "gpu-1", "-o", "jsonpath={.spec.uuid}", target=path).stdout == uuid
                shown("inject", "gpu-1", "--reset", target=path)
                assert process.communicate(timeout=60) == (met("gpu-1"), "")
