"""The test kit, which ships: import the part you need.

- `pilotage.testing.loop`: an event loop whose time is virtual and whose scheduling follows a seed
- `pilotage.testing.conversion`: conversions between versions lose nothing, checked with random objects
- `pilotage.testing.storage`: what every storage must do, as checks that any test suite can run
"""
