"""Protobuf of the built-in kinds: encoding and decoding are inverse for every kind, and agree with kube-apiserver."""

from __future__ import annotations

import json
import random
import ssl
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hack.cluster.running import RealCluster
from pilotage.errors import DecodeError
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.types import builtin, protobuf
from pilotage.types.protobuf import _tables as tables

DATA = Path(protobuf.__file__).parent / "data"
BASES = json.loads((Path(__file__).parents[1] / "server" / "recordings" / "bases.json").read_bytes())
PROTOBUF = "application/vnd.kubernetes.protobuf"
KINDS = sorted(builtin.kinds())


def round_trip(data: bytes, gvk: GroupVersionKind) -> Document:
    return protobuf.decode(protobuf.unwrap(data, gvk))


EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
SCALARS: dict[str, tuple[Any, ...]] = {  # the empty value first
    "string": ("", "a", "é\u2028", "longer than a single byte of length" * 5, "0"),
    "bool": (False, True),
    "int32": (0, 1, -1, 2**31 - 1, -(2**31), 7),
    "int64": (0, 1, -1, 2**63 - 1, -(2**63), 7),
    "double": (0, 1, 0.5, -1e300),
    "bytes": ("", "AP9h"),
}
SPECIAL: dict[str, tuple[Any, ...]] = {
    "Quantity": ("0", "100m", "1Gi", "5"),
    "Time": ("2024-05-06T07:08:09Z", "1969-12-31T23:59:59Z"),
    "MicroTime": ("2024-05-06T07:08:09.000010Z",),
    "IntOrString": (0, 80, "http", ""),
    "RawExtension": ({"f:a": {"b": [1, "x", None, 2.5]}},),
    "FieldsV1": ({"f:a": {".": {}}},),
    "JSON": ([1, {"a": None}], "x", False, 0),
    "ExtraValue": (["a"],),
    "Verbs": (["get", "list"],),
}


class Documents:
    """Random documents of a message: every field now and then, empty only where a pointer can be."""

    def __init__(self, seed: object) -> None:
        self._random = random.Random(str(seed))

    def message(self, name: str, depth: int = 0) -> Document:
        document: Document = {}
        for _, wire_name, flags, kind in msgspec.json.decode(tables()[name]):
            if not wire_name:
                document |= self.message(kind, depth)
            elif self._wanted(flags, kind, depth):
                document[wire_name] = self._field(flags, kind, depth)
        return document

    def _wanted(self, flags: str, kind: str, depth: int) -> bool:
        struct = "." in kind and kind.rpartition(".")[2] not in ("Time", "MicroTime", "RawExtension")
        if not set(flags) & set("prm") and ((struct and "Time" not in kind) or ("o" not in flags and kind != "bytes")):
            return not kind.endswith(("Time", "RawExtension"))  # Go always writes it
        return self._random.random() < (0.5 if depth < 3 else 0.15 if depth < 6 else 0)

    def _field(self, flags: str, kind: str, depth: int) -> Any:
        count = self._random.randint(1, 2)
        if "m" in flags:
            return {self._text() + str(index): self._value(kind, depth + 1, empty=True) for index in range(count)}
        if "r" in flags:
            return [self._value(kind, depth + 1, empty=True) for _ in range(count)]
        return self._value(kind, depth + 1, empty="p" in flags or "o" not in flags)

    def _value(self, kind: str, depth: int, *, empty: bool) -> Any:
        name = kind.rpartition(".")[2]
        if name in SCALARS:
            return self._random.choice(SCALARS[name][0 if empty else 1 :])
        if name in SPECIAL:
            return self._random.choice(SPECIAL[name])
        if not name.startswith("JSONSchemaPropsOr"):
            return self.message(kind, depth)
        schema = self.message(f"{EXTENSIONS}.JSONSchemaProps", depth + 3)
        others = {"Bool": (True, False), "Array": ([schema],), "StringArray": (["a"],)}
        return self._random.choice((schema, *others[name.removeprefix("JSONSchemaPropsOr")]))

    def _text(self) -> str:
        return str(self._random.choice(SCALARS["string"][1:]))


@pytest.mark.parametrize("gvk", KINDS, ids=lambda gvk: f"{gvk.api_version}/{gvk.kind}")
def test_every_built_in_kind_is_read_as_it_was_written(gvk: GroupVersionKind) -> None:
    assert protobuf.has_message(gvk)
    name = protobuf._name(gvk.api_version, gvk.kind)
    for seed in range(8):
        document = {"apiVersion": gvk.api_version, "kind": gvk.kind} | Documents((gvk, seed)).message(name)
        data = protobuf.encode(document)
        assert round_trip(data, gvk) == document
        assert protobuf.encode(round_trip(data, gvk)) == data


def test_a_custom_resource_has_no_message() -> None:
    assert not protobuf.has_message(GroupVersionKind("example.com", "v1", "Widget"))


def test_a_message_without_a_kind_is_of_the_kind_that_is_expected() -> None:
    config_map = GroupVersionKind("", "v1", "ConfigMap")
    document = {"apiVersion": "", "kind": "", "metadata": {"name": "a"}}
    data = protobuf.encode({**document, "apiVersion": "v1", "kind": "ConfigMap"}).replace(
        b"\x02v1\x12\x09ConfigMap", b""
    )
    with pytest.raises(DecodeError):  # the lengths do not fit any more
        protobuf.unwrap(data, config_map)
    assert protobuf.unwrap(b"k8s\0\x12\x05\x0a\x03\x0a\x01a", config_map).kind == "ConfigMap"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty data"),
        (b"k8s\0", "empty body"),
        (b'{"kind":"ConfigMap"}', r"expected prefix \[107 56 115 0\]"),
        (b"k8s\1\x12\x00", r"expected prefix \[107 56 115 0\]"),
        (b"k8s\0\x12\x7f", "unexpected EOF"),
        (b"k8s\0" + b"a" * 4_000_000, "at most"),
    ],
)
def test_what_is_no_envelope_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        protobuf.unwrap(data, GroupVersionKind("", "v1", "ConfigMap"))


def test_any_damage_to_a_message_is_an_error_or_another_document() -> None:
    gvk = GroupVersionKind("apps", "v1", "Deployment")
    document = BASES["deployment-rich"]["stored"] if "deployment-rich" in BASES else BASES["pod-rich"]["stored"]
    data = protobuf.encode(document)
    chance = random.Random(0)
    for _ in range(3000):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            broken[chance.randrange(4, len(broken))] = chance.randrange(256)
        with suppress(DecodeError):
            round_trip(bytes(broken[: chance.randrange(5, len(broken) + 1)]), gvk)


@pytest.mark.cluster
def test_kube_apiserver_writes_the_same_bytes_and_reads_the_same_document(real_control_plane: RealCluster) -> None:
    api = _Api(real_control_plane)
    api.send("POST", "/api/v1/namespaces", {"metadata": {"name": "protobuf"}})
    compared = set()
    for name, base in _bases():
        group, version = base["group"], base["version"]
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        collection = root + ("/namespaces/protobuf" if base["namespaced"] else "") + f"/{base['resource']}"
        document = {**base["object"], "metadata": dict(base["object"]["metadata"])}
        document["metadata"].pop("namespace", None)
        # What we write, it reads: the same object as from JSON, but for what is new each time.
        plain = api.json("POST", f"{collection}?dryRun=All", document)
        ours = api.json("POST", f"{collection}?dryRun=All", protobuf.encode(document))
        assert _without_times(_steady(ours)) == _without_times(_steady(plain)), name
        # What it writes, we read, and would have written the same.
        created = api.json("POST", collection, document)
        if created["kind"] == "Status":
            continue
        as_json, as_protobuf = api.both(f"{collection}/{created['metadata']['name']}")
        gvk = GroupVersionKind(group, version, base["kind"])
        for template in as_json.get("spec", {}).get("volumeClaimTemplates", ()):
            del template["apiVersion"], template["kind"]  # messages do not have these
        assert round_trip(as_protobuf, gvk) == _without_nulls(as_json), name
        assert protobuf.encode(as_json) == as_protobuf, name
        compared.add(base["kind"])
    assert compared == {base["kind"] for _, base in _bases()}


APPLIED_TO_OTHERS = ("LimitRange", "ResourceQuota")


def _bases() -> Iterator[tuple[str, dict[str, Any]]]:
    """All but some, those last that the server applies to others, when it has read them into a cache."""
    for name, base in sorted(BASES.items(), key=lambda found: (found[1].get("kind") in APPLIED_TO_OTHERS, found[0])):
        if "object" in base and base["kind"] not in ("Namespace", "Node"):  # the control plane acts on these itself
            yield name, base


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _without_times(value: Any) -> Any:
    """Without the times of conditions and phases, which the server sets: two answers may be of different seconds."""
    if isinstance(value, dict):
        times = ("lastTransitionTime", "lastPhaseTransitionTime")
        return {key: _without_times(item) for key, item in value.items() if key not in times}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def _steady(document: Any) -> Any:
    """Without what is new in each answer."""
    metadata = dict(document["metadata"])
    uid = metadata.get("uid", "<uid>")
    for key in ("creationTimestamp", "managedFields"):
        metadata.pop(key, None)
    return json.loads(json.dumps({**document, "metadata": metadata}).replace(uid, "<uid>"))


class _Api:
    def __init__(self, cluster: RealCluster) -> None:
        self._cluster = cluster
        self._context = ssl.create_default_context(cafile=str(cluster.ca_file))

    def json(self, method: str, path: str, body: Document | bytes | None = None) -> Any:
        return json.loads(self.send(method, path, body))

    def both(self, path: str) -> tuple[Any, bytes]:
        """One version of an object in both forms; the control plane may write the status of some meanwhile."""
        before = self.json("GET", path)
        while True:
            message, after = self.send("GET", path, accept=PROTOBUF), self.json("GET", path)
            if before == after:
                return after, message
            before = after

    def send(
        self, method: str, path: str, body: Document | bytes | None = None, accept: str = "application/json"
    ) -> bytes:
        headers = {"authorization": f"Bearer {self._cluster.token}", "accept": accept}
        headers["content-type"] = PROTOBUF if isinstance(body, bytes) else "application/json"
        data = msgspec.json.encode(body) if isinstance(body, dict) else body  # raw JSON is kept as it was sent
        request = urllib.request.Request(self._cluster.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self._context) as answer:
                found: bytes = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                found = error.read()
        return found
