"""The messages of TelemetryService: readings of GPUs, from providers to the server and from the server to clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from pilotage.device.telemetry import ECCErrors, Telemetry
from pilotage.device.wire.generation import method_path
from pilotage.device.wire.messages import TELEMETRY, classes, decoded, encoded, parsed
from pilotage.device.wire.tolerance import check_name
from pilotage.errors import BadRequest, DecodeError

PACKAGE = "pilotage.device.v1alpha1"
SERVICE = "TelemetryService"
METHODS = ("GetTelemetry", "ListTelemetry", "ReportTelemetry")
MAX_ITEMS = 256
"""The number of GPUs in one report; a provider with more GPUs sends several."""
MAX_BYTES = 8192
"""The size of one reading in a report. The server keeps one for each GPU."""

_TEXTS = ("name", "uuid", "provider", "unavailable")
_NUMBERS = (
    "temperature_celsius",
    "temperature_margin_celsius",
    "power_usage_watts",
    "power_limit_watts",
    "gpu_utilization_percent",
    "memory_utilization_percent",
    "memory_used_bytes",
    "memory_free_bytes",
    "memory_total_bytes",
    "processes",
)
_ECC_NUMBERS = tuple(field.name for field in fields(ECCErrors))


def telemetry_path(name: str) -> str:
    """A method in full: `/pilotage.device.v1alpha1.TelemetryService/GetTelemetry`."""
    return method_path(name, PACKAGE, SERVICE)


def encode_get(name: str) -> bytes:
    return _bytes(_new("GetTelemetryRequest", name=name))


def decode_get(data: bytes) -> str:
    """Decode the GPU name of a request. Raises BadRequest."""
    name: str = _read("GetTelemetryRequest", data).name
    check_name(name)
    return name


def encode_got(telemetry: Telemetry) -> bytes:
    message = _new("GetTelemetryResponse")
    _write(telemetry, message.telemetry)
    return _bytes(message)


def decode_got(data: bytes) -> Telemetry:
    """Raises DecodeError."""
    return _telemetry(parsed(_class("GetTelemetryResponse"), data).telemetry)


def encode_list() -> bytes:
    return b""


def check_list(data: bytes) -> None:
    """Raises BadRequest for an invalid request."""
    _read("ListTelemetryRequest", data)


def encode_listed(items: Iterable[Telemetry]) -> bytes:
    return _bytes(_fill(_new("ListTelemetryResponse"), items))


def decode_listed(data: bytes) -> list[Telemetry]:
    """Raises DecodeError."""
    return [_telemetry(item) for item in parsed(_class("ListTelemetryResponse"), data).items]


def encode_report(provider: str, items: Sequence[Telemetry]) -> bytes:
    return _bytes(_fill(_new("ReportTelemetryRequest", provider_id=provider), items))


def decode_report(data: bytes) -> tuple[str, list[Telemetry]]:
    """Decode the provider id and the readings of a report. Raises BadRequest."""
    message = _read("ReportTelemetryRequest", data)
    if len(message.items) > MAX_ITEMS:
        raise BadRequest(
            f"a report has readings of {len(message.items)} GPUs, and the limit is {MAX_ITEMS}: send several reports"
        )
    for item in message.items:
        check_name(item.name)
        if (size := item.ByteSize()) > MAX_BYTES:
            raise BadRequest(f"the reading of {item.name} has {size} bytes, and the limit is {MAX_BYTES}")
    try:
        return message.provider_id, [_telemetry(item) for item in message.items]
    except DecodeError as error:
        raise BadRequest(str(error)) from None


def _fill(message: Any, items: Iterable[Telemetry]) -> Any:
    for item in items:
        _write(item, message.items.add())
    return message


def _write(telemetry: Telemetry, message: Any) -> None:
    message.SetInParent()
    for name in _TEXTS:
        setattr(message, name, getattr(telemetry, name))
    if telemetry.time is not None:
        message.time.FromDatetime(telemetry.time)
    _write_numbers(telemetry, _NUMBERS, message)
    for clock, megahertz in telemetry.clocks_megahertz.items():
        message.clocks_megahertz[clock] = megahertz
    _write_numbers(telemetry.ecc_errors, _ECC_NUMBERS, message.ecc_errors)
    if telemetry.xid_errors is not None:
        message.xid_errors.SetInParent()
        for xid, count in telemetry.xid_errors.items():
            message.xid_errors.counts[xid] = count


def _write_numbers(value: object, names: Iterable[str], message: Any) -> None:
    for name in names:
        if (number := getattr(value, name)) is not None:
            with suppress(ValueError):  # a counter of more than 63 bits: one invalid value must not hide the others
                setattr(message, name, number)


def _telemetry(message: Any) -> Telemetry:
    ecc = message.ecc_errors
    return Telemetry(
        **{name: getattr(message, name) for name in _TEXTS},
        **_numbers(message, _NUMBERS),
        time=_time(message) if message.HasField("time") else None,
        clocks_megahertz=dict(message.clocks_megahertz),
        ecc_errors=ECCErrors(**_numbers(ecc, _ECC_NUMBERS)),
        xid_errors=dict(message.xid_errors.counts) if message.HasField("xid_errors") else None,
    )


def _time(message: Any) -> datetime:
    try:
        moment: datetime = message.time.ToDatetime(UTC)
    except (ValueError, OverflowError) as error:
        raise DecodeError(f"invalid time of the reading of {message.name[:100]!r}: {error}") from None
    return moment


def _numbers(message: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(message, name) for name in names if message.HasField(name)}


def _class(name: str) -> Any:
    return classes(TELEMETRY)[f"{PACKAGE}.{name}"]


def _new(name: str, /, **values: object) -> Any:
    return _class(name)(**values)


def _read(name: str, data: bytes) -> Any:
    return decoded(_class(name), data)


def _bytes(message: Any) -> bytes:
    return encoded(message, deterministic=True)
