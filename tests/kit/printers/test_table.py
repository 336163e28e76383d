from __future__ import annotations

import pytest

from pilotage.kit.printers.output import CustomColumns
from pilotage.kit.printers.table import aligned, cell_text, escaped


@pytest.mark.parametrize(
    "text",
    [
        "\u65e5\u672c\u3000\u8a9e",
        "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "a\u00a0b",
        "\u200frtl",
        "\ue0b0",
        "\U0001fae9",
        "a\u00adb",
    ],
    ids=["ideographic space", "ZWNJ", "ZWJ", "no-break space", "RLM", "private use", "new emoji", "soft hyphen"],
)
def test_letters_and_what_joins_them_are_printed_as_they_are(text: str) -> None:
    assert cell_text(text) == text
    assert escaped(text) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("\x1b[31mred", "^[[31mred"),
        ("over\rwritten", "over\\rwritten"),
        ("bell\x07", "bell?"),
        ("eight bits\x9b31m", "eight bits?31m"),
        ("next line\x85", "next line?"),
        ("override\u202etxt", "override?txt"),
        ("isolate\u2066txt", "isolate?txt"),
        ("half\ud800", "half?"),
    ],
)
def test_what_controls_a_terminal_is_escaped(text: str, printed: str) -> None:
    assert escaped(text) == printed
    assert escaped(f"{text}\n\t") == f"{printed}\n\t"
    columns = CustomColumns("TEXT:.text", headers=False)
    assert columns.text([{"text": text}]) == f"{printed}\n"


def test_a_cell_has_one_line() -> None:
    assert cell_text("first\x1b\nsecond") == "first^[..."
    assert cell_text("first\rsecond") == "first..."
    assert cell_text("tab\tbed") == "tab bed"


def test_only_line_ends_separate_aligned_lines() -> None:
    assert aligned("a\tb\u2028c\naa\tb") == "a   b\u2028c\naa  b\n"
