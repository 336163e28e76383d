"""The layout of a recording: a header and two halves, which are written in turn, each from its beginning to its end.

A half begins with its generation, which rises by one with each half. Then frames follow: length, checksum, data. The
checksum includes the generation, so that what an earlier generation has left behind the last frame is not read, and
neither is a frame that was written in part.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator

from pilotage.meta.values import Value
from pilotage.recording.errors import NewerRecording, NoRecording

VERSION = 1
HEADER_SIZE = 4096
FRAME = struct.Struct("<II")
"""Before each frame: the length of its data, and their checksum."""
_START = struct.Struct("<QI")
START_SIZE = 16
"""Before the frames of a half: its generation, and a checksum."""
_MAGIC = b"pilotage recording "
_HEADER = re.compile(rb"pilotage recording ([0-9]{1,9})(?: ([0-9]{1,15}))?")


class Layout(Value, frozen=True):
    """Where the halves of a file are."""

    half: int
    """The size of a half, in bytes."""

    @property
    def size(self) -> int:
        """The size of the file."""
        return HEADER_SIZE + 2 * self.half

    def offset(self, generation: int) -> int:
        """Where the half of a generation begins."""
        return HEADER_SIZE + (generation % 2) * self.half


def layout_for(most: int) -> Layout:
    """The layout of a file of at most this size."""
    return Layout((most - HEADER_SIZE) // 2)


def header_of(layout: Layout) -> bytes:
    """The first bytes of a file."""
    return b"%s%d %d\n" % (_MAGIC, VERSION, layout.half) + bytes(64)


def layout_of(header: bytes, path: str) -> Layout:
    """The layout of a file that begins with these bytes. Raises NoRecording and NewerRecording."""
    found = _HEADER.match(header)
    if found is None:
        raise NoRecording(f"{path} is not a recording of Pilotage: give another file, or remove this one")
    version = int(found[1])
    if version > VERSION:
        raise NewerRecording(
            f"{path} has version {version} of the format of recordings, and this Pilotage reads version {VERSION}: use "
            "the version that wrote it, or a newer one; to record, give another file"
        )
    if not version or found[2] is None or int(found[2]) <= START_SIZE:
        raise NoRecording(f"{path} is not a recording of Pilotage: its header is damaged; remove it")
    return Layout(int(found[2]))


def start_of(generation: int) -> bytes:
    """The first bytes of a half."""
    data = _START.pack(generation, zlib.crc32(generation.to_bytes(8, "little")))
    return data.ljust(START_SIZE, b"\0")


def generation_of(half: bytes | memoryview) -> int:
    """The generation of a half; 0 if it was never written, or its beginning is damaged."""
    if len(half) < START_SIZE:
        return 0
    generation, checksum = _START.unpack_from(half)
    return int(generation) if checksum == zlib.crc32(bytes(half[:8])) else 0


def frame_of(data: bytes, generation: int) -> bytes:
    """Data as a frame."""
    return FRAME.pack(len(data), zlib.crc32(data, generation & 0xFFFFFFFF)) + data


def frames(half: memoryview) -> Iterator[tuple[memoryview, int]]:
    """The data of each frame of a half, and where the frame ends; up to the first one that is not whole."""
    generation, position = generation_of(half), START_SIZE
    while generation and position + FRAME.size <= len(half):
        length, checksum = FRAME.unpack_from(half, position)
        begin = position + FRAME.size
        data = half[begin : begin + length]
        if not length or len(data) < length or zlib.crc32(data, generation & 0xFFFFFFFF) != checksum:
            return
        position = begin + length
        yield data, position


def halves(content: memoryview, layout: Layout) -> list[memoryview]:
    """The halves of a file that were written, the older first."""
    found = [content[offset : offset + layout.half] for offset in (layout.offset(0), layout.offset(1))]
    return sorted(filter(generation_of, found), key=generation_of)
