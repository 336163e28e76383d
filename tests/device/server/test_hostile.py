"""Any input over gRPC gets a proper code, never INTERNAL, and the server serves other requests as before."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilotage.device.server.deviceserver import DeviceServer
from pilotage.device.wire.generation import Generation, method_path
from pilotage.device.wire.providerservice import provider_path
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.rpc import Code, RPCError
from pilotage.rest import PatchType
from pilotage.server.verbs import read

from ..handmade import field, meta, number, varint, written
from .fakes import server_options

INVALID, GONE = Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE
MERGE = PatchType.MERGE.value.encode()


def condition(kind: bytes = b"Ready", status: bytes = b"True", *more: bytes) -> bytes:
    return field(1, field(1, kind) + field(2, status) + b"".join(more))


SPEC = field(2, field(1, b"GPU-0"))


def with_status(*parts: bytes) -> bytes:
    return written(meta(), SPEC, field(3, b"".join(parts)))


def pair(key: bytes, value: bytes) -> bytes:
    return field(1, key) + field(2, value)


def patch(data: bytes, kind: bytes = MERGE, *subresources: bytes, name: bytes = b"gpu-0") -> bytes:
    return field(1, name) + field(3, kind) + field(4, data) + b"".join(field(6, one) for one in subresources)


JSON_PATCH = PatchType.JSON.value.encode()
STRATEGIC = PatchType.STRATEGIC.value.encode()
STATUS = b"status"

NOT_PROTOBUF = {
    "a tag without a value": b"\x0a",
    "a length beyond the end": b"\x0a\xff\xff\xff\x7f",
    "field number zero": b"\x02\x00",
    "an endless varint": b"\xff" * 11,
    "a group that never ends": b"\x0b" * 200,
    "a group that was not begun": b"\x0c",
}
NAMES = {
    "empty": b"",
    "with a NUL": b"gpu\0",
    "with a line break": b"gpu\n0",
    "with an escape": b"\x1b[2Jgpu",
    "that leads elsewhere": b"../../gpu",
    "that is a folder": b"..",
    "with a blank": b"gpu 0",
    "that turns round": "gpu\u202e0".encode(),
    "not UTF-8": b"gpu\xff\xfe",
    "of half a pair": b"gpu\xed\xa0\x80",
    "too long": b"x" * 254,
    "far too long": b"x" * 1_000_000,
}
GPUS = {
    "no gpu": b"",
    "an empty gpu": written(),
    "no metadata": written(SPEC),
    "no name": written(field(1, b""), SPEC),
    "a namespace": written(meta(b"gpu-0", field(3, b"kube-system")), SPEC),
    "a long namespace": written(meta(b"gpu-0", field(3, b"n" * 254)), SPEC),
    "metadata of another type": written(number(1, 7), SPEC),
    "a label that is none": written(meta(b"gpu-0", field(7, pair(b"a b", b"c"))), SPEC),
    "a label with a NUL": written(meta(b"gpu-0", field(7, pair(b"a", b"\0"))), SPEC),
    "a label not of UTF-8": written(meta(b"gpu-0", field(7, pair(b"a", b"\xff"))), SPEC),
    "a huge label": written(meta(b"gpu-0", field(7, pair(b"a", b"x" * 100_000))), SPEC),
    "65 labels": written(meta(b"gpu-0", *(field(7, pair(b"l%d" % one, b"")) for one in range(65))), SPEC),
    "20000 labels": written(meta(b"gpu-0", *(field(7, pair(b"l%d" % one, b"")) for one in range(20_000))), SPEC),
    "a huge annotation": written(meta(b"gpu-0", field(8, pair(b"a", b"x" * 70_000))), SPEC),
    "an annotation that is none": written(meta(b"gpu-0", field(8, pair(b"/", b"x"))), SPEC),
    "a huge uuid": written(meta(), field(2, field(1, b"x" * 70_000))),
    "a version that is none": written(meta(b"gpu-0", field(2, b"seven")), SPEC),
    "an endless version": written(meta(b"gpu-0", field(2, b"9" * 5000)), SPEC),
}
STATUSES = {
    "a status that is none": with_status(condition(status=b"Maybe")),
    "a status in lower case": with_status(condition(status=b"true")),
    "no status of a condition": with_status(condition(status=b"")),
    "no type": with_status(condition(kind=b"")),
    "a long type": with_status(condition(kind=b"T" * 317)),
    "one type twice": with_status(condition(), condition(status=b"False")),
    "33 conditions": with_status(*(condition(b"C%d" % one) for one in range(33))),
    "5000 conditions": with_status(*(condition(b"C%d" % one) for one in range(5000))),
    "a giant message": with_status(condition(b"Ready", b"True", field(5, b"m" * 40_000))),
    "messages that are giant together": with_status(
        *(condition(b"C%d" % one, b"True", field(5, b"m" * 30_000)) for one in range(3))
    ),
    "a long reason": with_status(condition(b"Ready", b"True", field(4, b"r" * 1025))),
    "a time past all times": with_status(condition(b"Ready", b"True", field(3, number(1, 2**62)))),
    "a time before all times": with_status(condition(b"Ready", b"True", field(3, number(1, -(2**62))))),
    "a message not of UTF-8": with_status(condition(b"Ready", b"True", field(5, b"\xff"))),
    "a long action": with_status(field(2, b"A" * 1025)),
}
PATCHES = {
    "nothing": patch(b""),
    "no JSON": patch(b"{"),
    "not UTF-8": patch(b'{"spec":{"uuid":"\xff"}}'),
    "half a pair": patch(rb'{"spec":{"uuid":"\ud800"}}'),
    "deep": patch(b'{"spec":' + b'{"a":' * 30_000 + b"1" + b"}" * 30_001),
    "a deep list": patch(b"[" * 100_000),
    "huge": patch(b'{"spec":{"uuid":"' + b"x" * 300_000 + b'"}}'),
    "not an object": patch(b"[]"),
    "a null": patch(b"null"),
    "no metadata left": patch(b'{"metadata":null}'),
    "metadata of another type": patch(b'{"metadata":7}'),
    "labels of another type": patch(b'{"metadata":{"labels":{"a":7}}}'),
    "annotations of another type": patch(b'{"metadata":{"annotations":["a"]}}'),
    "another name": patch(b'{"metadata":{"name":"gpu-1"}}'),
    "a version of another type": patch(b'{"metadata":{"resourceVersion":{"a":1}}}'),
    "a spec of another type": patch(b'{"spec":"GPU"}'),
    "no spec": patch(b'{"spec":null}'),
    "a uuid of another type": patch(b'{"spec":{"uuid":7}}'),
    "an integer of 5000 digits": patch(b'{"spec":{"uuid":' + b"9" * 5000 + b"}}"),
    "conditions of another type": patch(b'{"status":{"conditions":{"a":1}}}', MERGE, STATUS),
    "a condition of another type": patch(b'{"status":{"conditions":[7]}}', MERGE, STATUS),
    "a status of another type": patch(b'{"status":"fine"}', MERGE, STATUS),
    "a type of another type": patch(b'{"status":{"conditions":[{"type":{},"status":"True"}]}}', MERGE, STATUS),
    "a time that is none": patch(
        b'{"status":{"conditions":[{"type":"A","status":"True","lastTransitionTime":"now"}]}}',
        MERGE,
        STATUS,
    ),
    "a time of another type": patch(
        b'{"status":{"conditions":[{"type":"A","status":"True","lastTransitionTime":{"a":1}}]}}',
        MERGE,
        STATUS,
    ),
    "an action of another type": patch(b'{"status":{"recommendedAction":{"a":1}}}', MERGE, STATUS),
    "a pointer to nowhere": patch(b'[{"op":"remove","path":"/spec/none"}]', JSON_PATCH),
    "a pointer that is none": patch(b'[{"op":"add","path":"spec","value":1}]', JSON_PATCH),
    "an index beyond all": patch(
        b'[{"op":"add","path":"/status/conditions/99999999999999999999","value":1}]', JSON_PATCH, STATUS
    ),
    "an operation that is none": patch(b'[{"op":"fly","path":"/"}]', JSON_PATCH),
    "all taken away": patch(b'[{"op":"remove","path":""}]', JSON_PATCH),
    "copies that double": patch(
        json.dumps(
            [{"op": "add", "path": "/spec/a", "value": ["x" * 50]}]
            + [{"op": "copy", "from": "/spec/a", "path": "/spec/a/-"}] * 30
        ).encode(),
        JSON_PATCH,
    ),
    "a directive that is none": patch(b'{"status":{"conditions":[{"$patch":"fly","type":"A"}]}}', STRATEGIC, STATUS),
    "a list without its key": patch(b'{"status":{"conditions":[{"status":"True"}]}}', STRATEGIC, STATUS),
    "an apply": patch(b"{}", PatchType.APPLY.value.encode()),
    "a type that is none": patch(b"{}", b"application/\xe2\x98\x83"),
    "another subresource": patch(b"{}", MERGE, b"scale"),
    "a thousand subresources": patch(b"{}", MERGE, *[b"status"] * 1000),
}


def cases() -> Iterator[tuple[str, str, bytes]]:
    for method in ("GetGpu", "ListGpus", "CreateGpu", "UpdateGpu", "UpdateGpuStatus", "DeleteGpu", "PatchGpu"):
        for what, message in NOT_PROTOBUF.items():
            yield f"{method} of {what}", method, message
    for what, name in NAMES.items():
        for method in ("GetGpu", "DeleteGpu"):
            yield f"{method} of a name {what}", method, field(1, name)
        yield f"CreateGpu of a name {what}", "CreateGpu", written(meta(name), SPEC)
        yield f"PatchGpu of a name {what}", "PatchGpu", patch(b"{}", name=name)
    for what, message in GPUS.items():
        yield f"CreateGpu of {what}", "CreateGpu", message
        yield f"UpdateGpu of {what}", "UpdateGpu", message
    for what, message in STATUSES.items():
        yield f"CreateGpu with {what}", "CreateGpu", message
        yield f"UpdateGpuStatus with {what}", "UpdateGpuStatus", message
    for what, message in PATCHES.items():
        yield f"PatchGpu of {what}", "PatchGpu", message
    for version in (b"seven", b"-1", b"1.5", b"9" * 20, b"9" * 100_000, "\u0663".encode(), b"0x10", b" 1", b"\0"):
        yield f"GetGpu at {version[:20]!r}", "GetGpu", field(1, b"gpu-0") + field(3, field(1, version))
        yield f"ListGpus at {version[:20]!r}", "ListGpus", field(2, field(1, version))
    yield "ListGpus of an odd match", "ListGpus", field(2, field(2, b"Roughly") + field(1, b"1"))
    yield "ListGpus of an exact nothing", "ListGpus", field(2, field(2, b"Exact"))
    yield "ListGpus of a namespace not of UTF-8", "ListGpus", field(1, b"\xff")
    yield "ListGpus of older options that end too early", "ListGpus", field(1, b"\x0a\x05")


WATCHES = {
    "a version that is none": field(2, field(1, b"seven")),
    "an endless version": field(2, field(1, b"9" * 100_000)),
    "a number that is none here": field(2, field(1, "\u0663".encode())),
    "a namespace": field(1, b"kube-system"),
    "a namespace not of UTF-8": field(1, b"\xff"),
    "an exact match": field(2, field(2, b"Exact")),
    **NOT_PROTOBUF,
}
NEWEST = {
    "a selector that is none": field(2, field(1, b"a=(")),
    "an endless selector that is none": field(2, field(1, b"(" * 100_000)),
    "a selector not of UTF-8": field(2, field(1, b"\xff")),
    "a selector of another type": field(2, number(1, 7)) + field(2, field(5, b"x")),
    "a selector with a NUL": field(2, field(1, b"a=\0")),
    "initial events without a match": field(2, number(4, 1)),
}
HEARTBEATS = {
    "a provider with a line break": field(1, b"nvml\nroot"),
    "a long provider": field(1, b"p" * 129),
    "an endless provider": field(1, b"p" * 1_000_000),
    "a provider not of UTF-8": field(1, b"\xff"),
    "a name that leads elsewhere": field(1, b"nvml") + field(2, b"../x"),
    "more names than there can be": field(1, b"nvml") + field(2, b"gpu-0") * 1025,
    **NOT_PROTOBUF,
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a socket's has room for 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="device") as name:
        yield Path(name)


@asynccontextmanager
async def calling(folder: Path, **options: Any) -> AsyncIterator[GRPCChannel]:
    async with DeviceServer(server_options(folder, **options)) as server:
        channel = GRPCChannel(server.target)
        try:
            yield channel
        finally:
            await channel.close()


async def code_of(channel: GRPCChannel, path: str, message: bytes, **metadata: str) -> Code:
    try:
        await channel.unary(path, message, metadata={key.replace("_", "-"): text for key, text in metadata.items()})
    except RPCError as error:
        return error.code if len(error.message) <= 1024 else Code.UNKNOWN
    return Code.OK


async def watch_code(channel: GRPCChannel, message: bytes, **metadata: str) -> Code:
    given = {key.replace("_", "-"): text for key, text in metadata.items()}
    try:
        async with channel.stream(method_path("WatchGpus"), message, metadata=given) as incoming:
            await anext(aiter(incoming))
    except RPCError as error:
        return error.code
    return Code.OK


TOLERATED = ("PatchGpu of not UTF-8", "PatchGpu of half a pair", "PatchGpu of a directive that is none")
"""As on a kube-apiserver: bytes that are not text become U+FFFD, a directive for an item that is absent is ignored."""


@pytest.mark.covers("D10")
async def test_whatever_a_call_holds_it_gets_a_clean_code_and_every_list_works_after_it(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with calling(folder) as channel:
        wrong = {}
        for what, method, message in cases():
            first = method_path("DeleteGpu" if method == "CreateGpu" else "CreateGpu")
            await code_of(channel, first, field(1, b"gpu-0") if method == "CreateGpu" else written(meta(), SPEC))
            code = await code_of(channel, method_path(method), message)
            if code is not (Code.OK if what in TOLERATED else INVALID):
                wrong[what] = code
            assert await code_of(channel, method_path("ListGpus"), b"") is Code.OK, what
    assert wrong == {}
    assert "for a reason of the server's own" not in caplog.text


@pytest.mark.covers("D10")
async def test_whatever_a_watch_asks_for_it_gets_a_clean_code(folder: Path) -> None:
    async with calling(folder) as channel:
        codes = {what: await watch_code(channel, message) for what, message in WATCHES.items()}
        assert codes == dict.fromkeys(WATCHES, INVALID)
        assert await watch_code(channel, field(2, field(1, b"9" * 18))) is GONE
        for selector in ("a=(", "(" * 4000, "a in (" + "b," * 2000 + ")x"):
            assert await watch_code(channel, b"", label_selector=selector) is INVALID
            assert await code_of(channel, method_path("ListGpus"), b"", label_selector=selector) is INVALID
        assert await watch_code(channel, b"", send_initial_events="maybe") is INVALID


@pytest.mark.covers("D8")
async def test_the_newest_generation_has_its_selectors_in_the_message_and_bad_ones_are_refused(folder: Path) -> None:
    async with calling(folder, profile=Generation.V8) as channel:
        for what, message in NEWEST.items():
            assert await watch_code(channel, message) is INVALID, what
        for what in ("a selector that is none", "an endless selector that is none", "a selector not of UTF-8"):
            assert await code_of(channel, method_path("ListGpus"), NEWEST[what]) is INVALID, what
        long = b"a in (" + b",".join(b"v%d" % one for one in range(12_000)) + b")"
        assert await code_of(channel, method_path("ListGpus"), field(2, field(1, long))) is INVALID  # 80 KB of it


@pytest.mark.parametrize("seconds", [-1, -(2**63), 0, 2**63 - 1])
async def test_no_timeout_is_too_odd_to_watch_or_list_with(folder: Path, seconds: int) -> None:
    async with calling(folder) as channel:
        assert await code_of(channel, method_path("CreateGpu"), written(meta(), SPEC)) is Code.OK
        message = field(2, number(3, seconds))
        assert await watch_code(channel, message) is Code.OK  # the first event comes
        assert await code_of(channel, method_path("ListGpus"), message) is Code.OK


async def test_a_future_version_is_waited_for_and_then_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "WAIT_SECONDS", 0.01)
    async with calling(folder) as channel:
        await code_of(channel, method_path("CreateGpu"), written(meta(), SPEC))
        version = b"9" * 18
        get = field(1, b"gpu-0") + field(3, field(1, version))
        assert await code_of(channel, method_path("GetGpu"), get) is Code.UNAVAILABLE
        listed = field(2, field(1, version) + field(2, b"NotOlderThan"))
        assert await code_of(channel, method_path("ListGpus"), listed) is Code.UNAVAILABLE


async def test_providers_that_make_no_sense_are_refused_and_the_audit_stays_one_short_line(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pilotage.device.audit")
    async with calling(folder) as channel:
        for what, message in HEARTBEATS.items():
            assert await code_of(channel, provider_path("Heartbeat"), message) is INVALID, what
        for provider in (b"nvml\nroot", b"p" * 1_000_000):
            register = field(1, b"gpu-0") + field(2, field(1, b"GPU-0")) + field(3, provider)
            assert await code_of(channel, provider_path("RegisterGpu"), register) is INVALID
        create = method_path("CreateGpu")
        assert await code_of(channel, create, written(meta(), SPEC), provider_id="p" * 129) is INVALID
        assert await code_of(channel, method_path("ListGpus"), b"", provider_id="p" * 129) is INVALID
    lines = [record.getMessage() for record in caplog.records if record.name == "pilotage.device.audit"]
    assert len(lines) == 3
    assert all(len(line) < 1000 and "\n" not in line for line in lines)


async def test_a_write_that_cannot_fit_is_refused_before_it_is_read(folder: Path) -> None:
    async with calling(folder) as channel:
        huge = written(meta(), SPEC, b"\xfa\x01" + varint(2_000_000) + b"?" * 2_000_000)  # an unknown field
        assert await code_of(channel, method_path("CreateGpu"), huge) is INVALID
        register = field(1, b"gpu-0") + field(3, b"nvml") + field(15, b"?" * 2_000_000)
        assert await code_of(channel, provider_path("RegisterGpu"), register) is INVALID
