"""Real etcd members, for tests and benchmarks: they can be killed, paused, and cut off from each other.

Members reach each other through relays of this process, so that the network between them can fail without root: a
relay knows which member has opened a connection by the process that owns its other end.
"""

import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hack.cluster.running import Server, free_ports, process, processes_of

READY_WITHIN = 30.0
_CHUNK = 1 << 16


class Member:
    """One member of a cluster of etcd."""

    def __init__(self, number: int, folder: Path, command: list[str], port: int, relay: "Relay | None") -> None:
        self.number = number
        self.port = port
        self._folder = folder
        self._command = command
        self._relay = relay
        self._stack = ExitStack()
        self._server: Server | None = None

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def group(self) -> int:
        """The process group, 0 while it is not running."""
        return self._server.process.pid if self._server else 0

    def start(self) -> None:
        self._folder.mkdir(exist_ok=True)
        self._server = self._stack.enter_context(process(self._command, self._folder))

    def kill(self) -> None:
        """End it as a power failure does."""
        os.killpg(self.group, signal.SIGKILL)
        self._stack.close()
        self._server = None

    def start_empty(self) -> None:
        """Start it without the data that it had."""
        shutil.rmtree(self._folder / "data")
        self.start()
        self.wait_until_ready()

    def pause(self) -> None:
        os.killpg(self.group, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self.group, signal.SIGCONT)

    def stop(self) -> None:
        if self._server is not None:
            with suppress(ProcessLookupError):
                self.resume()
            self._stack.close()

    def wait_until_ready(self) -> None:
        """Wait until the port accepts connections."""
        deadline = time.monotonic() + READY_WITHIN
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"etcd does not accept connections\n\n{self._server}")
            time.sleep(0.02)


class EtcdCluster:
    """Members of one etcd."""

    def __init__(self, members: Sequence[Member], cut_off: set[int]) -> None:
        self.members = members
        self._cut_off = cut_off

    @property
    def url(self) -> str:
        """The address for `open_storage`."""
        return "etcd://" + ",".join(member.endpoint for member in self.members)

    def cut(self, member: Member) -> None:
        """Let nothing through between this member and the others."""
        self._cut_off.add(member.number)

    def heal(self) -> None:
        self._cut_off.clear()


@contextmanager
def etcd_cluster(
    binaries: Path, *, members: int = 1, flags: Sequence[str] = (), secure: bool = False, durable: bool = False
) -> Iterator[EtcdCluster]:
    """Start an empty etcd, and stop it at the end of the block. `secure`: clients use TLS, by the given flags.

    A single member waits for no disk, because its data does not outlive the process; `durable`: it does.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pilotage-etcd-")))
        ports = free_ports(members * 3)
        cut_off: set[int] = set()
        found: list[Member] = []
        relays = [Relay(number, ports[3 * number + 1 : 3 * number + 3], found, cut_off) for number in range(members)]
        initial = ",".join(f"m{number}=http://127.0.0.1:{relay.port}" for number, relay in enumerate(relays))
        for number, relay in enumerate(relays):
            client = f"http{'s' if secure else ''}://127.0.0.1:{ports[3 * number]}"
            command = [
                f"{binaries}/etcd",
                f"--name=m{number}",
                f"--data-dir={folder}/m{number}/data",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls=http://127.0.0.1:{relay.target}",
                f"--initial-advertise-peer-urls=http://127.0.0.1:{relay.port}",
                f"--initial-cluster={initial}",
                "--log-level=warn",
                *(["--unsafe-no-fsync"] if members == 1 and not durable else []),
                *flags,
            ]
            found.append(Member(number, folder / f"m{number}", command, ports[3 * number], relay))
        if members > 1:
            for relay in relays:
                stack.enter_context(relay)
        for member in found:
            stack.callback(member.stop)
            member.start()
        for member in found:
            member.wait_until_ready()
        yield EtcdCluster(found, cut_off)


class Relay:
    """Forwards connections to the peer port of a member, unless one of the two members is cut off."""

    def __init__(self, number: int, ports: Sequence[int], members: Sequence[Member], cut_off: set[int]) -> None:
        self.number = number
        self.port, self.target = ports
        self._members = members
        self._cut_off = cut_off
        self._server: socket.socket | None = None

    def __enter__(self) -> "Relay":
        self._server = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._server,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                incoming, address = server.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(incoming, address[1]), daemon=True).start()

    def _forward(self, incoming: socket.socket, port: int) -> None:
        with suppress(OSError), incoming, socket.create_connection(("127.0.0.1", self.target)) as outgoing:
            ends = {self.number, self._source(port)}
            both = [(incoming, outgoing), (outgoing, incoming)]
            threads = [threading.Thread(target=self._copy, args=(*pair, ends), daemon=True) for pair in both]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _copy(self, source: socket.socket, target: socket.socket, ends: set[int]) -> None:
        """Copy until either side ends. While one end is cut off, what arrives waits, as with packets that are lost."""
        try:
            while data := source.recv(_CHUNK):
                while self._cut_off & ends:
                    time.sleep(0.01)
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _source(self, port: int) -> int:
        """The number of the member that has opened the connection from this port."""
        inode = _inode(port)
        for member in self._members:
            if member.group and any(inode in _sockets(pid) for pid in processes_of(member.group)):
                return member.number
        return -1


def _inode(port: int) -> str:
    """The socket whose local port this is."""
    wanted = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(wanted):
                return f"socket:[{fields[9]}]"
    return ""


def _sockets(pid: int) -> set[str]:
    found: set[str] = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.add(os.readlink(entry))
    return found
