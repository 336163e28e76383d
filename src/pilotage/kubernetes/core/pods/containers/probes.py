"""Probes of containers, and what runs when one starts or stops."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.defaults.containers import PROBES
from pilotage.errors import Cause
from pilotage.kubernetes.checks.ports import validate_port_number_or_name
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, numbers, texts

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_SCHEMES = ("HTTP", "HTTPS")


def validate_lifecycle(container: Document, path: str, grace_period: int | None) -> Iterator[Cause]:
    """The lifecycle of a container, then its probes."""
    lifecycle = container.get("lifecycle") or {}
    for name in ("postStart", "preStop"):
        yield from fields.given(lifecycle.get(name), f"{path}.lifecycle.{name}", _validate_handler, grace_period)
    for name in PROBES:
        if (probe := container.get(name)) is not None:
            yield from _validate_probe(name, probe, f"{path}.{name}", grace_period)


def _validate_probe(name: str, probe: Document, path: str, grace_period: int | None) -> Iterator[Cause]:
    yield from _validate_handler(probe, path, grace_period)
    yield from numbers.counts(probe, path, _COUNTS)
    own_period = probe.get("terminationGracePeriodSeconds")
    if own_period is not None and own_period <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", own_period, "must be greater than 0")
    if name == "readinessProbe":
        if own_period is not None:
            yield invalid(f"{path}.terminationGracePeriodSeconds", own_period, "must not be set for readinessProbes")
    elif (threshold := probe.get("successThreshold") or 0) != 1:
        yield invalid(f"{path}.successThreshold", threshold, "must be 1")


def _validate_handler(handler: Document, path: str, grace_period: int | None) -> Iterator[Cause]:
    kinds = [kind for kind in _HANDLERS if handler.get(kind) is not None]
    if not kinds:
        yield required(path, "must specify a handler type")
        return
    first, *others = kinds
    yield from _validate_action(first, handler[first], f"{path}.{first}", grace_period)
    for kind in others:
        yield forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")


def _validate_action(kind: str, action: Document, path: str, grace_period: int | None) -> Iterator[Cause]:
    if kind == "exec":
        yield from fields.needed(action, path, "command")
    elif kind == "httpGet":
        yield from _validate_http(action, path)
    elif kind == "sleep":
        seconds = action.get("seconds") or 0
        if grace_period is not None and not 0 <= seconds <= grace_period:
            message = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
            yield invalid(path, seconds, message)
    else:
        yield from validate_port_number_or_name(action.get("port", 0), f"{path}.port")


def _validate_http(action: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(action, path, "path")
    yield from validate_port_number_or_name(action.get("port", 0), f"{path}.port")
    yield from fields.choice(action.get("scheme") or "", f"{path}.scheme", _SCHEMES)
    for header in action.get("httpHeaders") or ():
        yield from texts.text(header.get("name") or "", f"{path}.httpHeaders", texts.header_name)
