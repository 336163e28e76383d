"""A terminal with a shell, under tmux: types lines as a person does, waits for the prompt, and reads the screen."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

WITHIN_SECONDS = 120
PROMPT = "$ "
_RC = """\
PS1={prompt}
set +o history
signal_prompt() {{ {tmux} wait-for -S prompt; }}
PROMPT_COMMAND=signal_prompt
"""


class Terminal:
    """A pane with bash in it."""

    def __init__(self, tmux: list[str]) -> None:
        self._tmux = tmux

    def run(self, line: str) -> None:
        """Type a line, press Enter, and wait until the shell asks for the next one."""
        self.type(line)
        self.press("Enter")
        self.wait()

    def type(self, text: str) -> None:
        self._call("send-keys", "-l", text)

    def press(self, key: str) -> None:
        """Press a key by its name in tmux: `Enter`, `Tab`, `C-c`."""
        self._call("send-keys", key)

    def wait(self) -> None:
        """Wait for a prompt."""
        self._call("wait-for", "prompt")

    def screen(self, *, colours: bool = False) -> str:
        """What the terminal shows, without the empty lines at its end."""
        return self._call("capture-pane", "-p", *(["-e"] if colours else [])).rstrip() + "\n"

    def _call(self, *words: str) -> str:
        ran = subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True, timeout=WITHIN_SECONDS)
        return ran.stdout


@contextmanager
def terminal(folder: Path, environment: Mapping[str, str], size: tuple[int, int] = (120, 50)) -> Iterator[Terminal]:
    """A terminal whose shell begins in the folder, with these variables. `size` is its columns and lines."""
    tmux = ["tmux", "-f", "/dev/null", "-S", str(folder / "tmux")]
    start = folder / "bashrc"
    start.write_text(_RC.format(prompt=shlex.quote(PROMPT), tmux=shlex.join(tmux)))
    columns, lines = map(str, size)
    shell = f"bash --noprofile --rcfile {shlex.quote(str(start))} -i"
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", columns, "-y", lines, "-c", str(folder), shell],
        env={**_without_colour_settings(os.environ), **environment, "LC_ALL": "C.UTF-8"},
        check=True,
        timeout=WITHIN_SECONDS,
    )
    try:
        found = Terminal(tmux)
        found.wait()
        yield found
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, timeout=WITHIN_SECONDS)


def _without_colour_settings(environment: Mapping[str, str]) -> dict[str, str]:
    settings = ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TMUX")
    return {name: value for name, value in environment.items() if name not in settings}
