"""A response that is read as it arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from io import BytesIO

from pilotage.errors import DecodeError
from pilotage.http.exchange import ClientConnection
from pilotage.http.heads import ResponseHead
from pilotage.http.limits import MEBIBYTE, Timeouts
from pilotage.http.messages import Headers


class Stream:
    """A response whose body is still arriving. Iterate over it or over its `lines`, or `read` all of it."""

    def __init__(self, connection: ClientConnection, head: ResponseHead, what: str, timeouts: Timeouts) -> None:
        self._connection = connection
        self._head = head
        self._what = what
        self._timeouts = timeouts

    @property
    def status(self) -> int:
        return self._head.status

    @property
    def headers(self) -> Headers:
        return self._head.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces of the body as they arrive. Raises ConnectionLost if the connection ends before the body."""
        while pieces := await self._read():
            for piece in pieces:
                yield piece

    async def lines(self, max_line: int = 4 * MEBIBYTE) -> AsyncIterator[list[bytes]]:
        """The lines of the body, as many at once as have arrived, without their ends and without empty lines.

        A last line without a newline is incomplete and left out. A line above `max_line` bytes raises DecodeError.
        """
        cutter = LineCutter(max_line, self._what)
        while pieces := await self._read():
            lines = cutter.cut(pieces)
            if lines:
                yield lines

    async def read(self, max_bytes: int = MEBIBYTE) -> bytes:
        """Read the rest of the body within the time-out of a body: for responses that turn out to be errors."""
        with self._connection.deadline(self._timeouts.body):
            return await read_whole(self._connection, max_bytes, self._what)

    async def _read(self) -> list[bytes]:
        with self._connection.deadline(self._timeouts.silence):
            return await self._connection.read()


class LineCutter:
    """Splits pieces of a byte stream into lines; each byte is copied once."""

    def __init__(self, max_line: int, what: str = "the stream") -> None:
        self._max_line = max_line
        self._what = what
        self._begun: list[bytes] = []  # the pieces of a line whose end has not arrived
        self._begun_size = 0

    def cut(self, pieces: Iterable[bytes]) -> list[bytes]:
        """The lines that end in `pieces`."""
        lines: list[bytes] = []
        for piece in pieces:
            end = piece.find(b"\n")
            if end < 0:
                self._begin(piece)
            elif end == len(piece) - 1 and not self._begun:
                self._add(lines, [piece[:end]])  # the common case: a piece is one line
            else:
                self._split(lines, piece)
        return lines

    def _split(self, lines: list[bytes], piece: bytes) -> None:
        *ended, last = piece.split(b"\n")
        if self._begun:
            self._begin(ended[0])
            ended[0] = b"".join(self._begun)
            self._begun.clear()
            self._begun_size = 0
        self._add(lines, ended)
        if last:
            self._begin(last)

    def _add(self, lines: list[bytes], ended: list[bytes]) -> None:
        if max(map(len, ended)) > self._max_line:
            raise self._too_long()
        lines += filter(None, ended)

    def _begin(self, piece: bytes) -> None:
        self._begun_size += len(piece)
        if self._begun_size > self._max_line:
            raise self._too_long()
        self._begun.append(piece)
        if len(self._begun) > _MANY:
            self._begun = [b"".join(self._begun)]

    def _too_long(self) -> DecodeError:
        return DecodeError(f"{self._what}: a line is longer than {self._max_line} bytes")


_MANY = 4096  # tiny pieces are joined from time to time: their overhead would be many times their size


async def read_whole(connection: ClientConnection, max_bytes: int, what: str) -> bytes:
    """Read a complete body. Raises DecodeError above `max_bytes`."""
    pieces = await connection.read()
    if connection.complete and len(pieces) == 1 and len(pieces[0]) <= max_bytes:
        return pieces[0]
    body = BytesIO()  # unlike a bytearray, it returns its bytes without a copy
    while pieces:
        body.writelines(pieces)
        if body.tell() > max_bytes:
            raise DecodeError(
                f"{what}: the response is larger than {max_bytes} bytes; request it in smaller parts (limit)"
            )
        pieces = await connection.read()
    return body.getvalue()
