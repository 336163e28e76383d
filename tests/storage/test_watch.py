"""Cursors on a history to which a storage thread adds commits before the loop is notified of them."""

from __future__ import annotations

import asyncio

from pilotage.storage import Put
from pilotage.storage.history import History
from pilotage.storage.transaction import Commit, plan
from pilotage.storage.watch import Cursor, Watchers


def appended(history: History, key: str) -> Commit:
    commit = plan([Put(key, b"")], history.revision + 1, history.find)
    history.append(commit)
    return commit


async def test_a_position_passes_commits_under_other_prefixes_before_the_loop_is_notified() -> None:
    history = History(1, 1 << 20)
    watchers = Watchers(history)
    watch = Cursor(None, watchers, "/a/", since=1)
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    others = [appended(history, f"/b/{number}") for number in range(3)]
    assert watch.position == history.revision == 4
    ours = appended(history, "/a/1")
    others.append(appended(history, "/b/4"))
    assert watch.position == 4
    watchers.notify([*others[:3], ours, others[3]])
    assert [event.key for event in await waiting] == ["/a/1"]
    assert watch.position == 6


async def test_a_position_whose_log_was_compacted_stays() -> None:
    history = History(1, 1 << 20)
    watch = Cursor(None, Watchers(history), "/a/", since=1)
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    appended(history, "/b/1")
    appended(history, "/b/2")
    history.compact(3)
    assert watch.position == 1
    waiting.cancel()
