"""Replay the recorded requests on a registry in this process, and count the answers that agree."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import msgspec

from pilotage.codec import verbatim
from pilotage.errors import ApiError
from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, User, Verb, WriteOptions
from pilotage.server import records
from pilotage.server.registry import Registry
from pilotage.storage.interface import Put
from pilotage.storage.memory import MemoryStorage
from tests.server.recordings import cases as recording
from tests.server.recordings import tables
from tests.server.recordings.agreement import ASPECTS, COUNTED, Agreement, below, raise_thresholds, table
from tests.server.recordings.cases import PARTS, Case
from tests.server.recordings.comparing import (
    Answer,
    alike,
    differences,
    mask_generated,
    recorded,
    same_causes,
    without_server_fields,
)

NAMESPACE = "recordings"
ADMIN = User("admin", ("system:masters", "system:authenticated"), uid="admin")
UID = "11111111-2222-4333-8444-555555555555"
_UNMASKED = {"<uid>": UID, "<time>": "2020-01-01T00:00:00Z", "<allocated>": "10.0.0.77"}
_DISABLED = (
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "PersistentVolumeClaimResize",
    "Priority",
    "RuntimeClass",
    "ServiceAccount",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
)
"""The admission plugins that the recorded server did not run."""
_WITHOUT_EFFECT = ("LimitRanger", "ResourceQuota")
"""Those whose objects were not there when others were written; here all objects to update are there at once."""
Show = Callable[[Case, str, list[str]], None]
"""Gets each difference: the case, the aspect, and lines for people."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Replay:
    """Two registries with the recordings' namespace: one for creates, one that has the objects to update."""

    def __init__(self, bases: dict[str, Document], show: Show) -> None:
        self._bases = bases
        self._show = show
        self.empty = _registry()
        self.filled = _registry()
        self._live: dict[tuple[str, str], Document | None] = {}
        self.kinds: dict[str, Agreement] = {}

    async def start(self) -> None:
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        request = APIRequest(Verb.CREATE, GroupVersionResource("", "v1", "namespaces"), body=_encode(document))
        for registry in (self.empty, self.filled):
            await registry.call(request)
        for base in self._bases.values():
            if "live" in base:
                await self._place(base)

    async def _place(self, base: Document) -> None:
        """Put an object straight into the storage, as the recording server had it."""
        context = self.filled.context
        info = await context.catalogue.find(_resource(base))
        document = _unmask(base["live"])
        document["metadata"] |= {"uid": UID, "creationTimestamp": "2020-01-01T00:00:00Z"}
        name, namespace = document["metadata"]["name"], NAMESPACE if base["namespaced"] else ""
        paths = verbatim.paths_of(info.gvk.api_version, info.gvk.kind)
        sent = tuple(steps for steps in paths if steps[0] != "status")  # the status came in a patch
        verbatim.keep_texts(document, sent, json.dumps(document).encode())
        value = records.encode(records.storable(document, info))
        await context.commit(Put(context.key(info, namespace, name), value, expected=0))

    async def play(self, case: Case) -> None:
        """Send one case, and count what agrees."""
        start: Document | None = case.base["object"]
        if case.updates:
            start = await self._start(case)
        answer = Answer(0, "no such subresource") if start is None else await self._send(case, start)
        self._compare(case, answer, start or {})

    async def _start(self, case: Case) -> Document | None:
        """What a GET answers before an update: the object, or its Scale."""
        subresource = "scale" if case.record["op"] == "scale" else ""
        key = case.record["base"], subresource
        if key not in self._live:
            request = APIRequest(
                Verb.GET,
                _resource(case.base),
                namespace=_namespace(case),
                name=case.base["live"]["metadata"]["name"],
                subresource=subresource,
                user=ADMIN,
            )
            try:
                self._live[key] = _decode((await self.filled.call(request)).body)
            except ApiError:
                self._live[key] = None
        return self._live[key]

    async def _send(self, case: Case, start: Document) -> Answer:
        record = case.record
        request = APIRequest(
            Verb.UPDATE if case.updates else Verb.CREATE,
            _resource(case.base),
            namespace=_namespace(case),
            name=start["metadata"]["name"] if case.updates else "",
            subresource=record.get("subresource", ""),
            write=WriteOptions(dry_run=True, field_validation=record.get("query", {}).get("fieldValidation", "")),
            body=json.dumps(case.body(start)).encode(),
            user=ADMIN,
        )
        try:
            response = await (self.filled if case.updates else self.empty).call(request)
        except ApiError as error:
            return _refusal(error, record.get("generateName", ""))
        except Exception as error:  # a defect of ours: counted and shown, so that the other cases are still played
            return Answer(500, "Crashed", repr(error))
        return Answer(response.code, document=_decode(response.body), warnings=tuple(response.warnings))

    def _compare(self, case: Case, answer: Answer, start: Document) -> None:
        record, expected = case.record, recorded(case.record)
        agreement = self.kinds.setdefault(case.title, Agreement())

        def count(aspect: str, agrees: bool, *lines: str) -> None:
            agreement.count(aspect, agrees)
            if not agrees:
                self._show(case, aspect, list(lines))

        words = f"ours:     {answer.code} {answer.reason} {answer.message[:500]} {answer.causes}"
        theirs = f"recorded: {expected.code} {expected.reason} {expected.message[:500]} {expected.causes}"
        count("verdicts", answer.verdict == expected.verdict, words, theirs)
        if record.get("chance"):
            return
        if expected.causes:
            count("causes", same_causes(answer, expected), words, theirs)
        if expected.message and answer.verdict == expected.verdict:
            same_words = answer.message == expected.message.removesuffix(" <diff>") or bool(record.get("unordered"))
            count("words", same_words, words, theirs)
        if answer.verdict == expected.verdict:
            count("warnings", answer.warnings == expected.warnings, f"{answer.warnings}", f"{expected.warnings}")
        if expected.code < 300:
            before = case.base["stored"]
            if case.updates:
                before = start if record["op"] == "scale" else case.base["live"]
            wanted = without_server_fields(case.expected(before))
            aspect = "defaults" if "stored" in record else "results"
            found = without_server_fields(answer.document)
            agrees = answer.code < 300 and alike(wanted, found)
            lines = list(differences(wanted, found)) if answer.code < 300 and not agrees else [words]
            count(aspect, agrees, *lines)


def _registry() -> Registry:
    context = cluster_context(MemoryStorage(), disable=(*_DISABLED, *_WITHOUT_EFFECT))
    return Registry(replace(context, chance=random.Random(1), contents=None))


def _resource(base: Document) -> GroupVersionResource:
    return GroupVersionResource(base["group"], base["version"], base["resource"])


def _namespace(case: Case) -> str:
    return NAMESPACE if case.base["namespaced"] else ""


def _unmask(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _unmask(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_unmask(item, key) for item in value]
    if value == "<allocated>" and key.lower().endswith("nodeport"):
        return 30777
    return _UNMASKED.get(value, value) if isinstance(value, str) else value


def _refusal(error: ApiError, generate_name: str) -> Answer:
    status = error.status
    causes = status.details.causes if status.details is not None else ()
    pairs = tuple((cause.reason, cause.field) for cause in causes)
    return Answer(status.code, status.reason, mask_generated(status.message, generate_name), pairs)


def count_cells(bases: dict[str, Document], kinds: dict[str, Agreement], show: Show) -> None:
    """Count the cells of the recorded Tables that agree."""
    for record in recording.load("tables"):
        case = Case(record, record["resource"])
        agreement = kinds.setdefault(case.title, Agreement())
        for cell in tables.cells(record, bases):
            agreement.count("cells", cell.agrees)
            if not cell.agrees:
                show(case, "cells", [f"{cell.column}: {cell.ours!r}, not {cell.recorded!r}"])


async def replay(chosen: Iterable[Case], bases: dict[str, Document], show: Show | None = None) -> dict[str, Agreement]:
    """The agreement for each kind."""
    playing = Replay(bases, show or (lambda case, aspect, lines: None))
    await playing.start()
    for case in chosen:
        await playing.play(case)
    return playing.kinds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append", help="only this kind; may be given several times")
    parser.add_argument("--part", choices=PARTS, help="only this part")
    parser.add_argument("--id", default="", help="only cases whose id contains this text")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N differences")
    parser.add_argument("--aspect", choices=ASPECTS, action="append", help="differences of this aspect only")
    parser.add_argument("--check", action="store_true", help="fail where less agrees than thresholds.json says")
    parser.add_argument("--raise-thresholds", action="store_true", help="write what agrees now to thresholds.json")
    options = parser.parse_args()
    aspects = options.aspect or COUNTED
    shown = 0

    def show(case: Case, aspect: str, lines: list[str]) -> None:
        nonlocal shown
        if shown < options.show and aspect in aspects:
            shown += 1
            print(f"{aspect}: {case.record['id']}", *(f"    {line}" for line in lines[:12]), sep="\n")

    bases = recording.load_bases()
    chosen = (
        case
        for case in recording.cases(bases, (options.part,) if options.part else PARTS)
        if (not options.kind or case.record["kind"] in options.kind) and options.id in case.record["id"]
    )
    kinds = asyncio.run(replay(chosen, bases, show))
    if not (options.kind or options.part or options.id):
        count_cells(bases, kinds, show)
    print(table(kinds))
    if options.raise_thresholds:
        raise_thresholds(kinds)
    problems = below(kinds) if options.check else []
    print(*problems, sep="\n", end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
