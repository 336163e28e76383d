"""The test kit, which ships: import the part you need.

    from pilotage.testing import Environment

    async def test_a_greeting_gets_its_config_map(pilotage_env: Environment) -> None:
        ...

- `pilotage.testing.plugin`: the pytest plugin with the fixture `pilotage_env` and its parts
- `pilotage.testing.environment`: that fixture's value, which needs no pytest
- `pilotage.testing.loop`: an event loop whose time is virtual and whose scheduling follows a seed
- `pilotage.testing.proxy`: a proxy that injects faults of the network
- `pilotage.testing.conversion`: checks with random objects that conversions between versions lose nothing
- `pilotage.testing.storage`: conformance checks for storages, which any test suite can run

Names are imported when they are first used, because pytest loads the plugin in every run. They are listed once, in
`__init__.pyi`.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
