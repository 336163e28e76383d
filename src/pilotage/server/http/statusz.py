"""`/statusz`: the version of a server and its start time; as text, or a Statusz of `config.k8s.io/v1beta1`."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from pilotage.errors import NotAcceptable
from pilotage.http import messages as http
from pilotage.meta.scalars import times
from pilotage.rest.negotiation import JSON, YAML, clauses
from pilotage.server.http.rendering import write

PATHS = ("/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version")
TEXT = "text/plain"
WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)


def answer(accept: str, started: datetime, now: datetime, version: dict[str, str]) -> http.HTTPResponse:
    """The status of a server in the format that a client accepts. Raises NotAcceptable."""
    media, _ = negotiated(accept, "Statusz", ("v1beta1",))
    facts = _facts(started, now, version)
    if media == TEXT:
        return http.HTTPResponse(200, [("content-type", f"{TEXT}; charset=utf-8")], _text(facts, started))
    described = ("content-type", f"{media};g=config.k8s.io;v=v1beta1;as=Statusz")
    return http.HTTPResponse(200, [described], write(msgspec.json.encode(facts), media, pretty=True))


def negotiated(accept: str, kind: str, versions: Sequence[str]) -> tuple[str, str]:
    """The media type of an answer, and the version of an object of this kind. Raises NotAcceptable."""
    if not accept.strip():
        return TEXT, ""
    for clause in clauses(accept):
        if clause.media in (TEXT, "*/*", "text/*"):
            return TEXT, ""
        version = clause.parameters.get("v", "")
        wanted = {"v": version, "g": "config.k8s.io", "as": kind}
        if clause.media in (JSON, YAML) and version in versions and clause.parameters == wanted:
            return clause.media, version
    raise NotAcceptable(f"only the following media types are accepted: {JSON}, {YAML}, {TEXT}")


def _facts(started: datetime, now: datetime, version: dict[str, str]) -> dict[str, Any]:
    return {
        "kind": "Statusz",
        "apiVersion": "config.k8s.io/v1beta1",
        "metadata": {"name": "apiserver"},
        "startTime": times.format(started),
        "uptimeSeconds": int((now - started).total_seconds()),
        "goVersion": f"python{platform.python_version()}",
        "binaryVersion": version["gitVersion"].removeprefix("v"),
        "emulationVersion": f"{version['emulationMajor']}.{version['emulationMinor']}",
        "paths": PATHS,
    }


def _text(facts: dict[str, Any], started: datetime) -> bytes:
    minutes, seconds = divmod(facts["uptimeSeconds"], 60)
    lines = [
        "",
        "apiserver statusz",
        WARNING,
        "",
        f"Started:  {started:%a %b %e %H:%M:%S UTC %Y}",
        f"Up:  {minutes // 60} hr {minutes % 60:02} min {seconds:02} sec",
        f"Go version:  {facts['goVersion']}",
        f"Binary version:  {facts['binaryVersion']}",
        f"Emulation version:  {facts['emulationVersion']}",
        f"Paths:  {' '.join(PATHS)}",
    ]
    return ("\n".join(lines) + "\n").encode()
