"""A notebook for the command line: its notes are resources in a SQLite file, with no server and no cluster.

python notes.py add "buy milk"
python notes.py list
python notes.py done NAME
python notes.py              # a short demonstration, in memory
"""

import argparse
import asyncio
import sys
from typing import Annotated

import pilotage as pt


class NoteSpec(pt.Model):
    text: Annotated[str, pt.MinLength(1), pt.MaxLength(200)]
    done: bool = False


@pt.resource(group="notes.pilotage.dev", version="v1")
class Note(pt.Resource):
    spec: NoteSpec


async def add(client: pt.Client, text: str) -> Note:
    note = await client.create(Note(metadata=pt.ObjectMeta(generate_name="note-"), spec=NoteSpec(text=text)))
    print(f"added {note.metadata.name}")
    return note


async def show(client: pt.Client) -> None:
    for note in await client.list(Note):
        print(f"[{'x' if note.spec.done else ' '}] {note.metadata.name}  {note.spec.text}")


async def done(client: pt.Client, name: str) -> None:
    await client.patch(Note, {"spec": {"done": True}}, name=name)
    print(f"done {name}")


async def run(arguments: argparse.Namespace) -> None:
    async with pt.Cluster.embedded("sqlite:notes.db" if arguments.command else "memory:") as cluster:
        await cluster.install(Note)
        client = cluster.client.with_namespace("default")
        match arguments.command:
            case "add":
                await add(client, arguments.text)
            case "list":
                await show(client)
            case "done":
                await done(client, arguments.name)
            case _:
                milk = await add(client, "buy milk")
                await add(client, "water the plants")
                await done(client, milk.metadata.name)
                await show(client)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A notebook. Without a command: a demonstration, in memory.")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("add", help="write a note down").add_argument("text")
    commands.add_parser("list", help="show all notes")
    commands.add_parser("done", help="tick a note off").add_argument("name")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        asyncio.run(run(parse()))
    except pt.PilotageError as error:  # an empty note, a missing one, a file that cannot be written …
        sys.exit(f"notes: {error}")
