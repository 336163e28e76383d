"""Credential plugins: small programs that print credentials."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pilotage.client.credentials.execplugin import VERSIONS, ExecCredentials, ExecPlugin
from pilotage.errors import NoCredentials

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def plugin(folder: Path, body: str, **parts: Any) -> ExecPlugin:
    """A program of this body; it counts its runs in a file beside it."""
    script = folder / "plugin.py"
    script.write_text(
        "import json, os, sys\n"
        f"with open({str(folder / 'runs')!r}, 'a') as runs: runs.write('x')\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "def credential(**status):\n"
        "    print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': status}))\n" + body
    )
    return ExecPlugin(sys.executable, (str(script),), **parts)


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text()) if (folder / "runs").exists() else 0


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_token_is_kept_until_it_expires_or_is_refused(tmp_path: Path, version: str) -> None:
    body = (
        "number = os.path.getsize(os.path.join(os.path.dirname(sys.argv[0]), 'runs'))\n"
        "credential(token=f'token-{number}', expirationTimestamp='2026-01-01T01:00:00Z')"
    )
    clock = [NOW]
    credentials = ExecCredentials(plugin(tmp_path, body, api_version=version), clock=lambda: clock[0])
    first = await credentials.material()
    assert first.token == "token-1"
    assert await credentials.material() is first
    clock[0] = NOW + timedelta(minutes=59, seconds=55)  # nearly over
    second = await credentials.material()
    assert second.token == "token-2"
    credentials.invalidate(first)  # an old one: nothing new is known about the second
    clock[0] = NOW
    assert await credentials.material() is second
    credentials.invalidate(second)
    assert (await credentials.material()).token == "token-3"


async def test_one_run_serves_all_who_wait(tmp_path: Path) -> None:
    credentials = ExecCredentials(plugin(tmp_path, "credential(token='t')"))
    found = await asyncio.gather(*(credentials.material() for _ in range(20)))
    assert {material.token for material in found} == {"t"}
    assert runs(tmp_path) == 1


async def test_the_program_gets_what_it_needs_and_no_standard_input(tmp_path: Path) -> None:
    body = "credential(token=json.dumps([info['spec'], os.environ['REGION'], sys.stdin.read()]))"
    made = plugin(tmp_path, body, env=(("REGION", "eu"),), cluster={"server": "https://one"})
    material = await ExecCredentials(made).material()
    told = [{"interactive": False, "cluster": {"server": "https://one"}}, "eu", ""]
    assert json.loads(material.token) == told


async def test_a_certificate_comes_with_its_key(tmp_path: Path) -> None:
    made = plugin(tmp_path, "credential(clientCertificateData='CERT', clientKeyData='KEY')")
    certificate = (await ExecCredentials(made).material()).certificate
    assert certificate is not None
    assert certificate.read() == (b"CERT", b"KEY")
    assert "KEY" not in repr(certificate)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("sys.exit('no session: log in first')", "ended with exit code 1: no session: log in first"),
        ("print('secret-token')", "did not print an ExecCredential as JSON"),
        ("print('{}')", "printed '' of ''"),
        ("credential()", "neither a token nor a client certificate"),
        ("credential(clientKeyData='secret-token', token='secret-token')", "only one of client certificate and key"),
        ("credential(token='secret-token', expirationTimestamp='soon')", "expirationTimestamp that is not a time"),
        ("print('secret-token' * 300_000)", "printed more than 1,024 KiB, and was ended"),
        ("while True: print('secret-token')", "printed more than 1,024 KiB, and was ended"),
        ("while True: print('noise' * 9999, file=sys.stderr)", "printed more than 16,384 KiB of errors, and was ended"),
    ],
)
async def test_a_failure_names_what_to_do_and_contains_no_secret(tmp_path: Path, body: str, complaint: str) -> None:
    made = plugin(tmp_path, body, install_hint="Get it from the shop.", where="kubeconfig k: user 'u'")
    with pytest.raises(NoCredentials, match=complaint) as caught:
        await ExecCredentials(made).material()
    text = str(caught.value)
    assert text.startswith("kubeconfig k: user 'u': the credential plugin ")
    assert text.endswith("\nGet it from the shop.")
    assert "secret-token" not in text


async def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    made = ExecPlugin(str(tmp_path / "missing"), install_hint="brew install missing")
    with pytest.raises(NoCredentials, match="cannot be run") as caught:
        await ExecCredentials(made).material()
    assert "brew install missing" in str(caught.value)


async def test_a_program_that_does_not_end_is_ended(tmp_path: Path) -> None:
    made = plugin(tmp_path, "import time\ntime.sleep(600)")
    with pytest.raises(NoCredentials, match=r"did not end within 0\.3 s"):
        await ExecCredentials(made, run_seconds=0.3).material()
