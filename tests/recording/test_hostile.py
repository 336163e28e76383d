"""Recordings that are damaged, or were made to do harm: what cannot be read is left out, with bounded work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pilotage.recording import RecordingError, read
from pilotage.recording.entries import (
    ENCODER,
    AnswerEntry,
    BegunEntry,
    CallEntry,
    ContentEntry,
    EndEntry,
    EventRecord,
    Failure,
    ListEntry,
    ReadEntry,
    Record,
    ServedEntry,
    SessionEntry,
    ValueEntry,
)
from pilotage.recording.frames import FRAME, HEADER_SIZE, START_SIZE, Layout, frame_of, header_of, start_of

HALF = 20_000
SESSION = SessionEntry("id", "program", "1", "3.13", 1, 0.0, "2026-01-01T00:00:00+00:00")
_KIND = ("", "v1", "ConfigMap")


def written(path: Path, *entries: bytes) -> str:
    """A file with these entries in its first half."""
    layout = Layout(HALF)
    half = start_of(2) + b"".join(frame_of(entry, 2) for entry in entries)
    path.write_bytes(header_of(layout).ljust(HEADER_SIZE, b"\0") + half.ljust(HALF, b"\0") + bytes(HALF))
    return str(path)


def shown(path: str) -> int:
    """Read all of a recording, print it, and return how many reconciles it has."""
    found = read(path)
    return len([str(run) for run in found])


def begun(number: int = 1, **fields: Any) -> BegunEntry:
    made = BegunEntry(number, "c", _KIND, b'{"name":"a"}', "", began=1.0, priority=0, notes=[], seed=1)
    return replace(made, **fields)


@given(st.binary(max_size=3000))
def test_any_bytes_behind_the_header_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("hostile") / "x.rec"
    path.write_bytes(header_of(Layout(HALF)).ljust(HEADER_SIZE, b"\0") + start_of(2) + data)
    assert shown(str(path)) == 0


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("hostile") / "x.rec"
    path.write_bytes(data)
    with pytest.raises(RecordingError):
        read(str(path))


_numbers = st.integers(-2, 6)
_floats = st.floats() | st.sampled_from([1.0, 2.0])
_texts = st.sampled_from(["", "a", "Secret", "patch", "list", "get", "9" * 400])
_refs = st.lists(_numbers, max_size=3)
_kinds = st.tuples(_texts, _texts, _texts)
_bytes = st.sampled_from([b"", b"{}", b'{"metadata":5}', b"[" * 5000, b'{"kind":"Secret","metadata":{"uid":"a"}}'])
_pairs = st.lists(st.tuples(_floats, _numbers), max_size=3)
_records = st.builds(
    EventRecord, _texts, st.none() | _kinds, _texts, _texts, _texts, _numbers, _numbers, st.booleans(), st.booleans()
).map(ENCODER.encode)
_entries: st.SearchStrategy[Record] = st.one_of(
    st.builds(ContentEntry, _numbers, _bytes | _records),
    st.builds(ServedEntry, _numbers),
    st.builds(begun, _numbers, request=_bytes | st.just(b'{"name":"a"}'), began=_floats, notes=_pairs),
    st.builds(ReadEntry, _numbers, _numbers, _kinds, _texts, _texts, _numbers, st.booleans(), st.booleans()),
    st.builds(
        ListEntry, _numbers, _numbers, _kinds, _texts, _texts, _numbers, _texts, st.booleans(), _refs, st.booleans()
    ),
    st.builds(
        CallEntry,
        *(_numbers, _numbers, _texts, _kinds, _texts, _texts, _texts, _numbers, _numbers, _texts, _floats),
        st.booleans(),
    ),
    st.builds(
        AnswerEntry,
        _numbers,
        _numbers,
        _floats,
        _numbers,
        st.none(),
        st.none() | st.builds(Failure, _texts, _texts),
        st.booleans(),
    ),
    st.builds(ValueEntry, _numbers, _texts, _bytes),
    st.builds(
        EndEntry,
        _numbers,
        _floats,
        _texts,
        _texts,
        _texts,
        _numbers,
        st.lists(st.tuples(_numbers, _texts, _numbers), max_size=2),
    ),
)


@given(st.lists(_entries, max_size=8), _floats)
def test_entries_that_make_no_sense_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Record], moment: float
) -> None:
    path = tmp_path_factory.mktemp("hostile") / "x.rec"
    session = SessionEntry("id", "", "", "", 1, moment, "0001-01-01T00:00:00")
    shown(written(path, *map(ENCODER.encode, [session, begun(), *entries])))


def test_a_frame_longer_than_the_file_ends_its_half(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    written(path, *map(ENCODER.encode, [SESSION, begun(1), begun(2)]))
    data = bytearray(path.read_bytes())
    first = HEADER_SIZE + START_SIZE
    length, _ = FRAME.unpack_from(data, first)
    FRAME.pack_into(data, first + FRAME.size + length, 2**32 - 1, 0)
    path.write_bytes(data)
    assert shown(str(path)) == 0


def test_a_huge_half_in_the_header_reads_no_more_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    written(path, *map(ENCODER.encode, [SESSION, begun(1)]))
    data = path.read_bytes()
    path.write_bytes(b"pilotage recording 1 999999999999999\n".ljust(HEADER_SIZE, b"\0") + data[HEADER_SIZE:])
    assert shown(str(path)) == 1
