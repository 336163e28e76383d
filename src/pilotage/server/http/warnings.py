"""Warning headers: warnings about a request, which may have succeeded."""

from __future__ import annotations

from collections.abc import Sequence

_TOTAL = 4096
"""Characters of all warnings together, beyond which each is cut."""
_EACH = 256
"""Characters of a warning where they are cut."""


def warning_headers(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Each warning once, cut as kube-apiserver does it: those after the limit is reached are left out."""
    if not texts:
        return []
    unique = [text for text in dict.fromkeys(texts) if text and not _has_control_characters(text)]
    if sum(map(len, unique)) > _TOTAL:
        unique = _cut(unique)
    return [("warning", f'299 - "{_quoted(text)}"') for text in unique]


def _cut(texts: list[str]) -> list[str]:
    total = 0
    whole = 0
    while total + len(texts[whole]) <= _TOTAL:
        total += len(texts[whole])
        whole += 1
    kept = [text[:_EACH] for text in texts[: whole + 1]]
    written = sum(map(len, kept))
    for text in texts[whole + 1 :]:
        if written >= _TOTAL:
            break
        kept.append(text[:_EACH])
        written += len(kept[-1])
    return kept


def _has_control_characters(text: str) -> bool:
    return any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return escaped.encode(errors="replace").decode()
