"""Whole CRDs and their reference pages, compared as text. A real API server accepts each of them."""

from __future__ import annotations

import pytest

from pilotage.meta.text import yamltext
from pilotage.schema.generate.crd import crds
from pilotage.schema.reference import reference
from tests.schema import golden_files
from tests.schema.apis import RIGHT, resources


@pytest.mark.parametrize("name", RIGHT)
def test_an_api_becomes_the_crds_of_its_golden_file(name: str) -> None:
    documents = crds(resources(name))
    golden_files.check(f"{name}.yaml", "---\n".join(yamltext.write(document) for document in documents))


@pytest.mark.parametrize("name", RIGHT)
def test_an_api_becomes_the_page_of_its_golden_file(name: str) -> None:
    golden_files.check(f"{name}.md", reference(crds(resources(name))))


def test_every_golden_crd_has_an_api() -> None:
    assert {path.stem for path in golden_files.FOLDER.glob("*.yaml")} == set(RIGHT)
