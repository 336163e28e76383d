"""The module of a controller, and its test."""

from __future__ import annotations

from pilotage.cli.scaffold.kinds import Subject
from pilotage.cli.scaffold.lines import bracketed, imports, sections
from pilotage.cli.scaffold.texts import examples


def module(subject: Subject) -> str:
    """A reconciler with its registration."""
    kind, variable, status = subject.class_name, subject.names.variable, subject.status_class
    watched = [kind, *(["predicates=[pt.generation_changed]"] if status else [])]
    return f'''"""The controller of {kind} objects."""

{_imports(subject)}

class {subject.names.reconciler}:
    """Brings the cluster to the state that the spec of each object describes."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
{f"        self.clock = manager.clock{chr(10)}" if status else ""}
    async def reconcile(self, request: pt.Request) -> pt.Result:
        """Called when an object was created, changed or deleted, and again after an error."""
{bracketed(f"{variable} = await self.client.find(", [kind, "request"], ")", 8)}
        if {variable} is None:
            return pt.Result()  # it was deleted, and what it owned is deleted with it

        # Create or change here what the object asks for, with pt.create_or_patch for example.

{_status(subject) if status else ""}        return pt.Result()

    def setup_with_manager(self, manager: pt.Manager) -> None:
        """Register the controller. Kinds that it creates are added with `builder.owns(…)`."""
{bracketed("builder = pt.ControllerBuilder(manager).for_(", watched, ")", 8)}
        builder.complete(self)
'''


def _imports(subject: Subject) -> str:
    names = [subject.class_name, *([subject.status_class] if subject.status_class else [])]
    line = imports(subject.module, names)
    return sections(["import pilotage as pt"], [line]) if subject.own else sections(["import pilotage as pt", line])


def _status(subject: Subject) -> str:
    variable = subject.names.variable
    return f"""        status = {variable}.status or {subject.status_class}()
        ready = pt.Condition(
            type="Ready",
            status="True",
            reason="Reconciled",
            observed_generation={variable}.metadata.generation,
        )
        if pt.set_status_condition(status.conditions, ready, clock=self.clock):
            {variable}.status = status
            await self.client.update_status({variable})
"""


def test(subject: Subject, package: str) -> str:
    """Tests of the reconciler, each in an environment of its own."""
    names, kind = subject.names, subject.class_name
    example = subject.example if subject.status_class else None
    environment = examples.environment(subject)
    own = [imports(f"{package}.controllers.{names.module}", [names.reconciler])]
    third = ["import pilotage as pt", "import pytest", examples.environment_import(subject)]
    used = [kind, *(example.classes if example else ())]
    if subject.own:
        own.insert(0, imports(subject.module, used))
    install = bracketed("await pilotage_env.cluster.install(", [kind], ")", 4) + "\n" if subject.own else ""
    request = 'name="deleted"' + (', namespace="default"' if subject.namespaced else "")
    return f'''"""Tests of the controller of {kind} objects."""

{sections(third, own)}

@pytest.fixture
async def env(pilotage_env: {environment}) -> {environment}:
    """An API server in memory, and a manager with the controller. Each test has its own."""
{install}    reconciler = {names.reconciler}(pilotage_env.manager)
    reconciler.setup_with_manager(pilotage_env.manager)
    return pilotage_env

{examples.function(subject, example) + _ready_test(subject, environment) if example else ""}
async def test_an_object_that_was_deleted_is_left_alone(env: {environment}) -> None:
    reconciler = {names.reconciler}(env.manager)
    async with env.running():
        result = await reconciler.reconcile(pt.Request({request}))
    assert result == pt.Result()
'''


def _ready_test(subject: Subject, environment: str) -> str:
    arguments = [subject.class_name, '"example"', *(['namespace="default"'] if subject.namespaced else [])]
    return f"""

async def test_an_object_becomes_ready(env: {environment}) -> None:
    await env.client.create(example())
    await env.run_until_idle()
{bracketed("found = await env.client.get(", arguments, ")", 4)}
    assert found.status is not None
    assert pt.is_status_condition_true(found.status.conditions, "Ready")

"""
