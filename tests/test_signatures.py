from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pilotage.cli.program import target
from pilotage.controller.reconcilers.signature import check_signature
from pilotage.signatures import signature_of
from pilotage.webhook.functions import method

from .schema.source.loading import loaded

TEXT = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from nowhere import Request, Result

async def reconcile(request: Request) -> Result: ...

class Validator:
    def validate_create(self, obj: object, request: Request) -> str:
        return f"{obj}, {request}"
"""
only_late = pytest.mark.skipif(
    sys.version_info < (3, 14), reason="before Python 3.14, an annotation without quotes is evaluated at once"
)


@pytest.fixture(
    params=[
        pytest.param("", id="plain", marks=only_late),
        pytest.param("from __future__ import annotations", id="future"),
    ]
)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ModuleType]:
    with loaded(request.param + TEXT, tmp_path) as module:
        yield module


def test_a_signature_may_name_what_exists_for_type_checkers_alone(program: ModuleType) -> None:
    assert str(signature_of(program.reconcile)).replace("'", "") == "(request: Request) -> Result"


async def test_such_functions_are_accepted_as_reconcilers_handlers_and_targets(program: ModuleType) -> None:
    check_signature(program.reconcile, program.reconcile)
    assert target._accepts(program.reconcile, 1)
    assert await method(program.Validator(), "validate_create", "validator")("a request", "an object") == (
        "an object, a request"
    )
