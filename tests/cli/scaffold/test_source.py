"""Edits of a module that people have changed: what is added where, and that everything else stays as it was."""

from __future__ import annotations

import pytest

from pilotage.cli.scaffold.source import (
    CannotEdit,
    with_definitions,
    with_line_before,
    with_methods,
    with_statement,
)

ADD = "Books({0}).add({0})"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            'def setup(manager):\n    """Text."""\n',
            'def setup(manager):\n    """Text."""\n    Books(manager).add(manager)\n',
            id="after the docstring",
        ),
        pytest.param(
            "def setup(m: Manager) -> None:\n    a(m)  # why\n    # more below\n\n\nx = 1  # y\n",
            "def setup(m: Manager) -> None:\n    a(m)  # why\n    # more below\n    Books(m).add(m)\n\n\nx = 1  # y\n",
            id="after the comments of the block, with the name of the parameter",
        ),
        pytest.param(
            "async def setup(manager):\n\tpass\n",
            "async def setup(manager):\n\tBooks(manager).add(manager)\n",
            id="in place of pass, with tabs",
        ),
        pytest.param(
            "def setup(manager):\n    ...",
            "def setup(manager):\n    Books(manager).add(manager)\n",
            id="in place of ...",
        ),
        pytest.param(
            "def setup(manager):\n    a(\n        1,\n    )\n    return\n",
            "def setup(manager):\n    a(\n        1,\n    )\n    Books(manager).add(manager)\n    return\n",
            id="before return",
        ),
        pytest.param(
            "def setup(m):\n    if x:\n        a()\n        # of the if\nrest()\n",
            "def setup(m):\n    if x:\n        a()\n        # of the if\n    Books(m).add(m)\nrest()\n",
            id="after a block",
        ),
        pytest.param(
            "def setup(manager):\r\n    a()\r\n",
            "def setup(manager):\r\n    a()\r\n    Books(manager).add(manager)\r\n",
            id="with the line ends of the file",
        ),
        pytest.param(
            "def setup(manager):\n    a()",
            "def setup(manager):\n    a()\n    Books(manager).add(manager)\n",
            id="no newline",
        ),
        pytest.param(
            "def setup(manager):\n    a('\x0c')\n    # é\n",
            "def setup(manager):\n    a('\x0c')\n    # é\n    Books(manager).add(manager)\n",
            id="characters that only str.splitlines takes for line ends",
        ),
    ],
)
def test_a_statement_is_added_at_the_end_of_a_function(before: str, after: str) -> None:
    assert with_statement(before, "setup", ADD) == after


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "it has no function setup"),
        ("def setup(m): a\ndef setup(m): b\n", "it has several functions setup"),
        ("def setup():\n    a()\n", "its function setup has no parameter for the manager"),
        ("def setup(manager): a()\n", "the body of setup is on the line of its def"),
        ("def setup(manager):\n    a(\n", "it has a syntax error in line 2"),
        ("def setup(manager):\n    raise Error\n", "its function setup ends with raise in line 2"),
        ("def setup(manager):\n    a(); return\n", "line 2 has several statements"),
        ("def setup(manager):\r\n    a()\n", "its lines end in different ways"),
        ("if x:\n    def setup(manager):\n        a()\n", "it has no function setup"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(CannotEdit, match=reason):
        with_statement(text, "setup", ADD)


def test_definitions_are_added_at_the_end() -> None:
    before = "import x\n\n\nclass A:\n    a: int  # one\n\n# the end\n\n\n\n"
    after = "import x\n\n\nclass A:\n    a: int  # one\n\n# the end\n\n\nclass B:\n    b: int\n"
    assert with_definitions(before, "class B:\n    b: int\n", ["B"]) == after


def test_a_definition_that_is_there_is_refused() -> None:
    with pytest.raises(CannotEdit, match="line 2 defines B already"):
        with_definitions("x = 1\nB = 2\n", "class B: ...\n", ["B"])


WEBHOOK = """class Webhook:
    # about setup
    def setup_with_manager(self, manager):
        builder = make(manager)
        builder.complete()
"""


def test_a_line_is_added_before_a_call() -> None:
    made = with_line_before(WEBHOOK, "builder.complete()", "builder.more()")
    assert made == WEBHOOK.replace("        builder.complete()", "        builder.more()\n        builder.complete()")
    with pytest.raises(CannotEdit, match=r"it has no line builder\.done"):
        with_line_before(WEBHOOK, "builder.done()", "builder.more()")


def test_methods_are_added_above_another_and_its_comments() -> None:
    made = with_methods(WEBHOOK, "Webhook", "setup_with_manager", "    def one(self):\n        pass\n")
    assert made == WEBHOOK.replace("class Webhook:\n", "class Webhook:\n    def one(self):\n        pass\n\n")
    with pytest.raises(CannotEdit, match="its class Webhook has no method missing"):
        with_methods(WEBHOOK, "Webhook", "missing", "    x = 1\n")
