"""What a client is made from: which wire generation it speaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pilotage import device
from pilotage.device.client.config import DEFAULT_WIRE, WIRES, Config, wire_of
from pilotage.device.client.target import Target
from pilotage.device.wire.generation import Generation
from pilotage.errors import InvalidDefinition

SOCKET = Target(path="/run/device-api.sock")


def test_the_wires_are_the_generations() -> None:
    assert set(WIRES) == {generation.value for generation in Generation}
    assert Generation(DEFAULT_WIRE) is Generation.V6


@pytest.mark.parametrize(
    ("given", "environment", "wire"),
    [("", "", "v6"), ("", "v3", "v3"), ("v8", "v3", "v8"), ("v8", "", "v8"), ("v2", "nonsense", "v2")],
)
async def test_an_argument_wins_over_the_environment_and_that_over_the_default(
    given: str, environment: str, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PILOTAGE_DEVICE_WIRE", environment)
    assert wire_of(given) == wire
    async with device.connect(SOCKET, wire=given) as devices:
        assert devices.config.wire == wire
    if not given:
        assert Config(SOCKET).wire == wire


def test_a_wire_that_there_is_not_is_an_error_that_names_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    known = "use one of v1, v2, v3, v6, v8"
    with pytest.raises(InvalidDefinition, match=f"^unknown wire generation 'v9': {known}"):
        device.connect(SOCKET, wire="v9")
    with pytest.raises(InvalidDefinition, match=f"^unknown wire generation 'v9': {known}"):
        Config(SOCKET, wire="v9")
    monkeypatch.setenv("PILOTAGE_DEVICE_WIRE", "V6")
    with pytest.raises(InvalidDefinition, match=f"^PILOTAGE_DEVICE_WIRE: unknown wire generation 'V6': {known}"):
        device.connect(SOCKET)


def test_a_target_may_be_text_and_a_config_may_be_connected() -> None:
    config = Config(target="unix:///tmp/device.sock")
    assert config.address == Target(path="/tmp/device.sock")
    assert config.target == config.address
    devices = device.connect(config, wire="v8")
    assert (devices.config.address, devices.config.wire) == (config.address, "v8")
    with pytest.raises(InvalidDefinition):
        Config(target="http://somewhere/else")
    path: Any = Path("/tmp/device.sock")
    with pytest.raises(
        InvalidDefinition, match=r"^target=PosixPath\('/tmp/device.sock'\): must be text, such as unix:///"
    ):
        Config(target=path)
