"""References to container images, as far as the pull policy depends on them: `registry.example/app:v1@sha256:…`."""

from __future__ import annotations

import re

_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_DIGEST = r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}"
_match = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?(?P<digest>@(?:{_DIGEST}))?"
).fullmatch
_is_identifier = re.compile("[a-f0-9]{64}").fullmatch
_MAX_NAME = 255
_MAX_LENGTH = _MAX_NAME + 300  # with the longest tag and the longest digest


def pull_policy(reference: str) -> str:
    """The default: an image that may change under the same name is pulled each time."""
    return "Always" if _is_latest(reference) else "IfNotPresent"


def _is_latest(reference: str) -> bool:
    """Whether the tag is `latest`, or there is neither tag nor digest. False if it is not a reference."""
    if len(reference) > _MAX_LENGTH or _is_identifier(reference):
        return False
    found = _match(reference)
    if found is None or len(found["name"]) > _MAX_NAME:
        return False
    return found["tag"] == "latest" if found["tag"] else not found["digest"]
