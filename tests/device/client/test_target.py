"""Targets: valid and invalid addresses of a server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.client.target import DEFAULT, ENVIRONMENT, Target
from pilotage.errors import InvalidDefinition


@pytest.mark.covers("D1")
def test_the_text_wins_over_the_environment_and_that_over_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert str(Target.parse()) == DEFAULT == "unix:///var/run/nvidia-device-api/device-api.sock"
    monkeypatch.setenv(ENVIRONMENT, "unix:///tmp/a.sock")
    assert Target.parse() == Target(path="/tmp/a.sock")
    assert Target.parse("unix:///tmp/b.sock") == Target(path="/tmp/b.sock")
    monkeypatch.setenv(ENVIRONMENT, "")
    assert str(Target.parse()) == DEFAULT


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("unix:///run/a.sock", Target(path="/run/a.sock")),
        ("unix:/run/a.sock", Target(path="/run/a.sock")),
        ("/run/a.sock", Target(path="/run/a.sock")),
        ("dns:///node.example:50051", Target(host="node.example", port=50051)),
        ("passthrough:///10.0.0.1:1", Target(host="10.0.0.1", port=1)),
        ("localhost:50051", Target(host="localhost", port=50051)),
        ("[::1]:50051", Target(host="::1", port=50051)),
    ],
)
def test_all_ways_to_write_a_target(text: str, target: Target) -> None:
    assert Target.parse(text) == target


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (" ", "host and a port"),
        ("unix:", "absolute"),
        ("unix://", "three slashes"),
        ("unix://run/a.sock", "unix:///run/a.sock"),
        ("unix:a.sock", "absolute"),
        ("unix:///run/", "slash"),
        ("unix:///run/a\0b", "zero byte"),
        ("unix:///" + "x" * 200, "107"),
        ("unix-abstract:name", "not a number"),
        ("http://localhost:8080", "scheme"),
        ("dns://8.8.8.8/host:1", "scheme"),
        ("localhost", "host and a port"),
        (":50051", "host and a port"),
        ("localhost:", "not a number"),
        ("localhost:0", "between 1 and 65535"),
        ("localhost:65536", "between 1 and 65535"),
        ("localhost:\u0661", "not a number"),
        ("::1:50051", "brackets"),
        ("[localhost]:1", "IPv6"),
        ("a b:1", "not a host"),
    ],
)
def test_what_is_no_target_is_refused_with_what_to_write_instead(text: str, hint: str) -> None:
    with pytest.raises(InvalidDefinition, match=hint.replace("[", r"\[")):
        Target.parse(text)


@pytest.mark.covers("D1")
def test_an_empty_target_is_none() -> None:
    for path, host in (("", ""), ("/run/a.sock", "localhost")):
        with pytest.raises(InvalidDefinition):
            Target(path=path, host=host, port=1)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_may_go_without_tls_when_asked(host: str) -> None:
    target = Target(host=host, port=1)
    assert target.needs_tls()
    assert not target.needs_tls(plaintext=True)


@pytest.mark.parametrize("host", ["node.example", "10.0.0.1", "localhost.example", "0.0.0.0", "2001:db8::1"])
def test_no_client_connects_to_another_machine_without_tls(host: str) -> None:
    target = Target(host=host, port=1)
    assert target.needs_tls()
    with pytest.raises(InvalidDefinition, match="TLS"):
        target.needs_tls(plaintext=True)


def test_a_socket_needs_no_tls() -> None:
    assert not Target(path="/a").needs_tls()
    assert not Target(path="/a").needs_tls(plaintext=True)


PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


@given(PATHS.map(lambda name: "/" + name).filter(lambda path: not path.endswith("/")))
def test_a_socket_is_parsed_from_its_uri(path: str) -> None:
    assert Target.parse(str(Target(path=path))) == Target(path=path)


@given(st.sampled_from(["a.example", "10.1.2.3", "::1", "2001:db8::2"]), st.integers(1, 65535))
def test_a_host_is_parsed_from_its_uri(host: str, port: int) -> None:
    assert Target.parse(str(Target(host=host, port=port))) == Target(host=host, port=port)


@given(st.text(max_size=40))
def test_any_text_is_a_target_or_refused(text: str) -> None:
    try:
        target = Target.parse(text or "x")
    except InvalidDefinition:
        return
    assert Target.parse(str(target)) == target
