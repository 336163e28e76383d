"""The output of `pilotage device get`, `describe` and `watch`: the GPUs of a node."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

from pilotage.cli.device.description import GIBIBYTE, description
from pilotage.cli.table import Table
from pilotage.device.client.clientset import Devices
from pilotage.device.client.config import Config, wire_of
from pilotage.device.client.gpus import GPUs
from pilotage.device.client.target import Target
from pilotage.device.telemetry import Telemetry
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import ApiError, ConnectionLost, ServiceUnavailable
from pilotage.kit.console.errors import CommandError
from pilotage.kit.printers.ages import age
from pilotage.kit.printers.output import FORMATS, printer_of
from pilotage.meta import objects
from pilotage.meta.forms import reader_of
from pilotage.meta.models import Condition
from pilotage.meta.text import yamltext
from pilotage.reflector.events import watch_events
from pilotage.reflector.reflector import ReflectorOptions
from pilotage.rest import WatchEvent
from pilotage.telemetry.logs import Logger, configure_logging, logger

HEADINGS = ("NAME", "READY", "ACTION", "AGE", "CONDITIONS")
"""Few and short: with a UUID as the name, a GPU that is well has less than 80 columns."""
TELEMETRY_HEADINGS = ("TEMP", "POWER", "UTIL", "MEMORY", "ECC", "XIDS")
"""In degrees Celsius, watts used/limit, per cent, GiB used/total, ECC errors corrected/uncorrected since the last
reset, and the count of each XID."""
WIDE_HEADINGS = (
    *("NAME", "UUID", "READY", "REASON", "CONDITIONS", "ACTION", "AGE"),
    *(*TELEMETRY_HEADINGS, "VERSION", "MESSAGE"),
)
_GOOD_WHEN_TRUE = ("Ready", "Healthy", "Health", "Available")
"""How the types of conditions end that are good when they are True, such as `NVMLReady`. All others are taken for
faults (`Degraded`, `XidError`), as of the conditions of Nodes."""
CHANGE_HEADINGS = ("TIME", "EVENT", "NAME", "READY", "ACTION", "CONDITIONS")
_WIDEST = {"TIME": "00:00:00", "EVENT": "MODIFIED", "READY": "Unknown"}

_Clock = Callable[[], datetime]


def connection(options: argparse.Namespace) -> Config:
    """The client configuration of the command's options."""
    return Config(
        target=Target.parse(options.target),
        wire=wire_of(options.profile),
        ca_file=options.tls_ca,
        plaintext=options.insecure_loopback,
        logger=_silent(),
    )


async def get(config: Config, options: argparse.Namespace) -> None:
    """Print the GPUs that the command's options select, in their output format."""
    labels, fields, output = options.selector, options.field_selector, options.output
    write = _writer(output, single=bool(options.name))
    if options.name and (labels or fields):
        raise CommandError("a name cannot be combined with selectors; give one of them")
    async with Devices(config) as devices:
        gpus = devices.v1alpha1.gpus
        found = await _selected(gpus, options.name, labels, fields)
        if not found and output in ("table", "wide"):
            chosen = " that match the selectors" if labels or fields else ""
            print(f"no GPUs{chosen} found at {config.target}", file=sys.stderr)
            return
        readings = await _telemetry(gpus) if output == "wide" else {}
        sys.stdout.write(write(found, readings))


async def describe(config: Config, name: str) -> None:
    """Print the details of one GPU, or of all GPUs if the name is empty."""
    async with Devices(config) as devices:
        gpus = devices.v1alpha1.gpus
        found = await _selected(gpus, name)
        if not found:
            print(f"no GPUs found at {config.target}", file=sys.stderr)
            return
        readings, now = await _telemetry(gpus), datetime.now(UTC)
        unread = Telemetry("", unavailable="the server returned none; see standard error for the reason")
        texts = [description(gpu, readings.get(gpu.metadata.name, unread), now) for gpu in found]
        sys.stdout.write("\n".join(texts))


async def _telemetry(gpus: GPUs) -> Mapping[str, Telemetry]:
    """The telemetry of all GPUs by name. A failure is printed, and the GPUs are shown without telemetry."""
    try:
        return {each.name: each for each in await gpus.list_telemetry()}
    except (ApiError, ConnectionLost) as error:
        print(f"pilotage: cannot read the telemetry: {error}", file=sys.stderr)
        return {}


async def _selected(gpus: GPUs, name: str, labels: str = "", fields: str = "") -> Sequence[GPU]:
    return [await gpus.get(name_of(name))] if name else await gpus.list(labels=labels, fields=fields)


async def watch(config: Config, name: str, *, clock: _Clock = lambda: datetime.now(UTC)) -> None:
    """Write the GPUs as a table, then a row for each change, until cancelled. If the server stops, wait until it is
    back."""
    configure_logging(logging.WARNING)
    table = Table(CHANGE_HEADINGS, _WIDEST)
    read = reader_of(GPU)

    def changed(event: WatchEvent) -> tuple[str, ...]:
        now = clock()
        name, ready, action, _, conditions = row(read(event.object), now)
        return (now.astimezone().strftime("%H:%M:%S"), event.type, name, ready, action, conditions)

    async with Devices(config) as devices:
        try:
            await devices.v1alpha1.gpus.list()  # fails at once where the reflector would retry
        except ServiceUnavailable as error:  # the server is starting, and will list its GPUs soon
            print(f"pilotage: waiting: {error}", file=sys.stderr, flush=True)
        options = ReflectorOptions(gvk=GPU.__resource__.gvk)
        stream = watch_events(devices.v1alpha1.gpus.lister_watcher(), options, logger("pilotage.device"))
        async with aclosing(stream) as batches:
            first = True
            async for batch in batches:
                rows = [
                    changed(event) for event in batch if not name or objects.header(event.object).name == name_of(name)
                ]
                for line in table.begin(rows) if first else map(table.row, rows):
                    print(line, flush=True)
                first = False


def name_of(word: str) -> str:
    """The name of a GPU in what `-o name` prints, and in kubectl's `gpu/NAME`."""
    kind, slash, name = word.rpartition("/")
    info = GPU.__resource__
    kinds = (info.singular, info.plural, *info.short_names)
    return name if slash and kind.removesuffix(f".{info.gvk.group}") in kinds else word


def _writer(output: str, *, single: bool) -> Callable[[Sequence[GPU], Mapping[str, Telemetry]], str]:
    """What turns GPUs and their telemetry into the output format. Raises CommandError for an unknown one."""
    match output:
        case "table" | "wide":
            return lambda gpus, readings: _table(gpus, readings, wide=output == "wide")
        case "json":
            return lambda gpus, _: json.dumps(_document(gpus, single), indent=2) + "\n"
        case "yaml":
            return lambda gpus, _: yamltext.write(_document(gpus, single))
    write = printer_of(output, formats=("table", *FORMATS))
    return lambda gpus, _: write([objects.document_of(gpu) for gpu in gpus], not single)


def _table(gpus: Sequence[GPU], readings: Mapping[str, Telemetry], *, wide: bool) -> str:
    now = datetime.now(UTC)
    rows = [row(gpu, now, wide=wide, telemetry=readings.get(gpu.metadata.name)) for gpu in gpus]
    return "\n".join([*Table(WIDE_HEADINGS if wide else HEADINGS).begin(rows), ""])


def _document(gpus: Sequence[GPU], single: bool) -> dict[str, object]:
    documents = [objects.document_of(gpu) for gpu in gpus]
    if single:
        return documents[0]
    gvk = GPU.__resource__.gvk
    return {"apiVersion": gvk.api_version, "kind": f"{gvk.kind}List", "items": documents}


def _silent() -> Logger:
    """A logger without output: a command that runs one call prints its error itself."""
    standard = logging.getLogger("pilotage.cli.silent")
    standard.propagate = False
    standard.addHandler(logging.NullHandler())
    return Logger(standard)


def row(gpu: GPU, now: datetime, *, wide: bool = False, telemetry: Telemetry | None = None) -> tuple[str, ...]:
    """The row of a GPU. CONDITIONS has the unhealthy conditions, and Ready if it is the only one; in the wide form, all
    but Ready, which has columns of its own there."""
    conditions = gpu.status.conditions
    ready = next((each for each in conditions if each.type == "Ready"), None)
    others = [each for each in conditions if each.type != "Ready" and (wide or not _is_good(each))]
    status = ready.status if ready is not None else "Unknown"
    action, old = gpu.status.recommended_action or "", age(gpu.metadata.creation_timestamp, now)
    if not wide:
        unhealthy = others or [each for each in conditions if not _is_good(each)]
        return (gpu.metadata.name, status, action, old, _listed(unhealthy))
    reason = ready.reason if ready is not None else ""
    cells = (gpu.metadata.name, gpu.spec.uuid, status, reason, _listed(others), action, old)
    message = next((each.message for each in others if not _is_good(each)), ready.message if ready else "")
    values = telemetry_cells(telemetry or Telemetry(gpu.metadata.name))
    return (*cells, *values, gpu.metadata.resource_version, message)


def telemetry_cells(telemetry: Telemetry) -> tuple[str, ...]:
    """The telemetry of a GPU. An unknown value is empty, or `?` if it is part of a pair."""
    ecc, xids = telemetry.ecc_errors, telemetry.xid_errors
    used, total = telemetry.memory_used_bytes, telemetry.memory_total_bytes
    return (
        _joined(telemetry.temperature_celsius, unit="C"),
        _joined(telemetry.power_usage_watts, telemetry.power_limit_watts, unit="W"),
        _joined(telemetry.gpu_utilization_percent, unit="%"),
        _joined(*(value / GIBIBYTE if value is not None else None for value in (used, total)), unit="GiB"),
        _joined(ecc.corrected_volatile, ecc.uncorrected_volatile),
        "" if xids is None else ",".join(f"{xid}x{count}" for xid, count in sorted(xids.items())) or "0",
    )


def _joined(*values: float | None, unit: str = "") -> str:
    if all(value is None for value in values):
        return ""
    return "/".join("?" if value is None else f"{value:.0f}" for value in values) + unit


def _listed(conditions: Sequence[Condition]) -> str:
    return ",".join(f"{each.type}={each.status}" + (f"({each.reason})" if each.reason else "") for each in conditions)


def _is_good(condition: Condition) -> bool:
    return condition.status == ("True" if condition.type.endswith(_GOOD_WHEN_TRUE) else "False")
