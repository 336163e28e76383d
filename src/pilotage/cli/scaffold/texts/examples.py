"""What the tests of a kind have in common: its environment, and an object of it."""

from __future__ import annotations

from pilotage.cli.scaffold.kinds import ExampleObject, Subject


def environment(subject: Subject) -> str:
    """The name of the class of the fixture, which a kind may have too."""
    return "Environment" if subject.class_name != "Environment" else "PilotageEnvironment"


def environment_import(subject: Subject) -> str:
    """The import of that class."""
    name = environment(subject)
    return f"from pilotage.testing import Environment{f' as {name}' if name != 'Environment' else ''}"


def function(subject: Subject, example: ExampleObject) -> str:
    """A function that makes an object."""
    namespace = ', namespace="default"' if subject.namespaced else ""
    arguments = "".join(f"        {each},\n" for each in example.arguments)
    return f"""
def example(name: str = "example") -> {subject.class_name}:
    return {subject.class_name}(
        metadata=pt.ObjectMeta(name=name{namespace}),
{arguments}    )
"""
