"""`why`: the reconciles of an object in the last commands, from the file beside the storage."""

from __future__ import annotations

import msgspec

from pilotage.history.secrets import Hider
from pilotage.history.why.answer import Question, answer
from pilotage.history.why.provenance import Target
from pilotage.kit.arguments.reads import WhyArguments
from pilotage.kit.console.errors import CommandError
from pilotage.kit.printers.output import unknown_format
from pilotage.kit.printers.stories import answer_text
from pilotage.kit.recorded.historyfile import stories_of
from pilotage.kit.recorded.logfile import history_beside
from pilotage.kit.selection import selected
from pilotage.kit.session import CommandSession, name_of


async def run(session: CommandSession, options: WhyArguments) -> int:
    if not session.log_file:
        raise CommandError(
            "the history of reconciles is kept for a storage (--storage sqlite:PATH or etcd://HOST:PORT), and not for "
            "one in memory"
        )
    if options.output not in ("", "text", "json"):
        raise unknown_format(options.output, ("text", "json"))
    chosen = selected(session, options.resources)
    if len(chosen) != 1 or not chosen[0].name:
        raise CommandError("give one object: TYPE NAME or TYPE/NAME")
    mapping, name = chosen[0].mapping, chosen[0].name
    target = Target(mapping.gvk.group_kind, session.namespace_of(mapping, ""), name)
    document = await session.find(mapping, name)
    if document is None:
        session.errors.line(f"{name_of(mapping, name)} does not exist now.")
    hidden = Hider().hide(mapping.gvk, document) if document is not None else None
    stories = stories_of(history_beside(session.log_file))
    found = answer(Question(target, options.limit, options.field), stories, document=hidden)
    text = (
        f"{msgspec.json.encode(found).decode()}\n" if options.output == "json" else answer_text(found, session.output)
    )
    session.output.write(text)
    session.output.flush()
    return 0
