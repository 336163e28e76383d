"""YAML text to plain documents and back, limited to what JSON can express. Unquoted scalars have the meaning that they
have in kubectl, which reads YAML 1.1: `yes`, `no`, `on`, `off`, `y` and `n` are booleans, `0777` is octal, `1_000` a
number, a time stays a string. Unlike kubectl, it rejects what is ambiguous: keys that are not strings, and duplicate
keys. Anchors and aliases are refused unless enabled, and then limited.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeGuard

import yaml

from pilotage.errors import DecodeError
from pilotage.meta.text.limits import DEFAULT, MAX_FILE_VALUES, DocumentLimits, check_file_size, check_size, too_large
from pilotage.meta.text.yamlscalars import plain_value, tagged_value

MAX_NODES = 100_000
"""Values in one document, each use of an alias counted in full. It limits both the time and the size that a small text
can expand to."""

MAX_EXPANDED = 20_000
"""Values that the aliases of one document stand for."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MAX_DUPLICATES = 64
_SEQUENCE = ("!", "tag:yaml.org,2002:seq")
_MAPPING = ("!", "tag:yaml.org,2002:map")


def read(data: bytes | str, *, limits: DocumentLimits = DEFAULT, aliases: bool = False) -> Any:
    """The one document of a text; None if it is empty. Raises DecodeError.

    `aliases` allows anchors, aliases and merge keys, for files of the user's own.
    """
    documents = _documents(data, limits, aliases)
    if len(documents) > 1:
        raise DecodeError(f"the text has {len(documents)} documents where one is expected")
    return documents[0] if documents else None


def read_all(data: bytes | str, *, limits: DocumentLimits = DEFAULT, aliases: bool = False) -> list[Any]:
    """All documents of a file; empty ones are skipped. Raises DecodeError.

    The limits are for each document, and for each item of a List; the limits of the whole file are far larger.
    """
    check_file_size(len(data))
    with _errors():
        return list(_Reader(yaml.parse(_text(data), Loader=_Loader), limits, aliases, is_file=True).documents())


def read_lenient(data: bytes | str, *, limits: DocumentLimits = DEFAULT) -> tuple[Any, list[str]]:
    """The first document of a text as Kubernetes reads it, and the problems that a stricter reader reports. Raises
    DecodeError.

    A key that is a boolean or a number becomes a string, and the last value of a duplicate key wins.
    """
    check_size(len(data), limits)
    reader = _Reader(yaml.parse(_text(data), Loader=_Loader), limits, aliases=True)
    duplicates: list[str] = []
    reader.duplicates = duplicates
    with _errors():
        document = next(reader.documents(), None)
    return document, duplicates


def write(document: Any) -> str:
    """Readable YAML: block style, keys in their order, strings of several lines as blocks. `read` gives it back."""
    return write_all([document])


def write_all(documents: list[Any]) -> str:
    """Several documents, with `---` between them."""
    text: str = yaml.dump_all(
        documents,
        Dumper=_Writer,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=2**31 - 1,
        explicit_start=True if len(documents) > 1 else None,
    )
    # The mark of a document's end, which stands alone on its line: a string may end in "...", too.
    return text[: -len("...\n")] if text.endswith("\n...\n") else text


def write_as_kubernetes(document: Any) -> bytes:
    """YAML as kube-apiserver writes it: keys sorted, lines of 80 characters, text like `no` in double quotes."""
    text: bytes = yaml.dump(
        document,
        Dumper=_KubernetesWriter,
        default_flow_style=False,
        sort_keys=True,
        allow_unicode=True,
        encoding="utf-8",
    )
    return text.removesuffix(b"...\n") if text.endswith(b"\n...\n") else text


def _documents(data: bytes | str, limits: DocumentLimits, aliases: bool) -> list[Any]:
    check_size(len(data), limits)
    with _errors():
        return list(_Reader(yaml.parse(_text(data), Loader=_Loader), limits, aliases).documents())


@contextmanager
def _errors() -> Iterator[None]:
    """Convert errors of the parser to DecodeError."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        problem = error.problem or error.context or "invalid syntax"
        raise DecodeError(f"the document is not YAML: {problem}{_where(error.problem_mark)}") from None
    except yaml.YAMLError as error:
        raise DecodeError(f"the document is not YAML: {' '.join(str(error).split())}") from None


def _text(data: bytes | str) -> str:
    try:
        text = data.decode() if isinstance(data, bytes) else data
        text.encode()
    except UnicodeError as error:
        raise DecodeError(f"the document is not UTF-8: {error.reason if hasattr(error, 'reason') else error}") from None
    return text.removeprefix("\ufeff")


def _index(event: yaml.Event | None) -> int:
    return event.start_mark.index if event is not None and event.start_mark is not None else 0


def _where(mark: Any) -> str:
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""


class _Reader:
    """Builds documents from the parser's events, so that limits are checked before anything large is created.

    The limits are for the whole text. Those of a file (`is_file`) are for each of its parts: a document, an item of a
    List, and what a List has beside its items.
    """

    def __init__(
        self, events: Iterator[yaml.Event], limits: DocumentLimits, aliases: bool, *, is_file: bool = False
    ) -> None:
        self._events = events
        self._limits = limits
        self._aliases = aliases
        self._is_file = is_file
        self._part: yaml.Event | None = None  # the beginning of this part
        self._nodes = 0
        self._most_nodes = MAX_NODES  # at the end of this part
        self._inside = 0  # how many aliases what is being read is inside of
        self._expanded = 0  # values that were read because of aliases
        self._anchors: dict[str, list[yaml.Event]] = {}
        self._recordings: list[list[yaml.Event]] = []
        self.duplicates: list[str] | None = None
        """Where duplicate keys are recorded; None: they are rejected, and so are keys that are not strings."""

    def documents(self) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors.clear()
                first = self._next(self._events)
                if not (_is_plain(first) and first.value == ""):
                    yield self._node(first, self._events, 0)
            elif self._is_file:  # the end of a document or of the file
                self._begin_part(event)
                self._expanded = 0

    def _begin_part(self, event: yaml.Event) -> None:
        """The part before ends here, and another one begins. Raises DecodeError if it was too large."""
        size = _index(event) - _index(self._part)
        if size > self._limits.size:
            raise _refused(self._part or event, too_large(size, self._limits))
        self._part = event
        self._most_nodes = min(self._nodes + MAX_NODES, MAX_FILE_VALUES)

    def _next(self, events: Iterator[yaml.Event]) -> yaml.Event:
        event = next(events)
        for recording in self._recordings:
            recording.append(event)
        return event

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
        self._nodes += 1
        if self._nodes > self._most_nodes:
            whole = self._nodes > MAX_FILE_VALUES
            what, most = ("file", MAX_FILE_VALUES) if whole else ("document", MAX_NODES)
            raise _refused(event, f"the {what} has more than {most} values, aliases counted in full")
        if self._inside:
            self._expanded += 1
            if self._expanded > MAX_EXPANDED:
                raise _refused(event, f"the aliases of the document stand for more than {MAX_EXPANDED} values")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        anchor = event.anchor if isinstance(event, yaml.NodeEvent) else None
        if anchor is None:
            return self._value(event, events, depth)
        if not self._aliases:
            raise _refused(event, "anchors and aliases are not allowed here: write the value out")
        recording = [event]
        self._recordings.append(recording)
        value = self._value(event, events, depth)
        self._recordings = [other for other in self._recordings if other is not recording]
        self._anchors[anchor] = recording
        return value

    def _alias(self, event: yaml.AliasEvent, depth: int) -> Any:
        if not self._aliases:
            raise _refused(event, "anchors and aliases are not allowed here: write the value out")
        recorded = self._anchors.get(event.anchor or "")
        if recorded is None:
            raise _refused(event, f"the alias *{event.anchor} has no anchor before it")
        # What is inside is read again, and counted again; an anchor around it has recorded the alias, so that is all.
        replay, recordings, self._recordings = iter(recorded), self._recordings, []
        self._inside += 1
        value = self._value(next(replay), replay, depth)
        self._inside -= 1
        self._recordings = recordings
        return value

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if depth >= self._limits.depth:
            raise _refused(event, f"the document is nested deeper than {self._limits.depth} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            _check_tag(event, _SEQUENCE)
            return self._sequence(events, depth)
        _check_tag(event, _MAPPING)
        return self._mapping(events, depth)

    def _sequence(self, events: Iterator[yaml.Event], depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._next(events), yaml.SequenceEndEvent):
            items.append(self._node(event, events, depth + 1))
        return items

    def _items(self, events: Iterator[yaml.Event]) -> list[Any]:
        """The items of a List, each of which is a part. The kind of the document may come after them."""
        items: list[Any] = []
        while True:
            event = self._next(events)
            self._begin_part(event)
            if isinstance(event, yaml.SequenceEndEvent):
                return items
            items.append(self._node(event, events, 1))

    def _mapping(self, events: Iterator[yaml.Event], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := self._next(events), yaml.MappingEndEvent):
            if _is_plain(event) and event.value == "<<":
                merged.update(_merge(event, self._node(self._next(events), events, depth + 1)))
                continue
            key = self._key(event, self._node(event, events, depth + 1))
            if key in found:
                self._note_duplicate(event, key)
            value = self._next(events)
            is_list = self._is_file and depth == 0 and key == "items" and _is_sequence(value)
            found[key] = self._items(events) if is_list else self._node(value, events, depth + 1)
        return {**merged, **found} if merged else found

    def _key(self, event: yaml.Event, key: Any) -> str:
        if isinstance(key, str):
            return key
        if self.duplicates is None or not isinstance(key, int | float):
            raise _refused(event, f"the key {_shown(key)} is not a string: put it in quotes")
        return str(key).lower() if isinstance(key, bool) else f"{key:g}" if isinstance(key, float) else str(key)

    def _note_duplicate(self, event: yaml.Event, key: str) -> None:
        if self.duplicates is None:
            raise _refused(event, f"the key {_shown(key)} is duplicated")
        if len(self.duplicates) < _MAX_DUPLICATES:
            line = event.start_mark.line + 1 if event.start_mark is not None else 0
            self.duplicates.append(f'line {line}: key "{key[:100]}" already set in map')


def _scalar(event: yaml.ScalarEvent) -> Any:
    try:
        if event.tag is not None and event.tag != "!":
            return tagged_value(event.tag, event.value)
        return plain_value(event.value) if _is_plain(event) else event.value
    except ValueError as error:
        raise _refused(event, str(error)) from None


def _is_plain(event: yaml.Event) -> TypeGuard[yaml.ScalarEvent]:
    """Whether it is a word without quotes and without a tag."""
    return isinstance(event, yaml.ScalarEvent) and bool(event.implicit[0]) and event.tag is None


def _is_sequence(event: yaml.Event) -> bool:
    """Whether it is the start of a sequence without an anchor and without a tag."""
    return isinstance(event, yaml.SequenceStartEvent) and event.anchor is None and event.tag is None


def _merge(event: yaml.Event, value: Any) -> dict[str, Any]:
    parts = value if isinstance(value, list) else [value]
    merged: dict[str, Any] = {}
    for part in reversed(parts):  # the earlier one wins
        if not isinstance(part, dict):
            raise _refused(event, "only mappings can be merged with <<")
        merged.update(part)
    return merged


def _check_tag(event: Any, allowed: tuple[str, ...]) -> None:
    if event.tag is not None and event.tag not in allowed:
        raise _refused(event, f"the tag {event.tag[:64]} has no meaning in JSON: remove it")


def _refused(event: yaml.Event, message: str) -> DecodeError:
    return DecodeError(f"{message}{_where(event.start_mark)}")


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 64 else f"{text[:61]}..."


class _Writer(_Dumper):  # type: ignore[misc]  # the C class has no types
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_string(dumper: Any, text: str) -> Any:
    style = None
    if not isinstance(_if_plain(text), str):
        style = "'"
    elif "\n" in text and _is_block(text):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


class _KubernetesWriter(_Writer):
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: resolvers for first, resolvers in _Writer.yaml_implicit_resolvers.items() if first not in tuple("!&*=<")
    }
    """Without the types that other parsers have for `*`, `=` and the like."""


def _represent_quoted(dumper: Any, text: str) -> Any:
    tag = "tag:yaml.org,2002:str"
    plain = isinstance(_if_plain(text), str) and dumper.resolve(yaml.ScalarNode, text, (True, False)) == tag
    style = "|" if "\n" in text else None if plain else '"'
    return dumper.represent_scalar(tag, text, style=style)


def _if_plain(text: str) -> Any:
    """The value of the text without quotes; None if it would be rejected."""
    try:
        return plain_value(text)
    except ValueError:
        return None


def _is_block(text: str) -> bool:
    """Whether a literal block preserves the text: it has no leading or trailing blanks, which the block would drop."""
    return text[0] not in " \n\t" and not any(line != line.rstrip() for line in text.split("\n")) and "\t" not in text


def _represent_float(dumper: Any, number: float) -> Any:
    if not math.isfinite(number):
        raise ValueError(f"{number} cannot be written: JSON has no such number")
    return dumper.represent_float(number)


_Writer.add_representer(str, _represent_string)
_Writer.add_representer(float, _represent_float)
_KubernetesWriter.add_representer(str, _represent_quoted)
_KubernetesWriter.add_representer(float, _represent_float)
