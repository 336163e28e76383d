from __future__ import annotations

import pytest

from pilotage.cli.assets.etcd import address_of, answer
from pilotage.cli.assets.flags import help_text, parsed

ENVTEST = (  # as controller-runtime 0.25 starts it
    "--allow-privileged=true",
    "--authorization-mode=RBAC",
    "--bind-address=127.0.0.1",
    "--cert-dir=/tmp/a",
    "--client-ca-file=/tmp/a/client-cert-auth-ca.crt",
    "--disable-admission-plugins=ServiceAccount",
    "--etcd-servers=http://127.0.0.1:2379",
    "--secure-port=6443",
    "--service-account-issuer=https://127.0.0.1:6443/",
    "--service-account-key-file=/tmp/a/sa-signer.crt",
    "--service-account-signing-key-file=/tmp/a/sa-signer.key",
    "--service-cluster-ip-range=10.0.0.0/24",
)


def test_every_flag_of_envtest_is_accepted_without_a_line() -> None:
    flags = parsed(ENVTEST)
    assert flags.without_effect == []
    assert flags.values["client-ca-file"] == "/tmp/a/client-cert-auth-ca.crt"


def test_flags_without_an_effect_are_named() -> None:
    flags = parsed(["--feature-gates=A=true", "--v", "4", "--authorization-mode=AlwaysAllow", "--goaway-chance=0.1"])
    assert flags.without_effect == ["feature-gates", "v", "authorization-mode", "goaway-chance"]


def test_a_value_may_be_the_next_word() -> None:
    assert parsed(["--secure-port", "1234", "--anonymous-auth"]).values == {
        "secure-port": "1234",
        "anonymous-auth": "true",
    }


def test_admission_plugins_add_up_and_other_flags_count_as_given_last() -> None:
    words = ["--disable-admission-plugins=A", "--disable-admission-plugins=B,C", "--secure-port=1", "--secure-port=2"]
    assert parsed(words).values == {"disable-admission-plugins": "A,B,C", "secure-port": "2"}


def test_a_word_that_is_no_flag_is_refused() -> None:
    with pytest.raises(ValueError, match="takes no arguments, only flags: 'serve'"):
        parsed(["serve"])


def test_the_help_does_not_have_the_insecure_port() -> None:
    assert "insecure-port" not in help_text(), "envtest would give it then"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--listen-client-urls=http://127.0.0.1:1234"], ("127.0.0.1", 1234)),
        (["--data-dir=a=b", "--listen-client-urls", "http://localhost:1,http://localhost:2"], ("localhost", 1)),
        (["--listen-client-urls=http://[::1]:1234/"], ("::1", 1234)),
        ([], ("localhost", 2379)),
    ],
)
def test_etcd_answers_at_its_first_client_url(words: list[str], expected: tuple[str, int]) -> None:
    assert address_of(words) == expected


def test_etcd_refuses_tls() -> None:
    with pytest.raises(ValueError, match="is not http://HOST:PORT"):
        address_of(["--listen-client-urls=https://127.0.0.1:1234"])


def test_etcd_is_healthy() -> None:
    assert answer(b"GET /health HTTP/1.1\r\n\r\n").endswith(b'\r\n\r\n{"health":"true","reason":""}')
    assert answer(b"").startswith(b"HTTP/1.1 404 ")
