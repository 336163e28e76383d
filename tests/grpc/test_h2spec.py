"""h2spec, an independent conformance test of RFC 9113 and RFC 7541, on our server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import pytest

from pilotage.grpc import requests
from pilotage.grpc.rpc import Call, Handlers, Outgoing, frame
from pilotage.grpc.server import serve

from ..device.programs import binaries
from .ground import UNLIMITED, port

pytestmark = pytest.mark.go

WITHIN = 100.0
LET_PASS = {
    # RFC 9113 has no priorities any more (section 5.3.2): what they say is not looked at.
    "Sends HEADERS frame that depend on itself",
    "Sends PRIORITY frame that depend on itself",
}
"""Cases that h2spec, written for RFC 7540, fails and RFC 9113 allows."""


@pytest.fixture(scope="module")
def h2spec() -> Path:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    return found / "h2spec"


async def answer(call: Call, messages: AsyncIterator[bytes], outgoing: Outgoing) -> None:
    """Waits for the end of any request, and sends a few bytes."""
    async for _ in messages:
        pass
    while not outgoing.write([frame(b"answer")]):
        await outgoing.wait_drained()


async def test_the_server_holds_to_the_rules_of_http2(h2spec: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    everything = mock.patch.object(requests, "_check_http")  # its requests are GETs, and no gRPC
    with everything:
        options = replace(UNLIMITED, metadata_bytes=1 << 15)  # some of its requests are large
        async with serve(Handlers({}, {}, {"/": answer}), options=options) as listening:
            words = ("--host", "127.0.0.1", "--port", str(port(listening)), "--timeout", "3", "--strict")
            process = await asyncio.create_subprocess_exec(
                h2spec, *words, "--junit-report", report, stdout=asyncio.subprocess.DEVNULL
            )
            async with asyncio.timeout(WITHIN):
                await process.wait()
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = {case.get("classname"): _fault(case) for case in cases if len(case)}
    assert len(cases) > 140
    assert {name: fault for name, fault in failed.items() if name not in LET_PASS} == {}
    assert set(failed) == LET_PASS, "these need not be listed any more"


def _fault(case: ElementTree.Element) -> str:
    """What should have come, line by line, and what came, or that the case was skipped."""
    return f"{case.get('package')}: {case[0].tag}: {case[0].text or ''}"
