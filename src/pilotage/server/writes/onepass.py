"""Why `writes.plain` may create an object in one pass: what each step of a create would do to it."""

from __future__ import annotations

from collections.abc import Mapping

NOTHING_TO_DO: Mapping[str, str] = {
    "bodies.read": "the body begins as a stored object of the kind does, is JSON, and has no field twice",
    "meta.wipe": "plain metadata has no field that only the server sets",
    "set_namespace": "the namespace is that of the path",
    "accepts": "it is called: the schema accepts the object as it is",
    "_check_version": "plain metadata has no resource version",
    "_drop_empty_lists": "only built-in kinds have such lists",
    "info.default": "only a built-in kind has these defaults; the strategy of a plain resource has none",
    "schema.is_complete": "an accepted object is complete",
    "schema.prune": "an accepted object has no unknown field",
    "schema.default": "an accepted object has all defaults",
    "problems.report": "there are no unknown or duplicate fields",
    "info.forbidden": "a resource of a definition that is being deleted is not plain",
    "meta.deduplicate_owners": "plain metadata has no owners",
    "track_create": "`entries_of_plain` makes the same entry",
    "tracked_create": "a plain resource has one version, so no webhook converts its objects",
    "admission.mutate": "no function, plugin, webhook or policy sees a create of the resource",
    "admission.validate": "no function, plugin, webhook or policy sees a create of the resource",
    "info.strategy.set_requester": "only a built-in kind has one",
    "meta.reset": "plain metadata has nothing to drop; the uid, the time and the generation are set",
    "info.codec.drop_disabled": "only a built-in kind has a codec",
    "info.strategy.prepare_for_create": "an accepted object has no status to drop",
    "info.strategy.warnings": "a plain resource has none",
    "info.strategy.privileges": "only a built-in kind has fields that need the label of a namespace",
    "privilege_causes": "only a built-in kind has fields that need the label of a namespace",
    "meta.create_causes": "plain metadata is valid",
    "info.schema.validate": "an accepted object is valid",
    "strategy.validate": "a plain resource has no rules outside of its schema",
    "info.strategy.canonicalize": "a plain resource has one form",
    "info.schema.prune": "no webhook has added a field",
    "context.cleartext.check": "only Secrets are confidential",
    "context.allocator.allocate": "only Services have addresses and ports",
    "conversions.storable": "a plain resource has one version: the stored one",
    "conversions.reread": "a plain resource has one version: the stored one",
    "DefinitionNames.accept": "only definitions have names to accept",
}
"""Each step of a create, and why it does nothing to an object that `plain_value` takes. A test compares them with the
steps that `verbs.create` takes: a new one must be answered here, and by `plain_value`."""
