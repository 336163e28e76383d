"""`/flagz`: the flags of a server and their values; as text, or a Flagz of `config.k8s.io`."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pilotage.http import messages as http
from pilotage.server.http import statusz
from pilotage.server.http.rendering import write

_VERSIONS = ("v1alpha1", "v1beta1")


def answer(accept: str, flags: Mapping[str, str]) -> http.HTTPResponse:
    """The flags of a server in the format that a client accepts. Raises NotAcceptable."""
    media, version = statusz.negotiated(accept, "Flagz", _VERSIONS)
    ordered = dict(sorted(flags.items()))
    if media == statusz.TEXT:
        lines = [
            "",
            "apiserver flagz",
            statusz.WARNING,
            *(f"{name} {value}" for name, value in ordered.items()),
            "",
            "",
        ]
        return http.HTTPResponse(200, [("content-type", f"{media}; charset=utf-8")], "\n".join(lines).encode())
    document = {
        "kind": "Flagz",
        "apiVersion": f"config.k8s.io/{version}",
        "metadata": {"name": "apiserver"},
        "flags": ordered,
    }
    described = ("content-type", f"{media};g=config.k8s.io;v={version};as=Flagz")
    return http.HTTPResponse(200, [described], write(msgspec.json.encode(document), media))
