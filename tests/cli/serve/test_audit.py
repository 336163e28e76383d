"""The audit log of `pilotage serve`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilotage.cli import main
from pilotage.types.core.v1 import Namespace

from .processes import failure, serving


async def test_requests_are_logged_as_the_policy_selects_them(tmp_path: Path) -> None:
    rules = "[{level: None, verbs: [list, watch]}, {level: Metadata, omitStages: [RequestReceived]}]"
    (tmp_path / "policy.yaml").write_text(f"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: {rules}\n")
    options = ("--audit-log-path", "logs/audit.log", "--audit-policy-file", "policy.yaml")
    with serving(tmp_path, *options) as running:
        async with running.cluster() as cluster:
            await cluster.client.get(Namespace, "default")
            await cluster.client.list(Namespace)
    lines = [json.loads(line) for line in (tmp_path / "logs" / "audit.log").read_text().splitlines()]
    assert [event["requestURI"] for event in lines if event.get("objectRef")] == ["/api/v1/namespaces/default"]
    assert {event["stage"] for event in lines} == {"ResponseComplete"}


def test_a_policy_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n")
    assert "--audit-policy-file needs --audit-log-path" in failure(tmp_path, "--audit-policy-file", "policy.yaml")
    log = ("--audit-log-path", "audit.log")
    assert "rules[0].level: 'All' is not one of" in failure(tmp_path, *log, "--audit-policy-file", "policy.yaml")
    assert "cannot read the audit policy other.yaml: No such" in failure(
        tmp_path, *log, "--audit-policy-file", "other.yaml"
    )
    assert "cannot open the audit log .: Is a directory" in failure(tmp_path, "--audit-log-path", ".")


@pytest.mark.parametrize("option", ["--audit-log-maxsize", "--audit-log-maxbackup"])
def test_a_number_that_is_none_is_wrong_usage(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", option, "-1"])
    assert "is not a number of 0 or more" in capsys.readouterr().err
