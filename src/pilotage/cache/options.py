"""The options of an informer: a kind, a selection of its objects, and their transform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pilotage.meta.bounds.optionfields import OptionalSecondsField, SecondsField, check_fields, seconds_field
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.selectors.selection import Fields, Labels, field_text, selector_text
from pilotage.meta.selectors.selectors import FieldSelector, Selector
from pilotage.reflector.intake import Intake, Transform
from pilotage.reflector.reflector import ReflectorOptions
from pilotage.rest.listing import BackoffOptions
from pilotage.rest.request import Form, ListOptions, form_of

MINIMUM_RESYNC = 1.0
"""Seconds; shorter resync periods are raised to this."""


@dataclass(frozen=True, slots=True)
class InformerOptions:
    """Which objects one informer watches, and how."""

    kind: Kind
    """A class, a GroupVersionKind (its objects are Unstructured) or `metadata_only` of either."""
    namespace: str = ""
    """One namespace; empty: all of them."""
    labels: Labels = None
    """The label selector of the objects: a mapping, its text or a Selector; None: all objects."""
    fields: Fields = None
    """The field selector, in the same forms; the server must support it for the kind. None: all objects."""
    transform: Transform | None = None
    """Runs once for each version of an object, before it is stored."""
    resync: SecondsField = seconds_field(0.0)
    """Seconds between replays of the store to handlers without a period of their own; 0: never."""
    backoff: BackoffOptions | None = None
    """The waits between retries; None: what the lister-watcher asks for, else client-go's numbers."""
    silence_seconds: OptionalSecondsField = seconds_field(None)
    """How long a watch may be silent before it is opened again; None: what the lister-watcher promises."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def gvk(self) -> GroupVersionKind:
        return gvk_of(self.kind)

    @property
    def form(self) -> Form:
        return form_of(self.kind)

    @property
    def selection(self) -> ListOptions:
        """The selectors as the wire has them."""
        return ListOptions(label_selector=selector_text(self.labels), field_selector=field_text(self.fields))

    def covers(self, *, namespace: str, name: str, labels: Mapping[str, str]) -> bool:
        """Whether an object with this `name`, `namespace` and these `labels` is certainly in the selection.

        False for a field selector on anything but the name and the namespace, which cannot be evaluated by these.
        """
        if self.namespace and namespace != self.namespace:
            return False
        selection = self.selection
        if selection.label_selector and not Selector.parse(selection.label_selector).matches(labels):
            return False
        known = {"metadata.name": name, "metadata.namespace": namespace}
        terms = FieldSelector.parse(selection.field_selector).requirements
        return all(term.field in known and term.matches(known) for term in terms)

    def reflector_options(self) -> ReflectorOptions:
        """The options of the informer's reflector."""
        return ReflectorOptions(
            selection=self.selection,
            gvk=self.gvk,
            intake=Intake(self.gvk, self.transform, self.form),
            backoff=self.backoff,
            silence_seconds=self.silence_seconds,
        )
