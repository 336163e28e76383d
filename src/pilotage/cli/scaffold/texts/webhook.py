"""The module of the webhooks of a kind, and its test."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.cli.scaffold.kinds import Subject
from pilotage.cli.scaffold.lines import Import, bracketed, imports, sections
from pilotage.cli.scaffold.texts import examples


@dataclass(frozen=True, slots=True)
class Parts:
    """What the webhooks of a kind do."""

    defaulting: bool
    validating: bool
    spokes: tuple[Import, ...] = ()
    """The classes of the other versions, for conversion."""


def module(subject: Subject, parts: Parts, project: str) -> str:
    """A class with the handlers and their registration."""
    lines = [*registration(parts), "builder.complete()"]
    own = [imports(subject.module, [subject.class_name]), *(spoke.line for spoke in parts.spokes)]
    third = ["import pilotage as pt"]
    handlers = methods(subject, parts, project)
    return f'''"""The webhooks of {subject.class_name} objects."""

{sections(third, own) if subject.own else sections(third + own)}

class {subject.names.webhook}:
    """Called by the API server before an object is stored."""

{handlers}    def setup_with_manager(self, manager: pt.Manager) -> None:
        """Register the webhooks."""
{bracketed("builder = pt.WebhookBuilder(manager).for_(", [subject.class_name], ")", 8)}
{chr(10).join(f"        {line}" for line in lines)}
'''


def registration(parts: Parts) -> list[str]:
    """The lines that register the handlers."""
    lines = []
    if parts.defaulting:
        lines.append("builder.with_defaulter(self)")
    if parts.validating:
        lines.append("builder.with_validator(self)")
    if parts.spokes:
        lines.append(f"builder.with_conversion({', '.join(spoke.alias for spoke in parts.spokes)})")
    return lines


def methods(subject: Subject, parts: Parts, project: str) -> str:
    """The handlers, as methods of the class."""
    return (_defaulting(subject, project) if parts.defaulting else "") + (
        _validating(subject) if parts.validating else ""
    )


def _defaulting(subject: Subject, project: str) -> str:
    kind, variable = subject.class_name, subject.names.variable
    return f'''{bracketed("async def default(", ["self", f"{variable}: {kind}"], ") -> None:", 4)}
        """Fill in what the user left out, before an object is created or updated."""
        {variable}.metadata.labels.setdefault("app.kubernetes.io/managed-by", "{project}")

'''


def _validating(subject: Subject) -> str:
    kind, variable = subject.class_name, subject.names.variable
    return f'''{bracketed("async def validate_create(", ["self", f"{variable}: {kind}"], ") -> list[str]:", 4)}
        """Return warnings for the user, or raise pt.Invalid to reject the object."""
        if len({variable}.metadata.name) > 63:  # a label with the name may have no more characters
            raise pt.Invalid.of({variable}, pt.field.too_long("metadata.name", 63))
        return []

{bracketed("async def validate_update(", ["self", f"old: {kind}", f"new: {kind}"], ") -> list[str]:", 4)}
        """As for a create, with the object before the update."""
        return []

{bracketed("async def validate_delete(", ["self", f"{variable}: {kind}"], ") -> list[str]:", 4)}
        """As for a create; a rejected object is not deleted."""
        return []

'''


def test(subject: Subject, parts: Parts, package: str) -> str | None:
    """Tests by writes to the API server, which calls the webhooks. None if no example object of the kind can be
    guessed."""
    example = subject.example
    if example is None:
        return None
    names, kind = subject.names, subject.class_name
    environment = examples.environment(subject)
    third = ["import pilotage as pt", "import pytest", examples.environment_import(subject)]
    own = [
        imports(subject.module, [kind, *example.classes]),
        imports(f"{package}.webhooks.{names.module}", [names.webhook]),
    ]
    return f'''"""Tests of the webhooks of {kind} objects."""

{sections(third, own)}

@pytest.fixture
async def env(pilotage_env: {environment}) -> {environment}:
    """An API server in memory that calls the webhooks. Each test has its own."""
{bracketed("await pilotage_env.cluster.install(", [kind], ")", 4)}
    webhook = {names.webhook}()
    webhook.setup_with_manager(pilotage_env.manager)
    return pilotage_env

{examples.function(subject, example)}{_default_test(environment) if parts.defaulting else ""}{
        _refusal_test(environment) if parts.validating else ""
    }'''


def _default_test(environment: str) -> str:
    return f"""

async def test_an_object_gets_a_label(env: {environment}) -> None:
    async with env.running():
        created = await env.client.create(example())
    assert created.metadata.labels["app.kubernetes.io/managed-by"]
"""


def _refusal_test(environment: str) -> str:
    return f"""

async def test_an_object_with_a_long_name_is_rejected(env: {environment}) -> None:
    async with env.running():
        with pytest.raises(pt.Invalid, match=r"metadata\\.name"):
            await env.client.create(example("a" * 64))
"""
