"""What an informer follows: a kind, a part of its objects, and what is done to them on the way in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.selection import Fields, Labels, field_text, selector_text
from pilotage.meta.selectors import FieldSelector, Selector
from pilotage.reflector.intake import Intake, Transform
from pilotage.reflector.reflector import ReflectorOptions
from pilotage.rest.listing import BackoffOptions
from pilotage.rest.request import Form, ListOptions, form_of

MINIMUM_RESYNC = 1.0
"""Seconds; shorter resync periods are raised to this."""


@dataclass(frozen=True, slots=True)
class InformerOptions:
    """What one informer follows, and how."""

    kind: Kind
    """A class, a GroupVersionKind (its objects are Unstructured) or `metadata_only` of either."""
    namespace: str = ""
    """One namespace; empty: all of them."""
    labels: Labels = None
    """The label selector of the objects to follow: a mapping, its text or a Selector; None: all objects."""
    fields: Fields = None
    """The field selector, in the same forms; the server must support it for the kind. None: all objects."""
    transform: Transform | None = None
    """Runs once for each version of an object, before it is kept."""
    resync: float = 0.0
    """Seconds between replays of the store to handlers that do not ask for a period of their own; 0: never."""
    backoff: BackoffOptions | None = None
    """How soon to try again after a failure; None: what the source says, else client-go's numbers."""
    silence_seconds: float | None = None
    """How long a watch may say nothing before it is opened again; None: what the source says."""

    @property
    def gvk(self) -> GroupVersionKind:
        return gvk_of(self.kind)

    @property
    def form(self) -> Form:
        return form_of(self.kind)

    @property
    def selection(self) -> ListOptions:
        """The selectors as a server is asked for them."""
        return ListOptions(label_selector=selector_text(self.labels), field_selector=field_text(self.fields))

    def covers(self, *, namespace: str, name: str, labels: Mapping[str, str]) -> bool:
        """Whether an object with this `name`, `namespace` and these `labels` is surely among those that are followed.

        A field selector on anything but the name and the namespace cannot be judged by these: then it is not sure.
        """
        if self.namespace and namespace != self.namespace:
            return False
        selection = self.selection
        if selection.label_selector and not Selector.parse(selection.label_selector).matches(labels):
            return False
        known = {"metadata.name": name, "metadata.namespace": namespace}
        terms = FieldSelector.parse(selection.field_selector).requirements
        return all(term.field in known and term.matches(known) for term in terms)

    def changes(self) -> ReflectorOptions:
        """How the informer's collection is to be followed."""
        return ReflectorOptions(
            selection=self.selection,
            gvk=self.gvk,
            intake=Intake(self.gvk, self.transform, self.form),
            backoff=self.backoff,
            silence_seconds=self.silence_seconds,
        )
