"""The plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook."""

from __future__ import annotations

import msgspec

from pilotage.errors import ApiError
from pilotage.meta.causes import internal_error
from pilotage.server.admission import Attributes
from pilotage.server.matching.mutation import Mutation
from pilotage.server.matching.reinvocation import Again
from pilotage.server.matching.requests import VersionedObjects
from pilotage.server.matching.rules import is_exempt
from pilotage.server.plugins.plugin import DynamicAdmission, Plugin, PluginContext
from pilotage.server.plugins.webhookdispatch import CallFailed, Dispatcher, WebhookInvocation
from pilotage.server.plugins.webhookpatches import apply_patch
from pilotage.server.webhooks.reviews import WebhookDecision
from pilotage.telemetry.logs import logger

log = logger("pilotage.server.webhooks")
_DOMAIN = "webhook.admission.k8s.io"


class MutatingAdmissionWebhook(Plugin):
    """Calls webhooks that may change the objects of writes, one after another."""

    name = "MutatingAdmissionWebhook"

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        self._convert = _dynamic(context).convert
        self._dispatcher = Dispatcher(context, _dynamic(context), "MutatingWebhookConfiguration", mutating=True)

    async def mutate(self, attributes: Attributes) -> None:
        hooks = self._dispatcher.known()
        if hooks is None:
            hooks = await self._dispatcher.hooks()
        if not hooks or is_exempt(attributes.resource.group_resource):
            return
        mutation = Mutation(attributes, self._convert)
        again = Again.of(self.name, attributes)
        for index, hook in enumerate(hooks):
            invocation = await self._dispatcher.invocation(hook, attributes, mutation.objects)
            if invocation is None or not again.includes(hook.identity):
                continue
            place = f"round_{int(attributes.reinvocation.running)}_index_{index}"
            if await self._call(invocation, attributes, mutation, place):
                again.record_change(attributes)
            if hook.reinvoked:
                again.called.add(hook.identity)
        mutation.finish()
        again.finish(attributes)

    async def _call(
        self, invocation: WebhookInvocation, attributes: Attributes, mutation: Mutation, place: str
    ) -> bool:
        """Whether the webhook has changed the object. Raises ApiError."""
        changed = False
        try:
            verdict = await self._dispatcher.call(invocation, attributes, mutation.objects)
            if verdict.patch:
                changed = await apply_patch(mutation, attributes, invocation, verdict)
                _note_patch(attributes, invocation, verdict, place)
        except CallFailed as failure:
            _fail_by_policy(invocation, failure)
            attributes.annotate(f"failed-open.mutation.{_DOMAIN}/{place}", invocation.hook.name)
        finally:
            _note_mutation(attributes, invocation, place, changed)
        return changed


class ValidatingAdmissionWebhook(Plugin):
    """Calls webhooks that may reject writes, all at the same time."""

    name = "ValidatingAdmissionWebhook"

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        self._convert = _dynamic(context).convert
        self._dispatcher = Dispatcher(context, _dynamic(context), "ValidatingWebhookConfiguration", mutating=False)

    async def validate(self, attributes: Attributes) -> None:
        hooks = self._dispatcher.known()
        if hooks is None:
            hooks = await self._dispatcher.hooks()
        if not hooks or is_exempt(attributes.resource.group_resource):
            return
        objects = VersionedObjects(attributes, self._convert)
        found = [await self._dispatcher.invocation(hook, attributes, objects) for hook in hooks]
        invocations = [invocation for invocation in found if invocation is not None]
        for invocation in invocations:
            await objects.at(invocation.match)  # the calls share them
        if len(invocations) == 1:
            await self._call(0, invocations[0], attributes, objects)
        elif invocations:
            await self._call_all(invocations, attributes, objects)

    async def _call_all(
        self, invocations: list[WebhookInvocation], attributes: Attributes, objects: VersionedObjects
    ) -> None:
        """Call all of them, and raise the first error after all have answered."""
        import asyncio  # only programs with webhooks need an event loop here

        errors: list[ApiError] = []

        async def call(index: int, invocation: WebhookInvocation) -> None:
            try:
                await self._call(index, invocation, attributes, objects)
            except ApiError as error:
                errors.append(error)

        async with asyncio.TaskGroup() as group:
            for index, invocation in enumerate(invocations):
                group.create_task(call(index, invocation))
        if errors:
            raise errors[0]

    async def _call(
        self, index: int, invocation: WebhookInvocation, attributes: Attributes, objects: VersionedObjects
    ) -> None:
        try:
            await self._dispatcher.call(invocation, attributes, objects)
        except CallFailed as failure:
            _fail_by_policy(invocation, failure)
            attributes.annotate(f"failed-open.validating.{_DOMAIN}/round_0_index_{index}", invocation.hook.name)


def _note_mutation(attributes: Attributes, invocation: WebhookInvocation, place: str, changed: bool) -> None:
    """Record for the audit log whether a webhook has changed the object."""
    if attributes.request.annotations is not None:
        hook = invocation.hook
        value = {"configuration": hook.configuration, "webhook": hook.name, "mutated": changed}
        attributes.annotate(f"mutation.{_DOMAIN}/{place}", msgspec.json.encode(value).decode())


def _note_patch(attributes: Attributes, invocation: WebhookInvocation, verdict: WebhookDecision, place: str) -> None:
    """Record for the audit log what a webhook has changed."""
    if attributes.request.annotations is not None:
        hook = invocation.hook
        value = {
            "configuration": hook.configuration,
            "webhook": hook.name,
            "patch": msgspec.Raw(verdict.patch),
            "patchType": verdict.patch_type,
        }
        attributes.annotate(f"patch.{_DOMAIN}/{place}", msgspec.json.encode(value).decode(), detailed=True)


def _fail_by_policy(invocation: WebhookInvocation, failure: CallFailed) -> None:
    """Raise InternalError, unless the webhook may fail."""
    if not invocation.hook.ignores_failures:
        raise internal_error(str(failure)) from failure
    log.warning("Failed to call a webhook, ignored by its failure policy", error=str(failure))


def _dynamic(context: PluginContext) -> DynamicAdmission:
    assert context.dynamic is not None, "the registry sets it before requests are served"
    return context.dynamic
