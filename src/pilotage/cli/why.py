"""`pilotage why`: the story of one object, from a running program, a recording or a tool."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags import add_value, storages
from pilotage.kit.console.flags.types import count
from pilotage.kit.console.help import add_command

if TYPE_CHECKING:
    from pilotage.history.stories import Reconcile
    from pilotage.history.why.answer import Answer
    from pilotage.http.client import HTTPClient
    from pilotage.net.localsockets import LocalSocket

_ADVICE = (
    'A program that starts its Manager itself needs ManagerOptions(debug_bind_address="127.0.0.1:6060"), and '
    "`--address 127.0.0.1:6060` here. For what the last commands of a tool did, ask the tool (TOOL why) or give "
    "--storage"
)
"""For a program that was not found."""


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "why",
        "print why an object was reconciled, or why it is not",
        "Print the last reconciles of an object, from a running program: what caused each, what it read and wrote, "
        "field by field, and its result; then what holds up the next one. With --field: who wrote this field, in which "
        "reconcile, because of what. `pilotage run` is found by itself. `pilotage logs` prints what reconcilers of a "
        "tool logged.",
        "pilotage why greeting/hello",
        "pilotage why greeting hello -n team-a --limit 3 -o json",
        "pilotage why configmap/hello --field data.text",
        "pilotage why database/main --address 127.0.0.1:6060",
        "pilotage why todo/milk --storage sqlite:todo.db",
        "pilotage why greeting/hello --recording history.rec",
    )
    command.add_argument("object", nargs="+", metavar="TYPE", help="the object: TYPE/NAME or TYPE NAME")
    add_value(command, "-n --namespace", "NAME", "its namespace (default: default)", "")
    add_value(command, "--limit", "N", "how many reconciles are printed, the last ones (default: 10)", 10, type=count)
    add_value(command, "--field", "PATH", "who wrote this field, such as data.text or metadata.labels['a.b/c']", "")
    command.add_argument("-o", "--output", choices=("text", "json"), default="text", metavar="FORMAT", help=_FORMATS)
    group = command.add_argument_group("which program")
    add_value(group, "--pid", "PID", "the program with this process id", None, type=count)
    add_value(group, "--address", "ADDR", "HOST:PORT of its --debug-bind-address, or the path of its Unix socket", "")
    add_value(group, "--recording", "FILE", "a program that has ended: the file of `pilotage run --record`", "")
    storages.add_storage(
        group, f"what the last commands of a tool did on this storage: {storages.STORAGES}", default=""
    )
    storages.add_tenant(group, default="default")
    command.set_defaults(run=why)


_FORMATS = "text or json (default: text)"


def why(options: argparse.Namespace) -> int:
    """Ask a program, and print its answer."""
    kind, name = object_of(options.object)
    if options.recording:
        from pilotage.recording.reader import read

        if options.address or options.pid is not None or options.storage:
            raise CommandError("--recording is a file; --storage, --pid and --address are other places: give one")
        found = from_stories(read(options.recording), options)
    elif options.storage:
        if options.address or options.pid is not None:
            raise CommandError("--storage is what a tool kept, --pid and --address are a running program: give one")
        found = from_stories(_kept(options), options)
    else:
        import asyncio
        from urllib.parse import urlencode

        question = {"type": kind, "name": name, "namespace": options.namespace, "field": options.field}
        query = urlencode({**{key: value for key, value in question.items() if value}, "limit": str(options.limit)})
        found = asyncio.run(_ask(options, f"/debug/why?{query}"))
    print_answer(found, as_json=options.output == "json")
    return 0


def from_stories(stories: Sequence[Reconcile], options: argparse.Namespace) -> Answer:
    """The answer from stories, the oldest first: of a tool, or of a recording."""
    from pilotage.history.why.offline import answer_from

    kind, name = object_of(options.object)
    return answer_from(stories, kind, name, namespace=options.namespace, limit=options.limit, field=options.field)


def _kept(options: argparse.Namespace) -> Sequence[Reconcile]:
    """What the last commands of a tool did, from the file beside its storage."""
    from pilotage.kit.recorded.historyfile import stories_of
    from pilotage.kit.recorded.logfile import history_beside, log_file_of

    path = history_beside(log_file_of(options.storage, options.tenant))
    stories = stories_of(path) if path else ()
    if not stories:
        missing = f" (there is no {path})" if path else ""
        raise CommandError(
            f"the storage {options.storage!r} has no recorded reconciles{missing}: the commands of a tool record them; "
            "a program that runs is found without --storage"
        )
    return stories


def object_of(words: Sequence[str]) -> tuple[str, str]:
    """The type and the name of `TYPE/NAME` or `TYPE NAME`. Raises CommandError."""
    parts = words[0].split("/") if len(words) == 1 else list(words)
    if len(parts) != 2 or not all(parts) or (len(words) == 2 and "/" in "".join(words)):
        raise CommandError(
            f"{' '.join(words)[:100]!r} is not one object: give TYPE/NAME or TYPE NAME, as greeting/hello"
        )
    return parts[0], parts[1]


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Print lines for people, or JSON."""
    import msgspec

    from pilotage.kit.console.terminal import standard_output
    from pilotage.kit.printers.stories import answer_text

    output = standard_output()
    output.write(f"{msgspec.json.encode(answer).decode()}\n" if as_json else answer_text(answer, output))
    output.flush()


async def _ask(options: argparse.Namespace, target: str) -> Answer:
    """The answer of the program; if it has several processes, the answer of the process that works on the object."""
    for client in _clients(options):
        found = await _ask_one(client, target)
        chain = found.field.chain if found.field is not None else ()
        if chain or (found.field is None and all(reason.code != "shard" for reason in found.reasons)):
            return found
    return found


async def _ask_one(asked: HTTPClient, target: str) -> Answer:
    import msgspec

    from pilotage.errors import ConnectionLost
    from pilotage.history.why.answer import Answer

    async with asked as client:
        try:
            response = await client.request("GET", target)
        except ConnectionLost as error:
            raise CommandError(f"cannot ask the program: {error}") from error
    text = response.body.decode(errors="replace").strip()
    if response.status != 200:
        old = (
            "; it runs another version of Pilotage, or a debug endpoint without /debug/why"
            if "404 page" in text
            else ""
        )
        raise CommandError(f"the program cannot answer: {text[:1000]}{old}")
    try:
        return msgspec.json.decode(response.body, type=Answer)
    except msgspec.MsgspecError as error:
        raise CommandError(
            f"the program runs another version of Pilotage: its answer cannot be read: {error}"
        ) from error


def _clients(options: argparse.Namespace) -> list[HTTPClient]:
    """Clients of the program that is asked, one for each of its processes. Raises CommandError."""
    from pilotage.http.client import HTTPClient
    from pilotage.http.connector import ServerRoute
    from pilotage.net.sockets import parse_bind_address

    address = options.address
    if address and options.pid is not None:
        raise CommandError("--pid and --address both choose a program: give one")
    path = address.removeprefix("unix://").removeprefix("unix:")
    if address and not path.startswith(os.sep):
        host, port = parse_bind_address(address.removeprefix("http://").rstrip("/")) or ("", 0)
        return [HTTPClient(host or "localhost", port)]
    paths = [path] if path else [each.path for each in chosen_processes(options.pid)]
    return [HTTPClient("localhost", 80, route=ServerRoute(socket_path=each)) for each in paths]


def chosen_processes(pid: int | None, advice: str = _ADVICE) -> list[LocalSocket]:
    """The processes of the program that is asked. Raises CommandError if there is none, or if there are several
    programs and no `pid`; `advice` is for a program that was not found."""
    from pilotage.net.localsockets import running

    found = running()
    wanted = [each for each in found if pid in (None, each.pid)]
    if len(wanted) == 1 or _are_of_one(wanted):
        return wanted
    shown = ", ".join(map(str, found))
    if not found:
        raise CommandError(f"no running program was found: start one with `pilotage run`. {advice}")
    if not wanted:
        raise CommandError(f"no running program has the pid {pid}; there are: {shown}")
    raise CommandError(f"there are {len(wanted)} running programs: {shown}; choose one with --pid or --address")


def _are_of_one(found: Sequence[LocalSocket]) -> bool:
    """Whether these are the processes of one program: `hello-1` and `hello-2`."""
    names = [each.name.rpartition("-") for each in found]
    numbers = [number for _, _, number in names]
    return len({name for name, _, _ in names}) == 1 and sorted(numbers) == [str(n + 1) for n in range(len(found))]
