from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors.keywords import check_keywords


def write(obj: object, *, subresource: str = "", **options: Any) -> None:
    check_keywords(write, options, frozenset({"dry_run", "field_owner"}))


def test_a_keyword_that_is_unknown_is_reported_with_the_function_that_was_called_and_its_options() -> None:
    write("a", subresource="status", dry_run=True)
    expected = r"^write\(\) has no option 'dryrun': its options are dry_run, field_owner, subresource$"
    with pytest.raises(TypeError, match=expected):
        write("a", dry_run=True, dryrun=True)
