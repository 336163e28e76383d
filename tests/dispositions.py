"""What a signal does to the processes that tests start, however the tests themselves were started."""

from __future__ import annotations

import signal

STOPPING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def give_children_the_defaults() -> None:
    """Have started processes obey signals that this one was started to ignore: `make test &`, `nohup make test`.

    An ignored signal stays ignored over exec, and so in every process that a test starts and wants to stop. A handler
    is replaced by the default over exec. So this process gets one that does nothing: it ignores the signal as before.
    """
    for number in STOPPING:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _do_nothing)


def _do_nothing(number: int, frame: object) -> None:
    """What this process did on the signal before: nothing."""
