"""Helm templates from documents: a value that the chart sets is put into the document as a token, and the token is
replaced in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pilotage.meta.documents import Document
from pilotage.meta.text import yamltext

_TOKEN = re.compile(r"PILOTAGE-TOKEN-(\d+)-")
_ENTRY = re.compile(r"^( *)((?:- )?)(?:([\w.-]+):)? ?'?PILOTAGE-TOKEN-(\d+)-'?$")

_VALUES = "KEY:\n{{{{- toYaml {} | nindent INDENT }}}}"


class Templates:
    """Makes tokens, and texts in which they are replaced."""

    def __init__(self) -> None:
        self._inline: dict[str, str] = {}
        self._blocks: dict[str, str] = {}

    def inline(self, expression: str) -> str:
        """A token within a text: replaced by `{{ expression }}`."""
        return self._token(self._inline, f"{{{{ {expression} }}}}")

    def block(self, text: str) -> str:
        """A token that is a whole value or an item of a list: its line is replaced by these lines.

        They are indented as the line was; KEY stands for its key, INDENT for the column of what is below it, ITEMS
        for the column of the items of its list.
        """
        return self._token(self._blocks, text)

    def given(self, path: str) -> str:
        """A token for a map or a list of the values, which is left out where it is empty."""
        return self.block(f"{{{{- with {path} }}}}\n{_VALUES.format(path)}\n{{{{- end }}}}")

    def values(self, path: str) -> str:
        """A token for a map or a list of the values."""
        return self.block(_VALUES.format(path))

    def text(self, documents: Iterable[Document]) -> str:
        """The template of documents."""
        written = "".join(f"---\n{yamltext.write(document)}" for document in documents)
        escaped = written.replace("{{", '{{ "{{" }}')  # in the description of a CRD
        lines = [line for each in escaped.splitlines() for line in self._line(each)]
        text = "".join(f"{line}\n" for line in lines)
        return _TOKEN.sub(lambda found: self._inline[found[1]], text)

    def _line(self, line: str) -> list[str]:
        found = _ENTRY.match(line)
        if found is None or found[4] not in self._blocks:
            return [line]
        indent, _, key, number = found.groups()
        text = self._blocks[number].replace("KEY", key or "").replace("INDENT", str(len(indent) + 2))
        text = text.replace("ITEMS", str(len(indent)))
        return [f"{indent}{each}" for each in text.splitlines()]

    def _token(self, texts: dict[str, str], text: str) -> str:
        number = str(len(self._inline) + len(self._blocks))
        texts[number] = text
        return f"PILOTAGE-TOKEN-{number}-"


def when(condition: str, text: str) -> str:
    """A part of a template that depends on the values."""
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"
