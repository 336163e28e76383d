from __future__ import annotations

import pytest

from pilotage.cli import main
from pilotage.cli.parsing import command_first


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("get pods -n shop", "get pods -n shop"),
        ("-n shop get pods", "get -n shop pods"),
        ("--kubeconfig=k --context c get pods", "get --kubeconfig=k --context c pods"),
        ("--storage memory:", "--storage memory:"),
        ("--version", "--version"),
        ("-n", "-n"),
        ("", ""),
    ],
)
def test_where_a_command_works_may_be_named_before_it(typed: str, parsed: str) -> None:
    assert command_first(typed.split()) == parsed.split()


def test_the_command_accepts_what_kubectl_accepts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--storage", "memory:", "create", "namespace", "shop"]) == 0
    assert capsys.readouterr().out == "namespace/shop created\n"
