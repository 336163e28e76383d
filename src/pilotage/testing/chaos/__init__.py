"""Chaos: the same test under every crash, lost answer, conflict, stale read and missed event.

    report = chaos.explore(scenario, plans=200, seed=1)
    assert not report.failures, str(report)

A scenario is an async function of an `Environment`: a whole test, which runs the program in `env.running(setup)`. It is
run once without faults, and then once for each plan of faults, each time on an empty server, with virtual time. A run
that ends otherwise than the undisturbed one is a failure, with the fewest faults that lead to it, its timeline, and a
plan that repeats it.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
