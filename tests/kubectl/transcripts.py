"""kubectl command lines as plain text, run on two servers; what kubectl prints must be the same.

A transcript is a file of lines. `$ get pods` runs `kubectl get pods` in a namespace of the transcript's own. A line may
end with `<<END`: the lines up to `END` are its standard input. `<ns>` is the namespace. Lines that begin with `#` are
comments. `$ KUBE_EDITOR=true edit pods` sets a variable first. What differs from run to run (ages, times, uids,
versions, addresses) is masked before the comparison.

`? get widgets` is repeated until it succeeds, and `! auth can-i get pods` until it fails; what they print is not
compared. A real server reads definitions and roles from caches, which have a change a moment after it was made.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pilotage.meta.text import yamltext

FOLDER = Path(__file__).parent / "transcripts"
PATIENCE = 100.0
UNTIL = {"$": None, "?": True, "!": False}


@dataclass(frozen=True)
class Command:
    """One command line, and where it is."""

    line: int
    text: str
    stdin: str | None = None
    until: bool | None = None
    """Whether it is repeated until it succeeds, or until it fails."""


@dataclass(frozen=True)
class Result:
    """What a command line did, masked."""

    code: int
    output: str
    errors: str


@dataclass(frozen=True)
class Server:
    """How kubectl reaches a server."""

    kubectl: Path
    kubeconfig: Path
    cache: Path

    def run(self, command: Command, namespace: str) -> Result:
        """Run a command line in a namespace, as often as it says."""
        result = self._run_once(command, namespace)
        deadline = time.monotonic() + PATIENCE
        while command.until is not None and (result.code == 0) is not command.until:
            assert time.monotonic() < deadline, (command, result)
            result = self._run_once(command, namespace)
        return result

    def _run_once(self, command: Command, namespace: str) -> Result:
        words = shlex.split(command.text.replace("<ns>", namespace))
        environment = dict(os.environ)
        while _VARIABLE.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        stdin = command.stdin.replace("<ns>", namespace) if command.stdin is not None else None
        ran = subprocess.run(
            [
                str(self.kubectl),
                "--kubeconfig",
                str(self.kubeconfig),
                "--cache-dir",
                str(self.cache),
                "--namespace",
                namespace,
                *words,
            ],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        shows_owners = ran.returncode == 0 and "--show-managed-fields" in words
        output = in_order(ran.stdout) if shows_owners else ran.stdout
        return Result(ran.returncode, mask(output, namespace), mask(ran.stderr, namespace))


def parse(text: str) -> Iterator[Command]:
    """The command lines of a transcript."""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if line[:1] not in UNTIL or line[1:2] != " ":
            continue
        words, _, here = line[2:].partition(" <<")
        stdin = None
        if here:
            stdin = ""
            for _, content in lines:
                if content == here.strip():
                    break
                stdin += content + "\n"
        yield Command(number, words, stdin, UNTIL[line[0]])


_VARIABLE = re.compile(r"[A-Z_]+=")
_MASKS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC"), "<time>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"), "<time>"),
    (re.compile(r"resourceVersion: \"?\d+\"?"), "resourceVersion: <version>"),
    (re.compile(r"Resource Version: +\d+"), "Resource Version: <version>"),
    (re.compile(r"\"resourceVersion\": \"\d+\""), '"resourceVersion": "<version>"'),
    (re.compile(r'(resourceVersion\\+":\\+")\d+'), r"\1<version>"),  # in a text of JSON in a message
    (re.compile(r"(?<![\w.])(\d+d)?(\d+h)?(\d+m)?\d+[smhd](?![\w.])"), "<age>"),
    (re.compile(r"(https?://)?127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"10\.0\.\d+\.\d+"), "<address>"),
    (re.compile(r"\b3[012]\d{3}\b"), "<node port>"),
    (re.compile(r"into (Go struct )?field \S+ of type \S+"), "into <field>"),
    (re.compile(r"/tmp/\S+"), "<path>"),
    (re.compile(r"(-)[bcdfghjklmnpqrstvwxz2456789]{5}\b"), r"\1<random>"),
)
_SPACES = re.compile(r"[ \t]+")


def in_order(text: str) -> str:
    """An object in YAML, with managed fields in an order of their own: servers order them by time, to the second."""
    document = yamltext.read(text)
    owners = document["metadata"]["managedFields"]
    owners.sort(key=lambda owner: json.dumps({**owner, "time": ""}, sort_keys=True))
    return yamltext.write(document).replace("'", '"')  # as kubectl quotes numbers


def mask(text: str, namespace: str) -> str:
    """Text without what differs from run to run; columns are separated by one space."""
    text = text.replace(namespace, "<ns>")
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return "\n".join(_SPACES.sub(" ", line).rstrip() for line in text.splitlines())
