"""Ports: their names, and references to them by number or name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.server.strategies.checks import numbers

PROTOCOLS = ("SCTP", "TCP", "UDP")
_has_only = re.compile("[-a-z0-9]+", re.ASCII).fullmatch
_has_letter = re.compile("[a-z]").search


def port_name_problems(name: str) -> Iterator[str]:
    """What is wrong with the name of a port."""
    if len(name.encode(errors="replace")) > 15:
        yield "must be no more than 15 characters"
    if not _has_only(name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not _has_letter(name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"


def validate_port_name(name: str, path: str) -> Iterator[Cause]:
    yield from (invalid(path, name, problem) for problem in port_name_problems(name))


def validate_port_number_or_name(port: Any, path: str) -> Iterator[Cause]:
    if isinstance(port, str):
        yield from validate_port_name(port, path)
    else:
        yield from numbers.port_number(port, path)
