from __future__ import annotations

from pilotage.rest.request import APIRequest, ListOptions, Verb

from ..registries import DEFINITIONS, WIDGETS, definition, opened


async def test_a_selected_list_of_definitions_does_not_make_them_compile_again() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        catalogue = api.registry.context.catalogue
        info = await catalogue.find(WIDGETS)
        selected = ListOptions(label_selector="!a", field_selector="metadata.name!=x")
        await api.registry.list(APIRequest(Verb.LIST, DEFINITIONS, options=selected))
        assert await catalogue.find(WIDGETS) is info


async def test_a_definition_that_has_changed_is_compiled_again() -> None:
    async with opened() as api:
        await api.create(DEFINITIONS, definition())
        created = await api.get(DEFINITIONS, "widgets.test.example.com")  # with the names that were accepted
        catalogue = api.registry.context.catalogue
        info = await catalogue.find(WIDGETS)
        await api.update(DEFINITIONS, created | {"metadata": created["metadata"] | {"labels": {"a": "b"}}})
        assert await catalogue.find(WIDGETS) is not info
