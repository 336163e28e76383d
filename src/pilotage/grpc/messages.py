"""gRPC messages in a byte stream: one byte for compression, four for the length, the message."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.grpc.rpc import Code, RPCError

PREFIX_BYTES = 5


class Assembler:
    """Assembles messages from pieces. A message that is too large is refused as soon as its length is known."""

    __slots__ = ("_buffer", "_largest", "_needed")

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._buffer = bytearray()
        self._needed = PREFIX_BYTES

    @property
    def held(self) -> int:
        """Bytes of an incomplete message."""
        return len(self._buffer)

    def feed(self, piece: bytes) -> Sequence[bytes]:
        """The messages that this piece completes. Raises RPCError for a large or compressed one."""
        if not self._buffer and len(piece) >= PREFIX_BYTES:  # most pieces are one message: no copy through the buffer
            length = int.from_bytes(piece[1:PREFIX_BYTES], "big")
            if length + PREFIX_BYTES == len(piece) and piece[0] == 0 and length <= self._largest:
                return (piece[PREFIX_BYTES:],)
        return self._assemble(piece)

    def _assemble(self, piece: bytes) -> list[bytes]:
        buffer = self._buffer
        buffer += piece
        whole = []
        start = 0
        while len(buffer) - start >= self._needed:
            if self._needed == PREFIX_BYTES:
                self._needed = PREFIX_BYTES + self._length(buffer, start)
                if len(buffer) - start < self._needed:
                    break
            stop = start + self._needed
            whole.append(bytes(memoryview(buffer)[start + PREFIX_BYTES : stop]))
            start = stop
            self._needed = PREFIX_BYTES
        if start:
            del buffer[:start]
        return whole

    def _length(self, buffer: bytearray, start: int) -> int:
        if buffer[start] != 0:
            raise RPCError(Code.UNIMPLEMENTED, "the message is compressed; only the encoding identity is supported")
        length = int.from_bytes(buffer[start + 1 : start + PREFIX_BYTES], "big")
        if length > self._largest:
            text = f"the message has {length} bytes, the limit is {self._largest}"
            raise RPCError(Code.RESOURCE_EXHAUSTED, text)
        return length
